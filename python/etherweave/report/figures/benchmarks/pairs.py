"""All pairs of hosts, as a map."""

from dataclasses import dataclass
from textwrap import fill

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.exhibit import Exhibit

PAIRS_LEAST = 3
"""Fewer are no map."""
COLOURS = "cividis"
ABSENT = "#e4e4e4"
_TITLE = 36
"""Characters in a line of a map's title."""
_NAMED_MOST = 48
"""Hosts whose names fit beside a map."""


@dataclass(frozen=True)
class _Map:
    """Values between hosts."""

    title: str
    label: str
    hosts: list[str]
    values: npt.NDArray[np.float64]
    """Not a number where nothing was measured; rows send."""


def bandwidths(found: Benchmarks) -> Exhibit | None:
    """Show the bandwidth of every pair, at its largest size."""
    return _exhibit(found, "pairs_bandwidth", "Bandwidth of every pair", "B/s", 8e-9, "Gb/s")


def latencies(found: Benchmarks) -> Exhibit | None:
    """Show the latency of every pair, at its smallest size."""
    return _exhibit(found, "pairs_latency", "Time of every pair", "s", 1e6, "us")


exhibits = (bandwidths, latencies)


def _exhibit(
    found: Benchmarks, name: str, title: str, unit: str, scale: float, label: str
) -> Exhibit | None:
    maps = _maps(found, unit, scale, label)
    if not maps:
        return None
    side = 4.4 if len(maps) > 1 else 6.0
    figure = Figure(figsize=(9, side * ((len(maps) + 1) // 2)))
    panels = figure.subplots((len(maps) + 1) // 2, min(len(maps), 2), squeeze=False).ravel()
    for axes, one in zip(panels, maps, strict=False):
        _draw(figure, axes, one)
    for axes in panels[len(maps) :]:
        axes.set_visible(False)
    size = "largest" if unit == "B/s" else "smallest"
    caption = (
        f"Medians at the {size} message size. Hosts stand in the order of the site's file: one "
        "that follows the topology shows its groups as blocks. Grey was not measured."
    )
    return Exhibit(name, title, caption, figure)


def _maps(found: Benchmarks, unit: str, scale: float, label: str) -> list[_Map]:
    if not found.points.height:
        return []
    rows = _between(found.points.filter(unit=unit))
    order = _order(found)
    maps = []
    for names, own in rows.group_by(["program", "metric", "rest", "fabric"], maintain_order=True):
        sizes = own["size_bytes"].drop_nulls()
        if sizes.len():
            size = sizes.max() if unit == "B/s" else sizes.min()
            own = own.filter(size_bytes=size)
        if own.select("one", "other").n_unique() >= PAIRS_LEAST:
            title = " ".join(str(name) for name in names if name)
            maps.append(_map(title, label, order, own, scale))
    return maps


def _between(points: pl.DataFrame) -> pl.DataFrame:
    """Tell which two hosts a point is between: by its labels, or as it ran on two only."""
    labels, hosts = pl.col("labels"), pl.col("hosts").str.split(",")
    is_pair = hosts.list.len() == 2
    one = pl.coalesce(
        labels.str.extract(r"(?:^| )from=(\S+)"), pl.when(is_pair).then(hosts.list.first())
    )
    other = pl.coalesce(
        labels.str.extract(r"(?:^| )to=(\S+)"), pl.when(is_pair).then(hosts.list.last())
    )
    rest = labels.str.replace_all(r"\b(?:from|to)=\S+", "").str.strip_chars()
    named = points.with_columns(one=one, other=other, rest=rest)
    return named.filter(pl.col("one").is_not_null() & pl.col("other").is_not_null())


def _order(found: Benchmarks) -> list[str]:
    return list(dict.fromkeys(host for one in found.facts["experiments"] for host in one["hosts"]))


def _map(title: str, label: str, order: list[str], rows: pl.DataFrame, scale: float) -> _Map:
    present = dict.fromkeys([*rows["one"], *rows["other"]])
    hosts = [host for host in order if host in present]
    hosts += [host for host in present if host not in hosts]
    values = np.full((len(hosts), len(hosts)), np.nan)
    is_directed = rows["labels"].str.contains("from=").any()
    for one, other, median in rows.select("one", "other", "median").iter_rows():
        place = hosts.index(one), hosts.index(other)
        values[place] = median * scale
        if not is_directed:
            values[place[::-1]] = median * scale
    return _Map(title, label, hosts, values)


def _draw(figure: Figure, axes: Axes, one: _Map) -> None:
    axes.set_facecolor(ABSENT)
    image = axes.imshow(one.values, cmap=COLOURS, interpolation="nearest")
    figure.colorbar(image, ax=axes, label=one.label, shrink=0.8)
    axes.set_title(fill(one.title, _TITLE), fontsize=9)
    axes.grid(visible=False)
    axes.set_xlabel("to")
    axes.set_ylabel("from")
    if len(one.hosts) <= _NAMED_MOST:
        places = range(len(one.hosts))
        axes.set_xticks(places, one.hosts, rotation=90, fontsize=6)
        axes.set_yticks(places, one.hosts, fontsize=6)
