"""Tokens in a second within limits (inference draft, 11.1)."""

from collections.abc import Sequence

from etherweave.bmwg import serving
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, Plot, ReportTable, labelled, table

AXES = ("requests [1/s]",)
RATES = (1, 2, 5, 10, 20, 30, 40, 60, 80, 120, 160)  # Requests in a second.
WORKERS = (3, 9)  # Prefill and decode workers.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve requests at rising rates."""
    return [
        serving.service_case(
            fabric, labelled(AXES, rate), WORKERS, serving.spread(2_000 if full else 200, rate)
        )
        for rate in (RATES if full else RATES[3::2])
    ]


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report times, and tokens and requests in a second, by rate."""
    metrics, plot = serving.service_metrics(), Plot(0, 5)
    title = "Service at rising rates"
    return [table("rates", title, AXES, metrics, trials, note=serving.SERVED, plot=plot)]
