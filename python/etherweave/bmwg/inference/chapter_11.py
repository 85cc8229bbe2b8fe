"""Tokens in a second within limits, and sizes of batches (inference draft, chapter 11)."""

from collections.abc import Sequence

from etherweave.bmwg import serving
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import BenchTest, Case, Included, Plot, ReportTable, table

RATE_AXIS = "requests [1/s]"
RATES = (1, 2, 5, 10, 20, 30, 40, 60, 80, 120, 160)  # Requests in a second.
WORKERS = (3, 9)  # Prefill and decode workers.
BATCH_AXIS = "requests of a batch, most"
BATCHES = (1, 4, 8, 16, 32, 64, 128)  # Most requests of a decode worker at once.
RATE = 40  # Requests in a second, where batches differ.


def _rate_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve requests at rising rates."""
    count = 2_000 if full else 200
    return [
        serving.service_case(fabric, {RATE_AXIS: rate}, WORKERS, serving.spread(count, rate))
        for rate in (RATES if full else RATES[3::2])
    ]


def _rate_tables(_: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report times, and tokens and requests in a second, by rate."""
    metrics, plot = serving.service_metrics(), Plot(0, 5)
    title = "Service at rising rates"
    return [table("rates", title, [RATE_AXIS], metrics, trials, note=serving.SERVED, plot=plot)]


def _batch_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve the same requests with batches of each size, which requests join at every step."""
    requests = serving.spread(2_000 if full else 200, RATE)
    return [
        serving.service_case(fabric, {BATCH_AXIS: batch}, (3, 1), requests, batch_max=batch)
        for batch in (BATCHES if full else BATCHES[::2])
    ]


def _batch_tables(_: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report times, and tokens and requests in a second, by size."""
    metrics, note = serving.service_metrics(), f"{RATE} requests in a second. {serving.SERVED}"
    title, plot = "Sizes of a batch", Plot(0, 4, is_bars=True)
    return [table("batches", title, [BATCH_AXIS], metrics, trials, note=note, plot=plot)]


TESTS = {
    "11.1": BenchTest(_rate_cases, _rate_tables),
    "11.2": BenchTest(_batch_cases, _batch_tables),
}
