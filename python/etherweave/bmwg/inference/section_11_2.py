"""Size of a batch (inference draft, 11.2)."""

from collections.abc import Sequence

from etherweave.bmwg import serving
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, Plot, ReportTable, labelled, table

AXES = ("requests of a batch, most",)
BATCHES = (1, 4, 8, 16, 32, 64, 128)  # Most requests of a decode worker at once.
RATE = 40  # Requests in a second.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve the same requests with batches of each size, which requests join at every step."""
    requests = serving.spread(2_000 if full else 200, RATE)
    return [
        serving.service_case(fabric, labelled(AXES, batch), (3, 1), requests, batch_max=batch)
        for batch in (BATCHES if full else BATCHES[::2])
    ]


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report times, and tokens and requests in a second, by size."""
    metrics, note = serving.service_metrics(), f"{RATE} requests in a second. {serving.SERVED}"
    plot = Plot(0, 4, is_bars=True)
    return [table("batches", "Sizes of a batch", AXES, metrics, trials, note=note, plot=plot)]
