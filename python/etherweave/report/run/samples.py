"""Time series of a run: sampled ports, flows and hosts.

All are lines, ports also maps of links over time. All have a slider over time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.api.results import Result
from etherweave.report.section import Section
from etherweave.report.style import ASIDE, POINTS_MAX, SERIES, literal

LINES_MAX = len(SERIES)
"""Series in a panel: of more, those that reach the highest values of the first panel."""


@dataclass(frozen=True)
class Panel:
    """Panel of one column over time."""

    column: str  # Column of the table of samples.
    label: str  # Label of the axis, with the unit.
    divisor: float = 1  # Divisor of the values, for the unit.


PORT_PANELS = (
    Panel("occupancy_bytes", "queue [kB]", 1e3),
    Panel("throughput_gbps", "throughput [Gb/s]"),
    Panel("paused", "paused [% of the time]"),
)
FLOW_PANELS = (
    Panel("goodput_gbps", "goodput [Gb/s]"),
    Panel("window_bytes", "window [kB]", 1e3),
    Panel("rate_gbps", "rate limiter [Gb/s]"),
)
HOST_PANELS = (
    Panel("user", "programs [cores]"),
    Panel("kernel", "kernel [cores]"),
    Panel("waiting", "waiting ranks [cores]"),
    Panel("sent_gbps", "sent [Gb/s]"),
    Panel("received_gbps", "received [Gb/s]"),
    Panel("paused", "paused [% of the time]"),
    Panel("pausing", "pausing its switch [% of the time]"),
)
MAP_PANELS = (
    Panel("utilisation", "sent [% of the line rate]"),
    Panel("occupancy_bytes", "queue [kB]", 1e3),
    Panel("paused", "paused [% of the time]"),
)
ROWS_MAX, ROWS_NAMED = 128, 32  # Links of a map, and those whose names stand in the picture.
MAPS_CAPTION = (
    "A row for each sampled link. Over each period the bytes on the wire, and for how long the "
    "peer had the port paused, of several priorities the longest; at its end the bytes that wait "
    "for the port, of all priorities."
)
PORTS_CAPTION = (
    "At the end of each period the bytes that wait in the queue of the traffic class (of a NIC, in "
    "its receive buffer); over the period the bytes that were sent on the wire, and for how long "
    "the peer had the port paused."
)
FLOWS_CAPTION = (
    "Over each period the payload that was acknowledged; at its end the congestion window of TCP "
    "or the window of RoCE, and the rate that DCQCN allows."
)
HOSTS_CAPTION = (
    "Over each period the cores that programs and their libraries, the kernel (calls and "
    "interrupts) and waiting ranks took, the bytes on the links of the host, and for how long its "
    "switch had it paused and it had its switch paused, of several priorities the longest. On a "
    "real host a library that polls while its rank waits counts as a program."
)


def host_series(result: Result) -> Section | None:
    """Draw processors, links and pauses of sampled hosts over time."""
    if not result.columns("host_samples"):
        return None
    rows = result.to_polars("host_samples")
    ports, gbps = result.to_polars("port_samples"), pl.col("throughput_gbps").sum()
    paused, pausing = (
        (pl.col(f"{direction}_pause_duration_ns") / pl.col("duration_ns")).max() * 100
        for direction in ("rx", "tx")
    )
    sent = ports.group_by("time_ns", host="node", maintain_order=True).agg(
        sent_gbps=gbps, paused=paused, pausing=pausing
    )
    received = ports.group_by("time_ns", host="peer", maintain_order=True).agg(received_gbps=gbps)
    for links in (sent, received):
        rows = rows.join(links, on=["time_ns", "host"], how="left", maintain_order="left")
    rows = rows.with_columns(
        pl.col("sent_gbps", "received_gbps", "paused", "pausing").fill_null(0.0),
        series="host",
        user=pl.col("user_ns") / pl.col("duration_ns"),
        kernel=(pl.col("system_ns") + pl.col("softirq_ns")) / pl.col("duration_ns"),
        waiting=pl.col("waiting_ns") / pl.col("duration_ns"),
    )
    return _section("host_series", "Hosts over time", HOSTS_CAPTION, rows, HOST_PANELS)


def port_series(result: Result) -> Section | None:
    """Draw queue, throughput and pauses of sampled ports over time."""
    if not result.columns("port_samples"):
        return None
    rows = result.to_polars("port_samples").with_columns(
        paused=pl.col("rx_pause_duration_ns") / pl.col("duration_ns") * 100
    )
    has_priorities = rows["priority"].n_unique() > 1
    name = pl.format("{} port {} to {}", "node", "port", "peer")
    name = pl.format("{}, priority {}", name, "priority") if has_priorities else name
    rows = rows.with_columns(series=name)
    return _section("port_series", "Ports over time", PORTS_CAPTION, rows, PORT_PANELS)


def link_maps(result: Result) -> Section | None:
    """Draw how busy, how full and how long paused sampled links were, a row for each over time."""
    if not result.columns("port_samples"):
        return None
    rates = result.to_polars("ports").select("node", "port", "rate_gbps").unique()
    share = (
        pl.col("tx_bytes").sum() * 8 / pl.col("duration_ns").first() / pl.col("rate_gbps").first()
    )
    rows = (
        result.to_polars("port_samples")
        .join(rates, on=["node", "port"])
        .group_by("time_ns", "node", "port", "peer", maintain_order=True)
        .agg(
            utilisation=share * 100,
            occupancy_bytes=pl.col("occupancy_bytes").sum(),
            paused=(pl.col("rx_pause_duration_ns") / pl.col("duration_ns")).max() * 100,
        )
        .with_columns(series=pl.format("{} port {} to {}", "node", "port", "peer"))
    )
    if rows["time_ns"].n_unique() < 2:
        return None
    caption, count = MAPS_CAPTION, rows["series"].n_unique()
    names = _highest(rows, "utilisation", ROWS_MAX)
    if count > len(names):
        caption += f" Of {count:,} links the {len(names)} busiest; port_samples.parquet has all."
    shown = [panel for panel in MAP_PANELS if rows[panel.column].sum() > 0] or [MAP_PANELS[0]]
    height = 0.7 + 0.16 * max(len(names), 3)
    figure = Figure(figsize=(9, 0.5 + height * len(shown)))
    column = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(column, shown, strict=True):
        _draw_map(axes, rows, names, panel)
    column[-1].set_xlabel("simulated time [us]")
    return Section("link_maps", "Links by time", caption, figure, has_time=True)


def _draw_map(axes: Axes, rows: pl.DataFrame, names: Sequence[str], panel: Panel) -> None:
    wide = rows.pivot(on="time_ns", index="series", values=panel.column)
    grid = pl.DataFrame({"series": names}).join(
        wide, on="series", how="left", maintain_order="left"
    )
    values = grid.drop("series").to_numpy().astype(float) / panel.divisor
    ends = np.array([float(time) for time in grid.columns[1:]]) / 1e3
    edges = np.concatenate([[max(2 * ends[0] - ends[1], 0)], ends])
    mesh = axes.pcolormesh(
        edges, np.arange(len(names) + 1), values, cmap="cividis", rasterized=True
    )
    mesh.set_clim(0, max(float(np.nanmax(values)), 1e-9))
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set_yticks(np.arange(0, len(names), -(-len(names) // ROWS_NAMED)) + 0.5)
    axes.yaxis.set_major_formatter(lambda place, _: literal(names[int(place)]))
    axes.tick_params(axis="y", length=0, labelsize=7)
    axes.set_title(panel.label)
    axes.figure.colorbar(mesh, ax=axes, pad=0.01)


def flow_series(result: Result) -> Section | None:
    """Draw goodput, window and rate of sampled flows over time."""
    if not result.columns("flow_samples"):
        return None
    rows = result.to_polars("flow_samples")
    pairs = rows.select("source_host", "destination_host", "flow").unique()
    has_parallel = pairs.select("source_host", "destination_host").is_duplicated().any()
    name = pl.format("{} to {}", "source_host", "destination_host")
    name = pl.format("{}, flow {}", name, "flow") if has_parallel else name
    rows = rows.with_columns(series=name)
    return _section("flow_series", "Flows over time", FLOWS_CAPTION, rows, FLOW_PANELS)


def _section(
    name: str, title: str, caption: str, rows: pl.DataFrame, panels: Sequence[Panel]
) -> Section | None:
    if rows.is_empty():
        return None
    shown = [panel for panel in panels if _is_known(rows, panel)]
    chosen = _highest(rows, shown[0].column)
    count = rows["series"].n_unique()
    if count > len(chosen):
        caption += (
            f" Of {count:,} series the {len(chosen)} highest; {name[:4]}_samples.parquet has all."
        )
    figure = Figure(figsize=(9, 2.1 * len(shown) + 0.5))
    column = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(column, shown, strict=True):
        _draw(axes, rows, chosen, panel)
    column[0].legend(**ASIDE)
    column[-1].set_xlabel("simulated time [us]")
    return Section(name, title, caption, figure, has_time=True)


def _is_known(rows: pl.DataFrame, panel: Panel) -> bool:
    """Return whether there is anything to draw: a rate limiter, or a pause."""
    values = rows[panel.column].cast(pl.Float64)
    return bool(values.is_not_nan().any()) and (
        not panel.column.startswith("paus") or values.sum() > 0
    )


def _highest(rows: pl.DataFrame, column: str, most: int = LINES_MAX) -> list[str]:
    """Name the series with the highest values, in the order of the table."""
    order = rows["series"].unique(maintain_order=True).to_list()
    tops = rows.group_by("series", maintain_order=True).agg(
        pl.col(column).max(), pl.col(column).sum().alias("sum")
    )
    ranked = tops.sort(column, "sum", "series", descending=[True, True, False])
    names = set(ranked["series"].head(most).to_list())
    return [name for name in order if name in names]


def _draw(axes: Axes, rows: pl.DataFrame, names: Sequence[str], panel: Panel) -> None:
    for name, colour in zip(names, SERIES, strict=False):
        line = rows.filter(series=name)
        values = line[panel.column] / panel.divisor
        is_long = len(line) > POINTS_MAX
        look: dict[str, Any] = {"color": colour, "label": literal(name), "rasterized": is_long}
        axes.plot(line["time_ns"] / 1e3, values, linewidth=1.2, **look)
    axes.set_ylabel(panel.label)
    axes.set_ylim(bottom=0)
