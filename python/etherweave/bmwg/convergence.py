"""Flows that share a receiver's link, to which others come: rates, and when they are fair again."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from etherweave.api.results import Result
from etherweave.bmwg import kpis
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import fairness
from etherweave.bmwg.kpis import BOUNDARY, REPORTED
from etherweave.bmwg.model import BenchTest, Case, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, PERIOD_US, Changes, sized
from etherweave.bmwg.throughput import Variants
from etherweave.bmwg.traffic import Job, incast


class Kind(NamedTuple):
    """Messages of flows."""

    message: int  # Size [B].
    outstanding: int  # Messages that may be incomplete at once.


BULK = Kind(MIB, 128)
AXES = ("variant", "flows before", "flows that come")
SINK = 0
ONSET_US = 1_000  # Time at which others come [us].
Sweep: TypeAlias = tuple[Sequence[int], int]  # Numbers of flows, and end of the run [us].


def convergence_test(
    title: str, variants: Variants, short: Sweep, complete: Sweep, tolerance: float = 0.1
) -> BenchTest:
    """Test when each variant of a fabric is fair to as many flows as come."""

    def cases(fabric: BenchFabric, full: bool) -> list[Case]:
        return convergence_cases(fabric, complete if full else short, variants(fabric))

    return BenchTest(
        cases, lambda fabric, trials: [convergence_table(fabric, trials, tolerance, title)]
    )


def convergence_cases(
    fabric: BenchFabric,
    sweep: Sweep,
    variants: Mapping[str, Changes],
    kinds: tuple[Kind, Kind] = (BULK, BULK),
) -> list[Case]:
    """Make a case for each variant and number of flows: as many again come at the onset."""
    counts, end_us = sweep
    hosts, onset = fabric.senders_to(SINK), f"{ONSET_US}us"
    observed = {"period": f"{PERIOD_US}us", "flows": [f"* -> {fabric.host_names[SINK]}"]}
    run = {"warm_up": onset, "end": f"{end_us}us"}

    def jobs(count: int) -> Sequence[Job]:
        first, second = (kind._asdict() for kind in kinds)
        later = hosts[count : 2 * count]
        return [
            incast(hosts[:count], SINK, name="first", **first),
            incast(later, SINK, name="second", start=onset, **second),
        ]

    return [
        sized(
            *(fabric, 2 * count + 1, labelled(AXES, variant, count, count)),
            {"job": jobs(count), "observe": observed, "run": run, **changes},
        )
        for variant, changes in variants.items()
        for count in counts
    ]


def convergence_table(
    fabric: BenchFabric, trials: Included, tolerance: float, title: str, *, is_steady: bool = False
) -> ReportTable:
    """Report the time until all flows are near the fair share, and what queues did.

    ``is_steady`` compares each flow with its own steady rate instead.
    """
    find = kpis.steady_us if is_steady else kpis.convergence_us
    goal = (
        "its steady rate, the mean of the last fifth of the run"
        if is_steady
        else "its fair share, the mean of the period"
    )

    def convergence(case: Case, result: Result) -> float | None:
        flows = 2 * int(str(case.labels["flows before"]))
        return find(kpis.flow_series(result), ONSET_US, flows, tolerance)

    metrics = [
        BOUNDARY.case_metric("convergence [us]", convergence),
        BOUNDARY.metric("goodput after [Gb/s]", lambda run: sum(kpis.stream_rates(run))),
        BOUNDARY.metric("JFI of flows after", lambda run: fairness(kpis.stream_rates(run))),
        REPORTED.metric("largest queue [B]", lambda run: kpis.counters(fabric, run).occupancy_max),
        *kpis.health(fabric),
    ]
    note = (
        f"Others come {ONSET_US} us after the start. Convergence: the end of the first {PERIOD_US} "
        f"us in which the goodput of every flow is within {tolerance:.0%} of {goal}; none: not "
        "before the run ended."
    )
    return table("convergence", title, AXES, metrics, trials, note=note, plot=Plot(1, 3, (0,)))
