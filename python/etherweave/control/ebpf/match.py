"""Match of a rule as one masked number of all fields, and the order in which masks are tried.

::

    eth_dst 48 | eth_type 16 | eth_src 48 | in_port 16 | vlan_pcp 3 | tag 1 | vlan_vid 12
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from etherweave.control.rules import MatchField

TAGGED = 1 << 12  # Set when there is a VLAN tag (OpenFlow 1.3, ``OFPVID_PRESENT``).

_FIELDS = {
    "eth_dst": (96, 48),
    "eth_type": (80, 16),
    "eth_src": (32, 48),
    "in_port": (16, 16),
    "vlan_pcp": (13, 3),
    "vlan_vid": (0, 13),
}
"""Lowest bit and number of bits of each field. That of ``vlan_vid`` includes the tag's."""


class MatchError(ValueError):
    """A match field that the switch does not support; the message says which."""


class Ternary(NamedTuple):
    """Numbers that are ``value`` where ``mask`` is set."""

    value: int
    mask: int


class Condition(NamedTuple):
    """Packets that a rule matches, and when it is active."""

    packets: Ternary  # Packets that it matches.
    unless_bit: int | None  # Bit of the pause vector that deactivates it; None: always active.


def condition(fields: Iterable[MatchField]) -> Condition:
    """Read the match fields of a rule.

    Raises ``MatchError`` if the switch does not support a field, or a value is out of range.
    """
    value = mask = 0
    unless_bit = None
    for field in fields:
        if field.field == "metadata":
            unless_bit = _pause_bit(field)
            continue
        part = _part(field)
        value, mask = value | part.value, mask | part.mask
    return Condition(Ternary(value, mask), unless_bit)


def _part(field: MatchField) -> Ternary:
    if field.field not in _FIELDS:
        known = ", ".join(_FIELDS)
        raise MatchError(f"matches {field.field}: expected metadata or one of {known}")
    low, bits = _FIELDS[field.field]
    mask = (1 << bits) - 1 if field.mask is None else field.mask
    if field.value & ~mask or mask >> bits:
        raise MatchError(
            f"{field.field}={field.value:#x}/{mask:#x}: expected {bits} bits, none unmasked"
        )
    tag = TAGGED if field.field == "vlan_pcp" else 0
    return Ternary(field.value << low | tag, mask << low | tag)


def _pause_bit(field: MatchField) -> int:
    mask = field.mask or 0
    if field.value or mask.bit_count() != 1 or mask >> 64:
        raise MatchError(f"metadata={field.value:#x}/{mask:#x}: expected 0 of one bit of 64")
    return mask.bit_length() - 1


class MaskPosition(NamedTuple):
    """Position of a rule in the lookup."""

    mask: int  # Number of its mask in the order of the lookup.
    value: int


class _MaskGroup:
    """Rules of one mask that share a position in the lookup."""

    def __init__(self, mask: int) -> None:
        self.mask = mask
        self._values: set[int] = set()
        self._seen_through: dict[int, set[int]] = {}

    def overlaps(self, rule: Ternary) -> bool:
        """Return whether some packet matches the rule and one of these."""
        common = self.mask & rule.mask
        if common not in self._seen_through:
            self._seen_through[common] = {value & common for value in self._values}
        return rule.value & common in self._seen_through[common]

    def add(self, value: int) -> None:
        self._values.add(value)
        for common, values in self._seen_through.items():
            values.add(value & common)


def arrange(rules: Iterable[Ternary]) -> tuple[list[int], list[MaskPosition]]:
    """Return the masks of a whole table, highest priority first, and the position of each rule.

    A rule is placed after all former rules that overlap with it. Masks are in the order of the
    lookup; one may be there several times.
    """
    groups: list[_MaskGroup] = []
    places = []
    for rule in rules:
        number = next(_places(groups, rule), len(groups))
        if number == len(groups):
            groups.append(_MaskGroup(rule.mask))
        groups[number].add(rule.value)
        places.append(MaskPosition(number, rule.value))
    return [group.mask for group in groups], places


def _places(groups: list[_MaskGroup], rule: Ternary) -> Iterator[int]:
    """Yield groups that a rule may join, from the last one back to those that it overlaps with."""
    for number in reversed(range(len(groups))):
        if groups[number].overlaps(rule):
            return
        if groups[number].mask == rule.mask:
            yield number
