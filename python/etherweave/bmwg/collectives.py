"""Collectives of accelerators, which several tests measure."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from etherweave.api.results import Result
from etherweave.bmwg import kpis
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import (
    algorithm_factor,
    bus_bandwidth,
    collective_payload_bytes,
    percentile,
)
from etherweave.bmwg.kpis import BOUNDARY, SETTING, SOFTWARE
from etherweave.bmwg.model import Case, Cell, Included, Metric, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import Changes, sized
from etherweave.bmwg.traffic import collective

OPERATIONS = ("allreduce", "alltoall", "allgather")  # Collectives of the drafts.
AXES = ("collective", "strategy", "N", "S [B]", "mode")
SIZES = (10**6, 8 * 10**6, 64 * 10**6, 256 * 10**6, 10**9, 4 * 10**9)
"""Data of a participant (T 9) [B]; the draft leaves open whether a KB has 1,000 B."""
COUNTS = (8, 16, 32, 64, 128, 256, 512, 1024)  # Participants (T 9).
PACKETS_MAX = 2 * 10**9
"""Most bytes over the boundary in an iteration that are simulated as packets [B]."""


def collective_cases(
    fabric: BenchFabric,
    operations: Iterable[str],
    strategies: Mapping[str, Changes],
    counts: Sequence[int],
    sizes: Sequence[int],
    iterations: int,
) -> list[Case]:
    """Make a case for each collective, strategy, number of participants and size.

    Participants are spread evenly over the leaves in the order of hosts. Large cells are in
    flow-level mode, which the column ``mode`` says.
    """

    def mode(operation: str, count: int, size: int) -> str:
        sent = count * size * algorithm_factor(operation, count)
        return "packet" if sent <= PACKETS_MAX else "flow"

    def changes(operation: str, count: int, size: int) -> Changes:
        hosts = [at * fabric.hosts // count for at in range(count)]
        job = collective(hosts, operation, size, iterations)
        return {"job": [job], "run": {"fidelity": mode(operation, count, size)}}

    return [
        sized(
            fabric,
            count,
            labelled(AXES, operation, strategy, count, size, mode(operation, count, size)),
            {**changes(operation, count, size), **own},
        )
        for operation in operations
        for strategy, own in strategies.items()
        for count in counts
        for size in sizes
    ]


def swept(fabric: BenchFabric, full: bool) -> tuple[Sequence[int], Sequence[int], int]:
    """Return participants, sizes and iterations: a short sweep, or the draft's."""
    if full:
        return COUNTS, SIZES, 100
    few = [count for count in COUNTS if count <= min(fabric.hosts, 32)]
    return sorted({few[0], few[-1]}) if few else [fabric.hosts], SIZES[:2], 10


def parts(case: Case) -> tuple[str, int, int]:
    """Return the collective, the number of participants and the data of each [B]."""
    operation, _, count, size, _ = (case.labels[axis] for axis in AXES)
    return str(operation), int(str(count)), int(str(size))


def bus_gbytes(case: Case, result: Result) -> list[float]:
    """Compute the bus bandwidth of each iteration [GB/s]."""
    operation, count, size = parts(case)
    times = kpis.iterations_us(result)
    return [bus_bandwidth(operation, count, size, time / 1e6) / 1e9 for time in times]


def bandwidth_metrics(fabric: BenchFabric) -> list[Metric]:
    """Return bus bandwidth, its percentiles and its efficiency."""

    def at(percent: float) -> Metric:
        # What so many iterations exceed: slow ones are the tail.
        return SOFTWARE.case_metric(
            f"BusBW P{percent:g} [GB/s]",
            lambda case, run: percentile(bus_gbytes(case, run), 100 - percent),
        )

    return [
        BOUNDARY.metric("algorithm (verified)", kpis.algorithm),
        SOFTWARE.case_metric("BusBW mean [GB/s]", mean_gbytes),
        *map(at, (50, 95, 99)),
        SOFTWARE.case_metric(
            "of line rate [%]", lambda case, run: 800 * mean_gbytes(case, run) / fabric.rate_gbps
        ),
    ]


def iteration_metric(percent: float = 50) -> Metric:
    """Return the time of an iteration at a percentile."""
    return SOFTWARE.metric(
        f"JCT P{percent:g} [us]", lambda run: percentile(kpis.iterations_us(run), percent)
    )


def collective_table(
    fabric: BenchFabric, trials: Included, name: str, title: str, more: Sequence[Metric] = ()
) -> ReportTable:
    """Report bus bandwidth over participants and size, with what switches report."""
    metrics = [
        *bandwidth_metrics(fabric),
        *more,
        SETTING.case_metric("S_fabric [B]", lambda case, _: collective_payload_bytes(*parts(case))),
        kpis.uplinks_max(fabric),
        *kpis.health(fabric),
    ]
    note = (
        "Percentiles: what that share of iterations reaches. Algorithm: verified by who sends to "
        "whom. S_fabric: payload of a participant in an iteration by its formula, each byte once. "
        "S of all-gather and all-to-all: all blocks of a participant, as nccl-tests counts."
    )
    return table(name, title, AXES, metrics, trials, note=note, plot=Plot(2, 6, (1, 3)))


def mean_gbytes(case: Case, result: Result) -> float:
    """Compute the mean bus bandwidth of iterations [GB/s]."""
    return fmean(bus_gbytes(case, result))


def means(
    trials: Included, axes: Sequence[str], by: str
) -> Mapping[tuple[Cell, ...], Mapping[Cell, float]]:
    """Compute the mean bus bandwidth [GB/s] of trials that differ in an axis, side by side."""
    beside: dict[tuple[Cell, ...], dict[Cell, float]] = {}
    for case, result in trials:
        own = beside.setdefault(tuple(case.labels[axis] for axis in axes), {})
        own[case.labels[by]] = mean_gbytes(case, result)
    return beside


def degradation(trials: Included, strategy: Cell = "ECMP") -> list[list[Cell]]:
    """Compare strategies: bus bandwidth of each cell over that of a strategy."""
    return [
        [*cell, other, value / own[strategy]]
        for cell, own in means(trials, ("N", "S [B]"), "strategy").items()
        for other, value in own.items()
        if strategy in own and other != strategy
    ]
