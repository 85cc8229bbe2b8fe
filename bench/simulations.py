"""Rows about the simulator: packet-hops per second, set-up, memory; a peer; the whole study."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from counts import counts
from peers import caminos
from rows import Row, child

HERE = Path(__file__).parent
REPEATS = 5
CASES = [
    ("permutation_128", 1),
    ("input_queued_128", 1),
    ("permutation_1024", 1),
    ("permutation_1024", 2),
    ("permutation_8192", 1),
    ("permutation_65536", 1),
    ("all_to_all_1024", 1),
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


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    cases = [
        Row(f"{name} on {threads}", lambda name=name, threads=threads: measure(name, threads))
        for name, threads in CASES
    ]
    return [*cases, Row("caminos", peer), Row("study", study)]


def measure(name: str, threads: int) -> dict[str, Any]:
    """Run a scenario several times; gives the figures of the fastest."""
    scenario = HERE / f"{name}.toml"
    runs = [child(CHILD, str(scenario), str(threads)) for _ in range(REPEATS)]
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
        **counts(scenario, hops),
    }


def speed(name: str) -> float:
    """Run a scenario once; gives packet-hops per second of simulation and set-up."""
    run = child(CHILD, str(HERE / f"{name}.toml"), "1")
    return float(run["packet_hops"] / (run["wall_s"] + run["setup_s"]))


def peer() -> dict[str, Any]:
    """Run a tree in CAMINOS and here."""
    return caminos.compare("caminos_128", caminos.tree_speed, lambda: speed("permutation_128"))


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
