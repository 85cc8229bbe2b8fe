"""A campaign's results on a terminal."""

import shlex
from datetime import UTC, datetime
from itertools import groupby

from etherweave.api.units import amount, size_text
from etherweave.bench.campaigns.points import CENTRES
from etherweave.bench.campaigns.summary import CampaignSummary, PointSummary
from etherweave.bench.programs.plans import BenchmarkPlan
from etherweave.cli.design_page import print_table

_TITLES = ("", ">size", ">median", ">95 % from", ">to", ">n", ">min", ">max", ">p99", "")
_PUBLISHED = (">published", ">ratio")


def print_summary(campaign_summary: CampaignSummary) -> None:
    """Print warnings first, then a table for each program, fabric and placement."""
    for warning in campaign_summary.warnings:
        print(f"warning: {warning}")
    shown = [point for point in campaign_summary.points if point.point.statistic in CENTRES]
    for place, points in groupby(shown, key=_place):
        _print_points(place, list(points))


def _place(point_summary: PointSummary) -> str:
    point = point_summary.point
    return f"{point.program} on {point.fabric}, {point.hosts}"


def _print_points(place: str, points: list[PointSummary]) -> None:
    print(place)
    has_bands = any(point.band for point in points)
    titles = (*_TITLES, *(_PUBLISHED if has_bands else ()))
    print_table(titles, [_row(point)[: len(titles)] for point in points])


def _row(point_summary: PointSummary) -> tuple[str, ...]:
    facts, point = point_summary.facts(), point_summary.point
    names = ("median", "low", "high", "n", "min", "max", "p99")
    values = [str(facts[key]) if key == "n" else _amount(facts[key], point.unit) for key in names]
    statistic = "" if point.statistic == "mean" else point.statistic
    words = " ".join(filter(None, (point.metric, statistic, point.labels)))
    state = "" if facts["is_stable"] else "unstable"
    return words, size_text(point.size_bytes), *values, state, *_published(point_summary)


def _published(summary: PointSummary) -> tuple[str, str]:
    if summary.band is None:
        return "", ""
    low, high = (amount(end, summary.point.unit) for end in (summary.band.low, summary.band.high))
    return low if low == high else f"{low} … {high}", f"{summary.band.ratio:.3g}"


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else amount(value, unit)


def moment(ns: int) -> str:
    """Write a moment since 1970 [ns] to the minute, in UTC."""
    try:
        return f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return "?"


def plan_rows(planned: BenchmarkPlan) -> list[tuple[str, str]]:
    """Return placement, command, traffic and time of a run as rows."""
    command, placement, forecast = planned.command, planned.placement, planned.forecast
    rows = [("placement", f"{placement.pattern}: {placement.nodes} x {placement.ranks_per_node}")]
    rows += [("server", shlex.join(command.server))] * bool(command.server)
    rows += [("command", shlex.join(command.arguments))]
    rows += [("reads", name) for name, _ in command.files]
    rows += [("writes", command.output)] if command.output else []
    sent = f"{amount(forecast.bytes, 'B')} from {forecast.senders}"
    rows += [
        ("sends", f"not known: {forecast.unknown}" if forecast.unknown else sent),
        ("takes", f"{amount(forecast.seconds, 's')} ({forecast.basis})"),
    ]
    return rows + [("note", note) for note in planned.notes]
