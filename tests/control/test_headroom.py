"""Headroom of switch profiles against the tables of their vendors, row by row."""

import csv
import re
from pathlib import Path

import pytest

from etherweave.control.qos.devices import headroom_bytes

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "tests" / "data" / "headroom.csv"
PAGE = ROOT / "docs" / "models" / "flow-control.md"


def rows() -> dict[tuple[str, int, int], int]:
    """Return the largest headroom of each profile's tables, by rate [Gb/s] and length [m]."""
    largest: dict[tuple[str, int, int], int] = {}
    lines = (line for line in TABLES.read_text().splitlines() if not line.startswith("#"))
    for row in csv.DictReader(lines):
        key = (row["profile"], int(row["rate_gbps"]), int(row["length_m"]))
        largest[key] = max(largest.get(key, 0), int(row["xoff_bytes"]))
    return largest


def stated() -> dict[str, tuple[str, str, str]]:
    """Return what the page says of each profile: rows, least and largest ratio."""
    matches = re.findall(r"\| `(\w+)` \| (\d+) \| (\d\.\d\d) to (\d\.\d\d) ", PAGE.read_text())
    return {profile: (count, least, most) for profile, count, least, most in matches}


@pytest.mark.parametrize("profile", sorted({profile for profile, _, _ in rows()}))
def test_headroom_is_never_below_the_vendor_s_and_at_most_three_tenths_above(profile: str) -> None:
    ratios = {
        (rate, length): headroom_bytes(1000 * rate, length, {"profile": profile}) / vendor
        for (name, rate, length), vendor in rows().items()
        if name == profile
    }
    least, most = min(ratios.values()), max(ratios.values())
    assert least >= 1, ratios
    assert most <= 1.3, ratios
    assert stated()[profile] == (f"{len(ratios)}", f"{least:.2f}", f"{most:.2f}")
