"""Sections of the report: figures 4 and 8 to 10, Halo3D on every node, maps of the fabric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from etherweave.api.results import Result
from etherweave.report.run.hosts import scatter
from etherweave.report.run.ports import MapLayer, port_maps, ports
from etherweave.report.section import Section, Table
from etherweave.report.study.charts import DrawnBar, bars_table, draw_bars
from etherweave.report.style import COLOURS, INK, LABELS, POINTS_MAX, SERIES, key, line, mark
from etherweave.study import PublishedValue, StudyResult

from .interference import CASES, case_results, colour, iterations, label, totals_s
from .study import PLACEMENT_SEEDS, SIZES, SOURCES, STREAMS, goodput_gbps
from .tables import table_1, table_2, table_3

__all__ = [
    "figure_04",
    "figure_08",
    "figure_09",
    "figure_10",
    "halo3d_fabric",
    "halo3d_nodes",
    "pauses_fabric",
    "placements",
    "table_1",
    "table_2",
    "table_3",
]

OPTIONS = ("roce_v2", "tcp", "tcp_pfc")  # Network options of the application proxies.

INCAST_CAPTION = (
    "Payload per time into one host, by the number of sending processes: sources times streams of "
    "each. A panel for each message size and transport; as published, 8 B have a scale of their "
    "own. Dashed: what the text says, for sizes from 10 kB on over TCP, from 1 kB to 1 MB over "
    "RoCE. The publication ends at 1 MB."
)
INCAST_TRANSPORTS = ("tcp", "roce_v2")
MARKERS = "os^D"


@dataclass(frozen=True)
class IncastPanel:
    """A panel of figure 4."""

    transport: str  # Name in experiments.
    size: str  # Size of the messages.
    rates: Mapping[tuple[int, int], float]  # Goodput by sources and streams [Gb/s].
    published: Mapping[str, PublishedValue]  # Published values of this case, with short labels.


def figure_04(study: StudyResult) -> Section:
    """Show the goodput of every case, and what was published about them."""
    cases = [
        _incast_panel(study, transport, size) for transport in INCAST_TRANSPORTS for size in SIZES
    ]
    figure = Figure(figsize=(9.6, 5.2))
    panels = figure.subplots(len(INCAST_TRANSPORTS), len(SIZES))
    for axes, case in zip(panels.ravel(), cases, strict=True):
        _draw_incast(axes, case)
    _share_scales(panels)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, title="sources", ncols=len(SOURCES), loc="outside lower center")
    title = "Figure 4: incast"
    return Section("figure_04", title, INCAST_CAPTION, figure, [_incast_table(cases)], ["incast.*"])


def _incast_panel(study: StudyResult, transport: str, size: str) -> IncastPanel:
    def rate(sources: int, streams: int) -> float:
        return goodput_gbps(study.result(f"incast.{transport}.{size}.{sources}x{streams}"))

    rates = {(a, b): rate(a, b) for a in SOURCES for b in STREAMS}
    return IncastPanel(transport, size, rates, _published_incast(study, transport, size))


def _draw_incast(axes: Axes, case: IncastPanel) -> None:
    for sources, series, marker in zip(SOURCES, SERIES, MARKERS, strict=False):
        counts = [sources * streams for streams in STREAMS]
        rates = [case.rates[sources, streams] for streams in STREAMS]
        look = {"color": series, "marker": marker, "linewidth": 1.2}
        axes.plot(counts, rates, label=f"{sources}", markersize=4, **look)  # type: ignore[arg-type]
    for name, value in case.published.items():
        line(axes, value, name)
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 4, 16, 40], ["1", "4", "16", "40"])
    axes.minorticks_off()
    axes.set_title(f"{LABELS[case.transport].split()[0]}, {case.size}", fontsize=9)


def _share_scales(panels: "list[list[Axes]]") -> None:
    """Give 8 B a scale of their own and the other sizes one, with names at the edges."""
    for row in panels:
        row[0].set_ylabel("goodput [Gb/s]")
        row[0].set_ylim(bottom=0)
        for place, axes in enumerate(row[1:]):
            axes.set_ylim(0, 109)
            axes.tick_params(labelleft=place == 0)
    for axes in panels[-1]:
        axes.set_xlabel("processes")


def _published_incast(study: StudyResult, transport: str, size: str) -> dict[str, PublishedValue]:
    """Pick the published values of a case, with short labels."""
    values = study.published("4")
    if transport == "tcp" and SIZES.index(size) >= SIZES.index("10kB"):
        return {"many": values["tcp.many_streams"], "one": values["tcp.single_stream"]}
    if transport == "roce_v2" and size in SIZES[1:5]:
        return {"most": values["roce.most"]}
    return {}


def _incast_table(cases: list[IncastPanel]) -> Table:
    head = ("transport", "size", *(f"{a}×{b}" for a in SOURCES for b in STREAMS))
    rows = [
        [LABELS[case.transport], case.size, *(f"{rate:.3g}" for rate in case.rates.values())]
        for case in cases
    ]
    return Table(head, rows, "Goodput [Gb/s], by sources × streams", is_folded=True)


INTERFERENCE_CAPTION = (
    "Time of 16,000 iterations of FFT on a random half of the hosts, alone and with Halo3D on the "
    "other half: the mean over random placements, scaled from the iterations that ran. With ETS "
    "both have a priority of their own with half of the bandwidth each."
)


def figure_08(study: StudyResult) -> Section:
    """Show total times beside the published ones."""
    values = study.published("8")
    drawn = [
        DrawnBar(label(case, "\n"), colour(case), mean(totals_s(study, case)), values.get(case))
        for case in CASES
    ]
    figure = Figure(figsize=(9.6, 3.4))
    draw_bars(figure.subplots(), drawn, "time of FFT [s]")
    title = "Figure 8: FFT with interference from Halo3D"
    checks = ["qos.tcp.*", "qos.roce.*"]
    return Section(
        "figure_08", title, INTERFERENCE_CAPTION, figure, [bars_table(drawn, "s")], checks
    )


PLACEMENTS_CAPTION = (
    "The times of Figure 8, a point for each random placement; each splits the hosts into two "
    "disjoint halves. The publication measured one placement, which it does not name."
)


def placements(study: StudyResult) -> Section:
    """Show FFT's total time on each placement."""
    totals = {case: totals_s(study, case) for case in CASES}
    figure = Figure(figsize=(9.6, 3.2))
    _draw_placements(figure.subplots(), totals, study.published("8"))
    title = "Spread over placements"
    return Section("placements", title, PLACEMENTS_CAPTION, figure, [_placements_table(totals)])


