"""Tables I to III of the publication: the set-up, and how long switches were paused."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from tomllib import loads

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.section import Section, Table
from etherweave.report.style import LABELS, SERIES, write_values
from etherweave.study import MissingResultError, StudyResult
from etherweave.study.declared import flat

from .interference import case_results, iterations, label
from .study import ITERATIONS, switch_pauses

SETUP_CAPTION = (
    "The testbed as published, and what stands for it in the resolved scenarios of Halo3D."
)

SETUP_ROWS = {
    "cpu": (
        "CPU",
        (
            "costs of calls, bytes, frames and interrupts: a received KiB takes "
            "{tcp[host.cpu.receive_per_kib]}, an interrupt {tcp[host.cpu.interrupt]}"
        ),
    ),
    "kernel": ("OS", "timer slack of {tcp[host.timer_slack]}"),
    "nic": (
        "NIC",
        (
            "receive buffer of {tcp[nic.receive_buffer]}, which pauses the switch at "
            "{tcp[nic.xoff]}; {tcp[nic.transmit_latency]} to send, {tcp[nic.receive_latency]} to "
            "receive"
        ),
    ),
    "nic_driver": ("NIC driver and firmware", "not modelled"),
    "switch": (
        "switches",
        "{tcp[switch.forwarding]}, {tcp[switch.latency]}, shared buffer of {tcp[switch.buffer]}",
    ),
    "mtu": (
        "MTU [B]",
        (
            "TCP segments of {tcp[transport.tcp.mss]}, RDMA path MTU of "
            "{roce[transport.roce.path_mtu]}"
        ),
    ),
    "txqueuelen": ("txqueuelen", "not modelled"),
    "tcp_rmem": (
        "tcp_rmem [B]",
        (
            "{tcp[transport.tcp.receive_buffer_initial]} at first, at most "
            "{tcp[transport.tcp.receive_buffer]}"
        ),
    ),
    "tcp_wmem": ("tcp_wmem [B]", "{tcp[transport.tcp.send_buffer]}"),
    "tcp_congestion_control": ("TCP congestion control", "{tcp[transport.tcp.congestion_control]}"),
}
"""Names, and words about the simulation with keys of its scenarios, by published case."""


def table_1(study: StudyResult) -> Section:
    """List the set-up of the testbed beside that of the simulation."""
    tcp, roce = (_resolved(study, f"halo3d.{option}") for option in ("tcp", "roce_v2"))
    values = study.published("I")
    published = {case: values[case].words for case in SETUP_ROWS}
    try:
        rows = [
            [name, published[case], words.format(tcp=tcp, roce=roce)]
            for case, (name, words) in SETUP_ROWS.items()
        ]
    except KeyError as error:
        wrong = f"no {error.args[0]} in the scenarios halo3d.tcp and halo3d.roce_v2"
        raise MissingResultError(wrong) from None
    table = Table(("", "testbed", "simulation"), rows)
    return Section("table_1", "Table I: set-up", SETUP_CAPTION, None, [table])


def _resolved(study: StudyResult, experiment: str) -> dict[str, str]:
    """Read a resolved scenario by dotted keys, with the name of the forwarding in words."""
    values = dict(flat(loads(study.result(experiment).resolved)))
    forwarding = str(values["switch.forwarding"]).replace("_", "-")
    return {key: str(value) for key, value in values.items()} | {"switch.forwarding": forwarding}


PAIR_WIDTH = 0.4


@dataclass(frozen=True)
class Pair:
    """Two counters of the same kind."""

    label: str  # Below both.
    first: float  # Left bar; not a number when there is none.
    second: float  # Right bar.


def _draw_pairs(axes: Axes, pairs: Sequence[Pair], names: tuple[str, str]) -> None:
    """Draw pairs of bars, with their values at their feet.

    Parameters
    ----------
    axes
        To draw into.
    pairs
        From left to right.
    names
        Of the left and the right bars, for a legend.
    """
    columns = ([pair.first for pair in pairs], [pair.second for pair in pairs])
    sides = zip(columns, names, (-PAIR_WIDTH / 2, PAIR_WIDTH / 2), SERIES, strict=False)
    axes.set_yscale("symlog", linthresh=1)
    for values, name, shift, colour in sides:
        places = [place + shift for place in range(len(pairs))]
        drawn = axes.bar(places, values, PAIR_WIDTH * 0.95, color=colour, label=name)
        write_values(axes, drawn, size=7)
    axes.set_xticks(range(len(pairs)), [pair.label for pair in pairs])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(pairs) - 0.4)
    axes.set_ylim(0, max(axes.dataLim.y1 * 3, 10))
    axes.grid(visible=False, axis="x")


APPLICATIONS = {"halo3d": "Halo3D", "fft": "FFT", "hpl": "HPL"}
NETWORKS = ("tcp_pfc", "roce_v2")
SIDES = {"rx": "received", "tx": "sent"}
TABLE_2_CAPTION = (
    "Sums over the ports of all switches. The publication does not give the unit of its counters, "
    "so compare ratios. Simulated times are per iteration, since fewer may have run than the "
    f"published {ITERATIONS:,}. Of HPL "
    "some panels are simulated, so its pauses are published ones only."
)
TABLE_2_HEAD = (
    "application",
    "network",
    "pauses",
    "published [counter units]",
    f"published / {ITERATIONS:,}",
    "simulated [us per iteration]",
)


@dataclass(frozen=True)
class PauseCounter:
    """A counter."""

    application: str  # Name in experiments.
    network: str  # Likewise.
    side: str  # Direction of the pauses: received (``rx``) or sent (``tx``).
    published: float  # Value as published [counter units].
    simulated: float  # Per iteration [us]; not a number where nothing is simulated.


def table_2(study: StudyResult) -> Section:
    """Show published and simulated durations of pauses."""
    rows = _pause_counters(study)
    figure = Figure(figsize=(9.6, 3.2))
    left, right = figure.subplots(1, 2)
    _draw_pairs(left, _side_pairs(rows, "published"), ("received", "sent"))
    left.set_ylabel("counter units")
    left.set_title("Published")
    _draw_pairs(right, _side_pairs(rows, "simulated"), ("received", "sent"))
    right.set_ylabel("us per iteration")
    right.set_title("Simulated")
    figure.legend(*left.get_legend_handles_labels(), ncols=2, loc="outside lower center")
    title = "Table II: durations of pauses"
    return Section("table_2", title, TABLE_2_CAPTION, figure, [_table_2(rows)], ["pauses.*"])


def _pause_counters(study: StudyResult) -> list[PauseCounter]:
    values = study.published("II")
    rows = []
    for application in APPLICATIONS:
        for network in NETWORKS:
            simulated = _simulated_pauses(study, application, network)
            for side in SIDES:
                value = values[f"{application}.{network}.{side}"].low
                assert value is not None, "a table's value is a number"
                rows.append(PauseCounter(application, network, side, value, simulated[side]))
    return rows


def _simulated_pauses(study: StudyResult, application: str, network: str) -> Mapping[str, float]:
    """Measure pauses of switches per iteration, by side [us]."""
    if application == "hpl":
        return dict.fromkeys(SIDES, math.nan)
    result = study.result(f"{application}.{network}")
    count = int(result.to_polars("iterations")["iteration"].max()) + 1  # type: ignore[arg-type]
    column = "{}_pause_duration_ns"
    return {side: switch_pauses(result, column.format(side)) / 1e3 / count for side in SIDES}


def _side_pairs(rows: Sequence[PauseCounter], column: str) -> list[Pair]:
    """Pair what was received with what was sent."""
    pairs = []
    for received, sent in zip(rows[::2], rows[1::2], strict=True):
        label = f"{APPLICATIONS[received.application]}\n{_network(received)}"
        pairs.append(Pair(label, getattr(received, column), getattr(sent, column)))
    return [pair for pair in pairs if math.isfinite(pair.first)]


def _table_2(rows: Sequence[PauseCounter]) -> Table:
    return Table(TABLE_2_HEAD, [_table_2_cells(row) for row in rows])


def _table_2_cells(row: PauseCounter) -> list[str]:
    names = [APPLICATIONS[row.application], _network(row), SIDES[row.side]]
    simulated = f"{row.simulated:,.2f}" if math.isfinite(row.simulated) else "–"
    each = f"{row.published / ITERATIONS:,.2f}" if math.isfinite(row.simulated) else "–"
    return [*names, f"{row.published:,.0f}", each, simulated]


def _network(row: PauseCounter) -> str:
    return LABELS[row.network].removesuffix(" v2")


TABLE_3_CASES = ("tcp_pfc.loaded", "roce_v2.loaded", "roce_v2.ets")
PRIORITIES = (0, 1)
COLUMNS = {"packets": "rx_pause_packets", "duration": "rx_pause_duration_ns"}
TABLE_3_CAPTION = (
    "Pauses that switches received, summed over all their ports, per iteration of FFT: published "
    f"sums are divided by {ITERATIONS:,}, simulated ones by the iterations that ran, and averaged "
    "over placements. The publication does not give the unit of its durations, so compare ratios. "
    "Simulated counts begin with Halo3D, 10 ms before FFT, where the testbed waited 10 s."
)
TABLE_3_HEAD = (
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
class PriorityCounters:
    """Counters of one priority, each by its name."""

    case: str  # Network of the case.
    priority: int  # Priority of the pauses.
    published: Mapping[str, float]  # Values as published.
    simulated: Mapping[str, float]  # Per iteration, durations in us.


def table_3(study: StudyResult) -> Section:
    """Show published and simulated counters of both priorities."""
    rows = [
        _priority_counters(study, case, priority)
        for case in TABLE_3_CASES
        for priority in PRIORITIES
    ]
    figure = Figure(figsize=(9.6, 5.4))
    panels = figure.subplots(2, 2)
    units = {"packets": ("frames",) * 2, "duration": ("counter units", "us")}
    for line, (counter, names) in zip(panels, units.items(), strict=True):
        shares = [row.published[counter] / ITERATIONS for row in rows]
        simulated = [row.simulated[counter] for row in rows]
        columns = (("Published", shares), ("Simulated", simulated))
        for axes, unit, (title, values) in zip(line, names, columns, strict=True):
            _draw_pairs(axes, _priority_pairs(values), ("priority 0", "priority 1"))
            axes.set_ylabel(f"{unit} per iteration")
            axes.set_title(f"{title}: {counter.replace('packets', 'frames')}")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), ncols=2, loc="outside lower center")
    title = "Table III: pauses by priority"
    return Section("table_3", title, TABLE_3_CAPTION, figure, [_table_3(rows)], ["qos.pauses.*"])


def _priority_counters(study: StudyResult, case: str, priority: int) -> PriorityCounters:
    values = study.published("III")
    published = {name: values[f"{case}.{priority}.{name}"].low or 0.0 for name in COLUMNS}
    return PriorityCounters(case, priority, published, _simulated_counters(study, case, priority))


def _simulated_counters(study: StudyResult, case: str, priority: int) -> dict[str, float]:
    """Measure pauses per iteration, averaged over placements; durations in us."""
    results = case_results(study, case)
    counts = [int(iterations(result)["iteration"].max()) + 1 for result in results]  # type: ignore[arg-type]
    sums = {
        name: mean(
            switch_pauses(result, column, priority) / count
            for result, count in zip(results, counts, strict=True)
        )
        for name, column in COLUMNS.items()
    }
    return {**sums, "duration": sums["duration"] / 1e3}


def _priority_pairs(values: Sequence[float]) -> list[Pair]:
    names = [
        label(case).replace(" with Halo3D", "").replace(",", " with") for case in TABLE_3_CASES
    ]
    both = zip(names, values[::2], values[1::2], strict=True)
    return [Pair(name, first, second) for name, first, second in both]


def _table_3(rows: Sequence[PriorityCounters]) -> Table:
    return Table(TABLE_3_HEAD, [_table_3_cells(row) for row in rows])


def _table_3_cells(row: PriorityCounters) -> list[str]:
    cells = [label(row.case), str(row.priority)]
    for name in COLUMNS:
        value = row.published[name]
        each = f"{value / ITERATIONS:,.2f}"
        cells += [f"{value:,.0f}", each, f"{row.simulated[name]:,.2f}"]
    return cells
