"""In which order to try masks, so that the first rule found is the first of the table.

A hash map finds a rule at once if its mask is known, so a lookup tries mask after mask. Rules of
one mask may share a place in that order, whatever their priorities, as long as no rule in between
can match the same packet.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from etherweave.control.ebpf.match import Ternary


class Place(NamedTuple):
    """Where a rule stands."""

    mask: int
    """Number of its mask in the order of the lookup."""
    value: int


class _Column:
    """Rules of one mask that are looked up together."""

    def __init__(self, mask: int) -> None:
        self.mask = mask
        self._values: set[int] = set()
        self._seen_through: dict[int, set[int]] = {}

    def overlaps(self, rule: Ternary) -> bool:
        """Tell whether some packet is matched by the rule and by one of these."""
        common = self.mask & rule.mask
        if common not in self._seen_through:
            self._seen_through[common] = {value & common for value in self._values}
        return rule.value & common in self._seen_through[common]

    def add(self, value: int) -> None:
        self._values.add(value)
        for common, values in self._seen_through.items():
            values.add(value & common)


class Order:
    """The order of masks; grows with every rule, highest priority first."""

    def __init__(self) -> None:
        self._columns: list[_Column] = []

    @property
    def masks(self) -> list[int]:
        """The masks in the order of the lookup; one may be there several times."""
        return [column.mask for column in self._columns]

    def place(self, rule: Ternary) -> Place:
        """Find a place for a rule behind all rules before it that overlap with it."""
        number = next(self._places(rule), len(self._columns))
        if number == len(self._columns):
            self._columns.append(_Column(rule.mask))
        self._columns[number].add(rule.value)
        return Place(number, rule.value)

    def _places(self, rule: Ternary) -> Iterator[int]:
        for number in reversed(range(len(self._columns))):
            if self._columns[number].overlaps(rule):
                return
            if self._columns[number].mask == rule.mask:
                yield number


def arranged(rules: Iterable[Ternary]) -> tuple[list[int], list[Place]]:
    """Arrange a whole table, highest priority first: its masks, and the place of each rule."""
    order = Order()
    places = [order.place(rule) for rule in rules]
    return order.masks, places
