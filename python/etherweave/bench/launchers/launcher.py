"""Input of a launcher, and what it gives back."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from etherweave.bench.programs.plans import BenchmarkCommand
from etherweave.bench.site.values import ClusterSite, SiteFabric


@dataclass(frozen=True)
class Monitor:
    """A program that runs beside a job on each of its hosts; see :mod:`.monitors`."""

    name: str  # Names its files, with the host.
    words: tuple[str, ...]
    """``{host}``, ``{server}`` and ``{interface}`` (which may be empty) are filled in."""
    place: str = ""
    """Where it runs once, on this machine, for something that is no host: a switch's name."""


@dataclass(frozen=True)
class LaunchJob:
    """One launch of one benchmark."""

    command: BenchmarkCommand
    """Command with its words in braces: the launcher knows servers and ranks."""
    hosts: tuple[str, ...]
    """Names of the site's hosts, in the order of ranks; the first one serves."""
    ranks_per_node: int
    directory: Path  # Exists and is empty: files of the command and logs go there.
    limit_s: float  # After so long, all processes are ended [s].
    ranks_most: int | None = None  # Largest number of ranks; the last host may have fewer.
    monitors: tuple[Monitor, ...] = ()  # Started before the command, and ended after it.
    background: tuple[BenchmarkCommand, ...] = ()
    """Commands on the same hosts that load the network meanwhile."""

    @property
    def ranks(self) -> int:
        """Number of ranks in all; block after block on the hosts."""
        places = len(self.hosts) * self.ranks_per_node
        return places if self.ranks_most is None else min(places, self.ranks_most)


class Ending(StrEnum):
    """How a launch ended."""

    DONE = "done"  # All processes ended with 0, or the client did.
    FAILED = "failed"  # Some process ended otherwise, or could not be started.
    TIMED_OUT = "timed_out"  # It was ended at its limit.
    INTERRUPTED = "interrupted"  # The user ended it.


@dataclass(frozen=True)
class LaunchOutcome:
    """Result of a launch."""

    ending: Ending
    text: str  # Standard output, or the file that the command names.
    errors: str  # The end of standard error.
    words: tuple[str, ...]  # Command that was started, program first.
    start_ns: int  # On the clock of this machine, since 1970 [ns].
    end_ns: int


class Launcher(Protocol):
    """Starts jobs, ends them at their limit, and leaves no process behind."""

    @property
    def name(self) -> str:
        """Name in a site file: local, ssh, mpirun, srun, sbatch, netns."""

    def missing(self) -> str:
        """Return which program or privilege is missing; empty when none is."""

    def launch(self, job: LaunchJob) -> LaunchOutcome:
        """Carry out a job; what goes wrong is in its outcome."""


@runtime_checkable
class ArrayLauncher(Launcher, Protocol):
    """Starts several jobs on the same hosts at once, to be carried out one after the other."""

    def outcomes(self, jobs: Sequence[LaunchJob]) -> Generator[LaunchOutcome, None, None]:
        """Give the outcome of each job, in order, once it is there."""


class OptionKind(StrEnum):
    """Type of an option in a site's file."""

    TEXT = "a text"
    TEXTS = "a list of texts"
    RATE = 'a rate such as "1Gb/s"'
    SIZE = 'a size such as "128KiB"'
    TIME = 'a time such as "1h"'


COMMON = {"python": OptionKind.TEXT}
"""Options of every launcher: the Python with Etherweave, on the hosts."""


@dataclass(frozen=True)
class LauncherKind:
    """A launcher: its name, its options in a site's file, and how it is made."""

    name: str
    make: Callable[[ClusterSite, SiteFabric | None], Launcher]
    """Function that makes it for a site, and the fabric that programs shall use."""
    options: Mapping[str, OptionKind] = field(default_factory=dict)  # Besides the common ones.
    rate: float | None = None  # Rate of links that it makes, where no file says another [bytes/s].
    is_here: bool = False  # Whether all hosts are this machine, and share its processors.
