"""Limits of a job: its time by parts, along the path from its last step back to its first.

The table ``path`` of a run that observes its ranks has the parts in order, without gaps: their
times add up to the time of the job. The table ``waits`` of a run with ``observe.waits`` divides
what messages wait in the network by ports. Nothing is imported for tables, so that a short run
stays short.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

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
    "bus": ("host", "receivers slower than their links"),
    "line": ("network", "bytes at the rate of the hosts' links"),
    "node_links": ("network", "bytes on links within a node"),
    "latency": ("network", "latency of the path"),
    "network": ("network", "queues and other messages"),
    "rendezvous": ("network", "queues and other messages of rendezvous"),
    "room": ("network", "waits for room in a socket"),
    "idle": ("program", "nothing to do"),
}
"""Parts of a path: where they belong, and in words."""
PLACES = {"program": "the program", "host": "the host", "network": "the network"}
"""Where parts belong, in words."""
HIDES = 0.5  # Share of hosts in the time of a job from which on they hide the network.
CAUSE_MIN = 0.01
"""Share of a job's time from which on the first cause of waits in the network is named."""
RANKS_MAX = 3  # Ranks that are named whose packets go first.
PARTS_MAX = 3  # Parts that are named by which two runs differ.
PART_MIN = 0.1
"""Share of the largest difference of a part from which on another is named beside it."""
DIVIDED = ("network", "rendezvous", "room")  # Parts that waits divide.
KINDS = {
    "uplinks": "collisions at uplinks",
    "downlinks": "collisions at downlinks",
    "switches": "collisions between switches",
    "incast": "incast",
    "nic": "other messages at NICs",
    "own": "packets of the same message",
    "link": "links full of earlier messages",
    "pause": "pauses",
    "credits": "missing credits",
    "window": "windows, rates and NICs",
    "lost": "losses",
    "flow": "rates of flow-level mode",
    "other": "other waits",
}
"""Kinds of waits in the network, in words."""
QUEUES = {
    "up": "uplinks",
    "down": "downlinks",
    "only_up": "uplinks",
    "only_down": "downlinks",
    "tapered_up": "uplinks",
    "tapered_down": "downlinks",
    "switch": "switches",
    "to_host": "incast",
    "of_host": "nic",
}
"""Kinds of queues, by the link of the port."""
BAR = 40  # Characters of a bar.
_ROUNDING = 1e-9  # Part of a difference that sums of times are wrong by.


