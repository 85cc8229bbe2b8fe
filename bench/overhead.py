"""Rows about the executor of schedules: what it takes beyond a ping-pong written by hand."""

import shutil
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rows import Row

from etherweave.bench.measure import LaunchOptions, executor, measure, rank_placement
from etherweave.bench.measure.launch import launch
from etherweave.bench.programs.plans import BenchmarkCommand, Start

BYTES, WARM_UP, ROUNDS = 8, 2_000, 50_000
LAUNCHES = 7
"""Runs of each kind, in turns: others on the machine disturb both alike."""
LIMIT_S = 120.0
"""Limit of a launch [s]."""
OPERATIONS = 4
"""Operations of a round trip on a rank: send, wait, receive, wait."""


def rows() -> list[Row]:
    """Name every row, with what measures it; none without MPI."""
    return [Row("executor overhead", overhead)] if shutil.which("mpicc") else []


def overhead() -> dict[str, Any]:
    """Launch both in turns; gives the least medians and their difference [ns]."""
    by_hand, scheduled = zip(*((pingpong(), schedule()) for _ in range(LAUNCHES)), strict=True)
    beyond = min(scheduled) - min(by_hand)
    return {
        "row": "executor overhead",
        "by_hand_ns": min(by_hand),
        "scheduled_ns": min(scheduled),
        "overhead_ns": beyond,
        "overhead_ns_per_operation": round(beyond / OPERATIONS, 1),
        "launches": LAUNCHES,
        "round_trips": ROUNDS,
    }


def pingpong() -> float:
    """Time the ping-pong written by hand: the median round trip [ns]."""
    program = executor.build(parts=["pingpong.c"]).path
    command = BenchmarkCommand(Start.MPI, (str(program), str(BYTES), str(WARM_UP), str(ROUNDS)))
    placement = rank_placement.of_launcher(LaunchOptions(), 2)
    with TemporaryDirectory() as directory:
        job = placement.job(command, Path(directory), LIMIT_S)
        said = launch(placement.launcher, job, lambda elapsed_s: None).text
    return statistics.median(map(int, said.split()))


def schedule() -> float:
    """Time the same as a schedule: the median iteration [ns]."""
    latency = {"bytes": f"{BYTES}B", "warm_up": WARM_UP, "iterations": ROUNDS}
    job = {"name": "latency", "workload": {"osu_latency": latency}}
    result = measure({"topology": {"single_switch": {"hosts": 2}}, "job": [job]})
    return float(statistics.median(result.to_polars("iterations")["duration_ns"]))
