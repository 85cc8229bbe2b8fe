"""Latency between two hosts, alone and beside traffic, which several tests measure."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TypeAlias

from etherweave.bmwg import kpis
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import is_held, nearest_rank
from etherweave.bmwg.model import BenchTest, Case, Cell, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import Changes
from etherweave.bmwg.throughput import DUPLEX, Variants, pair_jobs
from etherweave.bmwg.traffic import WARM_UP, ping

Pooled: TypeAlias = dict[tuple[Cell, ...], tuple[list[float], list[float], int]]
"""Times of a way and of round trips [us], and the number of runs, by configuration."""
AXES = ("variant", "message [B]", "load")
UNLOADED, LOADED = "none", "all pairs, bidirectional"
BACKGROUND_BYTES = 65_536  # Messages of the other pairs [B].
ALL = 100  # Share that the largest value has [%].
SHARES = (1, *range(5, 100, 5), 99, 99.9, ALL)  # Shares of messages of the distribution [%].
TIMES = ("one way", "round trip")


SAMPLES_FULL, SEEDS_FULL = 10_000, 20  # Round trips and seeds of a full sweep.


def latency_test(
    variants: Variants, sizes: Sequence[int], samples: int, sizes_full: Sequence[int]
) -> BenchTest:
    """Test latency of each variant of a fabric over size, alone and beside all other pairs."""

    def cases(fabric: BenchFabric, full: bool) -> list[Case]:
        if full:
            return _cases(fabric, sizes_full, SAMPLES_FULL, variants(fabric), SEEDS_FULL)
        return _cases(fabric, sizes, samples, variants(fabric), 1)

    return BenchTest(cases, lambda _, trials: _tables(trials))


def _cases(
    fabric: BenchFabric,
    sizes: Sequence[int],
    samples: int,
    variants: Mapping[str, Changes],
    seeds: int,
) -> list[Case]:
    """Make a case for each variant, size, load and seed: a ping-pong of two hosts."""
    client, server = fabric.pairs()[0]
    both = pair_jobs(fabric, BACKGROUND_BYTES, direction=DUPLEX)
    others = [{**job, "background": True} for job in both]
    return [
        Case(
            {**labelled(AXES, variant, size, load), "seed": seed},
            {
                "job": [ping(client, server, size, samples), *(others if load == LOADED else [])],
                "observe": {"ranks": True},
                "seed": seed,
                **changes,
            },
        )
        for variant, changes in variants.items()
        for size in sizes
        for load in (UNLOADED, LOADED)
        for seed in range(1, seeds + 1)
    ]


def _tables(trials: Included) -> list[ReportTable]:
    """Report statistics and the distribution of all runs of a configuration together."""
    pooled = _pooled(trials)
    return [_statistics(pooled), _distribution(pooled)]


def _pooled(trials: Included) -> Pooled:
    """Collect the times of a way and of round trips, and count runs, by configuration."""
    pooled: Pooled = {}
    for case, result in trials:
        key = tuple(case.labels[axis] for axis in AXES)
        one_way, round_trip, runs = pooled.setdefault(key, ([], [], 0))
        sent = kpis.rows(result, "transfers", "bytes", "start_ns", "end_ns")
        times = [(end - start) / 1e3 for size, start, end in sent if size == case.labels[AXES[1]]]
        one_way += times[2 * WARM_UP :]
        round_trip += kpis.iterations_us(result, "ping")
        pooled[key] = (one_way, round_trip, runs + 1)
    return pooled


def _statistics(pooled: Pooled) -> ReportTable:
    cells = []
    for key, (one_way, round_trip, runs) in pooled.items():
        for name, values in zip(TIMES, (one_way, round_trip), strict=True):
            alone = pooled.get((*key[:2], UNLOADED))
            first = alone and (alone[0] if name == TIMES[0] else alone[1])
            factor = fmean(values) / fmean(first) if first else None
            cells.append([*key, name, len(values), runs, *kpis.latency_cells(values), factor])
    columns = [
        *kpis.SETTING.columns(*AXES, "time"),
        *kpis.SOFTWARE.columns("samples"),
        *kpis.SETTING.columns("runs"),
        *kpis.latency_columns(kpis.SOFTWARE),
        *kpis.SOFTWARE.columns("over unloaded"),
    ]
    note = (
        "One way: from the post of a send to the completion of its receive; round trip: of a "
        "ping-pong. Samples of all runs are pooled. Time stamps at the DUT boundary: none."
    )
    titles = [column.title for column in columns]
    plot = Plot(1, titles.index(f"{kpis.LATENCY_TITLES[4]} [us]"), (0, 2, 3))
    return ReportTable("latency", "Latency", columns, cells, note, plot)


def _distribution(pooled: Pooled) -> ReportTable:
    """Report the latency that each share of messages does not exceed, one way."""
    rows_ = [
        [*key, nearest_rank(one_way, percent), percent]
        for key, (one_way, _, _) in pooled.items()
        for percent in SHARES
        if percent == ALL or is_held(len(one_way), percent)
    ]
    columns = [
        *kpis.SETTING.columns(*AXES),
        *kpis.SOFTWARE.columns("one way [us]"),
        *kpis.SETTING.columns("messages [%]"),
    ]
    title, plot = "Distribution of latency", Plot(3, 4, (0, 1, 2))
    return ReportTable("latency-cdf", title, columns, rows_, plot=plot)
