"""What limits a job: its time by parts, along the path from its last step back to its first.

The table ``path`` of a run that observes its ranks has the parts in order, without gaps: their
times add up to the time of the job. Nothing is imported for tables, so that a short run stays
short.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from etherweave.results import Result

PARTS = {
    "computation": ("program", "computation"),
    "sleep": ("program", "sleep"),
    "mpi_copy": ("host", "copies by MPI"),
    "mpi_call": ("host", "calls of MPI"),
    "socket_copy": ("host", "copies between sockets and the program"),
    "socket_call": ("host", "calls of sockets"),
    "kernel": ("host", "receive path of the kernel"),
    "core": ("host", "waits for a core"),
    "line": ("network", "bytes at the rate of the hosts' links"),
    "latency": ("network", "latency of the path"),
    "network": ("network", "queues and other messages"),
    "rendezvous": ("network", "queues and other messages of rendezvous"),
    "room": ("network", "waits for room in a socket"),
    "idle": ("program", "nothing to do"),
}
"""Parts of a path: where they belong, and in words."""
PLACES = {"program": "the program", "host": "the host", "network": "the network"}
"""Where parts belong, in words."""


@dataclass(frozen=True)
class Stretch:
    """A part of the path of a job."""

    rank: int
    """The rank that spends the time, or waits."""
    host: str
    """Its host."""
    part: str
    """One of :data:`PARTS`."""
    source: int
    """The rank whose message is waited for; the rank itself where none is."""
    start_ns: float
    """Its beginning [ns]."""
    end_ns: float
    """Its end [ns]."""

    @property
    def time_ns(self) -> float:
        """How long it takes [ns]."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class JobLimits:
    """What limits one job."""

    job: str
    """Its name."""
    path: Sequence[Stretch]
    """All parts, in order of time."""

    @property
    def time_ns(self) -> float:
        """From the first step of the job to its last [ns]."""
        return self.path[-1].end_ns - self.path[0].start_ns

    @property
    def parts_ns(self) -> dict[str, float]:
        """Time of each part that takes any, the longest first [ns]."""
        times = {
            part: math.fsum(one.time_ns for one in self.path if one.part == part) for part in PARTS
        }
        return dict(sorted(((k, v) for k, v in times.items() if v), key=lambda pair: -pair[1]))

    @property
    def places_ns(self) -> dict[str, float]:
        """Time of each of :data:`PLACES` that takes any, the longest first [ns]."""
        parts = self.parts_ns
        times = {
            place: math.fsum(time for part, time in parts.items() if PARTS[part][0] == place)
            for place in PLACES
        }
        return dict(sorted(((k, v) for k, v in times.items() if v), key=lambda pair: -pair[1]))

    def sentence(self) -> str:
        """Say what limits the job."""
        parts, time = self.parts_ns, self.time_ns
        place, share = next((name, spent / time) for name, spent in self.places_ns.items())
        of_place = [part for part in parts if PARTS[part][0] == place]
        words = ", ".join(f"{PARTS[part][1]} {_percent(parts[part] / time)}" for part in of_place)
        rest = ", ".join(
            f"{PLACES[name]} {_percent(spent / time)}"
            for name, spent in self.places_ns.items()
            if name != place
        )
        return (
            f"{self.job}: limited by {PLACES[place]}, {_percent(share)} of {_time(time)} ({words})"
            + (f"; {rest}" if rest else "")
        )

    def figures(self) -> dict[str, Any]:
        """Give times by name [us]."""
        return {
            "time_us": self.time_ns / 1e3,
            "parts_us": {part: time / 1e3 for part, time in self.parts_ns.items()},
            "places_us": {place: time / 1e3 for place, time in self.places_ns.items()},
        }


def limits(result: Result) -> list[JobLimits]:
    """Read what limits each job of a run.

    Parameters
    ----------
    result
        Of a run with ``observe.ranks``; of others nothing is known.

    Returns
    -------
    list of JobLimits
        One for each job whose ranks took any time.
    """
    if not result.columns("path"):
        return []
    columns = ("job", "rank", "host", "part", "source", "start_ns", "end_ns")
    rows = zip(*(result.values("path", name) for name in columns), strict=True)
    return [
        JobLimits(job, [Stretch(*row[1:]) for row in own])
        for job, own in groupby(rows, key=lambda row: row[0])
    ]


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "<1%"


def _time(time_ns: float) -> str:
    return f"{time_ns / 1e6:.3f} ms" if time_ns >= 1e6 else f"{time_ns / 1e3:.1f} us"
