"""Table III: pauses that switches received in each priority, under FFT and Halo3D together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from matplotlib.figure import Figure

from etherweave.report.figures import pairs
from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.figures.sandia.interference import iterations, label, results
from etherweave.report.published import published
from etherweave.report.section import Section, Table
from etherweave.report.source import Study
from etherweave.study.sandia.figures_of_merit import ITERATIONS, switch_pauses

CASES = ("tcp_pfc.loaded", "roce_v2.loaded", "roce_v2.ets")
PRIORITIES = (0, 1)
COLUMNS = {"packets": "rx_pause_packets", "duration": "rx_pause_duration_ns"}
CAPTION = (
    "Pauses that switches received, summed over all their ports, per iteration of FFT: published "
    f"sums are divided by {ITERATIONS:,}, simulated ones by the iterations that ran, and averaged "
    "over placements. The publication does not tell the unit of its durations, so compare ratios. "
    "Simulated counts begin with Halo3D, 10 ms before FFT, where the testbed waited 10 s."
)
HEAD = (
    "network",
    "priority",
    "frames, published",
    "per iteration",
    "frames per iteration, simulated",
    "duration, published [counter units]",
    "per iteration",
    "duration per iteration, simulated [us]",
)


@dataclass(frozen=True)
class Row:
    """Counters of one priority, each by its name."""

    case: str
    """Which network."""
    priority: int
    """Of the pauses."""
    published: Mapping[str, float]
    """As published."""
    simulated: Mapping[str, float]
    """Per iteration, durations in us."""


def section(study: Study) -> Section:
    """Show published and simulated counters of both priorities."""
    rows = [_row(study, case, priority) for case in CASES for priority in PRIORITIES]
    figure = Figure(figsize=(9.6, 5.4))
    panels = figure.subplots(2, 2)
    units = {"packets": ("frames",) * 2, "duration": ("counter units", "us")}
    for line, (counter, names) in zip(panels, units.items(), strict=True):
        shares = [row.published[counter] / ITERATIONS for row in rows]
        simulated = [row.simulated[counter] for row in rows]
        columns = (("Published", shares), ("Simulated", simulated))
        for axes, unit, (title, values) in zip(line, names, columns, strict=True):
            pairs.draw(axes, _pairs(values), ("priority 0", "priority 1"))
            axes.set_ylabel(f"{unit} per iteration")
            axes.set_title(f"{title}: {counter.replace('packets', 'frames')}")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), ncols=2, loc="outside lower center")
    title = "Table III: pauses by priority"
    return Section("table_3", title, CAPTION, figure, [_table(rows)], ["qos.pauses.*"])


def _row(study: Study, case: str, priority: int) -> Row:
    values = published(PUBLICATION, "III")
    texts = {name: values[f"{case}.{priority}.{name}"].low or 0.0 for name in COLUMNS}
    return Row(case, priority, texts, _simulated(study, case, priority))


def _simulated(study: Study, case: str, priority: int) -> dict[str, float]:
    """Measure pauses per iteration, averaged over placements; durations in us."""
    found = results(study, case)
    counts = [int(iterations(result)["iteration"].max()) + 1 for result in found]  # type: ignore[arg-type]
    sums = {
        name: mean(
            switch_pauses(result, column, priority) / count
            for result, count in zip(found, counts, strict=True)
        )
        for name, column in COLUMNS.items()
    }
    return {**sums, "duration": sums["duration"] / 1e3}


def _pairs(values: Sequence[float]) -> list[pairs.Pair]:
    """Pair the priorities of each network."""
    names = [label(case).replace(" with Halo3D", "").replace(",", " with") for case in CASES]
    both = zip(names, values[::2], values[1::2], strict=True)
    return [pairs.Pair(name, first, second) for name, first, second in both]


def _table(rows: Sequence[Row]) -> Table:
    return Table(HEAD, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    cells = [label(row.case), str(row.priority)]
    for name in COLUMNS:
        value = row.published[name]
        each = f"{value / ITERATIONS:,.2f}"
        cells += [f"{value:,.0f}", each, f"{row.simulated[name]:,.2f}"]
    return cells