def _draw_placements(
    axes: Axes, totals: dict[str, list[float]], values: Mapping[str, PublishedValue]
) -> None:
    for place, (case, times) in enumerate(totals.items()):
        if case in values:
            mark(axes, place, values[case], width=0.6)
        # Side by side: equal times would hide each other.
        spread = [place + 0.1 * (number - (len(times) - 1) / 2) for number in range(len(times))]
        look = {"color": colour(case), "mec": INK, "mew": 0.6, "markersize": 7}
        axes.plot(spread, times, "o", zorder=6, **look)  # type: ignore[arg-type]
    axes.set_xticks(range(len(totals)), [label(case, "\n") for case in totals])
    axes.tick_params(axis="x", length=0)
    axes.set_yscale("log")
    axes.set_ylabel("time of FFT [s]")
    axes.grid(visible=False, axis="x")
    handles = key(list(values.values()))
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)


def _placements_table(totals: dict[str, list[float]]) -> Table:
    head = ["FFT", *(f"placement of seed {seed} [s]" for seed in PLACEMENT_SEEDS), "spread"]
    return Table(head, [_placement_row(case, times) for case, times in totals.items()])


def _placement_row(case: str, times: list[float]) -> list[str]:
    spread = 100 * (max(times) - min(times)) / mean(times)
    return [label(case), *(f"{time:.3f}" for time in times), f"{spread:.1f} %"]


