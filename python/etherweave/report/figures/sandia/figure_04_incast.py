"""Figure 4: how much several sources bring into one host."""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.published import Published, published
from etherweave.report.section import Section, Table
from etherweave.report.source import Study
from etherweave.report.style import LABELS, SERIES, line
from etherweave.study.sandia.experiments import SIZES, SOURCES, STREAMS
from etherweave.study.sandia.figures_of_merit import goodput_gbps

CAPTION = (
    "Payload per time into one host, by the number of sending processes: sources times streams of "
    "each. A panel for each message size and transport; as published, 8 B have a scale of their "
    "own. Dashed: what the text says, for sizes from 10 kB on over TCP, from 1 kB to 1 MB over "
    "RoCE. The publication ends at 1 MB."
)
TRANSPORTS = ("tcp", "roce_v2")
MARKERS = "os^D"


@dataclass(frozen=True)
class Case:
    """A panel."""

    transport: str
    """As experiments name it."""
    size: str
    """Of the messages."""
    rates: Mapping[tuple[int, int], float]
    """Of sources and of streams: goodput [Gb/s]."""


def section(study: Study) -> Section:
    """Show the goodput of every case, and what was published about them."""
    cases = [_case(study, transport, size) for transport in TRANSPORTS for size in SIZES]
    figure = Figure(figsize=(9.6, 5.2))
    panels = figure.subplots(len(TRANSPORTS), len(SIZES))
    for axes, case in zip(panels.ravel(), cases, strict=True):
        _panel(axes, case)
    _share_scales(panels)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, title="sources", ncols=len(SOURCES), loc="outside lower center")
    title = "Figure 4: incast"
    return Section("figure_04", title, CAPTION, figure, [_table(cases)], ["incast.*"])


def _case(study: Study, transport: str, size: str) -> Case:
    def rate(sources: int, streams: int) -> float:
        return goodput_gbps(study.result(f"incast.{transport}.{size}.{sources}x{streams}"))

    return Case(transport, size, {(a, b): rate(a, b) for a in SOURCES for b in STREAMS})


def _panel(axes: Axes, case: Case) -> None:
    for sources, colour, marker in zip(SOURCES, SERIES, MARKERS, strict=False):
        counts = [sources * streams for streams in STREAMS]
        rates = [case.rates[sources, streams] for streams in STREAMS]
        look = {"color": colour, "marker": marker, "linewidth": 1.2}
        axes.plot(counts, rates, label=f"{sources}", markersize=4, **look)  # type: ignore[arg-type]
    for label, value in _lines(case).items():
        line(axes, value, label)
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


def _lines(case: Case) -> dict[str, Published]:
    """Pick the published values that speak of this case, with short labels."""
    values = published(PUBLICATION, "4")
    if case.transport == "tcp" and SIZES.index(case.size) >= SIZES.index("10kB"):
        return {"many": values["tcp.many_streams"], "one": values["tcp.single_stream"]}
    if case.transport == "roce_v2" and case.size in SIZES[1:5]:
        return {"most": values["roce.most"]}
    return {}


def _table(cases: list[Case]) -> Table:
    head = ("transport", "size", *(f"{a}×{b}" for a in SOURCES for b in STREAMS))
    rows = [
        [LABELS[case.transport], case.size, *(f"{rate:.3g}" for rate in case.rates.values())]
        for case in cases
    ]
    return Table(head, rows, "Goodput [Gb/s], by sources × streams", is_folded=True)
