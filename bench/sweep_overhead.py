"""Rows about sweeps: what a run takes beyond its simulation."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rows import Row, child

RUNS, TRIES = 500, 5
SCENARIO = """\
topology.single_switch = { hosts = 4 }
transport.roce = {}
[[job]]
name = "incast"
workload.incast = { sources = 3, message = "4kB", messages = 10 }
[sweep]
seeds = SEEDS
"""


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    return [Row("sweep overhead", overhead)]


def overhead() -> dict[str, Any]:
    """Carry out one run and many on one worker; gives what each more takes beyond its own time."""
    folder = str(Path(__file__).parent)
    program = (
        f"import json, sys; sys.path.insert(0, {folder!r}); from sweep_overhead import timed\n"
    )
    program += "print(json.dumps(timed(int(sys.argv[1]))))"
    pairs = [[child(program, str(count)) for count in (1, RUNS)] for _ in range(TRIES)]
    (one, many) = min(pairs, key=lambda pair: pair[1]["wall_s"])
    beyond = (many["wall_s"] - many["runs_s"]) - (one["wall_s"] - one["runs_s"])
    return {
        "row": "sweep overhead",
        "overhead_ms_per_run": round(1e3 * beyond / (RUNS - 1), 3),
        "run_ms": round(1e3 * many["runs_s"] / RUNS, 3),
        "start_s": round(one["wall_s"] - one["runs_s"], 3),
        "runs": RUNS,
    }


def timed(seeds: int) -> dict[str, float]:
    """Carry out a sweep of so many seeds, and time it."""
    from etherweave.sweeps import executor, load_sweep, sweep

    with TemporaryDirectory() as directory:
        path = Path(directory) / "incast.toml"
        path.write_text(SCENARIO.replace("SEEDS", str(seeds)))
        start = time.perf_counter()
        done = sweep(load_sweep(path), Path(directory) / "out", executor("local", 1))
        return {"wall_s": time.perf_counter() - start, "runs_s": done.status.seconds}
