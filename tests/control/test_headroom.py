"""Headroom of switch profiles against the tables of their vendors, row by row."""

import csv
from pathlib import Path

import pytest

from etherweave.control.qos.devices import headroom_bytes

TABLES = Path(__file__).parents[1] / "data" / "headroom.csv"
MOST = {
    # Rows of 10 and 40 Gb/s repeat those of 25 and 50 Gb/s; without them it would be 1.05.
    "tomahawk4": 1.37,
    "trident4": 1.37,
    # Two tables of the vendor: one with the response of the peer, one with a larger factor.
    "sn4700": 1.33,
}
"""The largest ratio where a vendor's table does not follow one rule; otherwise 1.3."""


def rows() -> dict[tuple[str, int, int], int]:
    """Return the largest headroom of each profile's tables, by rate [Gb/s] and length [m]."""
    largest: dict[tuple[str, int, int], int] = {}
    lines = (line for line in TABLES.read_text().splitlines() if not line.startswith("#"))
    for row in csv.DictReader(lines):
        key = (row["profile"], int(row["rate_gbps"]), int(row["length_m"]))
        largest[key] = max(largest.get(key, 0), int(row["xoff_bytes"]))
    return largest


PROFILES = sorted({profile for profile, _, _ in rows()})


@pytest.mark.parametrize("profile", PROFILES)
def test_headroom_is_never_below_the_vendor_s_and_at_most_a_third_above(profile: str) -> None:
    ratios = {
        (rate, length): headroom_bytes(1000 * rate, length, {"profile": profile}) / vendor
        for (name, rate, length), vendor in rows().items()
        if name == profile
    }
    assert min(ratios.values()) >= 1, ratios
    assert max(ratios.values()) <= MOST.get(profile, 1.3), ratios
