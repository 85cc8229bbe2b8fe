"""Launches of a measurement: options without a site, progress reports, and errors."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from etherweave.api.inputs import read_text
from etherweave.bench.launchers.launcher import Ending, Launcher, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.mpirun import Mpirun, flavour, user
from etherweave.bench.launchers.site_launcher import RanksCommand, RankStarter
from etherweave.bench.measure.errors import MeasureError, MeasureLaunchError
from etherweave.bench.programs.plans import BenchmarkCommand
from etherweave.bench.site.values import ClusterSite


class LaunchProgram(StrEnum):
    """Program that starts the ranks."""

    LOCAL = "local"
    """``mpirun``, all ranks on this machine, more of them than processors if need be."""
    MPIRUN = "mpirun"  # ``mpirun`` on the hosts of a hostfile, or of the allocation that it finds.
    SRUN = "srun"  # Slurm, inside an allocation or making one.

    @property
    def program(self) -> str:
        """Its command."""
        return "srun" if self is LaunchProgram.SRUN else "mpirun"


class IncastProgram(StrEnum):
    """Program that sends."""

    IPERF3 = "iperf3"  # TCP, a process for each stream.
    IB_WRITE_BW = "ib_write_bw"  # RDMA writes, a process for each stream.


class LaunchOptions(NamedTuple):
    """Options of a launch without a site."""

    launcher: LaunchProgram = LaunchProgram.LOCAL
    hostfile: Path | None = None  # Hosts for ``mpirun``.
    extra: Sequence[str] = ()  # Arguments for the launcher, before the program.


@dataclass(frozen=True)
class AllocatedRanks:
    """Start ranks on the hosts that ``mpirun`` or ``srun`` allocates."""

    options: LaunchOptions

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the command of the launcher."""
        return RanksCommand([*self._words(job), *self.options.extra, *command.arguments], None)

    def _words(self, job: LaunchJob) -> list[str]:
        if self.options.launcher is LaunchProgram.SRUN:
            return ["srun", f"--ntasks={job.ranks}"]
        file, count = self.options.hostfile, ["-np", str(job.ranks)]
        if flavour("mpirun")[0] != "Open MPI":
            return ["mpirun", *(["-f", str(file)] if file else []), *count]
        hosts = ["--hostfile", str(file)] if file else []
        # As in the simulation: a host for each rank, if there are enough.
        return ["mpirun", *user(), *hosts, "--map-by", "node", *count]


@dataclass(frozen=True)
class FromUserDirectory:
    """Run another starter in the user's directory, since options name files relative to it."""

    starter: RankStarter

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the other's command, run in the user's directory."""
        inner = self.starter.ranks(job, command, variables)
        return inner._replace(words=["env", "-C", str(Path.cwd()), *inner.words])


def starter(options: LaunchOptions, site: ClusterSite) -> RankStarter:
    """Return the starter of the ranks.

    Raises ``MeasureError`` when the launcher does not support an option.
    """
    if options.hostfile and options.launcher is not LaunchProgram.MPIRUN:
        raise MeasureError(f"--hostfile: {options.launcher} takes none; expected --launcher mpirun")
    if options.hostfile:
        _check_hosts(options.hostfile)
    if options.launcher is LaunchProgram.LOCAL:
        return FromUserDirectory(Mpirun(site, "mpirun", tuple(options.extra)))
    return FromUserDirectory(AllocatedRanks(options))


def _check_hosts(file: Path) -> None:
    """Reject a file of hosts without any, of which mpirun says something else."""
    if not file.is_file():
        return  # mpirun itself names a file that is not there.
    lines = (line.partition("#")[0] for line in read_text(file).splitlines())
    if not any(map(str.strip, lines)):
        raise MeasureError(f"{file}: no host; expected a line with the name of each")


LATE_S = 30.0
"""Time after the limit, at which the executor ends itself, until its processes are killed [s]."""
_EVERY_S = 0.1
_LINES = 12  # Number of last output lines in an error.

Report = Callable[[float], None]  # Takes the time since the start of a launch [s].


def launch(
    launcher: Launcher,
    job: LaunchJob,
    report: Report,
    overdue: Callable[[], str] = lambda: "expected a schedule that ends within --time-limit",
) -> LaunchOutcome:
    """Launch a job and wait for its end.

    ``report`` is called ten times a second, by another thread; ``overdue`` says what did not end in
    time, and what is expected. Raises ``MeasureLaunchError`` when
    it cannot be started, fails, or takes too long; with its last output; ``KeyboardInterrupt`` when
    the user ended it.
    """
    with _reporting(report):
        outcome = launcher.launch(job)
    match outcome.ending:
        case Ending.DONE:
            return outcome
        case Ending.INTERRUPTED:
            raise KeyboardInterrupt
        case Ending.TIMED_OUT:
            took_s = (outcome.end_ns - outcome.start_ns) / 1e9
            raise MeasureLaunchError(f"no end after {took_s:.0f} s; {overdue()}")
        case Ending.FAILED:
            raise MeasureLaunchError(f"launcher {launcher.name} failed:\n{_last_lines(outcome)}")


@contextmanager
def _reporting(report: Report) -> Iterator[None]:
    over, started = threading.Event(), time.monotonic()

    def periodically() -> None:
        while not over.wait(_EVERY_S):
            report(time.monotonic() - started)

    thread = threading.Thread(target=periodically, name="progress of a launch")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _last_lines(outcome: LaunchOutcome) -> str:
    lines = f"{outcome.text}\n{outcome.errors}".strip().splitlines()
    own = [line for line in lines if line.startswith("executor")]
    return "\n".join(own or lines[-_LINES:]) or "it printed nothing"
