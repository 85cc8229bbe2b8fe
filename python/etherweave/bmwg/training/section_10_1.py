"""Synthetic step: computation, then an all-reduce (training draft, 10.1)."""

from collections.abc import Sequence

from etherweave.bmwg.collectives import collective_cases, parts, swept
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import algorithm_factor, overlap_fraction, roofline_s
from etherweave.bmwg.kpis import SETTING, SOFTWARE, iterations_us
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable
from etherweave.bmwg.settings import strategies

COMPUTE_MS = (10, 50, 100, 500)
ITERATIONS = 1_000


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Simulate the all-reduces of the steps; the runs are those of 9.1."""
    return collective_cases(fabric, ["allreduce"], strategies(fabric), *swept(fabric, full))


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report job completion over the sequential roofline, for each time of computation."""
    rate_bps = fabric.rate_gbps * 1e9
    rows = []
    for case, result in trials:
        operation, count, size = parts(case)
        factor = algorithm_factor(operation, count)
        times = iterations_us(result)
        collective_s = sum(times) / len(times) / 1e6
        for compute_ms in COMPUTE_MS:
            compute_s = compute_ms / 1e3
            completion_s = ITERATIONS * (compute_s + collective_s)
            ideal_s = roofline_s(ITERATIONS, compute_s, size, factor, rate_bps)
            plan = (ITERATIONS, compute_s, size, factor, rate_bps)
            rows.append(
                [
                    case.labels["strategy"],
                    count,
                    size,
                    compute_ms,
                    completion_s / ideal_s,
                    completion_s,
                    completion_s - ITERATIONS * compute_s,
                    overlap_fraction(completion_s, *plan),
                ]
            )
    columns = [
        *(Column(axis, SETTING) for axis in ("strategy", "N", "S [B]", "C [ms]")),
        Column("JCT ratio", SOFTWARE),
        Column("JCT [s]", SOFTWARE),
        Column("JCT - Iter C [s]", SOFTWARE),
        Column("overlap fraction", SOFTWARE),
    ]
    note = (
        f"JCT of {ITERATIONS:,} iterations: computation and the simulated all-reduce, one after "
        "the other. The roofline has the bytes of a bandwidth-optimal all-reduce at B_acc, the "
        "line rate of an accelerator's own NICs; an overlap fraction below 0 is what the fabric "
        "adds to it."
    )
    return [ReportTable("step", "Synthetic step", columns, rows, note, Plot(1, 4, (0, 2, 3)))]
