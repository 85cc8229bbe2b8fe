"""Checks as a table: published beside ours, and whether it holds."""

import math
from collections.abc import Sequence

from etherweave.report.section import Table
from etherweave.study import Check


def table(checks: Sequence[Check], found: str) -> Table:
    """List checks, a row each; ``found`` is what our figures are called."""
    head = ("check", "published", "holds within", found, "unit", "", "source")
    return Table(head, [_row(check) for check in checks])


def _row(check: Check) -> list[str]:
    published = "–" if check.expected is None else f"{check.expected:g}"
    found = check.text if math.isfinite(check.value) else "–"
    verdict = "pass" if check.holds else "FAIL"
    return [check.id, published, _bounds(check), found, check.unit, verdict, check.source]


def _bounds(check: Check) -> str:
    low, high = check.tolerance
    if low is None or high is None:
        return f"≥ {low:g}" if low is not None else f"≤ {high:g}" if high is not None else "–"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
