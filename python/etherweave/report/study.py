"""The report of the Sandia study: the paper's figures and tables, simulated beside published."""

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.fabric import heat_maps
from etherweave.report.page import COLOURS, Plot, Sheet, write_page
from etherweave.report.run import counters
from etherweave.results import Result
from etherweave.study import Check, StudyResult
from etherweave.study.experiments import PLACEMENT_SEEDS, SIZES, SOURCES, STREAMS
from etherweave.study.figures_of_merit import total_s

OPTIONS = {"roce": "roce_v2", "tcp": "tcp", "tcp_pfc": "tcp_pfc"}


def write_study(study: StudyResult) -> Path:
    """Write the study's page into its directory; returns the page's path."""
    load = _Loader(study.directory)
    by_id = {check.id: check for check in study.checks}
    plots = [
        Plot("point_to_point", "Figures 2 and 3: point to point", BARS, point_to_point(by_id)),
        Plot("incast", "Figure 4: incast", INCAST, incast(load)),
        Plot("proxies", "Figure 5: iteration times", BARS, proxies(by_id)),
        Plot("nodes", "Figures 6 and 7: iterations of every node", NODES, nodes(load)),
        Plot("quality", "Figure 8: FFT beside Halo3D", BARS, quality(by_id)),
        Plot("load", "Figures 9 and 10: FFT with and without load", NODES, loaded(load)),
        Plot(
            "fabric", "The fabric under Halo3D over RoCE", FABRIC, heat_maps(load("halo3d.roce_v2"))
        ),
    ]
    held = sum(check.holds for check in study.checks)
    pace = (
        "All published iterations." if study.full else "Shortened: total times are scaled to all."
    )
    intro = f"{held} of {len(study.checks)} published figures hold. {pace}"
    tables = [
        ("Table I: counters under Halo3D over TCP with PFC", "halo3d.tcp_pfc"),
        ("Table I: counters under Halo3D over RoCE", "halo3d.roce_v2"),
        ("Table II: counters under FFT over RoCE", "fft.roce_v2"),
        ("Table III: counters under both over TCP with PFC", "qos.tcp_pfc.loaded.1"),
        ("Table III: counters under both over RoCE", "qos.roce_v2.loaded.1"),
        ("Table III: counters under both over RoCE with ETS", "qos.roce_v2.ets.1"),
    ]
    sheets = [_verdicts(study.checks), _spread(load)]
    for title, name in tables:
        sheet = counters(load(name))
        sheets.append(Sheet(title, sheet.head, sheet.rows))
    resolved = load("halo3d.roce_v2").resolved
    title = "An evaluation of Ethernet for scientific workloads, simulated"
    return write_page(study.directory, title, intro, sheets, plots, resolved)


BARS = "Bars are simulated; a black mark is the published figure."
INCAST = "Goodput into one host by message size; a line for each number of streams per source."
NODES = "Each point is the mean over the iterations of one rank; bars reach from 1 % to 99 %."
FABRIC = "Each cell is a switch port that sent or received anything."


class _Loader:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, name: str) -> Result:
        return Result.load(self.directory / name)


def _verdicts(checks: list[Check]) -> Sheet:
    rows = []
    for check in checks:
        low, high = ("" if bound is None else f"{bound:g}" for bound in check.tolerance)
        published = "" if check.expected is None else f"{check.expected:g}"
        verdict = "pass" if check.holds else "FAIL"
        bounds = f"{low} … {high}"
        cells = [check.id, check.source, published, bounds, f"{check.value:.4g}", check.unit]
        rows.append([*cells, verdict])
    head = ("check", "source", "published", "holds within", "simulated", "unit", "")
    return Sheet("Simulated against published", head, rows)


def _spread(load: _Loader) -> Sheet:
    """List the total time of FFT for each random placement."""
    cases = ["tcp.alone", "tcp.loaded", "tcp_pfc.alone", "tcp_pfc.loaded"]
    cases += ["roce_v2.alone", "roce_v2.loaded", "roce_v2.ets"]
    rows = []
    for case in cases:
        totals = [total_s(load(f"qos.{case}.{seed}"), "fft") for seed in PLACEMENT_SEEDS]
        spread = f"{100 * (max(totals) - min(totals)) / min(totals):.1f} %"
        rows.append([case, *(f"{total:.3f} s" for total in totals), spread])
    head = ("FFT, 16,000 iterations", *(f"placement {seed}" for seed in PLACEMENT_SEEDS), "spread")
    return Sheet("Random disjoint placements of 48 nodes each", head, rows)


def _bars(axes: Axes, checks: list[Check], labels: list[str], colours: list[str]) -> None:
    axes.bar(labels, [check.value for check in checks], color=colours)
    for place, check in enumerate(checks):
        if check.expected is not None:
            axes.plot(
                [place - 0.35, place + 0.35], [check.expected] * 2, color="black", linewidth=2
            )
    axes.set_ylabel(checks[0].unit)
    axes.grid(visible=False, axis="x")


