"""Curves of benchmarks against message size, simulated ones and limits beside them."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from etherweave.pages.benchmarks.data import Benchmarks
from etherweave.report.bounds import Floats, Medium, Party, collective
from etherweave.report.section import Section
from etherweave.report.sizes import (
    PublishedMarks,
    SizeBound,
    SizeCurve,
    SizePanel,
    draw,
    message_bounds,
    rate_bounds,
)

SWEEP_CAPTION = (
    "Medians of launches; the band is the 95 % interval of the median, hollow points are unstable, "
    "diamonds with bars are published figures of the same program, size and kind of fabric, "
    "crosses are simulated. "
)
_NAMES = ["program", "fabric", "hosts", "ranks_per_node", "labels"]
_HOSTS_MAX = 6  # Placements of a test that are curves with names of their own; more are one name's.


class SweepSetting(NamedTuple):
    """Where curves of one fabric come from."""

    fabric: str
    medium: Medium
    rows: pl.DataFrame  # Points of the panel on this fabric.
    alpha: float | None  # Latency of the smallest message here, where it was measured [s].


SweepBounds = Callable[[SweepSetting, Floats], Iterator[SizeBound]]
"""Gives limits at these sizes [bytes]."""


class Sweep(NamedTuple):
    """How one kind of curve is drawn."""

    unit: str
    scale: float  # Factor from base units to those of the axis.
    label: str  # Label of the axis.
    bounds: SweepBounds
    words: Sequence[str]  # Meaning of the limits of each dash: dashed, dotted, those of calls.


def _section(benchmarks: Benchmarks, name: str, title: str, sweep: Sweep) -> Section | None:
    """Draw the panels of a unit; the caption explains the limits that are drawn."""
    panels = _panels(benchmarks, sweep)
    if not panels:
        return None
    drawn = {bound.dash for panel in panels for bound in panel.bounds}
    words = [text for dash, text in enumerate(sweep.words) if dash in drawn]
    caption = " ".join([SWEEP_CAPTION.strip(), *words])
    return Section(name, title, caption, draw(panels, sweep.scale, sweep.label))


def _panels(benchmarks: Benchmarks, sweep: Sweep) -> list[SizePanel]:
    """Return a panel for each metric of the unit."""
    if not benchmarks.points.height:
        return []
    rows = benchmarks.points.filter(
        (pl.col("unit") == sweep.unit) & pl.col("size_bytes").is_not_null()
    ).with_columns(panel=_panel_of(pl.col("metric"), pl.col("program")))
    return [
        _panel(benchmarks, str(name), own, sweep)
        for (name,), own in rows.group_by("panel", maintain_order=True)
    ]


def _panel_of(metric: pl.Expr, program: pl.Expr) -> pl.Expr:
    """Keep calls of different collectives apart; they say nothing about each other."""
    together = metric.str.replace_all("_", " ")
    return pl.when(metric == "call_time").then(together + ": " + program).otherwise(together)


def _panel(benchmarks: Benchmarks, title: str, rows: pl.DataFrame, sweep: Sweep) -> SizePanel:
    parts = list(_curves(rows))
    curves = [_curve(name, part) for name, part in parts]
    marks = [_marks(part) for _, part in parts]
    return SizePanel(
        title,
        [*curves, *_simulated(benchmarks, rows, sweep)],
        list(_bounds(benchmarks, rows, sweep)),
        marks,
    )


def _curves(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Part points into curves, named by what distinguishes them; many pairs share one name."""
    distinct = [name for name in _NAMES if rows[name].n_unique() > 1] or ["program"]
    for _, test in rows.group_by([name for name in _NAMES if name != "hosts"], maintain_order=True):
        pairs = test["hosts"].n_unique()
        is_crowd = pairs > _HOSTS_MAX
        for (hosts,), curve in test.group_by("hosts", maintain_order=True):
            words = dict(zip(_NAMES, curve.select(_NAMES).row(0), strict=True))
            words["hosts"] = f"{pairs} pairs" if is_crowd else hosts
            yield " ".join(str(words[name]) for name in distinct), curve.sort("size_bytes")


def _curve(name: str, rows: pl.DataFrame, is_simulated: bool = False) -> SizeCurve:
    is_stable = rows["is_stable"].to_list() if "is_stable" in rows.columns else ()
    sizes, medians = _floats(rows, "size_bytes"), _floats(rows, "median")
    low, high = _floats(rows, "low"), _floats(rows, "high")
    return SizeCurve(name, sizes, medians, low, high, is_stable, is_simulated)


