"""Expected cost of a sweep: packet-hops by the core's estimate, times the time of one here.

The time of a packet-hop depends on the machine and grows with the fabric; that of a short run is
mostly its set-up. So it is measured for a few runs, from the smallest to the largest, and taken
between them in proportion to the logarithm of the estimate.
"""

import bisect
import contextlib
import json
import math
import os
import resource
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from etherweave import _core
from etherweave.api.machine import usable_processors
from etherweave.api.results import parse_summary
from etherweave.api.simulation import Progress
from etherweave.sweeps.executors import Executor
from etherweave.sweeps.points import Run, Sweep, SweepError

SAMPLES = 256  # Runs that are estimated at most; the others are as these on average.
PILOTS = 25  # Runs that are measured at most.
PILOT_S, PILOTS_S = 0.5, 2.5
"""Longest time of each, the rest of which is extrapolated, and of all of them [s]."""
START_S = 0.6  # Until workers have started [s], about: an interpreter that imports the package.
DATASET_S = 0.3  # Processor time of writing a dataset, about [s].
_RUN_MIN_S = 0.005  # Least time of a run, about [s].
LOAD = Path("/proc/loadavg")  # Has the threads of this machine that compute now, proc(5).
ROW_BYTES = 2_000
"""Size of a run in the journal and in the dataset, about [B]: some forty figures as JSON."""


class RunEstimate(NamedTuple):
    """Estimate of the core for a run."""

    hops: float  # Packets over links; 1 where the scenario does not say how many.
    memory_bytes: int


@dataclass(frozen=True)
class CostModel:
    """Predicts the time of runs."""

    hops: Sequence[float]  # Packet-hops of the measured runs, ascending.
    seconds: Sequence[float]  # That they took, of equal estimates on average [s].
    measured: int  # Number of measured runs.
    error: float = math.nan  # Relative error in the time of all checked runs together.
    error_median: float = math.nan  # Median error in the time of one run.

    @classmethod
    def of(cls, measured: Sequence[tuple[RunEstimate, float]]) -> "CostModel":
        """Make a model of at least one measured run; runs of equal estimates are averaged."""
        times: dict[float, list[float]] = {}
        for known, seconds in measured:
            times.setdefault(known.hops, []).append(seconds)
        pairs = sorted((hops, statistics.fmean(all_)) for hops, all_ in times.items())
        return cls([hops for hops, _ in pairs], [seconds for _, seconds in pairs], len(measured))

    def time(self, known: RunEstimate) -> float:
        """Predict the time of a run [s]."""
        after = bisect.bisect_left(self.hops, known.hops)
        if after in (0, len(self.hops)):
            nearest = min(after, len(self.hops) - 1)
            return self.seconds[nearest] * known.hops / self.hops[nearest]
        (low, high), (quick, slow) = (
            hop[after - 1 : after + 1] for hop in (self.hops, self.seconds)
        )
        share = math.log(known.hops / low) / math.log(high / low)
        return known.hops * (quick / low * (1 - share) + slow / high * share)

    def checked(self, known: Sequence[RunEstimate], taken: Sequence[float]) -> "CostModel":
        """Compare with measured times [s]."""
        times = [self.time(estimate) for estimate in known]
        errors = [abs(time / seconds - 1) for time, seconds in zip(times, taken, strict=True)]
        return replace(
            self, error=sum(times) / sum(taken) - 1, error_median=statistics.median(errors)
        )


@dataclass(frozen=True)
class Expectation:
    """Rest of a sweep, and its expected cost."""

    points: int
    finished: int  # Runs that have a record.
    left: int  # Runs to carry out.
    processor_s: float  # Time of all of them, one after the other [s].
    wall_s: float  # Time with the workers of the executor, beside others that compute now [s].
    memory_bytes: int  # Most memory of all workers at once [B].
    disk_bytes: int  # Journal and dataset [B].
    error_median: float
    """Median error of a measured run's time as predicted from the others; NaN for one run."""
    others: float = 0.0
    """Threads of other programs that compute on this machine at the same time, about."""


