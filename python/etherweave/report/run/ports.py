"""Results of a run at switches: maps of their ports, pauses, counters, and totals of transports."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from tomllib import loads as loads_toml
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from etherweave import _core
from etherweave.api import overview, toml
from etherweave.api.results import Result
from etherweave.api.what_if import BY_FLOW
from etherweave.report.section import Section, Table
from etherweave.report.style import INK

NAMED_MAX = 40  # Rows with a name each.


@dataclass(frozen=True)
class MapLayer:
    """Layer of one column of port_maps."""

    column: str  # Column of :func:`ports`.
    title: str  # Above the map.


def _counted_ns(result: Result) -> float:
    """Return for how long counters counted: the whole run, its warm-up included [ns]."""
    return max(float(result.summary["end_ns"]), 1.0)


@lru_cache(maxsize=8)
def _hosts(resolved: str) -> frozenset[str] | None:
    """Name the hosts of a resolved scenario; None of one that this version does not read."""
    scenario = loads_toml(resolved)
    keys: tuple[str, ...] = ("topology", "host_ports")  # Not jobs, whose files may be gone.
    text = toml.document({key: scenario[key] for key in keys if key in scenario})
    try:
        fabric = _core.Fabric.parse(text, "result", [])
    except _core.ScenarioError:
        return None
    return frozenset(fabric.tables["hosts"].values("host"))


def _is_host(result: Result) -> pl.Expr:
    """Make the condition that a row of ``ports`` is of a host; imports name hosts as they like."""
    hosts, node = _hosts(result.resolved), pl.col("node")
    return node.str.starts_with("host") if hosts is None else node.is_in(hosts)


def ports(result: Result) -> pl.DataFrame:
    """List the switch ports that did anything, with shares of time and of the line rate [%]."""
    return _shares(result, result.to_polars("ports").filter(~_is_host(result)))


def host_ports(result: Result) -> pl.DataFrame:
    """List the ports of hosts that did anything, with the same shares."""
    return _shares(result, result.to_polars("ports").filter(_is_host(result)))


def _shares(result: Result, table: pl.DataFrame) -> pl.DataFrame:
    time = _counted_ns(result)
    capacity = pl.col("rate_gbps").first() * time / 8 / 100
    return table.group_by("node", "port", "peer", "class", maintain_order=True).agg(
        sent=pl.col("tx_bytes").sum() / capacity,
        received=pl.col("rx_bytes").sum() / capacity,
        is_paused=pl.col("rx_pause_duration_ns").max() / time * 100,
        pauses=pl.col("tx_pause_duration_ns").max() / time * 100,
    )


def link_loads(result: Result) -> dict[tuple[str, str], float]:
    """Return the share of its rate that each link sent in the whole run, by its two ends.

    Of parallel links the busiest counts.
    """
    capacity = pl.col("rate_gbps").first() * _counted_ns(result) / 8
    loads = (
        result.to_polars("ports")
        .group_by("node", "port", "peer", maintain_order=True)
        .agg(load=pl.col("tx_bytes").sum() / capacity)
        .group_by("node", "peer", maintain_order=True)
        .agg(pl.col("load").max())
    )
    return {(node, peer): load for node, peer, load in loads.iter_rows()}


def port_maps(
    tables: Sequence[tuple[str, pl.DataFrame]], layers: Sequence[MapLayer], unit: str
) -> Figure:
    """Draw maps, a column for each layer and rows for each kind of switch in each table.

    Names of ``tables`` are left out when there is only one; ``unit`` is that of the colours.
    """
    columns = [layer.column for layer in layers]
    top = max(float(table.select(pl.max_horizontal(columns).max()).item()) for _, table in tables)
    bands = [(name, kind, part) for name, table in tables for kind, part in _kinds(table)]
    heights = [min(max(part["node"].n_unique(), 2), 24) for _, _, part in bands]
    figure = Figure(figsize=(9.6, 0.8 + sum(0.62 + 0.16 * height for height in heights)))
    panels = figure.subplots(len(bands), len(layers), squeeze=False, height_ratios=heights)
    scale = Normalize(0, max(top, 1e-9))
    for row, (name, kind, part) in zip(panels, bands, strict=True):
        for axes, layer in zip(row, layers, strict=True):
            _map(axes, part, layer.column, scale)
            words = [name] if len(tables) > 1 else []
            axes.set_title(": ".join([*words, f"{kind}, {layer.title}"]))
    bar = ScalarMappable(scale, "cividis")
    figure.colorbar(bar, ax=panels.ravel().tolist(), label=unit, shrink=0.9, pad=0.01)
    return figure


def _kinds(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Part switches by the word in their names, such as leaves and cores."""
    kind = pl.col("node").str.extract(r"^(\D*)").alias("kind")
    parts = table.with_columns(kind).group_by("kind", maintain_order=True)
    return sorted(((str(key), part) for (key,), part in parts), key=lambda pair: pair[0] != "leaf")


