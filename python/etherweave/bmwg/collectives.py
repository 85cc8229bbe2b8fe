"""Collectives of accelerators, which several tests measure."""

from collections.abc import Iterable, Mapping, Sequence

from etherweave.api.results import Result
from etherweave.bmwg import kpis, model
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import (
    algorithm_factor,
    bus_bandwidth,
    collective_payload_bytes,
    percentile,
)
from etherweave.bmwg.settings import Changes, too_many
from etherweave.bmwg.traffic import collective

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
) -> list[model.Case]:
    """Make a case for each collective, strategy, number of participants and size.

    Participants are spread evenly over the leaves in the order of hosts. Large cells are in
    flow-level mode, which the column ``mode`` says.
    """
    made = []
    for operation in operations:
        for strategy, changes in strategies.items():
            for count in counts:
                for size in sizes:
                    sent = count * size * algorithm_factor(operation, count)
                    mode = "packet" if sent <= PACKETS_MAX else "flow"
                    values = (operation, strategy, count, size, mode)
                    labels = model.labelled(AXES, *values)
                    if missing := too_many(labels, count, fabric):
                        made.append(missing)
                        continue
                    hosts = [at * fabric.hosts // count for at in range(count)]
                    job = collective(hosts, operation, size, iterations)
                    run = {"run": {"fidelity": mode}}
                    made.append(model.Case(labels, {"job": [job], **run, **changes}))
    return made


def swept(fabric: BenchFabric, full: bool) -> tuple[Sequence[int], Sequence[int], int]:
    """Return participants, sizes and iterations: a short sweep, or the draft's."""
    if full:
        return COUNTS, SIZES, 100
    few = [count for count in COUNTS if count <= min(fabric.hosts, 32)]
    return sorted({few[0], few[-1]}) if few else [fabric.hosts], SIZES[:2], 10


def parts(case: model.Case) -> tuple[str, int, int]:
    """Return the collective, the number of participants and the data of each [B]."""
    operation, _, count, size, _ = (case.labels[axis] for axis in AXES)
    return str(operation), int(str(count)), int(str(size))


def bus_gbytes(case: model.Case, result: Result) -> list[float]:
    """Compute the bus bandwidth of each iteration [GB/s]."""
    operation, count, size = parts(case)
    times = kpis.iterations_us(result)
    return [bus_bandwidth(operation, count, size, time / 1e6) / 1e9 for time in times]


def bandwidth_metrics(fabric: BenchFabric) -> list[model.Metric]:
    """Return bus bandwidth, its percentiles and its efficiency."""

    def mean(case: model.Case, result: Result) -> float:
        values = bus_gbytes(case, result)
        return sum(values) / len(values)

    def at(percent: float) -> model.Metric:
        # What so many iterations exceed: slow ones are the tail.
        return (
            model.Column(f"BusBW P{percent:g} [GB/s]", kpis.SOFTWARE),
            lambda case, run: percentile(bus_gbytes(case, run), 100 - percent),
        )

    return [
        (model.Column("algorithm (verified)", kpis.BOUNDARY), lambda _, run: kpis.algorithm(run)),
        (model.Column("BusBW mean [GB/s]", kpis.SOFTWARE), mean),
        *map(at, (50, 95, 99)),
        (
            model.Column("of line rate [%]", kpis.SOFTWARE),
            lambda case, run: 800 * mean(case, run) / fabric.rate_gbps,
        ),
    ]


def iteration_metric(percent: float = 50) -> model.Metric:
    """Return the time of an iteration at a percentile."""
    return (
        model.Column(f"JCT P{percent:g} [us]", kpis.SOFTWARE),
        lambda _, run: percentile(kpis.iterations_us(run), percent),
    )


def collective_table(
    fabric: BenchFabric,
    trials: model.Included,
    name: str,
    title: str,
    more: Sequence[model.Metric] = (),
) -> model.ReportTable:
    """Report bus bandwidth over participants and size, with what switches report."""
    metrics = [
        *bandwidth_metrics(fabric),
        *more,
        (model.Column("S_fabric [B]", kpis.SETTING), lambda case, _: _payload(case)),
        (
            model.Column("uplinks, most [%]", kpis.REPORTED),
            lambda _, run: max(kpis.uplink_shares(fabric, run), default=None),
        ),
        *kpis.health(fabric),
    ]
    note = (
        "Percentiles: what that share of iterations reaches. Algorithm: verified by who sends to "
        "whom. S_fabric: payload of a participant in an iteration by its formula, each byte once. "
        "S of all-gather and all-to-all: all blocks of a participant, as nccl-tests counts."
    )
    return model.table(name, title, AXES, metrics, trials, note=note, plot=model.Plot(2, 6, (1, 3)))


def _payload(case: model.Case) -> float:
    return collective_payload_bytes(*parts(case))


def degradation(trials: model.Included, strategy: model.Cell = "ECMP") -> list[list[model.Cell]]:
    """Compare strategies: bus bandwidth of each cell over that of a strategy."""
    means: dict[tuple[model.Cell, ...], dict[model.Cell, float]] = {}
    for case, result in trials:
        own = means.setdefault((case.labels["N"], case.labels["S [B]"]), {})
        values = bus_gbytes(case, result)
        own[case.labels["strategy"]] = sum(values) / len(values)
    return [
        [*cell, other, value / own[strategy]]
        for cell, own in means.items()
        for other, value in own.items()
        if strategy in own and other != strategy
    ]
