"""Table II: for how long switches were paused, and paused others, under each application."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from etherweave.report.figures import pairs
from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.published import published
from etherweave.report.section import Section, Table
from etherweave.report.source import Study
from etherweave.report.style import LABELS
from etherweave.study.sandia.figures_of_merit import switch_pauses

APPLICATIONS = {"halo3d": "Halo3D", "fft": "FFT", "hpl": "HPL"}
NETWORKS = ("tcp_pfc", "roce_v2")
SIDES = {"rx": "received", "tx": "sent"}
ITERATIONS = 16_000
"""Of Halo3D and of FFT, as published."""
CAPTION = (
    "Sums over the ports of all switches. The publication does not tell the unit of its counters, "
    "so compare ratios. Simulated times are per iteration, since fewer may have run than the "
    f"published {ITERATIONS:,}. HPL is not simulated."
)
HEAD = (
    "application",
    "network",
    "pauses",
    "published [counter units]",
    f"published / {ITERATIONS:,}",
    "simulated [us per iteration]",
)


@dataclass(frozen=True)
class Row:
    """A counter."""

    application: str
    """As experiments name it."""
    network: str
    """Likewise."""
    side: str
    """Which pauses: received (``rx``) or sent (``tx``)."""
    published: float
    """As published [counter units]."""
    simulated: float
    """Per iteration [us]; not a number where nothing is simulated."""


def section(study: Study) -> Section:
    """Show published and simulated durations of pauses."""
    rows = _rows(study)
    figure = Figure(figsize=(9.6, 3.2))
    left, right = figure.subplots(1, 2)
    pairs.draw(left, _pairs(rows, "published"), ("received", "sent"))
    left.set_ylabel("counter units")
    left.set_title("Published")
    pairs.draw(right, _pairs(rows, "simulated"), ("received", "sent"))
    right.set_ylabel("us per iteration")
    right.set_title("Simulated")
    figure.legend(*left.get_legend_handles_labels(), ncols=2, loc="outside lower center")
    title = "Table II: durations of pauses"
    return Section("table_2", title, CAPTION, figure, [_table(rows)], ["pauses.*"])


def _rows(study: Study) -> list[Row]:
    values = published(PUBLICATION, "II")
    rows = []
    for application in APPLICATIONS:
        for network in NETWORKS:
            simulated = _simulated(study, application, network)
            for side in SIDES:
                value = values[f"{application}.{network}.{side}"].low
                assert value is not None, "a table's value is a number"
                rows.append(Row(application, network, side, value, simulated[side]))
    return rows


def _simulated(study: Study, application: str, network: str) -> Mapping[str, float]:
    """Measure pauses of switches per iteration, by side [us]."""
    if application == "hpl":
        return dict.fromkeys(SIDES, math.nan)
    result = study.result(f"{application}.{network}")
    count = int(result.to_polars("iterations")["iteration"].max()) + 1  # type: ignore[arg-type]
    column = "{}_pause_duration_ns"
    return {side: switch_pauses(result, column.format(side)) / 1e3 / count for side in SIDES}


def _pairs(rows: Sequence[Row], column: str) -> list[pairs.Pair]:
    """Pair what was received with what was sent."""
    made = []
    for received, sent in zip(rows[::2], rows[1::2], strict=True):
        label = f"{APPLICATIONS[received.application]}\n{_network(received)}"
        made.append(pairs.Pair(label, getattr(received, column), getattr(sent, column)))
    return [pair for pair in made if math.isfinite(pair.first)]


def _table(rows: Sequence[Row]) -> Table:
    return Table(HEAD, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    names = [APPLICATIONS[row.application], _network(row), SIDES[row.side]]
    simulated = f"{row.simulated:,.2f}" if math.isfinite(row.simulated) else "–"
    each = f"{row.published / ITERATIONS:,.2f}" if math.isfinite(row.simulated) else "–"
    return [*names, f"{row.published:,.0f}", each, simulated]


def _network(row: Row) -> str:
    return LABELS[row.network].removesuffix(" v2")