SCATTER_CAPTION = (
    "Each point is an iteration on one of the 48 nodes, on the first random placement; black: the "
    "median over nodes. The time axis is logarithmic and the same for all panels. "
)
SCATTER_HEAD = (
    "FFT, all placements",
    "iterations",
    "min",
    "median",
    "mean",
    "99 %",
    "max",
    "< 0.25 ms",
)


@dataclass(frozen=True)
class ScatterPanel:
    """A panel of figures 9 and 10."""

    case: str  # Case as listed for all figures of interference.
    published: Mapping[str, PublishedValue]  # Published times of an iteration [ms], with labels.


def _scatter(study: StudyResult, panels: Sequence[ScatterPanel]) -> Figure:
    """Draw panels below each other in two columns, filled row by row."""
    rows = -(-len(panels) // 2)
    figure = Figure(figsize=(9.6, 0.5 + 2.5 * rows))
    grid = figure.subplots(rows, 2, sharey=True, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        _draw_scatter(axes, iterations(case_results(study, panel.case)[0]), panel)
    for axes in grid[len(panels) :]:
        axes.remove()
    return figure


def _draw_scatter(axes: Axes, rows: pl.DataFrame, panel: ScatterPanel) -> None:
    time = pl.col("duration_ns") / 1e6
    numbers, times = rows["iteration"], rows.select(time).to_series()
    look = {"color": colour(panel.case), "markersize": 2.5, "markeredgewidth": 0, "alpha": 0.35}
    axes.plot(numbers, times, "o", rasterized=len(rows) > POINTS_MAX, **look)  # type: ignore[arg-type]
    medians = rows.group_by("iteration").agg(time.median()).sort("iteration")
    axes.plot(medians["iteration"], medians["duration_ns"], color=INK, linewidth=0.9)
    for words, value in panel.published.items():
        line(axes, value, words)
    axes.set_title(label(panel.case))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.set_xlabel("iteration")
    axes.set_ylabel("time [ms]")
    axes.tick_params(labelleft=True)
    axes.margins(x=0.01)


def _scatter_table(study: StudyResult, cases: Sequence[str]) -> Table:
    """List how iteration times of some cases are distributed, over all placements [ms]."""
    return Table(SCATTER_HEAD, [_scatter_row(study, case) for case in cases], "Times in ms.")


def _scatter_row(study: StudyResult, case: str) -> list[str]:
    parts = [iterations(result) for result in case_results(study, case)]
    times = pl.concat(parts)["duration_ns"].to_numpy() / 1e6
    values = [times.min(), np.median(times), times.mean(), np.quantile(times, 0.99), times.max()]
    share = 100 * float((times < 0.25).mean())
    return [label(case), f"{len(times):,}", *(f"{value:.3f}" for value in values), f"{share:.1f} %"]


TCP_CASES = ("tcp.alone", "tcp.loaded", "tcp_pfc.alone", "tcp_pfc.loaded")
FIGURE_09_CAPTION = f"{SCATTER_CAPTION}Dashed: around which times are clustered, as published."


def figure_09(study: StudyResult) -> Section:
    """Show every iteration on every node, with and without flow control and load."""
    typical = {"published": study.published("9")["typical"]}
    figure = _scatter(study, [ScatterPanel(case, typical) for case in TCP_CASES])
    title = "Figure 9: iterations of FFT on every node, TCP"
    return Section(
        "figure_09", title, FIGURE_09_CAPTION, figure, [_scatter_table(study, TCP_CASES)]
    )


ROCE_CASES = ("roce_v2.alone", "roce_v2.loaded", "roce_v2.ets")
FIGURE_10_CAPTION = (
    f"{SCATTER_CAPTION}Dashed, as published: the average alone; below what nearly all iterations "
    "stay with ETS."
)


def figure_10(study: StudyResult) -> Section:
    """Show every iteration on every node."""
    values = study.published("10")
    lines = {
        "roce_v2.alone": {"published average": values["alone"]},
        "roce_v2.ets": {"published: most below": values["ets"]},
    }
    figure = _scatter(study, [ScatterPanel(case, lines.get(case, {})) for case in ROCE_CASES])
    title = "Figure 10: iterations of FFT on every node, RoCE"
    checks = ["qos.roce.ets_most_iterations"]
    return Section(
        "figure_10", title, FIGURE_10_CAPTION, figure, [_scatter_table(study, ROCE_CASES)], checks
    )


NODES_CAPTION = (
    "Each point is an iteration, the dash is a rank's median, dashed is the published mean. On top "
    "Halo3D by itself on the testbed's placement, below beside FFT on the first random placement."
)


def halo3d_nodes(study: StudyResult) -> Section:
    """Show iteration times by rank, with and without load."""
    figure = Figure(figsize=(9.6, 5.2))
    panels = figure.subplots(2, len(OPTIONS), sharex=True, sharey="col")
    means = study.published("5")
    for alone, loaded, option in zip(*panels, OPTIONS, strict=True):
        scatter(alone, _halo3d_rows(study.result(f"halo3d.{option}")), COLOURS[option])
        scatter(loaded, _halo3d_rows(study.result(f"qos.{option}.loaded.1")), COLOURS[option])
        name = LABELS[option].removesuffix(" v2")
        alone.set_title(f"{name}, alone")
        loaded.set_title(f"{name}, with FFT")
        line(alone, means[option], "published mean")
        alone.set_xlabel("")
    return Section("halo3d_nodes", "Iterations of Halo3D on every node", NODES_CAPTION, figure)


def _halo3d_rows(result: Result) -> pl.DataFrame:
    return result.to_polars("iterations").filter(pl.col("job") == "halo3d")


UTILISATION_CAPTION = (
    "Bytes on the wire, preamble and gap included, against what each link could carry in the time "
    "of the run. A line parts a leaf's ports to hosts (left) from its uplinks. Grey: unused."
)
UTILISATION_LAYERS = [MapLayer("sent", "sent"), MapLayer("received", "received")]


def halo3d_fabric(study: StudyResult) -> Section:
    """Show the utilisation of every switch port under each network option."""
    tables = [
        (LABELS[option].removesuffix(" v2"), ports(study.result(f"halo3d.{option}")))
        for option in OPTIONS
    ]
    figure = port_maps(tables, UTILISATION_LAYERS, "of the line rate [%]")
    return Section("halo3d_fabric", "Link utilisation under Halo3D", UTILISATION_CAPTION, figure)


PAUSES_CAPTION = (
    "Share of the time of the run. Left: the peer, a NIC or a switch, had the port "
    "stopped. Right: the port had its peer stopped. Of several priorities the longest."
)
PAUSES_RUNS = {
    "Halo3D, TCP-PFC": "halo3d.tcp_pfc",
    "Halo3D, RoCE": "halo3d.roce_v2",
    "both, RoCE": "qos.roce_v2.loaded.1",
    "both, RoCE, ETS": "qos.roce_v2.ets.1",
}
PAUSES_LAYERS = [MapLayer("is_paused", "stopped"), MapLayer("pauses", "stopping")]


def pauses_fabric(study: StudyResult) -> Section:
    """Show for how long every switch port was paused, and paused its peer."""
    tables = [(name, ports(study.result(run))) for name, run in PAUSES_RUNS.items()]
    figure = port_maps(tables, PAUSES_LAYERS, "of the time [%]")
    return Section("pauses_fabric", "Pauses in the fabric", PAUSES_CAPTION, figure)
