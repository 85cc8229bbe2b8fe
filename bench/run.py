"""Times the simulator: ``make bench`` prints a table and appends it to bench/history.jsonl.

Each row runs in a process of its own, several times; the fastest run counts, for others on the
machine only ever slow it down.
"""

import datetime
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from counts import counts
from peers import caminos

from etherweave import __version__
from etherweave.machine import machine

HERE = Path(__file__).parent
HISTORY = HERE / "history.jsonl"
REPEATS = 5
ROWS = [
    ("permutation_128", 1),
    ("permutation_1024", 1),
    ("permutation_1024", 2),
    ("halo3d_48", 1),
    ("halo3d_96", 1),
]
CHILD = """
import json, resource, sys, etherweave
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = etherweave.run(sys.argv[1], threads=int(sys.argv[2]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
hosts = len({row for row in result.tables["flows"]["source_host"].to_pylist()})
print(json.dumps({**result.summary, "hosts": hosts, "rss_kib": after, "grown_kib": after - before}))
"""
WORDS = [sys.executable, "-c", CHILD]


def measure(name: str, threads: int) -> dict[str, Any]:
    """Run a scenario several times; gives the figures of the fastest."""
    words = [*WORDS, str(HERE / f"{name}.toml"), str(threads)]
    runs = [json.loads(subprocess.check_output(words)) for _ in range(REPEATS)]
    best = min(runs, key=lambda run: run["wall_s"])
    hops, wall = best["packet_hops"], best["wall_s"]
    return {
        "row": name,
        "threads": best["threads"],
        "packet_hops": hops,
        "events_per_hop": round(best["events"] / hops, 3),
        "wall_s": round(wall, 4),
        "hops_per_s": round(hops / wall),
        "hops_per_s_and_core": round(hops / wall / best["threads"]),
        "setup_s": round(min(run["setup_s"] for run in runs), 4),
        "bytes_per_host": round(best["grown_kib"] * 1024 / best["hosts"]),
        "peak_mib": round(best["rss_kib"] / 1024, 1),
        **counts(HERE / f"{name}.toml", hops),
    }


def speed(name: str) -> float:
    """Run a scenario once; gives packet-hops per second of simulation and set-up."""
    run = json.loads(subprocess.check_output([*WORDS, str(HERE / f"{name}.toml"), "1"]))
    return float(run["packet_hops"] / (run["wall_s"] + run["setup_s"]))


def study() -> dict[str, Any]:
    """Time the whole study, from nothing."""
    started = time.monotonic()
    command = Path(sys.executable).parent / "etherweave"
    output = HERE.parent / "results" / "bench-study"
    shutil.rmtree(output, ignore_errors=True)
    words = [str(command), "study", "sandia-2020", "--json", "-o", str(output)]
    checks = json.loads(subprocess.check_output(words))["checks"]
    held = sum(check["pass"] for check in checks)
    wall = round(time.monotonic() - started, 1)
    return {"row": "study", "wall_s": wall, "figures_held": held, "figures": len(checks)}


def main() -> None:
    """Measure every row, print it and keep it."""
    stamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    facts = {"date": stamp, "commit": commit, "version": __version__, **machine()}
    with HISTORY.open("a", encoding="utf-8") as history:
        for name, threads in ROWS:
            print(f"{name} on {threads}", file=sys.stderr)
            keep(history, facts, measure(name, threads))
        keep(history, facts, caminos.compare(lambda: speed("permutation_128")))
        keep(history, facts, study())


def keep(history: Any, facts: dict[str, str], row: dict[str, Any]) -> None:
    """Print a row and append it to the history."""
    print("  ".join(f"{key}={value}" for key, value in row.items()))
    history.write(json.dumps({**row, **facts}) + "\n")
    history.flush()  # an interrupted run keeps the rows that it has


if __name__ == "__main__":
    main()
