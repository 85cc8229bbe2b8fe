"""Latency of KV cache transfers beside background flows, which several tests measure."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import rows
from etherweave.bmwg.model import Case, labelled
from etherweave.bmwg.settings import KIB
from etherweave.bmwg.traffic import WARM_UP, ping, uniform

BACKGROUND = 256 * KIB  # Size of background flows [B].
MARGIN = 10  # Factor by which background flows come for longer than transfers take at line rate.
FIXED_US = 10  # Time of a transfer besides its bytes, about [us].
AXES = ("message [B]", "background [%]")


def kv_latency_cases(
    fabric: BenchFabric, sizes: Sequence[int], loads: Sequence[int], samples: int
) -> list[Case]:
    """Transfer messages of each size one after the other, beside flows of each load."""
    source, sink = fabric.pairs()[0]
    made = []
    for size in sizes:
        transfer_us = size * 8e-3 / fabric.rate_gbps + FIXED_US
        span_us = MARGIN * 2 * (samples + WARM_UP) * transfer_us
        for load in loads:
            jobs = [ping(source, sink, size, samples)]
            if load:
                jobs.append(uniform(fabric.hosts, load, BACKGROUND, span_us, background=True))
            labels = labelled(AXES, size, load)
            made.append(Case(labels, {"job": jobs, "observe": {"ranks": True}}))
    return made


def transfer_times_us(case: Case, result: Result) -> list[float]:
    """Read times from the post of a transfer to its completion at the receiver [us]."""
    sent = rows(result, "transfers", "job", "bytes", "start_ns", "end_ns")
    size = case.labels[AXES[0]]
    times = [(end - start) / 1e3 for job, n, start, end in sent if (job, n) == ("ping", size)]
    return times[2 * WARM_UP :]
