"""Rows about the open-loop engine: packet-hops per second of dragonflies, and what bounds them.

Timed is what the example ``speed`` of the engine times: the run, not the build of the fabric.
"""

import functools
import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from peers import caminos, caminos_dragonfly
from rows import Row, child

ROOT = Path(__file__).parent.parent
ROUTINGS = {"minimal": "MIN", "valiant": "VAL"}
THREADS = (1, 2)
MEMORY_AIM_MIB = 16 * 1024
WALL_AIM_S = 600
RATIO_AIM = 100
"""How many times faster than simulators that go cycle by cycle."""
CHILD = """
import json, resource, subprocess, sys
point = json.loads(subprocess.check_output(sys.argv[1:]))
used = resource.getrusage(resource.RUSAGE_CHILDREN)
outside = {"peak_mib": used.ru_maxrss / 1024, "processor_s": used.ru_utime + used.ru_stime}
print(json.dumps({**point, **outside}))
"""
"""A process of its own, as the system keeps one peak for all children; below its own 11 MiB it
sees nothing."""


class Case(NamedTuple):
    """A balanced dragonfly (``p = h``, ``a = 2 h``), how long it runs, and what is aimed at."""

    h: int
    us: int
    speed_aim: float
    groups: int | None = None
    routing: str = "minimal"
    load: float = 0.5
    repeats: int = 5

    @property
    def hosts(self) -> int:
        """Count the hosts."""
        return self.h * 2 * self.h * self.all_groups

    @property
    def all_groups(self) -> int:
        """Count the groups: where it is not said, as many as one link between any two allows."""
        return self.groups or 2 * self.h * self.h + 1

    @property
    def name(self) -> str:
        """Name it."""
        return f"openloop_{self.hosts} {self.routing} {self.load}"


SMALL = Case(4, us=400, speed_aim=5e6)
MEDIUM = Case(8, us=50, speed_aim=2.5e6)
LARGE = Case(18, us=20, speed_aim=2.5e6, groups=463, repeats=2)
CASES = [
    *(
        SMALL._replace(routing=routing, load=load)
        for routing in ROUTINGS
        for load in (0.2, 0.5, 0.8)
    ),
    MEDIUM,
    LARGE,
]


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    speeds = [
        Row(f"{case.name} on {threads}", functools.partial(measure, case, threads))
        for case in CASES
        for threads in THREADS
    ]
    peers = [
        Row(peer_name(load, phits), functools.partial(compare, load, phits))
        for load in (0.2, 0.5)
        for phits in caminos_dragonfly.PHITS
    ]
    return [*speeds, *peers]


def measure(case: Case, threads: int) -> dict[str, Any]:
    """Run a case several times; gives the figures of the fastest.

    Raises
    ------
    ValueError
        When a run on several threads ends otherwise than on one.
    """
    best, alone = fastest(case, threads), fastest(case, 1)
    if best["fingerprint"] != alone["fingerprint"]:
        both = f"{best['fingerprint']} on {threads} threads, {alone['fingerprint']} on one"
        raise ValueError(f"{case.name} ends with {both}; expected the same")
    hops, wall, peak = best["packet_hops"], best["wall_s"], best["peak_mib"]
    speed = hops / wall / threads
    is_within = speed >= case.speed_aim and peak <= MEMORY_AIM_MIB and wall <= WALL_AIM_S
    return {
        "row": f"{case.name} on {threads}",
        "hosts": best["hosts"],
        "packet_hops": hops,
        "wall_s": round(wall, 4),
        "hops_per_s": round(hops / wall),
        "hops_per_s_and_core": round(speed),
        "speed_up": round(alone["wall_s"] / wall, 2),
        "peak_mib": round(peak, 1),
        "bytes_per_packet": best["bytes_per_packet"],
        "bytes_per_port": best["bytes_per_port"],
        "fingerprint": best["fingerprint"],
        "is_within_aims": is_within,
    }


@functools.cache
def fastest(case: Case, threads: int) -> dict[str, Any]:
    """Run a case several times; gives the fastest run, with the least processor time of all.

    Raises
    ------
    ValueError
        When two runs end differently.
    """
    runs = [child(CHILD, *words(case, case.us, threads)) for _ in range(case.repeats)]
    ends = {run["fingerprint"] for run in runs}
    if len(ends) > 1:
        raise ValueError(f"{case.name} on {threads} ends with {sorted(ends)}; expected one of them")
    best = min(runs, key=lambda run: float(run["wall_s"]))
    return {**best, "processor_s": min(run["processor_s"] for run in runs)}


def words(case: Case, us: int, threads: int) -> list[str]:
    """Give the command that runs a case: ``us`` to warm up, and as long measured."""
    traffic = {"routing": ROUTINGS[case.routing], "load": case.load}
    run = {"h": case.h, "groups": case.all_groups, "us": us, "threads": threads}
    pairs = {**run, **traffic}.items()
    return [speed_command(), *(f"{key}={value}" for key, value in pairs)]


@functools.cache
def speed_command() -> str:
    """Build the engine's example; gives its command."""
    build = ["cargo", "build", "--release", "--quiet", "--message-format=json"]
    example = ["--package", "etherweave-openloop", "--example", "speed"]
    lines = subprocess.check_output([*build, *example], cwd=ROOT, text=True).splitlines()
    programs = [json.loads(line).get("executable") for line in lines]
    return str(next(program for program in programs if program))


def peer_name(load: float, phits: int) -> str:
    """Name a comparison."""
    return f"openloop_caminos {load} of {phits} phits"


def compare(load: float, phits: int) -> dict[str, Any]:
    """Run the smallest dragonfly in both."""

    def etherweave() -> float:
        run = child(CHILD, *words(SMALL._replace(load=load), SMALL.us, 1))
        return float(run["packet_hops"] / (run["wall_s"] + run["built_s"]))

    theirs = functools.partial(caminos_dragonfly.speed, load, phits)
    outcome = caminos.compare(peer_name(load, phits), theirs, etherweave)
    return {**outcome, "is_within_aims": outcome["ratio"] >= RATIO_AIM}
