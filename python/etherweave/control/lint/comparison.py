"""Comparison of ports, switches and hosts that should be alike.

A value that more than half of them have is right, and the others are wrong. Without such a majority
neither is: a finding says what each has, and which value agrees with maps and marks, if one does.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from etherweave.control.lint.inputs import LintFault, LintPlace

Compared = TypeVar("Compared")
Difference: TypeAlias = tuple[str, str, str]
"""A property that differs, the value of a device, and the value that it is compared with."""
PLACES_SHOWN = 3


@dataclass(frozen=True)
class Property(Generic[Compared]):
    """A property in which devices should be alike."""

    name: str  # Name of the property in findings without a majority.
    value: Callable[[Compared], Hashable]
    differences: Callable[[Compared, Compared], Iterator[Difference]]
    """Between a device and the one that it is compared with, whose value differs."""
    reasons: Callable[[Collection[Compared]], Callable[[Compared], str]] | None = None
    """Makes, of all devices, a function that says why one of them is right, or nothing."""
    absent: Hashable = None  # The value that cannot be right, however many have it.


class Peers(NamedTuple):
    """Devices that are compared with each other."""

    kind: str
    usual: str  # Words of findings for the value that most have.


def compare(
    devices: Mapping[LintPlace, Compared], properties: Collection[Property[Compared]], peers: Peers
) -> Iterator[LintFault]:
    """Find devices that differ from more than half of all; without a majority, all that differ."""
    for compared in properties:
        alike: dict[Hashable, list[LintPlace]] = {}
        for place, device in devices.items():
            alike.setdefault(compared.value(device), []).append(place)
        if len(alike) < 2:
            continue
        usual, places = max(alike.items(), key=lambda item: len(item[1]))
        if 2 * len(places) <= len(devices) or usual == compared.absent:
            yield from _undecided(devices, compared, alike, peers)
            continue
        for value, others in alike.items():
            for place in others if value != usual else ():
                for what, own, right in compared.differences(devices[place], devices[places[0]]):
                    yield LintFault(*place, f"{what} {own}", f"{right}, {peers.usual}")


def _undecided(
    devices: Mapping[LintPlace, Compared],
    compared: Property[Compared],
    alike: Mapping[Hashable, list[LintPlace]],
    peers: Peers,
) -> Iterator[LintFault]:
    """Compare all with the only value that has a reason, otherwise with the most common one."""
    reason = compared.reasons(devices.values()) if compared.reasons else lambda _: ""
    why = {value: reason(devices[places[0]]) for value, places in alike.items()}
    right = max(alike, key=lambda value: (bool(why[value]), len(alike[value])))
    is_decided = sum(map(bool, why.values())) == 1
    there = alike[right]
    for value, places in alike.items():
        if value == right:
            continue
        for what, own, other in compared.differences(devices[places[0]], devices[there[0]]):
            difference = f"{compared.name} differs between the {peers.kind}: {what} {own} "
            difference += f"{_listed(places)}; {other} {_listed(there)}"
            expected = f"{other} on all: {why[right]}" if is_decided else "the same on all"
            for place in places if is_decided else (*places, *there):
                yield LintFault(*place, difference, expected)


def majority(values: Collection[Hashable]) -> Hashable:
    """Return the value that more than half of all have, or nothing."""
    counts: dict[Hashable, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    usual = max(counts, key=lambda value: counts[value], default=None)
    return usual if 2 * counts.get(usual, 0) > len(values) else None


def _listed(places: list[LintPlace]) -> str:
    return f"on {shown([place.place for place in places])}"


def shown(names: Sequence[str], most: int = PLACES_SHOWN) -> str:
    """Write the first names, and how many there are besides."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
