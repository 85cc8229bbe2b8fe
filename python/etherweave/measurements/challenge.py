"""Tests of the HPC Challenge as workloads: what the benchmark counts, and those of a summary.

Times are of what the figure is by: of a message of a ring, of a transpose, a transform or Linpack,
of a look-ahead of updates of all ranks. Sources: ``bench_lat_bw_1.5.2.c``, ``pdtransdriver.c``,
``MPIRandomAccess.c``, ``mpifft.c``, ``tstfft.c`` and ``hpcc.c`` of version 1.5.0.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from etherweave.api.units import size_of
from etherweave.measurements import metrics
from etherweave.measurements.hpcc import LOOK_AHEAD, RING_BANDWIDTH, RING_LATENCY, flops

Facts: TypeAlias = Mapping[str, Any]  # Keys of a workload, as a scenario has them.
Times: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_BROADCASTS = ("ring", "ring_modified", "two_rings", "two_rings_modified", "long", "long_modified")
"""Broadcasts by their numbers in ``HPL.dat``."""
_RINGS = ("NaturallyOrderedRing", "RandomlyOrderedRing")
_DOUBLE = 8
_COPY = 2  # Bytes that STREAM counts for each that is copied: read and written.


@dataclass(frozen=True)
class ChallengeFigure:
    """A figure of a test."""

    test: str
    metric: metrics.Metric
    ranks: int
    seconds: float
    work: float = 1.0  # Bytes, operations or updates in that time, of a rate.
    size_bytes: int | None = None  # Size of a message.
    error: float | None = None  # Relative error of samples, as a part of them shows it.

    @property
    def value(self) -> float:
        """The figure, in the metric's unit."""
        return self.seconds if self.metric is metrics.LATENCY else self.work / self.seconds


def figures(kind: str, facts: Facts, rows: pl.DataFrame) -> list[ChallengeFigure]:
    """Return the figures of a workload.

    ``kind`` is the key of the workload in a scenario: of :data:`CHALLENGE`, or ``osu_latency`` for
    a ping-pong. ``facts`` are its keys, ``rows`` the iterations of a launch. A test that the run
    ended before has no figure.
    """
    known = {**CHALLENGE, "osu_latency": _ping_pong}[kind](facts, rows)
    return [figure for figure in known if figure.seconds]


@dataclass(frozen=True)
class ChallengeWorkload:
    """The workload of a figure of a summary."""

    test: str
    metric: metrics.Metric
    kind: str  # Its key in a scenario.
    facts: Facts
    work: float = 1.0  # Work as in :class:`ChallengeFigure`.

    def seconds(self, value: float) -> float:
        """Return the time for a value of the figure, in the metric's unit."""
        return value if self.metric is metrics.LATENCY else self.work / value


def workloads(summary: Mapping[str, str]) -> Iterator[ChallengeWorkload]:
    """Return the workload of each figure of a summary.

    What ranks compute and copy takes as long as the tests without messages say: DGEMM, STREAM, FFT
    and RandomAccess of all ranks at once.
    """
    ranks = int(summary["CommWorldProcs"])
    copy_rate = f"{8 * float(summary['StarSTREAM_Copy']) / _COPY:.3f}Gb/s"
    # Simulated turns are alike: fewer measurements and random rings than the benchmark's do.
    few = {"ranks": ranks, "measurements": 1, "random_rings": 2}
    short: Facts = {**few, "bytes": f"{RING_LATENCY}B"}
    long: Facts = {**few, "bytes": f"{RING_BANDWIDTH}B", "loops": 3}
    for order in _RINGS:
        yield ChallengeWorkload(order, metrics.LATENCY, "hpcc_ring", short)
    for order in _RINGS:
        yield ChallengeWorkload(order, metrics.BANDWIDTH_RANK, "hpcc_ring", long, RING_BANDWIDTH)
    yield from _ping_pongs()
    size, block, *grid = (int(summary[f"PTRANS_{name}"]) for name in ("n", "nb", "nprow", "npcol"))
    facts: dict[str, Any] = {"size": size, "block": block, "rows": grid[0], "columns": grid[1]}
    facts["copy_rate"] = copy_rate
    yield ChallengeWorkload(
        "PTRANS", metrics.BANDWIDTH_SUM, "hpcc_ptrans", facts, _DOUBLE * size**2
    )
    points = int(summary["MPIFFT_N"])
    facts = _mpifft(summary, ranks, copy_rate)
    yield ChallengeWorkload("MPIFFT", metrics.FLOP_RATE, "hpcc_mpifft", facts, _operations(points))
    facts = {
        **{"ranks": ranks, "log2_table": int(summary["MPIRandomAccess_N"]).bit_length() - 1},
        "per_update": _per(1.0, "StarRandomAccess_GUPs", summary),
    }
    kind, updates = "hpcc_random_access", ranks * LOOK_AHEAD
    yield ChallengeWorkload("MPIRandomAccess", metrics.UPDATE_RATE, kind, facts, updates)
    work = flops(int(summary["HPL_N"]))
    yield ChallengeWorkload("HPL", metrics.FLOP_RATE, "hpl", _hpl(summary), work)


