"""What checks find, and what they are given."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from etherweave.bench.environment.snapshot import Snapshot


class Severity(StrEnum):
    """How much a finding matters."""

    WARNING = "warning"
    """Numbers are probably wrong, or not those of the network one means."""
    NOTE = "note"
    """Numbers may be worse or less steady than they could be."""
    GAP = "gap"
    """Something could not be checked."""


@dataclass(frozen=True)
class Finding:
    """Something about a host that spoils measurements."""

    check: str
    severity: Severity
    where: str
    """A host, with the interface or device if there is one."""
    what: str
    do: str
    """The cure."""


@dataclass(frozen=True)
class Run:
    """What is known of a run."""

    interface: str = ""
    """The one that is to be measured."""
    bytes_expected: float | None = None
    """What must cross it at least, both directions together [bytes]."""
    processes: int | None = None
    """That the run starts on this host."""
    polls: bool = False
    """Whether they wait for messages by polling."""
    times_s: tuple[float, ...] = ()
    """Single latencies [s]."""
    gid_index: int | None = None
    """The one that the benchmark was told."""


@dataclass(frozen=True)
class Evidence:
    """What checks look at."""

    before: Snapshot
    after: Snapshot | None = None
    others: tuple[Snapshot, ...] = ()
    """Of other hosts of the run, before it."""
    run: Run = Run()

    @property
    def latest(self) -> Snapshot:
        """The last snapshot."""
        return self.after or self.before


@dataclass(frozen=True)
class Problem:
    """A finding before it is known whose it is."""

    where: str
    """Interface, device or other host; empty for the host itself."""
    what: str
    do: str
    severity: Severity = Severity.WARNING


@dataclass(frozen=True)
class Check:
    """One thing to look at."""

    name: str
    reads: tuple[str, ...]
    """Topics of a snapshot without which it sees less."""
    examine: Callable[[Evidence], Iterator[Problem]]
