"""Flows that share a receiver's link, to which others come: rates, and when they are fair again."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from etherweave.api.results import Result
from etherweave.bmwg import kpis
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import fairness
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, PERIOD_US, Changes, too_many
from etherweave.bmwg.traffic import incast


class Kind(NamedTuple):
    """Messages of flows."""

    message: int  # Size [B].
    outstanding: int  # Messages that may be incomplete at once.


BULK = Kind(MIB, 128)
AXES = ("variant", "flows before", "flows that come")
SINK = 0


def convergence_cases(
    fabric: BenchFabric,
    counts: Sequence[int],
    variants: Mapping[str, Changes],
    onset_us: int,
    end_us: int,
    kinds: tuple[Kind, Kind] = (BULK, BULK),
) -> list[Case]:
    """Make a case for each variant and number of flows: as many again come at the onset."""
    made = []
    for variant, changes in variants.items():
        for count in counts:
            labels = labelled(AXES, variant, count, count)
            if missing := too_many(labels, 2 * count + 1, fabric):
                made.append(missing)
                continue
            hosts = fabric.senders_to(SINK)
            jobs = [
                incast(hosts[:count], SINK, name="first", **kinds[0]._asdict()),
                incast(
                    hosts[count : 2 * count],
                    SINK,
                    name="second",
                    start=f"{onset_us}us",
                    **kinds[1]._asdict(),
                ),
            ]
            observed = {"period": f"{PERIOD_US}us", "flows": [f"* -> {fabric.host_names[SINK]}"]}
            run = {"warm_up": f"{onset_us}us", "end": f"{end_us}us"}
            made.append(Case(labels, {"job": jobs, "observe": observed, "run": run, **changes}))
    return made


def convergence_table(
    fabric: BenchFabric,
    trials: Included,
    onset_us: int,
    tolerance: float,
    title: str,
    *,
    is_steady: bool = False,
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
        return find(kpis.flow_series(result), onset_us, flows, tolerance)

    def goodput(_: Case, result: Result) -> float:
        return sum(_rates(result))

    metrics = [
        (Column("convergence [us]", kpis.BOUNDARY), convergence),
        (Column("goodput after [Gb/s]", kpis.BOUNDARY), goodput),
        (Column("JFI of flows after", kpis.BOUNDARY), lambda _, run: fairness(_rates(run))),
        (
            Column("largest queue [B]", kpis.REPORTED),
            lambda _, run: kpis.counters(fabric, run).occupancy_max,
        ),
        *kpis.health(fabric),
    ]
    note = (
        f"Others come {onset_us} us after the start. Convergence: the end of the first {PERIOD_US} "
        f"us in which the goodput of every flow is within {tolerance:.0%} of {goal}; none: not "
        "before the run ended."
    )
    return table("convergence", title, AXES, metrics, trials, note=note, plot=Plot(1, 3, (0,)))


def _rates(result: Result) -> list[float]:
    return list(result.values("streams", "goodput_gbps"))
