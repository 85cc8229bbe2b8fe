"""Code points of priorities (RFC 2474), as hosts write and switches read them.

The upper three bits are the priority (class selectors, section 4.2.2), as switches and NICs come.
RoCE in priority p is marked 8p + 2, which makes 26 of priority 3, as in the vendors' RoCEv2 guides.
"""

from collections.abc import Mapping


def code_point(priority: int) -> int:
    """Return the code point that hosts write for a priority."""
    return 8 * priority + 2


def octet(code_point: int) -> int:
    """Return the traffic class octet of a code point with ECT(0) (RFC 3168)."""
    return code_point << 2 | 2


def mistake(code_points: Mapping[int, int]) -> str | None:
    """Return what is wrong with code points of priorities, and what is expected."""
    for priority, number in code_points.items():
        if not 0 <= priority <= 7:
            return f"priority {priority}: expected 0 to 7"
        if not 0 <= number <= 63:
            return f"DSCP {number}: expected 0 to 63"
    if len(set(code_points.values())) < len(code_points):
        return "one DSCP for two priorities; expected another for each"
    return None