def _floats(rows: pl.DataFrame, column: str) -> Floats:
    return rows[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _marks(rows: pl.DataFrame) -> PublishedMarks:
    known = rows.filter(pl.col("reference_low").is_not_null())
    columns = ("size_bytes", "reference_low", "reference_high", "reference_ratio")
    return PublishedMarks(*(_floats(known, column) for column in columns))


def _simulated(benchmarks: Benchmarks, rows: pl.DataFrame, sweep: Sweep) -> Iterator[SizeCurve]:
    if benchmarks.simulation is None:
        return
    own = benchmarks.simulation.filter(
        (pl.col("metric") == rows["metric"][0])
        & (pl.col("unit") == sweep.unit)
        & pl.col("size_bytes").is_not_null()
    )
    if rows["metric"][0] == "call_time":
        own = own.filter(pl.col("program").is_in(["", *rows["program"].unique()]))
    for (name,), part in own.group_by("name", maintain_order=True):
        is_simulated = bool(part["is_simulated"].all())
        yield _curve(str(name), part.sort("size_bytes"), is_simulated)


def _bounds(benchmarks: Benchmarks, rows: pl.DataFrame, sweep: Sweep) -> Iterator[SizeBound]:
    """Give the limits of every fabric, each once."""
    sizes = np.unique(_floats(rows, "size_bytes"))
    names = set()
    for (fabric,), own in rows.group_by("fabric", maintain_order=True):
        name = str(fabric)
        setting = SweepSetting(name, benchmarks.medium(name), own, benchmarks.alpha(name))
        for bound in sweep.bounds(setting, sizes):
            if bound.name not in names:
                names.add(bound.name)
                yield bound


_RATE_BOUNDS = ("No payload passes the dashed line.", "None in full frames passes the dotted one.")
LINKS = {"bandwidth": 1, "bandwidth_both": 2, "bandwidth_rank": 1, "bandwidth_bus": 1}
"""How often a metric counts a host's link; others are not bound by one."""
_EXCESS = 1.05  # A shaper's burst may carry a little more than the rate.


def bandwidth(benchmarks: Benchmarks) -> Section | None:
    """Show bandwidths below the rate of the link, and what frames leave of it."""
    return _section(benchmarks, "bandwidth", "Bandwidth against size", RATE_SWEEP)


def rate_findings(benchmarks: Benchmarks) -> list[str]:
    """Report rates that no link of the fabric can have carried, once for a program and fabric."""
    if not benchmarks.points.height:
        return []
    findings: dict[tuple[str, str], str] = {}
    for row in benchmarks.points.filter(pl.col("metric").is_in(list(LINKS))).iter_rows(named=True):
        program, fabric = row["program"], row["fabric"]
        most = LINKS[row["metric"]] * benchmarks.medium(fabric).rate
        if row["median"] > most * _EXCESS:
            findings.setdefault(
                (program, fabric),
                f"{program} on {fabric}: {row['median'] * 8e-9:.3g} Gb/s between {row['hosts']} "
                f"where links carry {most * 8e-9:.3g} Gb/s: the bytes took another path, or the "
                "site's file has a wrong rate",
            )
    return list(findings.values())


def _rate_limits(setting: SweepSetting, sizes: Floats) -> Iterator[SizeBound]:
    times = LINKS.get(setting.rows["metric"][0])
    return rate_bounds(setting.medium, sizes, times) if times else iter(())


RATE_SWEEP = Sweep("B/s", 8e-9, "payload [Gb/s]", _rate_limits, _RATE_BOUNDS)


_TIME_BOUNDS = (
    "Below the dashed line nothing arrives: a message takes as long as its bytes on the link.",
    "The dotted line adds what the smallest message took, and counts frames.",
    (
        "A collective takes at least the smallest message and the bytes that must pass a host's "
        "link (Chan et al. 2007, Thakur et al. 2005), unless switches take part in it."
    ),
)
_ONE_WAY = ("latency", "round_trip", "call_time")  # Metrics of messages that pass a host's link.


def latency(benchmarks: Benchmarks) -> Section | None:
    """Show times above what the bytes alone take on the link."""
    return _section(benchmarks, "latency", "Time against size", TIME_SWEEP)


def _time_limits(setting: SweepSetting, sizes: Floats) -> Iterator[SizeBound]:
    metric, program = setting.rows.select("metric", "program").row(0)
    operation = program.removeprefix("osu_")
    if metric == "call_time" and (bounds := list(_collective(setting, operation, sizes))):
        yield from bounds
    elif metric in _ONE_WAY:
        alpha = setting.alpha if metric == "latency" else None
        yield from message_bounds(setting.medium, sizes, setting.fabric, alpha)


def _collective(setting: SweepSetting, operation: str, sizes: Floats) -> Iterator[SizeBound]:
    alpha = setting.alpha or 0.0
    for party in _parties(setting.rows):
        times = collective(operation, sizes, party, setting.medium.goodput, alpha)
        if times is not None:
            who = f"{setting.fabric}: least time of {party.ranks} ranks on {party.hosts} hosts"
            yield SizeBound(who, sizes, times, 2)


def _parties(rows: pl.DataFrame) -> Iterator[Party]:
    for hosts, ranks in rows.select("hosts", "ranks_per_node").unique(maintain_order=True).rows():
        names = hosts.split(",")
        yield Party(len(names) * ranks, len(set(names)))


TIME_SWEEP = Sweep("s", 1e6, "time [us]", _time_limits, _TIME_BOUNDS)
