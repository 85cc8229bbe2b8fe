"""Ratio of prefill to decode workers (inference draft, 6.2)."""

from collections.abc import Sequence

from etherweave.bmwg import serving
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, Plot, ReportTable, labelled, table

AXES = ("workers",)
PREFILL = (1, 2, 3, 4, 6, 8, 10, 11)  # Prefill workers of twelve.
RATE = 20  # Requests in a second.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve the same requests with each division of twelve workers."""
    requests = serving.spread(2_000 if full else 200, RATE)
    divisions = [(own, serving.WORKERS - own) for own in (PREFILL if full else PREFILL[1::2])]
    return [
        serving.service_case(fabric, labelled(AXES, f"{own}P{others}D"), (own, others), requests)
        for own, others in divisions
    ]


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report times, and tokens and requests in a second."""
    plot, note = Plot(0, 5, is_bars=True), f"{RATE} requests in a second. {serving.SERVED}"
    metrics = serving.service_metrics()
    return [
        table("ratio", "Prefill and decode workers", AXES, metrics, trials, note=note, plot=plot)
    ]
