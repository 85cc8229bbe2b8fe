"""All pairs of hosts: maps in the order of the topology, and suspects for slow ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import fill

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from etherweave.pages.benchmarks.data import Benchmarks, Place, hosts_of, in_order
from etherweave.pages.benchmarks.slow_paths import PairMatrix, pair_classes, suspects
from etherweave.report.section import Section, Table

PAIRS_MIN = 3  # Fewer are no map.
COLOURS = "cividis"
ABSENT = "#e4e4e4"
_TITLE = 36  # Characters in a line of a map's title.
_NAMED_MAX = 48  # Hosts whose names fit beside a map; of more, switches are named.
_PARTS_MAX = 20
"""Switches or groups whose names fit beside a map; lines of more would hide its cells."""
_UPRIGHT = 36  # Characters of names that fit above a map side by side.


@dataclass(frozen=True)
class PairMap:
    """Values between hosts."""

    title: str
    label: str  # Unit of the values.
    matrix: PairMatrix


@dataclass(frozen=True)
class _PairMapKind:
    name: str
    title: str
    unit: str
    scale: float
    label: str


_KINDS = (
    _PairMapKind("pairs_bandwidth", "Bandwidth of every pair", "B/s", 8e-9, "Gb/s"),
    _PairMapKind("pairs_latency", "Time of every pair", "s", 1e6, "us"),
)


def bandwidths(benchmarks: Benchmarks) -> Section | None:
    """Show the bandwidth of every pair, at its largest size."""
    return _section(benchmarks, _KINDS[0])


def latencies(benchmarks: Benchmarks) -> Section | None:
    """Show the latency of every pair, at its smallest size."""
    return _section(benchmarks, _KINDS[1])


sections = (bandwidths, latencies)


def findings(benchmarks: Benchmarks) -> list[str]:
    """Name the suspects for slow pairs, in a sentence each."""
    return [
        f"{suspect.who}: {suspect.words} ({own.title}: {suspect.factor:.2f} times worse than usual)"
        for kind in _KINDS
        for own in maps(benchmarks, kind.unit, kind.scale, kind.label)
        for suspect in suspects(own.matrix)
    ]


def maps(benchmarks: Benchmarks, unit: str, scale: float, label: str) -> list[PairMap]:
    """Make a map of each program, metric and fabric with enough pairs."""
    if not benchmarks.points.height:
        return []
    rows = _between(benchmarks.points.filter(unit=unit))
    made = []
    for names, own in rows.group_by(["program", "metric", "rest", "fabric"], maintain_order=True):
        sizes = own["size_bytes"].drop_nulls()
        if sizes.len():
            size = sizes.max() if unit == "B/s" else sizes.min()
            own = own.filter(size_bytes=size)
        if own.select("one", "other").n_unique() >= PAIRS_MIN:
            title = " ".join(str(name) for name in names if name)
            made.append(PairMap(title, label, _matrix(benchmarks, own, scale)))
    return made


def _section(benchmarks: Benchmarks, kind: _PairMapKind) -> Section | None:
    made = maps(benchmarks, kind.unit, kind.scale, kind.label)
    if not made:
        return None
    side = 4.6 if len(made) > 1 else 6.4
    rows = (len(made) + 1) // 2
    figure = Figure(figsize=(9, side * rows))
    panels = figure.subplots(rows, min(len(made), 2), squeeze=False).ravel()
    for axes, drawing in zip(panels, made, strict=False):
        _draw(figure, axes, drawing)
    for axes in panels[len(made) :]:
        axes.set_visible(False)
    size = "largest" if kind.unit == "B/s" else "smallest"
    caption = (
        f"Medians at the {size} message size. Hosts of a switch stand together, as far as it is "
        "known; lines part switches, thick ones groups. Grey was not measured."
    )
    return Section(kind.name, kind.title, caption, figure, _tables(made))


def _between(points: pl.DataFrame) -> pl.DataFrame:
    """Find the two hosts that a point is between: by its labels, or as it ran on two only."""
    labels, hosts = pl.col("labels"), pl.col("hosts").str.split(",")
    is_pair = hosts.list.len() == 2
    source = pl.coalesce(
        labels.str.extract(r"(?:^| )from=(\S+)"), pl.when(is_pair).then(hosts.list.first())
    )
    other = pl.coalesce(
        labels.str.extract(r"(?:^| )to=(\S+)"), pl.when(is_pair).then(hosts.list.last())
    )
    rest = labels.str.replace_all(r"\b(?:from|to)=\S+", "").str.strip_chars()
    named = points.with_columns(one=source, other=other, rest=rest)
    return named.filter(pl.col("one").is_not_null() & pl.col("other").is_not_null())


def _matrix(benchmarks: Benchmarks, rows: pl.DataFrame, scale: float) -> PairMatrix:
    present = dict.fromkeys([*rows["one"], *rows["other"]])
    known = [host for host in hosts_of(benchmarks.facts) if host in present]
    hosts = in_order([*known, *(host for host in present if host not in known)], benchmarks.places)
    at = {host: place for place, host in enumerate(hosts)}
    values = np.full((len(hosts), len(hosts)), np.nan)
    is_directed = rows["labels"].str.contains("from=").any()
    for first, other, median in rows.select("one", "other", "median").iter_rows():
        values[at[first], at[other]] = median * scale
        if not is_directed:
            values[at[other], at[first]] = median * scale
    return PairMatrix(hosts, values, bool(rows["better"][0] == "higher"), benchmarks.places)


def _tables(made: Sequence[PairMap]) -> list[Table]:
    rows = [
        (record.title, kind.name, f"{kind.pairs:,}", f"{kind.median:.4g}", record.label)
        for record in made
        for kind in pair_classes(record.matrix)
    ]
    suspected = [
        (record.title, suspect.who, f"{suspect.factor:.2f}", suspect.words)
        for record in made
        for suspect in suspects(record.matrix)
    ]
    tables = [Table(("", "pairs", "how many", "median", ""), rows)] if rows else []
    head = ("", "who", "times worse than usual", "what")
    caption = "Who is slow, beside what else is slow; usual are pairs that are as near."
    return [*tables, *([Table(head, suspected, caption)] if suspected else [])]


def _draw(figure: Figure, axes: Axes, pair_map: PairMap) -> None:
    matrix = pair_map.matrix
    axes.set_facecolor(ABSENT)
    image = axes.imshow(matrix.values, cmap=COLOURS, interpolation="nearest")
    axes.set_title(fill(pair_map.title, _TITLE), fontsize=9)
    axes.grid(visible=False)
    axes.set_xlabel("to")
    axes.set_ylabel("from")
    places = range(len(matrix.hosts)) if len(matrix.hosts) <= _NAMED_MAX else ()
    names = list(matrix.hosts) if places else []
    axes.set_xticks(places, names, rotation=90, fontsize=6)
    axes.set_yticks(places, names, fontsize=6)
    _part(axes, matrix.known)
    figure.colorbar(image, ax=axes, label=pair_map.label, shrink=0.8)


def _part(axes: Axes, known: Sequence[Place | None]) -> None:
    """Draw lines between switches and groups, and name them on the other sides."""
    switches = list(_runs([place.switch if place else "" for place in known]))
    groups = list(_runs([place.group if place else "" for place in known]))
    for runs, width in ((switches, 0.6), (groups, 1.5)):
        for _, start, _ in runs[1:] if len(runs) <= _PARTS_MAX else ():
            axes.axhline(start - 0.5, color="white", linewidth=width)
            axes.axvline(start - 0.5, color="white", linewidth=width)
    named = [run for run in (switches if len(switches) <= _PARTS_MAX else groups) if run[0]]
    if named and len(named) <= _PARTS_MAX:
        centres = [(start + end - 1) / 2 for _, start, end in named]
        top, right = axes.secondary_xaxis("top"), axes.secondary_yaxis("right")
        names = [name for name, *_ in named]
        _name(top.xaxis, centres, names, 90 if sum(map(len, names)) > _UPRIGHT else 0)
        _name(right.yaxis, centres, names, 0)


def _name(axis: Axis, centres: Sequence[float], names: Sequence[str], rotation: float) -> None:
    axis.set_ticks(list(centres), list(names), rotation=rotation, fontsize=7)
    axis.set_tick_params(length=0)


def _runs(names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Gather equal neighbours: name, first place, and the place after the last."""
    start = 0
    for name, own in groupby(names):
        end = start + sum(1 for _ in own)
        yield name, start, end
        start = end
