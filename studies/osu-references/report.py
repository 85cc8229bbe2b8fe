"""Section of the report: the error of every figure, and their medians."""

import math
from statistics import median

from matplotlib.figure import Figure

from etherweave.report.section import Section, Table
from etherweave.report.study.charts import intervals_of
from etherweave.report.style import ASIDE, INK, SERIES
from etherweave.study import StudyCheck, StudyResult

from .study import Case

__all__ = ["errors"]

METRICS = ("latency", "bandwidth")


def errors(result: StudyResult) -> Section:
    """Draw simulated over published by size, and list medians by profile and role."""
    checks = {
        metric: [check for check in result.checks if Case.of(check.id).metric == metric]
        for metric in METRICS
    }
    profiles = list(dict.fromkeys(Case.of(check.id).profile for check in result.checks))
    figure, known = Figure(figsize=(9, 6)), intervals_of(result)
    for axes, metric in zip(figure.subplots(2, 1), METRICS, strict=True):
        for number, profile in enumerate(profiles):
            own = [check for check in checks[metric] if Case.of(check.id).profile == profile]
            if not own:
                continue
            axes.plot(
                [max(Case.of(check.id).size, 1) for check in own],
                [_ratio(check) for check in own],
                linestyle="",
                marker="o",
                markersize=4,
                color=SERIES[number % len(SERIES)],
                label=profile,
            )
            for check in own:
                if check.id in known and check.published:
                    ends = [end / check.published for end in known[check.id].parameters.interval]
                    size = max(Case.of(check.id).size, 1)
                    axes.vlines(size, *ends, color=SERIES[number % len(SERIES)], alpha=0.3)
        axes.axhline(1, color=INK, linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("size [B]")
        axes.set_ylabel(f"{metric}, simulated / published")
        axes.legend(**ASIDE)
    rows = [
        row
        for metric in METRICS
        for profile in profiles
        for row in _rows(metric, profile, checks[metric])
    ]
    caption = "Every figure on the profile of its interconnect, between two hosts at one switch."
    head = ("profile", "metric", "role", "figures", "median error", "largest", "pass")
    return Section("errors", "Errors", caption, figure, [Table(head, rows)], checks=("*",))


def _rows(metric: str, profile: str, checks: list[StudyCheck]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for role in ("calibration", "prediction"):
        own = [
            check
            for check in checks
            if Case.of(check.id).profile == profile and check.source.endswith(role)
        ]
        if not own:
            continue
        abses = [abs(_ratio(check) - 1) for check in own]
        passed = sum(check.is_passed for check in own)
        figures = (f"{len(own)}", f"{median(abses):.0%}", f"{max(abses):.0%}", f"{passed}")
        rows.append((profile, metric, role, *figures))
    return rows


def _ratio(check: StudyCheck) -> float:
    return check.value / check.expected if check.expected else math.nan
