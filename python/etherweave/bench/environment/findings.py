"""Findings of checks, the evidence that checks take, and functions that they share."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from etherweave.bench.environment.snapshot import NetworkInterface, Snapshot


class Severity(StrEnum):
    """How much a finding matters."""

    WARNING = "warning"  # Numbers are probably wrong, or not those of the intended network.
    NOTE = "note"  # Numbers may be worse or less steady than they could be.
    GAP = "gap"  # Something could not be checked.


@dataclass(frozen=True)
class EnvironmentFinding:
    """A state of a host that impairs measurements."""

    check: str
    severity: Severity
    where: str  # A host, with the interface or device if there is one.
    what: str
    do: str  # The remedy.


@dataclass(frozen=True)
class Run:
    """Known facts of a run."""

    interface: str = ""  # The one that is to be measured.
    bytes_expected: float | None = None
    """Bytes that must cross it at least, both directions together [bytes]."""
    processes: int | None = None  # That the run starts on this host.
    times_s: tuple[float, ...] = ()  # Single latencies [s].
    gid_index: int | None = None  # GID index that the benchmark uses.


@dataclass(frozen=True)
class Evidence:
    """Input of checks."""

    before: Snapshot
    after: Snapshot | None = None
    others: tuple[Snapshot, ...] = ()  # Snapshots of other hosts of the run, before it.
    run: Run = Run()

    @property
    def latest(self) -> Snapshot:
        """The last snapshot."""
        return self.after or self.before


@dataclass(frozen=True)
class Problem:
    """A finding without the name of its host."""

    what: str
    do: str
    severity: Severity = Severity.WARNING
    where: str = ""  # Interface, device or other host; empty for the host itself.


@dataclass(frozen=True)
class EnvironmentCheck:
    """One check."""

    name: str
    reads: tuple[str, ...]  # Topics of a snapshot that it needs.
    examine: Callable[[Evidence], Iterator[Problem]]


_MAX = 65_536
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def cpus(text: str) -> frozenset[int]:
    """Read a list of processors as Linux writes it: ``0-3,8``; what is none is left out."""
    ranges = [_RANGE.fullmatch(part.strip()) for part in text.split(",")[:_MAX]]
    ends = [(int(match[1]), int(match[2] or match[1])) for match in ranges if match]
    return frozenset(
        cpu for first, last in ends for cpu in range(min(first, _MAX), min(last, _MAX) + 1)
    )


def interfaces(evidence: Evidence, snapshot: Snapshot) -> dict[str, NetworkInterface]:
    """Give the interface of the run, or all if it is not known."""
    chosen = evidence.run.interface
    return {key: port for key, port in snapshot.interfaces.items() if not chosen or key == chosen}


def neighbours(evidence: Evidence) -> Iterator[tuple[str, NetworkInterface, str, NetworkInterface]]:
    """Give each interface beside that of the same name on each other host, with the host's name."""
    for name, interface in interfaces(evidence, evidence.latest).items():
        for other in evidence.others:
            if name in other.interfaces:
                yield name, interface, other.host, other.interfaces[name]


def risen(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return the counters that rose, and by how much; one that was reset counts from zero."""
    rises = {
        name: value - before.get(name, 0) if value >= before.get(name, 0) else value
        for name, value in after.items()
    }
    return {name: value for name, value in rises.items() if value > 0}


def counted(evidence: Evidence) -> Iterator[tuple[str, dict[str, int], bool]]:
    """Give the counters of each interface that rose, and whether during the run or since boot."""
    after = evidence.after
    for name, interface in interfaces(evidence, evidence.before).items():
        first = interface.counters | interface.driver_counters
        if after is None:
            yield name, risen({}, first), False
        elif name in after.interfaces:
            last = after.interfaces[name]
            yield name, risen(first, last.counters | last.driver_counters), True


def period_of_rise(is_during: bool) -> str:
    """Name the time in which counters rose."""
    return "during the run" if is_during else "since the host started"


def largest_counters(counters: Mapping[str, int]) -> str:
    """Write counters, the largest first, at most four."""
    largest = sorted(counters.items(), key=lambda pair: -pair[1])[:4]
    more = f" and {len(counters) - 4} more" if len(counters) > 4 else ""
    return ", ".join(f"{name} {value:,}" for name, value in largest) + more
