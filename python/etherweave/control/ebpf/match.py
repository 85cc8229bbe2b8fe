"""What a rule matches, as one masked number: all fields that the switch looks at, side by side.

::

    eth_dst 48 | eth_type 16 | eth_src 48 | in_port 16 | vlan_pcp 3 | tag 1 | vlan_vid 12
"""

from collections.abc import Iterable
from typing import NamedTuple

from etherweave.control.rules import Test

TAGGED = 1 << 12
"""Set when there is a VLAN tag (OpenFlow 1.3, ``OFPVID_PRESENT``)."""

_FIELDS = {
    "eth_dst": (96, 48),
    "eth_type": (80, 16),
    "eth_src": (32, 48),
    "in_port": (16, 16),
    "vlan_pcp": (13, 3),
    "vlan_vid": (0, 13),
}
"""Of each field: its lowest bit, and how many it has. That of ``vlan_vid`` includes the tag's."""


class MatchError(ValueError):
    """A test that the switch cannot make; a sentence says which."""


class Ternary(NamedTuple):
    """Numbers that are ``value`` where ``mask`` is set."""

    value: int
    mask: int

    def matches(self, number: int) -> bool:
        """Tell whether a number is one of them."""
        return number & self.mask == self.value


class Condition(NamedTuple):
    """When a rule decides."""

    packets: Ternary
    """What it matches."""
    unless_bit: int | None
    """Bit of the pause vector that puts it out of force; none: always in force."""


def condition(tests: Iterable[Test]) -> Condition:
    """Read the tests of a rule.

    Raises
    ------
    MatchError
        The switch does not know a field, or a value does not fit.
    """
    value = mask = 0
    unless_bit = None
    for test in tests:
        if test.field == "metadata":
            unless_bit = _pause_bit(test)
            continue
        part = _part(test)
        value, mask = value | part.value, mask | part.mask
    return Condition(Ternary(value, mask), unless_bit)


def packet(**fields: int) -> int:
    """Write a packet as the number that rules match: ``packet(eth_dst=1, in_port=2)``."""
    return sum(value << _FIELDS[name][0] for name, value in fields.items())


def _part(test: Test) -> Ternary:
    if test.field not in _FIELDS:
        known = ", ".join(_FIELDS)
        raise MatchError(f"tests {test.field}: expected metadata or one of {known}")
    low, bits = _FIELDS[test.field]
    mask = (1 << bits) - 1 if test.mask is None else test.mask
    if test.value & ~mask or mask >> bits:
        raise MatchError(
            f"{test.field}={test.value:#x}/{mask:#x}: expected {bits} bits, none unmasked"
        )
    tag = TAGGED if test.field == "vlan_pcp" else 0
    return Ternary(test.value << low | tag, mask << low | tag)


def _pause_bit(test: Test) -> int:
    mask = test.mask or 0
    if test.value or mask.bit_count() != 1 or mask >> 64:
        raise MatchError(f"metadata={test.value:#x}/{mask:#x}: expected 0 of one bit of 64")
    return mask.bit_length() - 1
