"""Exports to other programs: references of ReFrame, batch scripts of Slurm."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pprint import pformat

from etherweave.bench.campaigns.points import CENTRES
from etherweave.bench.campaigns.summary import CampaignSummary, PointSummary
from etherweave.measurements.metrics import Better

Reference = tuple[float, float | None, float | None, str]
"""Reference of ReFrame: value, shares of it by which it may fall and rise, and unit."""


class ExportError(ValueError):
    """A value that the other program cannot take."""


def reframe_reference(
    campaign_summary: CampaignSummary, system: str = "*", tolerance: float = 0.1
) -> dict[str, dict[str, Reference]]:
    """Return the medians as the ``reference`` of a ReFrame test.

    ``system`` is named as in ReFrame, with its partition: ``cluster:compute``. ``tolerance`` is by
    how much a value may be worse, as a share of the median, above 0; where the interval of the
    median reaches further, that counts.
    """
    points = [
        point
        for point in campaign_summary.points
        if point.point.statistic in CENTRES
        and point.point.better != Better.NEITHER
        and point.statistics.median
    ]
    return {system: {point.point.slug: _reference(point, tolerance) for point in points}}


def reframe_text(reference: dict[str, dict[str, Reference]]) -> str:
    """Write a reference as Python."""
    return pformat(reference, width=100, sort_dicts=False) + "\n"


@dataclass(frozen=True)
class BatchScript:
    """Options of a batch job of Slurm."""

    name: str
    nodes: int
    seconds: float  # Wall-clock limit [s].
    partition: str = ""
    account: str = ""


def slurm_script(batch: BatchScript, words: Sequence[str]) -> str:
    """Write a batch script that runs a command, and signals it a minute before the limit.

    ``exec`` lets that signal reach the command itself: a run of benchmarks ends cleanly, and the
    same script continues it.

    Raises ``ExportError`` when a name holds what Slurm would take for something else.
    """
    options = {
        "job-name": batch.name,
        "nodes": str(batch.nodes),
        "time": _clock(batch.seconds),
        "partition": batch.partition,
        "account": batch.account,
    }
    for name, value in options.items():
        if value and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:,-]*", value):
            raise ExportError(f"{name} {value!r}: expected letters, digits and _ . : , -")
    lines = [f"#SBATCH --{name}={value}" for name, value in options.items() if value]
    lines += ["#SBATCH --exclusive", "#SBATCH --signal=B:TERM@60"]
    return "\n".join(["#!/bin/bash", *lines, "", f"exec {shlex.join(words)}", ""])


def _reference(point_summary: PointSummary, tolerance: float) -> Reference:
    median, interval = point_summary.statistics.median, point_summary.statistics.interval
    reach = max(interval.high - median, median - interval.low) if interval else 0.0
    share = max(tolerance, reach / abs(median))
    if point_summary.point.better == Better.HIGHER:
        return median, -min(share, 1.0), None, point_summary.point.unit
    return median, None, share, point_summary.point.unit


def _clock(seconds: float) -> str:
    minutes = max(2, -int(-seconds // 60))
    return f"{minutes // 60:02}:{minutes % 60:02}:00"
