"""Latency of KV cache transfers beside background flows, which several tests measure."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import rows
from etherweave.bmwg.model import Case, Cell, Included, labelled
from etherweave.bmwg.settings import KIB
from etherweave.bmwg.traffic import WARM_UP, ping, uniform

BACKGROUND = 256 * KIB  # Size of background flows [B].
MARGIN = 10  # Factor by which background flows come for longer than transfers take at line rate.
FIXED_US = 10  # Time of a transfer besides its bytes, about [us].
LEAD_US = 1_000  # Time of background flows before the first transfer [us].
WINDOW_US = 6_000  # Time in which transfers are measured, at least [us].
SEEDS = (1, 2, 3)  # Seeds whose samples are pooled.
AXES = ("message [B]", "background [%]")


def kv_latency_cases(
    fabric: BenchFabric, sizes: Sequence[int], loads: Sequence[int], samples: int
) -> list[Case]:
    """Transfer messages of each size one after the other, beside flows of each load.

    Background flows begin first and last until the run ends, with each of several seeds.
    """
    source, sink = fabric.pairs()[0]
    made = []
    for size in sizes:
        transfer_us = size * 8e-3 / fabric.rate_gbps + FIXED_US
        window_us = max(MARGIN * 2 * (samples + WARM_UP) * transfer_us, WINDOW_US)
        end_us = math.ceil(LEAD_US + window_us)
        for load in loads:
            jobs = [ping(source, sink, size, samples, start=f"{LEAD_US}us")]
            if load:
                jobs.append(uniform(fabric.hosts, load, BACKGROUND, end_us, background=True))
            changes = {"job": jobs, "observe": {"ranks": True}, "run.end": f"{end_us}us"}
            labels = labelled(AXES, size, load)
            made += [Case({**labels, "seed": seed}, {**changes, "seed": seed}) for seed in SEEDS]
    return made


class Pooled(NamedTuple):
    """Transfers of a size beside a load."""

    labels: Sequence[Cell]  # Values of the axes.
    seeds: Sequence[Sequence[float]]  # Times of transfers of each seed [us].

    @property
    def times(self) -> list[float]:
        """Times of the transfers of all seeds [us]."""
        return list(chain(*self.seeds))

    @property
    def medians(self) -> tuple[float | None, float | None]:
        """Medians of the seeds with the least and the largest [us]."""
        medians = [percentile(times, 50) for times in self.seeds]
        known = [middle for middle in medians if middle is not None]
        return min(known, default=None), max(known, default=None)


def pooled(trials: Included) -> list[Pooled]:
    """Collect the transfers of each size and load; without any they are left out."""
    seeds: dict[tuple[Cell, ...], list[list[float]]] = {}
    for case, result in trials:
        key = tuple(case.labels[axis] for axis in AXES)
        seeds.setdefault(key, []).append(_transfer_times_us(case, result))
    return [Pooled(key, own) for key, own in seeds.items() if any(own)]


def _transfer_times_us(case: Case, result: Result) -> list[float]:
    """Read times from the post of a transfer to its completion at the receiver [us]."""
    sent = rows(result, "transfers", "job", "bytes", "start_ns", "end_ns")
    size = case.labels[AXES[0]]
    times = [(end - start) / 1e3 for job, n, start, end in sent if (job, n) == ("ping", size)]
    return times[2:]  # The first of each direction opens connections.