def point_to_point(checks: dict[str, Check]) -> Figure:
    """Draw bandwidth and latency of the four network options."""
    figure = Figure(figsize=(9, 3))
    panels = figure.subplots(1, 2)
    names = ["roce_v1", "roce_v2", "tcp", "tcp_pfc"]
    colours = [COLOURS["roce"]] * 2 + [COLOURS["tcp"], COLOURS["tcp_pfc"]]
    for axes, what in zip(panels, ("bandwidth", "latency"), strict=True):
        _bars(axes, [checks[f"p2p.{name}.{what}"] for name in names], names, colours)
        axes.set_title(f"{what}, {'4 MB' if what == 'bandwidth' else '0 B'}")
    return figure


def proxies(checks: dict[str, Check]) -> Figure:
    """Draw iteration times of Halo3D and FFT."""
    figure = Figure(figsize=(9, 3))
    panels = figure.subplots(1, 2)
    colours = [COLOURS[name] for name in OPTIONS]
    for axes, proxy in zip(panels, ("halo3d", "fft"), strict=True):
        _bars(
            axes, [checks[f"{proxy}.{name}.iteration"] for name in OPTIONS], list(OPTIONS), colours
        )
        axes.set_title(proxy)
    return figure


def quality(checks: dict[str, Check]) -> Figure:
    """Draw total times of FFT alone, beside Halo3D, and with ETS between them."""
    figure = Figure(figsize=(9, 3))
    axes = figure.subplots()
    names = ["tcp.alone", "tcp.loaded", "roce.alone", "roce.loaded"]
    colours = [COLOURS["tcp_pfc"]] * 2 + [COLOURS["roce"]] * 2
    _bars(axes, [checks[f"qos.{name}"] for name in names], names, colours)
    alone, factor = checks["qos.roce.alone"], checks["qos.roce.ets"]
    axes.bar("roce.ets", alone.value * factor.value, color=COLOURS["roce"])
    axes.plot([3.65, 4.35], [factor.expected or 0] * 2, color="black", linewidth=2)
    return figure


def incast(load: _Loader) -> Figure:
    """Draw a panel for each transport and number of sources."""
    figure = Figure(figsize=(9, 4.6))
    panels = figure.subplots(2, len(SOURCES), sharex=True, sharey=True)
    for row, transport in zip(panels, ("roce_v2", "tcp"), strict=True):
        for axes, sources in zip(row, SOURCES, strict=True):
            for streams in STREAMS:
                names = [f"incast.{transport}.{size}.{sources}x{streams}" for size in SIZES]
                rates = [
                    float(load(name).to_polars("streams")["goodput_gbps"].sum()) for name in names
                ]
                axes.plot(range(len(SIZES)), rates, "o-", markersize=3, label=f"{streams}")
            axes.set_title(f"{transport}, {sources} source{'s' if sources > 1 else ''}", fontsize=8)
            axes.set_xticks(range(len(SIZES)), SIZES, rotation=60, fontsize=7)
        row[0].set_ylabel("goodput [Gb/s]")
    panels[0][0].legend(title="streams", fontsize=7)
    return figure


def _by_rank(axes: Axes, result: Result, job: str, colour: str, label: str) -> None:
    time = pl.col("duration_ns") / 1e6
    rows = (
        result.to_polars("iterations")
        .filter(pl.col("job") == job)
        .group_by("rank")
        .agg(mean=time.mean(), low=time.quantile(0.01), high=time.quantile(0.99))
        .sort("rank")
    )
    middle = rows["mean"].to_numpy()
    span = [middle - rows["low"].to_numpy(), rows["high"].to_numpy() - middle]
    axes.errorbar(
        rows["rank"].to_numpy(),
        middle,
        np.abs(span),
        fmt="o",
        markersize=3,
        elinewidth=0.6,
        color=colour,
        label=label,
    )
    axes.set_xlabel("rank")
    axes.set_ylabel("iteration [ms]")


def nodes(load: _Loader) -> Figure:
    """Draw the iterations of every node under each transport."""
    figure = Figure(figsize=(9, 3.4))
    panels = figure.subplots(1, 2)
    for axes, proxy in zip(panels, ("halo3d", "fft"), strict=True):
        for name, option in OPTIONS.items():
            _by_rank(axes, load(f"{proxy}.{option}"), proxy, COLOURS[name], name)
        axes.set_title(proxy)
        axes.set_ylim(bottom=0)
    panels[0].legend()
    return figure


def loaded(load: _Loader) -> Figure:
    """Draw FFT's iterations alone, beside Halo3D, and with ETS."""
    figure = Figure(figsize=(9, 3.4))
    panels = figure.subplots(1, 2)
    cases = {"tcp_pfc": ("alone", "loaded"), "roce_v2": ("alone", "loaded", "ets")}
    colours = {"alone": "#009e73", "loaded": "#d55e00", "ets": "#0072b2"}
    for axes, (option, kinds) in zip(panels, cases.items(), strict=True):
        for kind in kinds:
            result = load(f"qos.{option}.{kind}.{PLACEMENT_SEEDS[0]}")
            _by_rank(axes, result, "fft", colours[kind], kind)
        axes.set_title(option)
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