def _map(axes: Axes, part: pl.DataFrame, column: str, scale: Normalize) -> None:
    nodes = sorted(part["node"].unique(), key=_number)
    grid = np.full((len(nodes), int(part["port"].max()) + 1), np.nan)  # type: ignore[arg-type]
    rows = part["node"].replace_strict(nodes, range(len(nodes)), return_dtype=pl.Int64).to_numpy()
    grid[rows, part["port"].to_numpy()] = part[column].to_numpy()
    axes.set_facecolor("#eeeeee")
    look: dict[str, Any] = {"edgecolors": "white", "linewidth": 0.4} if grid.size <= 2000 else {}
    # By colour alone: a map of many ports becomes an image.
    axes.pcolormesh(grid, cmap="cividis", norm=scale, rasterized=grid.size > 2000, **look)
    axes.invert_yaxis()
    axes.grid(visible=False)
    _name_axes(axes, nodes, grid)
    _draw_border(axes, part)


def _name_axes(axes: Axes, nodes: list[str], grid: npt.NDArray[np.float64]) -> None:
    step = -(-len(nodes) // NAMED_MAX)
    axes.set_yticks(np.arange(0, len(nodes), step) + 0.5)
    axes.yaxis.set_major_formatter(lambda place, _: nodes[int(place)])
    every = -(-grid.shape[1] // 16)
    places = np.arange(0, grid.shape[1], every)
    axes.set_xticks(places + 0.5)
    axes.xaxis.set_major_formatter(lambda place, _: str(int(place)))
    axes.tick_params(length=0, labelsize=7)
    axes.set_xlabel("port", fontsize=8, labelpad=1)


def _draw_border(axes: Axes, part: pl.DataFrame) -> None:
    """Draw a line between ports to hosts and ports to switches, where one can be drawn."""
    to_hosts = part.filter(pl.col("class") == "host")["port"]
    others = part.filter(pl.col("class") != "host")["port"]
    if to_hosts.is_empty() or others.is_empty():
        return
    last, first = int(to_hosts.max()), int(others.min())  # type: ignore[arg-type]
    if last < first:
        axes.axvline(first, color=INK, linewidth=1.5)


def _number(node: str) -> tuple[str, int]:
    digits = re.search(r"\d+$", node)
    return (node, 0) if digits is None else (node[: digits.start()], int(digits[0]))


UNEVEN_MIN = 1.25
"""Load of a switch's busiest link over the mean of its links, from which on they are uneven."""
BUSY_MIN = 50  # Load of a link from which on messages wait for each other there [% of its rate].
TREES = {"fat_tree", "folded_clos", "rail_optimised"}
"""Fabrics in which all uplinks of a switch lead to any host."""
UTILISATION_CAPTION = (
    "Bytes on the wire, preamble and gap included, against what the link could carry in the whole "
    "run, warm-up included. A line separates a leaf's ports to hosts (left) from its uplinks. "
    "Ports without traffic have no colour."
)
UTILISATION_LAYERS = [MapLayer("sent", "sent"), MapLayer("received", "received")]


def busiest(result: Result) -> list[str]:
    """Name the link that carried most of its rate."""
    table = ports(result)
    if table.is_empty():
        return []
    rows = table.select("node", "port", "peer", pl.max_horizontal("sent", "received").alias("load"))
    node, port, peer, load = rows.sort("load", descending=True).row(0)
    return [f"busiest link: {node} port {port} to {peer}, {load:.0f} % of its rate"]


def spread(result: Result) -> list[str]:
    """Say how evenly switches with hosts load their other links, and what follows if they do not.

    In trees these links are equal, so that an unequal load is due to the choice of paths.
    """
    table = ports(result)
    leaves = table.filter(pl.col("class") == "host")["node"].unique().implode()
    uplinks = table.filter(pl.col("class") != "host", pl.col("node").is_in(leaves))
    loads = uplinks.group_by("node", maintain_order=True).agg(
        pl.len(), high=pl.col("sent").max(), ratio=pl.col("sent").max() / pl.col("sent").mean()
    )
    uneven = loads.filter(
        pl.col("len") > 1, pl.col("ratio") >= UNEVEN_MIN, pl.col("high") >= BUSY_MIN
    )
    if uneven.is_empty():
        return []
    node, _, _, ratio = uneven.sort("high", descending=True).row(0)
    low, mean, high = uplinks.select(
        pl.col("sent").min(),
        pl.col("sent").mean().alias("mean"),
        pl.col("sent").max().alias("high"),
    ).row(0)
    text = (
        f"links between switches: those of switches with hosts send {low:.0f} to {high:.0f} % of "
        f"their rate, {mean:.0f} % on the mean; the busiest of {node} sends {ratio:.1f} times as "
        "much as the mean of its links"
    )
    scenario = loads_toml(result.resolved)
    if scenario.get("routing") in BY_FLOW and TREES & scenario["topology"].keys():
        text += (
            ". Hashes choose a path for each flow: `etherweave explain --what-if` says what a path "
            "for each packet would save"
        )
    return [f"{text}."]


def utilisation(result: Result) -> Section | None:
    """Show the utilisation of every switch port, in both directions."""
    table = ports(result)
    if table.is_empty():
        return None
    figure = port_maps([("", table)], UTILISATION_LAYERS, "of the line rate [%]")
    caption = " ".join([*spread(result), UTILISATION_CAPTION])
    return Section("utilisation", "Link utilisation", caption[0].upper() + caption[1:], figure)


PAUSES_CAPTION = (
    "A paused link holds back all packets of the priority, also those to idle destinations: ECN "
    "with DCQCN makes senders slow down before. Share of the whole run. Left: the peer, a NIC "
    "or a switch, had the port stopped. Right: the port had its peer stopped. Of several "
    "priorities the longest."
)
PAUSES_LAYERS = [
    MapLayer("is_paused", "stopped by the peer"),
    MapLayer("pauses", "stopping the peer"),
]


def pauses(result: Result) -> Section | None:
    """Show for how long every switch port was paused, and paused its peer."""
    table = ports(result)
    if table.is_empty():
        return None
    if float(table.select("is_paused", "pauses").sum().sum_horizontal()[0]) == 0:
        return Section("pauses", "Pauses", "No port was ever paused.")
    figure = port_maps([("", table)], PAUSES_LAYERS, "of the time [%]")
    return Section("pauses", "Pauses", PAUSES_CAPTION, figure)


COUNTER_COLUMNS = {
    "tx_packets": "sent",
    "rx_packets": "received",
    "tx_pause_packets": "pauses sent",
    "rx_pause_packets": "pauses received",
    "tx_pause_duration_ns": "stopping [us]",
    "rx_pause_duration_ns": "stopped [us]",
    "rx_pause_duration_ns_max": "longest stop [us]",
    "credit_wait_duration_ns": "without credits [us]",
    "drops_packets": "drops",
    "fcs_errors": "FCS errors",
    "ecn_marked_packets": "ECN marks",
    "occupancy_bytes_max": "peak queue [B]",
}
ROWS_MAX = 200  # Ports that are listed one by one.


def counters(result: Result) -> Section | None:
    """List the counters by switch and priority, and the ports where something happened."""
    ports = result.to_polars("ports")
    if ports.is_empty():
        return None
    tables = [_by_node(ports, _is_host(result)), *_eventful(ports)]
    return Section("counters", "Port counters", "", None, tables)


def _by_node(ports: pl.DataFrame, is_host: pl.Expr) -> Table:
    node = pl.when(is_host).then(pl.lit("all hosts")).otherwise(pl.col("node")).alias("node")
    peaks = [name for name in COUNTER_COLUMNS if name.endswith("_max")]
    amounts = [name for name in COUNTER_COLUMNS if name not in peaks]
    sums = (
        ports.with_columns(node)
        .group_by("node", "priority", maintain_order=True)
        .agg(pl.col(amounts).sum(), pl.col(peaks).max())
        .select("node", "priority", *COUNTER_COLUMNS)
    )
    caption = (
        "Sums over ports, the longest stop and the largest peak. Packets unless a unit is given."
    )
    return _counter_table(("node", "priority"), sums, caption, len(sums) > 24)


def _eventful(ports: pl.DataFrame) -> list[Table]:
    events = [
        "tx_pause_packets",
        "rx_pause_packets",
        "credit_wait_duration_ns",
        "drops_packets",
        "fcs_errors",
        "ecn_marked_packets",
    ]
    keys = ("node", "port", "peer", "priority")
    rows = ports.filter(pl.sum_horizontal(events) > 0).select(*keys, *COUNTER_COLUMNS)
    if rows.is_empty():
        return []
    caption = f"Ports with pauses, waits for credits, drops, FCS errors or ECN marks: {len(rows):,}"
    if len(rows) > ROWS_MAX:
        caption += f", of which the first {ROWS_MAX} are listed; ports.parquet has all"
    return [_counter_table(keys, rows.head(ROWS_MAX), f"{caption}.", True)]


def _counter_table(keys: Sequence[str], rows: pl.DataFrame, caption: str, is_folded: bool) -> Table:
    durations = [name for name in COUNTER_COLUMNS if "_duration_ns" in name]
    us = pl.col(durations) / 1e3
    cells = [[_cell(value) for value in row] for row in rows.with_columns(us).rows()]
    return Table([*keys, *COUNTER_COLUMNS.values()], cells, caption, is_folded)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def flows(result: Result) -> Section | None:
    """Sum payload, packets, what was repeated and what arrived out of order by transport."""
    counts = ("bytes", "packets", "retransmissions", "timeouts", "out_of_order", "naks")
    groups = (
        group.group_by("transport", maintain_order=True).agg(pl.len(), pl.col(counts).sum())
        for group in result.frames("flows")
    )
    sums = pl.concat(groups).group_by("transport", maintain_order=True).agg(pl.all().sum())
    if sums.is_empty():
        return None
    cells = [[name, *(f"{count:,}" for count in values)] for name, *values in sums.rows()]
    titles = ("payload [B]", "packets", "retransmissions", "timeouts", "out of order", "NAKs")
    head = ("transport", "flows", *titles)
    return Section("flows", "Transports", "", None, [Table(head, cells)])


def failures(result: Result) -> Section | None:
    """List what links lost while they were down, and say when the loss was made good."""
    figures = overview.failures(result)
    if not figures:
        return None
    text = "No connection sent data again."
    if figures["recovered_us"] is not None:
        text = (
            f"{figures['connections']:,} connections sent data again; the last of it arrived at "
            f"{figures['recovered_us']:,.2f} us."
        )
    cells = [
        [_cell(value) if value is not None else "–" for value in link.values()]
        for link in figures["links"][:ROWS_MAX]
    ]
    lost = ("packets lost", "bytes lost", "last loss [us]")
    head = ("link", "from [us]", "until [us]", *lost, "connections", "recovered [us]")
    return Section("failures", "Links that were down", text, None, [Table(head, cells)])
