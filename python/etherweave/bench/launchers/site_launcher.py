"""Carries out a job: processes at places, or ranks by an MPI launcher."""

import random
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from subprocess import Popen
from typing import NamedTuple, Protocol

from etherweave.bench.launchers.access import HostAccess, LocalAccess, Task
from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.monitors import SLACK_S, monitored
from etherweave.bench.launchers.processes import OverdueError, ProcessGroup, read
from etherweave.bench.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import (
    ClusterSite,
    SiteError,
    SiteFabric,
    address,
    interface,
    variables,
)

_SLACK_S = 2.0
"""By which a process outlives the limit of its launch when nobody ends it [s]."""


class LauncherError(Exception):
    """A launch cannot be carried out; the words say why, and what would help."""


class RanksCommand(NamedTuple):
    """What starts all ranks."""

    words: list[str]
    """Complete but for the guard."""
    host: str | None
    """On which that is started; none is this machine."""


class RankStarter(Protocol):
    """Starts the ranks of a job by one command."""

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the command.

        Raises
        ------
        LaunchError
            When there is none.
        """


class LaunchContext(NamedTuple):
    """What stands while a launch lasts."""

    place: HostAccess
    site: ClusterSite
    starter: RankStarter | None


@dataclass(frozen=True)
class SiteLauncher:
    """A launcher: a site, and the ground that is prepared for each launch."""

    name: str
    site: ClusterSite
    link: SiteFabric | None
    ground: Callable[[LaunchJob, ProcessGroup], AbstractContextManager[LaunchContext]]
    lacks: Callable[[], str] = str

    def missing(self) -> str:
        """Tell which program or privilege is; empty when nothing."""
        return self.lacks()

    def launch(self, job: LaunchJob) -> LaunchOutcome:
        """Carry out a job."""
        start_ns = time.time_ns()
        # Programs are told it, and start in it themselves.
        end = _carry_out(self, replace(job, directory=job.directory.absolute()))
        return LaunchOutcome(end.ending, end.text, end.errors, end.words, start_ns, time.time_ns())


class LaunchEnd(NamedTuple):
    """How a launch ended, but for the times."""

    ending: Ending
    text: str = ""
    errors: str = ""
    words: tuple[str, ...] = ()


def fixed_context(
    place: HostAccess, site: ClusterSite, starter: RankStarter | None
) -> Callable[[LaunchJob, ProcessGroup], AbstractContextManager[LaunchContext]]:
    """Return a ground that is always there."""
    return lambda job, family: nullcontext(LaunchContext(place, site, starter))


def _carry_out(launcher: SiteLauncher, job: LaunchJob) -> LaunchEnd:
    act = _Launch(launcher, job)
    try:
        try:
            with ProcessGroup(job.directory, job.limit_s) as family:
                return act.play(family)
        except OverdueError:
            return act.end(Ending.TIMED_OUT, f"ended at its limit of {job.limit_s:g} s")
        except KeyboardInterrupt:
            return act.end(Ending.INTERRUPTED, "ended by the user")
    except (LauncherError, SiteError) as error:
        return LaunchEnd(Ending.FAILED, "", str(error), act.words)
    except OSError as error:
        return LaunchEnd(
            Ending.FAILED, "", f"{error.filename or job.directory}: {error}", act.words
        )
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        return LaunchEnd(Ending.FAILED, "", f"words in braces: {error} is unknown", act.words)


class _Launch:
    """One launch while it lasts."""

    def __init__(self, launcher: SiteLauncher, job: LaunchJob) -> None:
        self.launcher, self.job = launcher, job
        self.words: tuple[str, ...] = job.command.arguments
        self.main = "client"
        """Name of the files of the program whose output counts."""
        self.others: tuple[str, ...] = ()

    def play(self, family: ProcessGroup) -> LaunchEnd:
        for host in self.job.hosts:
            self.launcher.site.host(host)
        for name, text in self.job.command.files:
            (self.job.directory / name).write_text(text, encoding="utf-8")
        with self.launcher.ground(self.job, family) as ground:
            scene = _RunningLaunch(self, family, ground)
            try:
                with monitored(self.job, family, scene.bring, ground.site, self.launcher.link):
                    is_well = scene.play()
            finally:
                family.end()  # While they stand on their ground, and may tidy up.
        return self.end(Ending.DONE if is_well else Ending.FAILED, "")

    def end(self, ending: Ending, said: str) -> LaunchEnd:
        """Collect what was written."""
        family = ProcessGroup(self.job.directory, 0)
        errors = [said, family.errors(self.main, *self.others)]
        text = ""
        try:
            output = self.job.command.output
            text = read(self.job.directory / output) if output else family.text(self.main)
        except FileNotFoundError as error:
            if ending is Ending.DONE:
                return LaunchEnd(
                    Ending.FAILED, "", f"{error.filename}: was not written", self.words
                )
        told = "\n".join(part for part in errors if part)
        return LaunchEnd(ending, text, told, self.words)


class _RunningLaunch:
    """One launch on its ground."""

    def __init__(self, act: _Launch, family: ProcessGroup, ground: LaunchContext) -> None:
        self.act, self.family, self.ground = act, family, ground
        self.job = act.job
        self.link = act.launcher.link
        self.variables = variables(ground.site, self.link) | dict(self.job.command.environment)

    def play(self) -> bool:
        """Return whether it ended well."""
        match self.job.command.start:
            case Start.MPI | Start.SHMEM:
                return self._by_starter()
            case Start.CLIENT_SERVER:
                return self._serve()
            case Start.EACH_RANK:
                return self._each()
            case Start.ALONE:
                command = self._filled()
                client = self._start("client", self.job.hosts[0], command.arguments)
                return self.family.wait(client) == 0

    def _filled(self, port: int | None = None, rank: int | None = None) -> BenchmarkCommand:
        job, site = self.job, self.ground.site
        values = {
            "server": address(site, self.link, job.hosts[0]),
            "ranks": str(job.ranks),
            "directory": str(job.directory),
        }
        if name := interface(site, self.link, job.hosts[0]):
            values["interface"] = name
        if port is not None:
            values["port"] = str(port)
        if rank is not None:
            values["rank"] = str(rank)
        return job.command.filled(values)

    def _by_starter(self) -> bool:
        starter = self.ground.starter
        if starter is None:
            raise LauncherError(
                f"launcher {self.act.launcher.name}: starts no ranks of MPI; "
                "expected mpirun, srun, sbatch, netns or local"
            )
        ranks = starter.ranks(self.job, self._filled(), self.variables)
        self.act.main = "ranks"
        return self.family.wait(self._start("ranks", ranks.host, ranks.words)) == 0

    def _start(self, name: str, host: str | None, words: Sequence[str]) -> Popen[bytes]:
        self.act.words = tuple(words)
        return self.family.start(name, self._words(host, words), self.variables)

    def bring(self, name: str, host: str, words: Sequence[str]) -> Popen[bytes]:
        """Start a companion."""
        task = Task(words, self.variables, self.family.left_s + SLACK_S, hears=True)
        return self.family.start(name, self.ground.place.words(host, task), self.variables)

    def _words(self, host: str | None, words: Sequence[str]) -> list[str]:
        command = self.job.command
        shared = self.job.directory if command.files or command.output else None
        task = Task(words, self.variables, self.family.left_s + _SLACK_S, shared)
        if host is None:
            return LocalAccess(self.ground.site).words("", task)
        return self.ground.place.words(host, task)

    def _serve(self) -> bool:
        host = self.job.hosts[0]
        before = self._ports(host)
        port = free_port(before)
        command = self._filled(port)
        is_told = any("{port}" in word for word in self.job.command.server)
        self.act.others = ("server",)
        server = self._start("server", host, command.server)
        if not await_listener(
            self.family,
            server,
            lambda: self._ports(host),
            lambda now: port in now if is_told else bool(now - before),
        ):
            raise LauncherError(
                f"server {command.server[0]}: ended with {server.returncode} before it listened; "
                f"{self.family.errors('server')}"
            )
        client = self._start("client", self.job.hosts[-1], command.arguments)
        return self.family.wait(client) == 0

    def _ports(self, host: str) -> frozenset[int]:
        return listening_ports(self.family.ask(self._words(host, SOCKET_TABLES)))

    def _each(self) -> bool:
        job = self.job
        ranks = range(job.ranks)
        port = free_port(frozenset())
        self.act.main = "rank0"
        self.act.others = tuple(f"rank{rank}" for rank in ranks[1:])
        started = [
            self._start(
                f"rank{rank}",
                job.hosts[rank // job.ranks_per_node],
                self._filled(port, rank).arguments,
            )
            for rank in ranks
        ]
        return all(self.family.wait(process) == 0 for process in started)


SOCKET_TABLES = ("cat", *(f"/proc/net/{name}" for name in ("tcp", "tcp6", "udp", "udp6")))
"""Prints the sockets of a host; a host without IPv6 has fewer tables."""
_LISTENS, _UNCONNECTED = "0A", "07"
"""States of sockets of TCP that listen, and of UDP that receive from anyone."""
_PORTS = range(20_000, 30_000)
"""Below those that Linux gives to clients."""
_PAUSE_S = 0.02


def listening_ports(tables: str) -> frozenset[int]:
    """Return the ports at which a host listens, from its tables (proc(5), ``/proc/net/tcp``)."""
    rows = (line.split() for line in tables.splitlines())
    sockets = [row for row in rows if len(row) > 3 and row[0].endswith(":")]
    open_to_all = (row[1] for row in sockets if row[3] in (_LISTENS, _UNCONNECTED))
    return frozenset(int(local.rpartition(":")[2], 16) for local in open_to_all)


def free_port(taken: frozenset[int]) -> int:
    """Choose a port that nobody listens at."""
    # Any is as good: no result depends on it.
    return random.choice([port for port in _PORTS if port not in taken])


def await_listener(
    family: ProcessGroup,
    server: subprocess.Popen[bytes],
    look: Callable[[], frozenset[int]],
    is_there: Callable[[frozenset[int]], bool],
) -> bool:
    """Wait until a server listens; return whether it does, rather than having ended.

    Raises
    ------
    OverdueError
        When the limit of the launch comes first.
    """
    while server.poll() is None:
        if is_there(look()):
            return True
        if family.left_s < _PAUSE_S:
            raise OverdueError
        time.sleep(_PAUSE_S)
    return False
