"""What limits a job: its time by parts, along the path from its last step back to its first.

The table ``path`` of a run that observes its ranks has the parts in order, without gaps: their
times add up to the time of the job. The table ``waits`` of a run with ``observe.waits`` divides
what messages wait in the network by ports. Nothing is imported for tables, so that a short run
stays short.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from etherweave.api.results import Result

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
HIDES = 0.5
"""Share of hosts in the time of a job from which on they hide the network."""
CAUSE_MIN = 0.01
"""Share of a job's time from which on the first cause of waits in the network is named."""
RANKS_MAX = 3
"""Ranks that are named whose packets go first."""


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
        """Duration [ns]."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Cause:
    """Why messages on the path of a job wait in the network, and where."""

    reason: str
    """``queue``, ``own``, ``pause``, ``credits``, ``window``, ``lost`` or ``other``."""
    node: str
    """Switch or host of the port; empty where it is no port."""
    peer: str
    """The other end of its link."""
    cause_node: str
    """Switch or host that causes a pause or a lack of credits."""
    cause_peer: str
    """The other end of the link there; empty of a host that takes packets too slowly."""
    is_host: bool
    """Whether the port is a host's."""
    leads_to_host: bool
    """Whether it leads to a host."""

    @property
    def words(self) -> str:
        """Say it."""
        port = f"{self.node} to {self.peer}"
        match self.reason:
            case "queue" if self.is_host:
                return f"other messages at {port}"
            case "queue":
                return f"{'incast' if self.leads_to_host else 'collisions'} at {port}"
            case "own":
                return f"packets of the same message at {port}"
            case "pause":
                return f"pauses of {port} by {self._holder}"
            case "credits":
                return f"missing credits of {port} because of {self._holder}"
            case "window":
                return f"windows and rates at {self.node}" + (
                    f" because of {self._holder}" if self.cause_node else ""
                )
            case "lost":
                return f"packets lost behind {port}"
            case _:
                return f"other waits at {port}" if self.node else "other waits"

    @property
    def _holder(self) -> str:
        if not self.cause_peer:
            return f"slow receiver {self.cause_node}"
        if (self.cause_node, self.cause_peer) == (self.node, self.peer):
            return "the round trip of its link"
        return f"queues at {self.cause_node} to {self.cause_peer}"


@dataclass(frozen=True)
class Wait:
    """A part of what a message on the path waits in the network."""

    cause: Cause
    """Why, and where."""
    rank: int
    """The rank that waits for the message."""
    source: int
    """The rank that sent it."""
    of_job: str
    """Job whose packets go first; empty where none do."""
    of_rank: int
    """Rank that sends them."""
    start_ns: float
    """Start of the part of the path [ns]."""
    time_ns: float
    """Duration [ns]."""


@dataclass(frozen=True)
class JobLimits:
    """What limits one job."""

    job: str
    """Its name."""
    path: Sequence[Stretch]
    """All parts, in order of time."""
    waits: Sequence[Wait] = ()
    """Waits of messages in the network by port, where the run records them."""

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

    @property
    def causes_ns(self) -> dict[Cause, float]:
        """Time of each cause of waits in the network, the longest first [ns]."""
        waits: dict[Cause, list[float]] = {}
        for wait in self.waits:
            waits.setdefault(wait.cause, []).append(wait.time_ns)
        times = {cause: math.fsum(spent) for cause, spent in waits.items()}
        return dict(sorted(times.items(), key=lambda pair: -pair[1]))

    def first_in_line(self, cause: Cause) -> str:
        """Say whose packets go first at a port, the most first."""
        ranks: dict[tuple[str, int], float] = {}
        for wait in self.waits:
            if wait.cause == cause and wait.of_job:
                key = (wait.of_job, wait.of_rank)
                ranks[key] = ranks.get(key, 0.0) + wait.time_ns
        first = sorted(ranks, key=lambda key: -ranks[key])[:RANKS_MAX]
        return ", ".join(f"{job} rank {rank}" for job, rank in first)

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
            + self._first_cause()
        )

    def _first_cause(self) -> str:
        named = ((cause, time) for cause, time in self.causes_ns.items() if cause.node)
        cause, time = next(named, (None, 0.0))
        if cause is None or time < CAUSE_MIN * self.time_ns:
            return ""
        return f"; of the network {cause.words} {_percent(time / self.time_ns)}"

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
    waits = _waits(result)
    return [
        JobLimits(job, [Stretch(*row[1:]) for row in own], waits.get(job, []))
        for job, own in groupby(rows, key=lambda row: row[0])
    ]


def _waits(result: Result) -> dict[str, list[Wait]]:
    if not result.columns("waits"):
        return {}
    hosts = set(result.values("path", "host"))
    of_cause = ("reason", "node", "peer", "cause_node", "cause_peer")
    of_wait = ("rank", "source", "of_job", "of_rank", "start_ns", "time_ns")
    causes = zip(*(result.values("waits", name) for name in of_cause), strict=True)
    others = zip(*(result.values("waits", name) for name in of_wait), strict=True)
    waits: dict[str, list[Wait]] = {}
    for job, ends, other in zip(result.values("waits", "job"), causes, others, strict=True):
        reason, node, peer, cause_node, cause_peer = ends
        cause = Cause(reason, node, peer, cause_node, cause_peer, node in hosts, peer in hosts)
        waits.setdefault(job, []).append(Wait(cause, *other))
    return waits


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "<1%"


def _time(time_ns: float) -> str:
    return f"{time_ns / 1e6:.3f} ms" if time_ns >= 1e6 else f"{time_ns / 1e3:.1f} us"
