"""Several services on a fabric (inference draft, 10.3)."""

from collections.abc import Sequence

from etherweave.bmwg import serving
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import ratio
from etherweave.bmwg.kpis import SETTING, SOFTWARE
from etherweave.bmwg.model import Case, Cell, Column, Included, ReportTable, labelled

AXES = ("services",)
LOAD = 0.7  # Share of its time for which the prefill worker of a service computes.
NAMES = ("service", "other")  # The service that is measured, and that beside it.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve requests on every other host, alone and beside a service on the other hosts."""
    requests = serving.spread(2_000 if full else 200, serving.rate_of(LOAD))
    jobs = [
        serving.service((1, 1), range(start, fabric.hosts, 2), requests, name)
        for start, name in enumerate(NAMES)
    ]
    return [serving.alone(labelled(AXES, count), *jobs[:count]) for count in (1, 2)]


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report times of the first service, and how much longer they are beside the other."""
    spans = (serving.TTFT, "T_transfer", "ITL")
    tails = [[serving.tail_ms(run, span) for span in spans] for _, run in trials]
    lines: list[list[Cell]] = []
    for (case, _), own in zip(trials, tails, strict=True):
        shares = [ratio(time, base) for time, base in zip(own, tails[0], strict=True)]
        more = [None if share is None else 100 * (share - 1) for share in shares]
        lines.append([*(case.labels[axis] for axis in AXES), *own, *more])
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        *(Column(f"{span} P99 [ms]", SOFTWARE) for span in spans),
        *(Column(f"{span}, more [%]", SOFTWARE) for span in spans),
    ]
    note = (
        f"{serving.rate_of(LOAD):.2g} requests in a second to each service, whose prefill worker "
        f"computes for {LOAD:.0%} of the time. {serving.SERVED}"
    )
    return [ReportTable("services", "Services beside each other", columns, lines, note)]
