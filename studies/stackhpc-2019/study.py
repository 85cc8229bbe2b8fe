"""HPC Challenge and OpenFOAM on four networks: what runs, and what each check measures."""

import math
from collections.abc import Iterator
from functools import partial

from etherweave.api.results import Result
from etherweave.measurements.quantities import quantities
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

NETWORKS = {
    "tcp10": "10 Gb/s TCP",
    "tcp25": "25 Gb/s TCP",
    "ib100": "100 Gb/s InfiniBand",
    "roce25": "25 Gb/s RoCE",
}
"""Scenarios by the columns of the table, in its order."""
RANKS = 256
SIDE = 16  # Side of the grid of ranks.
SIZE = 311_808  # Rows of the matrix of Linpack: 1,624 blocks, 97 GB on each host.
BLOCK = 192
PTRANS_SHORT = 207 * BLOCK
"""Rows of PTRANS in a shortened run. Messages have 208 blocks a side, of which 0.5 % are empty, as
of the 816 of the published size."""
STAR_FFT = 1.636e9
"""Operations of a rank in a second where all compute transforms of their own (StarFFT)."""
LOG2_FFT = 26
"""Numbers of a rank in StarFFT as a power of two: a 48th of its part of Linpack, or less."""
FFT_PER_GFLOP = "415ms"
"""Time of a rank for 1e9 operations of a transform in caches, fitted to SingleFFT."""
FFT_PASSES = 2  # Passes through memory: zfft1d.c of HPCC writes numbers transposed, and back.
COPY = "8Gb/s"  # Rate of a rank in its passes over memory.
UPDATE = 0.85 * 33.6e9
"""Operations of a rank in a second in the update of Linpack, of 33.6e9 at its peak."""
LOG2_TABLE = 36
"""Words of the table of RandomAccess as a power of two: half of what Linpack has, or less."""
PER_UPDATE = "100ns"
"""Time of a rank for an update: an access to memory that no cache serves, a place in a bucket."""
LOG2_LOCAL = 25  # Numbers of a rank in MPIFFT as a power of two.
SHORTER = 4
"""The same power less in a shortened run: transforms and passes take that much less too."""

NODES = (4, 8)  # Hosts of the runs of OpenFOAM, of 32 ranks each.
CELLS = 1_900_000
PER_CELL_US = 1.5  # Time of a step, as simulated; another one is fitted.
OPENFOAM = {("ib100", 4): 99.83, ("ib100", 8): 87.64, ("tcp25", 4): 347.19}
"""Published times that OpenFOAM is calibrated to, by network and hosts [s]."""

SCALES = {
    "ring.latency": ("RandomlyOrderedRing", 1e6),
    "ring.bandwidth": ("RandomlyOrderedRing", 1e-9),
    "ptrans": ("PTRANS", 1e-9),
    "mpifft": ("MPIFFT", 1e-9),
    "randomaccess": ("MPIRandomAccess", 1e-9),
    "starfft": ("StarFFT", 1e-9),
    "singlefft": ("SingleFFT", 1e-9),
    "hpl": ("HPL", 1e-12),
}
"""Name of the figure of each test, and the factor to the unit of the table."""


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List every test on every network, as published or shortened."""
    for network in NETWORKS:
        for test, workload in _workloads(full).items():
            yield RunExperiment(f"hpcc.{test}.{network}", network, {"job.0.workload": workload})
        for nodes in NODES:
            workload = _solver(32 * nodes, steps=3 if full else 1)
            yield RunExperiment(
                f"openfoam.{network}.{nodes}nodes", network, {"job.0.workload": workload}
            )


def _solver(ranks: int, *, steps: int) -> dict[str, object]:
    """Describe steps of OpenFOAM's solver: iterations below grow with the root of the ranks."""
    gamg = {"cycles": 4, "coarsest_iterations": round(2 * math.sqrt(ranks))}
    return {
        "openfoam": {
            "ranks": ranks,
            "cells": CELLS,
            "pressure": {"gamg": gamg},
            "per_cell": f"{PER_CELL_US}us",
            "iterations": steps,
        }
    }