def _ping_pongs() -> Iterator[ChallengeWorkload]:
    short = {"bytes": f"{RING_LATENCY}B", "iterations": 100}
    yield ChallengeWorkload("PingPong", metrics.LATENCY, "osu_latency", short)
    long = {"bytes": f"{RING_BANDWIDTH}B", "iterations": 5}
    yield ChallengeWorkload("PingPong", metrics.BANDWIDTH, "osu_latency", long, RING_BANDWIDTH)


def _mpifft(summary: Mapping[str, str], ranks: int, copy_rate: str) -> dict[str, Any]:
    points = int(summary["MPIFFT_N"])
    compute = _per(_operations(points) / ranks, "StarFFT_Gflops", summary)
    return {"ranks": ranks, "local": points // ranks, "compute": compute, "copy_rate": copy_rate}


def _hpl(summary: Mapping[str, str]) -> Facts:
    per_gflop = _per(1e9, "StarDGEMM_Gflops", summary)
    return {
        **{"rows": int(summary["HPL_nprow"]), "columns": int(summary["HPL_npcol"])},
        **{"size": int(summary["HPL_N"]), "block": int(summary["HPL_NB"])},
        **{"depth": int(summary["HPL_depth"]), "broadcast": _BROADCASTS[int(summary["HPL_ctop"])]},
        **{"update_per_gflop": per_gflop, "panel_per_gflop": per_gflop},
    }


def _per(work: float, name: str, summary: Mapping[str, str]) -> str:
    """Write the time of some work at a rate of the summary, in 10^9 a second."""
    return f"{round(1e3 * work / float(summary[name]))}ps"


def _rings(facts: Facts, rows: pl.DataFrame) -> list[ChallengeFigure]:
    """Take rings: the time of a message, or what a rank sends by it."""
    ranks, size = int(facts["ranks"]), size_of(facts["bytes"])
    metric = metrics.LATENCY if size == RING_LATENCY else metrics.BANDWIDTH_RANK
    times = zip(_RINGS, _ring_times(rows, facts), strict=False)
    return [ChallengeFigure(test, metric, ranks, time, size, size) for test, time in times]


def _ring_times(rows: pl.DataFrame, facts: Facts) -> list[float]:
    """Return the time of a message in the natural ring, then of the random ones [s].

    A rank counts by the faster of both loops, a measurement by its slowest rank, a ring by its
    fastest measurement, the random rings by their geometric mean.
    """
    measurements = int(facts["measurements"])
    number = pl.col("iteration") // 2
    kept = rows.with_columns(
        ring=number // measurements,
        measurement=number % measurements,
        seconds=pl.col("duration_ns") * 1e-9 / (2 * int(facts["loops"])),
    )
    slowest = (
        kept.group_by("ring", "measurement", "rank", maintain_order=True)
        .agg(pl.col("seconds").min())
        .group_by("ring", "measurement", maintain_order=True)
        .agg(pl.col("seconds").max())
    )
    rings = slowest.group_by("ring").agg(pl.col("seconds").min()).sort("ring")["seconds"].to_numpy()
    random = [float(np.exp(np.log(rings[1:]).mean()))] if len(rings) > 1 else []
    return [float(rings[0]), *random]


def _ping_pong(facts: Facts, rows: pl.DataFrame) -> list[ChallengeFigure]:
    """Take a ping-pong: half of a round trip, or the message by it."""
    size = size_of(facts["bytes"])
    metric = metrics.LATENCY if size == RING_LATENCY else metrics.BANDWIDTH
    return [ChallengeFigure("PingPong", metric, 2, float(means(rows).mean()) / 2, size, size)]


def _transpose(facts: Facts, rows: pl.DataFrame) -> list[ChallengeFigure]:
    """Take PTRANS: the matrix by its slowest transpose."""
    moved = _DOUBLE * int(facts["size"]) ** 2
    ranks = int(facts["rows"]) * int(facts["columns"])
    seconds = float(slowest(rows).max())
    return [ChallengeFigure("PTRANS", metrics.BANDWIDTH_SUM, ranks, seconds, moved)]


def _transform(facts: Facts, rows: pl.DataFrame) -> list[ChallengeFigure]:
    """Take MPIFFT: 5 n log2 n operations by the time of the slowest rank."""
    ranks = int(facts["ranks"])
    done = _operations(ranks * int(facts["local"]))
    return [ChallengeFigure("MPIFFT", metrics.FLOP_RATE, ranks, float(slowest(rows).mean()), done)]


def _own_transform(facts: Facts, rows: pl.DataFrame) -> list[ChallengeFigure]:
    """Take StarFFT and SingleFFT: the mean of the rates of ranks."""
    seconds = 1 / float((1 / _durations(rows)).mean())
    test, done = f"{str(facts['scope']).title()}FFT", _operations(1 << int(facts["log2_size"]))
    return [ChallengeFigure(test, metrics.FLOP_RATE, int(facts["ranks"]), seconds, done)]


def _operations(points: int) -> int:
    """Return the operations that are counted for a transform of so many numbers."""
    return round(5 * points * math.log2(points))


def _updates(facts: Facts, rows: pl.DataFrame) -> list[ChallengeFigure]:
    """Take MPIRandomAccess: all updates by the time of the slowest rank."""
    ranks = int(facts["ranks"])
    rounds = int(facts["rounds"]) * int(facts["iterations"])
    times = _durations(rows.group_by("rank", maintain_order=True).agg(pl.col("duration_ns").sum()))
    seconds = float(times.max()) / rounds
    return [
        ChallengeFigure("MPIRandomAccess", metrics.UPDATE_RATE, ranks, seconds, ranks * LOOK_AHEAD)
    ]


def _linpack(facts: Facts, rows: pl.DataFrame) -> list[ChallengeFigure]:
    """Take Linpack: the operations that it counts by the time of all panels."""
    size, block = int(facts["size"]), int(facts["block"])
    ranks = int(facts["rows"]) * int(facts["columns"])
    is_whole = "samples" not in facts
    seconds, half = _panel_times(rows, -(-size // block), is_whole=is_whole)
    error = None if is_whole else abs(half / seconds - 1)
    return [ChallengeFigure("HPL", metrics.FLOP_RATE, ranks, seconds, flops(size), error=error)]


def _panel_times(rows: pl.DataFrame, panels: int, *, is_whole: bool) -> tuple[float, float]:
    """Return the time of all panels, by all samples and by every other one [s].

    A panel's time is the mean over ranks: what one waits longer for the broadcast, another waited
    longer for the one before. Samples are evenly spread; Simpson's rule adds up the others.
    """
    times = means(rows)
    if is_whole:
        return float(times.sum()), float(times.sum())
    return panels * _simpson(times), panels * _simpson(times[::2])


def _simpson(values: Times) -> float:
    """Return the mean of a function from an odd number of evenly spread values."""
    inner = 4 * values[1:-1:2].sum() + 2 * values[2:-1:2].sum()
    return float((values[0] + inner + values[-1]) / (3 * (len(values) - 1)))


def means(rows: pl.DataFrame) -> Times:
    """Return the mean time over ranks of each iteration, in order [s]."""
    averages = rows.group_by("iteration").agg(pl.col("duration_ns").mean()).sort("iteration")
    return _durations(averages)


def of_slowest_rank(rows: pl.DataFrame) -> Times:
    """Return the times of all iterations of the rank that took longest, in order [s]."""
    totals = rows.group_by("rank", maintain_order=True).agg(pl.col("duration_ns").sum())
    slow = totals.sort("duration_ns", "rank", descending=[True, False])["rank"][0]
    return _durations(rows.filter(pl.col("rank") == slow).sort("iteration"))


def slowest(rows: pl.DataFrame) -> Times:
    """Return the time of the slowest rank in each iteration [s]."""
    return _durations(
        rows.group_by("iteration", maintain_order=True).agg(pl.col("duration_ns").max())
    )


def _durations(rows: pl.DataFrame) -> Times:
    """Return times of rows [s]."""
    return np.asarray(rows["duration_ns"].to_numpy() * 1e-9, dtype=np.float64)


CHALLENGE: dict[str, Callable[[Facts, pl.DataFrame], list[ChallengeFigure]]] = {
    "hpcc_ring": _rings,
    "hpcc_ptrans": _transpose,
    "hpcc_mpifft": _transform,
    "hpcc_random_access": _updates,
    "hpcc_fft": _own_transform,
    "hpl": _linpack,
}
"""Figures by the key of the workload."""
