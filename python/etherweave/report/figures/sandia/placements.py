"""The spread of Figure 8 over random placements."""

from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.figures.sandia.interference import CASES, colour, label, totals_s
from etherweave.report.published import published
from etherweave.report.section import Section, Table
from etherweave.report.source import Study
from etherweave.report.style import INK, key, mark
from etherweave.study.sandia.experiments import PLACEMENT_SEEDS

CAPTION = (
    "The times of Figure 8, a point for each random placement; each splits the hosts into two "
    "disjoint halves. The publication measured one placement, which it does not tell."
)


def section(study: Study) -> Section:
    """Show FFT's total time on each placement."""
    totals = {case: totals_s(study, case) for case in CASES}
    figure = Figure(figsize=(9.6, 3.2))
    _draw(figure.subplots(), totals)
    title = "Spread over placements"
    return Section("placements", title, CAPTION, figure, [_table(totals)])


def _draw(axes: Axes, totals: dict[str, list[float]]) -> None:
    values = published(PUBLICATION, "8")
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


def _table(totals: dict[str, list[float]]) -> Table:
    head = ["FFT", *(f"placement of seed {seed} [s]" for seed in PLACEMENT_SEEDS), "spread"]
    return Table(head, [_row(case, times) for case, times in totals.items()])


def _row(case: str, times: list[float]) -> list[str]:
    spread = 100 * (max(times) - min(times)) / mean(times)
    return [label(case), *(f"{time:.3f}" for time in times), f"{spread:.1f} %"]