def resident_bytes() -> int:
    """Return what a worker takes before it runs anything: about what this process has taken [B]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def estimates(what: Sweep, runs: Sequence[Run]) -> list[RunEstimate]:
    """Estimate runs without carrying them out."""
    rows = [json.loads(_core.foresee(what.resolve(run.point), what.origin, ())) for run in runs]
    return [RunEstimate(row["packet_hops"] or 1, row["memory_bytes"]) for row in rows]


def expected_times(
    what: Sweep, runs: Sequence[Run], taken_s: Mapping[str, float]
) -> dict[str, float]:
    """Estimate the time of runs by their hash [s]: of some hundreds, and of others as of these.

    Runs that follow each other differ least. Where some have been measured, ``taken_s`` by their
    hash, the others are as these.
    """
    known, times = dict[str, RunEstimate](), dict[str, float]()
    step = -(-len(runs) // SAMPLES)
    for run in runs[::step]:
        with contextlib.suppress(_core.ScenarioError):
            document = json.loads(_core.foresee(what.resolve(run.point), what.origin, ()))
            known[run.id] = RunEstimate(document["packet_hops"] or 1, document["memory_bytes"])
            times[run.id] = document["setup_s"] + (document["run_s"] or 0.0) + _RUN_MIN_S
    measured = [(known[run], taken_s[run]) for run in known if taken_s.get(run)]
    model = CostModel.of(measured) if measured else None
    if model:
        times = {run: model.time(estimate) for run, estimate in known.items()}
    sampled = (times.get(runs[place - place % step].id) for place in range(len(runs)))
    return {run.id: own for run, own in zip(runs, sampled, strict=True) if own is not None}


def pilots(known: Sequence[RunEstimate]) -> list[int]:
    """Choose runs from the smallest to the largest, by their place; the first span the range."""
    order = sorted(range(len(known)), key=lambda at: known[at].hops)
    steps = sorted(range(PILOTS), key=lambda step: -math.gcd(step, PILOTS - 1))
    return list(dict.fromkeys(order[(len(order) - 1) * step // (PILOTS - 1)] for step in steps))


def expected(
    what: Sweep, points: int, finished: int, left: Sequence[Run], executor: Executor
) -> Expectation:
    """Predict what runs without a mistake take, of a sweep of so many points."""
    if not left:
        return Expectation(points, finished, 0, 0.0, 0.0, 0, 0, math.nan)
    step = -(-len(left) // SAMPLES)
    first, known = _estimable(what, left[::step])
    base = resident_bytes()
    measured, computing, end = [], list[int](), time.monotonic() + PILOTS_S
    for at in pilots(known):
        if time.monotonic() < end and (seconds := _measure(what, first[at])):
            measured.append((known[at], seconds))
            computing.append(_computing() - 1)
    if not measured:
        raise SweepError(f"{what.origin}: every run that was tried has a mistake; carry out one")
    model, errors = CostModel.of(measured), []
    for at, (point, seconds) in enumerate(measured):
        if others := measured[:at] + measured[at + 1 :]:
            errors.append(abs(CostModel.of(others).time(point) / seconds - 1))
    times = [model.time(entry) for entry in known]
    processor_s = statistics.fmean(times) * len(left)
    workers = min(executor.workers, len(left))
    beside = statistics.fmean(computing) if executor.name == "local" else 0.0
    slower = slowdown(workers, beside) if executor.name == "local" else 1.0
    return Expectation(
        points,
        finished,
        len(left),
        processor_s,
        slower * (START_S + max(processor_s / workers, max(times))),
        workers * (base + max(entry.memory_bytes for entry in known)),
        ROW_BYTES * (finished + len(left)),
        statistics.median(errors) if errors else math.nan,
        beside,
    )


def slowdown(workers: int, others: float) -> float:
    """Return how many times as long workers take that share processors with others.

    The system gives all threads that compute the same time.
    """
    of_machine = (workers + others) / (os.cpu_count() or 1)
    return max(of_machine, workers / usable_processors(), 1.0)


def _computing() -> int:
    """Count the threads of this machine that compute now, this one among them."""
    try:
        return max(int(LOAD.read_text().split()[3].partition("/")[0]), 1)
    except (OSError, ValueError, IndexError):
        return 1


def _estimable(what: Sweep, runs: Sequence[Run]) -> tuple[list[Run], list[RunEstimate]]:
    """Estimate runs, without those whose mistake shows only there, which a sweep records."""
    first, known, mistakes = list[Run](), list[RunEstimate](), list[_core.ScenarioError]()
    for run in runs:
        try:
            known += estimates(what, [run])
            first.append(run)
        except _core.ScenarioError as error:
            mistakes.append(error)
    if not first:
        raise mistakes[0]
    return first, known


def _measure(what: Sweep, run: Run) -> float:
    """Carry out a run for a moment; gives the time that all of it takes [s], 0 for a mistake."""
    last: list[Progress] = []

    def go_on(facts: Progress) -> bool:
        last[:] = [facts]
        return facts["wall_s"] < PILOT_S

    start = time.thread_time()
    try:
        done = _core.run(what.resolve(run.point), what.origin, (), 1, (), go_on)
    except _core.ScenarioError:
        return 0.0
    seconds, share = time.thread_time() - start, 1.0
    if parse_summary(done.summary)["finished"] == "interrupted":
        facts = last[0]
        done_ns, end_ns = facts["simulated_ns"], facts["end_ns"]
        share = facts["fraction"] or (done_ns / end_ns if end_ns else 1.0) or 1.0
    return seconds / share