@dataclass(frozen=True)
class Stretch:
    """A part of the path of a job."""

    rank: int  # The rank that spends the time, or waits.
    host: str  # Its host.
    part: str  # One of :data:`PARTS`.
    source: int  # The rank whose message is waited for; the rank itself where none is.
    start_ns: float  # Its beginning [ns].
    end_ns: float  # Its end [ns].
    iteration: int | None = None  # Measured iteration of the rank; none outside.
    collective: str = ""
    """Collective that the rank calls, or purpose of the message of a graph; empty of none."""
    communicator: int = 0  # Its communicator.
    call: int | None = None  # Number among the calls of the collective there, from 0.
    call_bytes: int = 0  # Longest message of the call [B].

    @property
    def time_ns(self) -> float:
        """Duration [ns]."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Cause:
    """Why messages on the path of a job wait in the network, and where."""

    reason: str
    """``queue``, ``own``, ``link``, ``pause``, ``credits``, ``window``, ``lost``, ``flow`` or
    ``other``."""
    node: str  # Switch or host of the port; empty where it is no port.
    peer: str  # The other end of its link.
    cause_node: str  # Switch or host that causes a pause or a lack of credits.
    cause_peer: str
    """The other end of the link there; empty of a host that takes packets too slowly."""
    link: str
    """Link of the port: ``of_host`` or ``to_host``; between switches ``up`` or ``down``, where one
    end has hosts, and ``switch`` otherwise. ``only_up`` and ``only_down`` where that end has one
    uplink, so that packets have no other path; ``tapered_up`` and ``tapered_down`` where its
    uplinks carry less than the links of its hosts."""

    @property
    def kind(self) -> str:
        """One of :data:`KINDS`."""
        return QUEUES[self.link] if self.reason == "queue" else self.reason

    @property
    def kind_words(self) -> str:
        """Say the kind; a queue is no collision where its packets have no other path."""
        tapers = {"only": "taper", "tapered": "taper or collisions"}
        taper = tapers.get(self.link.split("_")[0]) if self.reason == "queue" else None
        return f"{taper} at {self.kind}" if taper else KINDS[self.kind]

    @property
    def place(self) -> str:
        """Name the port; of queues between switches all of a switch that lead up, down or on."""
        match self.kind:
            case "uplinks" | "downlinks" as kind:
                return f"{self.node}'s {kind}"
            case "switches":
                return f"{self.node}'s links to switches"
            case _:
                return f"{self.node} to {self.peer}"

    @property
    def where(self) -> str:
        """Name what holds packets up elsewhere, or the port."""
        return f"because of {self._holder}" if self.cause_node else f"at {self.place}"

    @property
    def is_of_receiver(self) -> bool:
        """Return whether a host causes it that takes packets more slowly than its link."""
        return bool(self.cause_node) and not self.cause_peer

    @property
    def group(self) -> str:
        """Say it of the whole place."""
        if self.reason == "queue" and self.link not in ("of_host", "to_host"):
            return f"{self._queue} at {self.place}"
        if self.reason == "window" and self.cause_node:
            return f"windows and rates because of {self._holder}"
        return self.words

    @property
    def words(self) -> str:
        """Say it."""
        port = f"{self.node} to {self.peer}"
        match self.reason:
            case "queue":
                return f"{self._queue} at {port}"
            case "own":
                part = "headers" if self.link == "of_host" else "packets"
                return f"{part} of the same message at {port}"
            case "link":
                return f"link {port}, full of earlier messages to the same rank"
            case "pause":
                return f"pauses of {port} by {self._holder}"
            case "credits":
                return f"missing credits of {port} because of {self._holder}"
            case "window":
                if self.cause_node:
                    return f"windows and rates at {self.node} because of {self._holder}"
                return f"windows, rates or the NIC at {self.node}"
            case "lost":
                return f"packets lost behind {port}"
            case "flow":
                return "rates below those of the hosts' links, and headers, in flow-level mode"
            case _:
                return f"other waits at {port}" if self.node else "other waits"

    @property
    def _queue(self) -> str:
        names = {"of_host": "other messages", "to_host": "incast"}
        return names.get(self.link, self.kind_words.split(" at ")[0].split(" between ")[0])

    @property
    def _holder(self) -> str:
        if self.is_of_receiver:
            return f"slow receiver {self.cause_node}"
        if (self.cause_node, self.cause_peer) == (self.node, self.peer):
            return "the round trip of its link"
        return f"queues at {self.cause_node} to {self.cause_peer}"


@dataclass(frozen=True)
class Wait:
    """A part of what a message on the path waits in the network."""

    cause: Cause  # Why, and where.
    rank: int  # The rank that waits for the message.
    source: int  # The rank that sent it.
    of_job: str  # Job whose packets go first; empty where none do.
    of_rank: int  # Rank that sends them.
    start_ns: float  # Start of the part of the path [ns].
    time_ns: float  # Duration [ns].


@dataclass(frozen=True)
class JobLimits:
    """Limits of one job."""

    job: str  # Its name.
    path: Sequence[Stretch]  # All parts, in order of time.
    waits: Sequence[Wait] = ()
    """Waits of messages in the network by port, where the run records them."""

    @property
    def time_ns(self) -> float:
        """Time from the first step of the job to its last [ns]."""
        return self.path[-1].end_ns - self.path[0].start_ns

    @property
    def spent_ns(self) -> float:
        """Sum of the parts: of all that of the job, of some of them theirs [ns]."""
        return math.fsum(step.time_ns for step in self.path)

    @property
    def parts_ns(self) -> dict[str, float]:
        """Time of each part that takes any, the longest first [ns].

        What messages wait for a slow receiver is a part of that host.
        """
        starts = [step.start_ns for step in self.path]
        slow = [wait for wait in self.waits if wait.cause.is_of_receiver]
        moved = ((self.path[bisect_right(starts, wait.start_ns) - 1].part, wait) for wait in slow)
        return _sums(
            [(step.part, step.time_ns) for step in self.path]
            + [("bus", wait.time_ns) for wait in slow]
            + [(part, -wait.time_ns) for part, wait in moved]
        )

    @property
    def places_ns(self) -> dict[str, float]:
        """Time of each of :data:`PLACES` that takes any, the longest first [ns]."""
        return _sums((PARTS[part][0], time) for part, time in self.parts_ns.items())

    @property
    def causes_ns(self) -> dict[Cause, float]:
        """Time of each cause of waits in the network, the longest first [ns]."""
        return _sums((wait.cause, wait.time_ns) for wait in self.waits)

    @property
    def kinds_ns(self) -> dict[str, float]:
        """Time of each kind of waits in the network, the longest first [ns]."""
        return _sums((cause.kind, time) for cause, time in self.causes_ns.items())

    @property
    def groups_ns(self) -> dict[str, float]:
        """Time of waits at a port, or at ports of a switch, in words, the longest first [ns]."""
        causes = ((cause.group, time) for cause, time in self.causes_ns.items() if cause.node)
        return _sums(causes)

    def first_in_line(self, cause: Cause) -> str:
        """Say whose packets go first at a port, the most first."""
        of_cause = [wait for wait in self.waits if wait.cause == cause and wait.of_job]
        ranks = _sums(((wait.of_job, wait.of_rank), wait.time_ns) for wait in of_cause)
        return ", ".join(f"{job} rank {rank}" for job, rank in list(ranks)[:RANKS_MAX])

    def jobs_ahead(self, group: str) -> str:
        """Say whose packets go first at ports of a group, by job, the most first."""
        of_group = [wait for wait in self.waits if wait.of_job and wait.cause.group == group]
        return ", ".join(list(_sums((wait.of_job, wait.time_ns) for wait in of_group))[:RANKS_MAX])

    def longest(self, count: int) -> list[Stretch]:
        """List the longest parts."""
        return sorted(self.path, key=lambda part: (-part.time_ns, part.start_ns))[:count]

    def bar(self) -> str:
        """Draw the places as one bar, with their shares."""
        places = {place: time / self.time_ns for place, time in self.places_ns.items()}
        ends = [round(BAR * math.fsum(list(places.values())[:at])) for at in range(len(places) + 1)]
        drawn = "".join(
            at[0] * (end - start) for at, start, end in zip(places, ends, ends[1:], strict=False)
        )
        shares = ", ".join(f"{place} {percent(share)}" for place, share in places.items())
        return f"[{drawn}] {shares}"

    def sentence(self) -> str:
        """Say what limits the job."""
        parts, time = self.parts_ns, self.time_ns
        place, share = next((name, spent / time) for name, spent in self.places_ns.items())
        of_place = [part for part in parts if PARTS[part][0] == place]
        words = ", ".join(f"{PARTS[part][1]} {percent(parts[part] / time)}" for part in of_place)
        rest = ", ".join(
            f"{PLACES[name]} {percent(spent / time)}"
            for name, spent in self.places_ns.items()
            if name != place
        )
        of_time = f"{percent(share)} of {time_words(time)}"
        return (
            f"{self.job}: limited by {PLACES[place]}, {of_time} ({words})"
            + (f"; {rest}" if rest else "")
            + self._first_cause()
        )

    def _first_cause(self) -> str:
        group, time = next(iter(self.groups_ns.items()), ("", 0.0))
        if time < CAUSE_MIN * self.time_ns or not group:
            return ""
        return f"; longest wait at one place: {group}, {percent(time / self.time_ns)}"

    def figures(self) -> dict[str, Any]:
        """Give times by name [us]."""
        return {
            "time_us": self.time_ns / 1e3,
            "parts_us": {part: time / 1e3 for part, time in self.parts_ns.items()},
            "places_us": {place: time / 1e3 for place, time in self.places_ns.items()},
            **self._wait_figures(),
        }

    def _wait_figures(self) -> dict[str, Any]:
        if not self.waits:
            return {}
        group, time = next(iter(self.groups_ns.items()), ("", 0.0))
        return {
            "waits_us": {kind: spent / 1e3 for kind, spent in self.kinds_ns.items()},
            "first_wait": group,
            "first_wait_behind": self.jobs_ahead(group),
            "first_wait_us": time / 1e3,
        }


def difference(slow: JobLimits, fast: JobLimits) -> str:
    """Say by which parts a job takes longer in one run than in another, and where it waits.

    Ports are named where both runs record waits.
    """
    more = _more(slow.parts_ns, fast.parts_ns)
    largest = next(iter(more.values()), 0.0)
    parts = [part for part, time in more.items() if time >= PART_MIN * largest][:PARTS_MAX]
    words = ", ".join(f"{PARTS[part][1]} {time_words(more[part])}" for part in parts)
    more_ns = math.fsum(more[part] for part in parts)
    if parts and more_ns > (1 + _ROUNDING) * (slow.time_ns - fast.time_ns):
        words += " (other parts are shorter in total)"
    if not (slow.waits and fast.waits) or not any(part in DIVIDED for part in parts):
        return words
    return f"{words}; of waits in the network {_ports(slow, fast)}"


def _ports(slow: JobLimits, fast: JobLimits) -> str:
    """Name the kind of waits that differs most, and where the slower job waits most of these."""
    kind, time = next(iter(_more(slow.kinds_ns, fast.kinds_ns).items()), ("other", 0.0))
    groups = slow.groups_ns
    causes = [cause for cause in slow.causes_ns if cause.kind == kind and cause.node]
    total = sum(slow.kinds_ns.values()) - sum(fast.kinds_ns.values())
    others = " (those of other kinds are shorter)" if time > total else ""
    words = f"{time_words(time)}{others}"
    if not causes:
        return f"{KINDS[kind]} {words}"
    most = max(causes, key=lambda cause: groups[cause.group])
    behind = slow.jobs_ahead(most.group)
    words = f"{most.kind_words} {words}, most {most.where}"
    return f"{words}, behind packets of {behind}" if behind else words


def _more(slow: Mapping[str, float], fast: Mapping[str, float]) -> dict[str, float]:
    """Compute what takes longer in the first, the most first [ns]."""
    more = _sums((name, time - fast.get(name, 0.0)) for name, time in slow.items())
    return {name: time for name, time in more.items() if time > 0}


Key = TypeVar("Key")


def _sums(times: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """Add up times of equal keys: those that take any, the longest first."""
    own: dict[Key, list[float]] = {}
    for key, time in times:
        own.setdefault(key, []).append(time)
    sums = {key: math.fsum(spent) for key, spent in own.items()}
    return dict(sorted(((k, v) for k, v in sums.items() if v), key=lambda pair: -pair[1]))


def observing(result: Result) -> str:
    """Return the options of `run` that note what limits jobs, of a scenario as that of a result."""
    skips = "fast_forward" in result.scenario.get("run", {})
    return "-s observe.ranks=true -s observe.waits=true" + " -s run.fast_forward=" * skips


def has_ranks(result: Result) -> bool:
    """Return whether any rank of the run did iterations."""
    return bool(result.columns("iterations")) and bool(result.values("iterations", "rank"))


def how_to_record(result: Result) -> str:
    """Say how to learn what limits the jobs of a complete run with ranks that did not record it."""
    is_recorded = bool(result.scenario.get("observe", {}).get("ranks"))
    cannot = result.is_partial or "measured" in result.summary or is_recorded
    # `observe.waits` is refused where the caller chooses ports.
    if cannot or "port_choice" in result.scenario or not has_ranks(result):
        return ""
    options = observing(result)
    return (
        f"What limits the jobs is not recorded: run with `{options}`, or ask `etherweave explain`."
    )


def limits(result: Result) -> list[JobLimits]:
    """Read what limits each job of a run whose ranks took any time.

    Of a run without ``observe.ranks`` nothing is known.
    """
    if not result.columns("path"):
        return []
    columns = ("job", "rank", "host", "part", "source", "start_ns", "end_ns")
    rows = zip(*(result.values("path", name) for name in columns), _places(result), strict=True)
    waits = _waits(result)
    return [
        JobLimits(job, [Stretch(*row[1:-1], *row[-1]) for row in own], waits.get(job, []))
        for job, own in groupby(rows, key=lambda row: row[0])
    ]


def _places(result: Result) -> Iterable[tuple[Any, ...]]:
    """Read iterations and collectives of the parts."""
    columns = ("iteration", "collective", "communicator", "call", "call_bytes")
    iterations, names, communicators, calls, lengths = (
        result.values("path", name) for name in columns
    )
    numbers, places = (map(_number, own) for own in (iterations, calls))
    return zip(numbers, names, communicators, places, lengths, strict=True)


def _number(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _waits(result: Result) -> dict[str, list[Wait]]:
    if not result.columns("waits"):
        return {}
    links = _links(result)
    of_cause = ("reason", "node", "peer", "cause_node", "cause_peer")
    of_wait = ("rank", "source", "of_job", "of_rank", "start_ns", "time_ns")
    causes = zip(*(result.values("waits", name) for name in of_cause), strict=True)
    others = zip(*(result.values("waits", name) for name in of_wait), strict=True)
    waits: dict[str, list[Wait]] = {}
    for job, ends, other in zip(result.values("waits", "job"), causes, others, strict=True):
        reason, node, peer, cause_node, cause_peer = ends
        cause = Cause(reason, node, peer, cause_node, cause_peer, links(node, peer))
        waits.setdefault(job, []).append(Wait(cause, *other))
    return waits


def _links(result: Result) -> Callable[[str, str], str]:
    """Say what the link of a port is; all hosts that send or receive anything have a flow."""
    ends = ("source_host", "destination_host")
    hosts = {host for end in ends for host in result.values("flows", end)}
    columns = ("node", "peer", "port", "rate_gbps")
    # Each port has a row for each priority.
    ports = set(zip(*(result.values("ports", name) for name in columns), strict=True))
    leaves = {peer for node, peer, *_ in ports if node in hosts}
    uplinks, bits = Counter[str](), Counter[str]()
    for node, peer, _, gbps in ports:
        if node in leaves and peer not in leaves:
            uplinks[node] += peer not in hosts
            bits[node] += round(gbps * 1e9) * (1 if peer in hosts else -1)

    def link(node: str, peer: str) -> str:
        if node in hosts or peer in hosts:
            return "of_host" if node in hosts else "to_host"
        if (node in leaves) == (peer in leaves):
            return "switch"
        leaf, direction = (node, "up") if node in leaves else (peer, "down")
        if uplinks[leaf] == 1:
            return f"only_{direction}"
        return f"tapered_{direction}" if bits[leaf] > 0 else direction

    return link


def percent(share: float) -> str:
    """Write a share."""
    return f"{share:.0%}" if share >= 0.01 else "<1%"


def time_words(time_ns: float) -> str:
    """Write a time in the unit that fits."""
    return f"{time_ns / 1e6:.3f} ms" if time_ns >= 1e6 else f"{time_ns / 1e3:.1f} us"