def _workloads(full: bool) -> dict[str, object]:
    bandwidth = {"measurements": 2, "random_rings": 10} if full else {"random_rings": 3}
    grid = {"rows": SIDE, "columns": SIDE, "block": BLOCK}
    size, repetitions = (SIZE // 2, 5) if full else (PTRANS_SHORT, 2)
    log2_local = LOG2_LOCAL if full else LOG2_LOCAL - SHORTER
    transform = {
        "ranks": RANKS,
        "log2_size": LOG2_FFT,
        "per_gflop": FFT_PER_GFLOP,
        "passes": FFT_PASSES,
    }
    return {
        "ring.latency": {"hpcc_ring": {"ranks": RANKS}},
        "ring.bandwidth": {
            "hpcc_ring": {
                "ranks": RANKS,
                "bytes": "2MB",
                "loops": 3,
                "measurements": 1,
                **bandwidth,
            }
        },
        "ptrans": {
            "hpcc_ptrans": {**grid, "size": size, "copy_rate": COPY, "iterations": repetitions}
        },
        "mpifft": {
            "hpcc_mpifft": {
                "ranks": RANKS,
                "local": 2**log2_local,
                "compute": f"{transform_ns(log2_local)}ns",
                "copy_rate": COPY,
            }
        },
        "randomaccess": {
            "hpcc_random_access": {
                "ranks": RANKS,
                "log2_table": LOG2_TABLE,
                "per_update": PER_UPDATE,
                "iterations": 2,
            }
        },
        "starfft": {"hpcc_fft": {**transform, "scope": "star"}},
        "singlefft": {"hpcc_fft": {**transform, "scope": "single"}},
        "hpl": {
            "hpl": {
                **grid,
                "size": SIZE,
                "broadcast": "ring_modified",
                "update_per_gflop": f"{round(1e21 / UPDATE)}ps",
                "panel_per_gflop": "100ms",
                "samples": 9,
            }
        },
    }


def transform_ns(log2_local: int) -> int:
    """Return what a rank computes in MPIFFT, at the rate of StarFFT.

    A shorter transform has its share of the time of the published one.
    """
    value: float = 5 * 2**LOG2_LOCAL * (LOG2_LOCAL + int(math.log2(RANKS))) / STAR_FFT
    share: float = 0.5 ** (LOG2_LOCAL - log2_local)
    return round(1e9 * value * share)


def metrics() -> dict[str, Metric]:
    """Every check by its id."""
    figures: dict[str, Metric] = {
        f"hpcc.{test}.{network}": partial(figure, test, network)
        for test in SCALES
        for network in NETWORKS
    }

    def ratio(test: str, first: str, second: str) -> Metric:
        over, under = (figures[f"hpcc.{test}.{network}"] for network in (first, second))
        return lambda results: over(results) / under(results)

    pairs = {
        "hpl": ("ib100_tcp10", "roce25_tcp25", "ib100_roce25", "tcp25_tcp10"),
        "ptrans": ("ib100_roce25", "roce25_tcp25", "tcp25_tcp10"),
        "mpifft": ("ib100_roce25", "tcp25_tcp10", "tcp25_roce25"),
        "randomaccess": ("ib100_roce25", "roce25_tcp25"),
    }
    ratios = {
        f"ratio.{test}.{pair}": ratio(test, *pair.split("_"))
        for test, list_of_pairs in pairs.items()
        for pair in list_of_pairs
    }
    star, single = (figures[f"hpcc.{test}.ib100"] for test in ("starfft", "singlefft"))
    shared: dict[str, Metric] = {
        "ratio.starfft_singlefft.ib100": lambda results: star(results) / single(results),
        "ratio.starfft.networks": lambda results: _spread("starfft", figures, results),
    }
    return {**figures, **ratios, **shared, **_openfoam()}


def _spread(test: str, figures: dict[str, Metric], results: Results) -> float:
    """Return the largest figure of the networks over the smallest."""
    values = [figures[f"hpcc.{test}.{network}"](results) for network in NETWORKS]
    return max(values) / min(values)


def _openfoam() -> dict[str, Metric]:
    def time(network: str, nodes: int, results: Results) -> float:
        fixed, steps, per_cell = _fitted(results)
        return fixed + steps * _step(results, network, nodes, per_cell)

    def ratio(first: tuple[str, int], second: tuple[str, int], results: Results) -> float:
        return time(*first, results) / time(*second, results)

    times = {
        f"openfoam.{network}.{nodes}nodes": partial(time, network, nodes)
        for network in NETWORKS
        for nodes in NODES
    }
    growths = {
        f"ratio.openfoam.{network}.8_4": partial(ratio, (network, 8), (network, 4))
        for network in NETWORKS
    }
    pairs = {
        f"ratio.openfoam.{first}_{second}.{nodes}": partial(ratio, (first, nodes), (second, nodes))
        for first, second in (("roce25", "ib100"), ("tcp25", "ib100"), ("tcp10", "tcp25"))
        for nodes in NODES
    }
    return {**times, **growths, **pairs}


def _step(results: Results, network: str, nodes: int, per_cell_us: float) -> float:
    """Return the time of a step at another computation of a cell [s]."""
    rows = results[f"openfoam.{network}.{nodes}nodes"].to_polars("iterations")
    simulated = float(rows["duration_ns"].to_numpy().mean()) * 1e-9
    return simulated + (per_cell_us - PER_CELL_US) * 1e-6 * CELLS / (32 * nodes)


def _fitted(results: Results) -> tuple[float, float, float]:
    """Fit fixed time [s], steps and computation of a cell [us] to the rows for calibration.

    On as many hosts two networks differ by their steps alone; on one network what hosts differ by
    is computation, and the rest of the time is fixed.
    """
    (four, eight), other = ((("ib100", nodes) for nodes in NODES), ("tcp25", 4))
    without = {key: _step(results, *key, 0) for key in (four, eight, other)}
    steps = (OPENFOAM[other] - OPENFOAM[four]) / (without[other] - without[four])
    shorter = (OPENFOAM[four] - OPENFOAM[eight]) / steps - (without[four] - without[eight])
    cell = shorter / (CELLS / (32 * 4) - CELLS / (32 * 8))
    fixed = OPENFOAM[four] - steps * (without[four] + cell * CELLS / (32 * 4))
    return fixed, steps, cell * 1e6


def figure(test: str, network: str, results: Results) -> float:
    """Return the figure of a test as HPCC prints it."""
    result = results[f"hpcc.{test}.{network}"]
    name, scale = SCALES[test]
    (found,) = [quantity for quantity in quantities(result) if quantity.test == name]
    return scale * found.median * (_lengthened(result) if test == "mpifft" else 1)


def _lengthened(result: Result) -> float:
    """Return log2 n of the published transform over that of this one.

    Both count 5 n log2 n operations, and their times are as their n.
    """
    workload = result.scenario["job"][0]["workload"]["hpcc_mpifft"]
    ranks = int(math.log2(RANKS))
    return (LOG2_LOCAL + ranks) / (math.log2(int(workload["local"])) + ranks)
