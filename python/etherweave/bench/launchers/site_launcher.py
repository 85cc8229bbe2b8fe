"""The launcher of a site: starts the processes of a job, or its ranks by an MPI launcher."""

import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from subprocess import Popen
from typing import NamedTuple, Protocol

from etherweave.api.outputs import below
from etherweave.bench.launchers.access import HostAccess, LocalAccess, Task
from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.monitors import SLACK_S, monitored
from etherweave.bench.launchers.processes import OverdueError, ProcessGroup, read
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import (
    ClusterSite,
    SiteError,
    SiteFabric,
    address,
    interface,
    variables,
)

SETTLING_S = 1.0  # Time from the start of the background to that of the benchmark [s].
_SLACK_S = 2.0  # Time by which a process may outlive the limit of its launch [s].


class LauncherError(Exception):
    """A launch cannot be carried out: the reason, and what is expected."""


class RanksCommand(NamedTuple):
    """Command that starts all ranks."""

    words: list[str]  # Complete but for the guard.
    host: str | None  # On which that is started; none is this machine.


class RankStarter(Protocol):
    """Starts the ranks of a job by one command."""

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the command; raises ``LaunchError`` when there is none."""


class LaunchContext(NamedTuple):
    """Needs of a launch while it lasts: access to hosts, and a starter of ranks."""

    access: HostAccess
    site: ClusterSite
    starter: RankStarter | None


@dataclass(frozen=True)
class SiteLauncher:
    """A launcher: a site, and the context that is set up for each launch."""

    name: str
    site: ClusterSite
    link: SiteFabric | None
    context: Callable[[LaunchJob, ProcessGroup], AbstractContextManager[LaunchContext]]
    missing_programs: Callable[[], str] = str

    def missing(self) -> str:
        """Return which program or privilege is missing; empty when none is."""
        return self.missing_programs()

    def launch(self, job: LaunchJob) -> LaunchOutcome:
        """Carry out a job."""
        start_ns = time.time_ns()
        # Programs take it as an argument, and start in it.
        outcome = _carry_out(self, replace(job, directory=job.directory.absolute()))
        return replace(outcome, start_ns=start_ns, end_ns=time.time_ns())


def fixed_context(
    access: HostAccess, site: ClusterSite, starter: RankStarter | None
) -> Callable[[LaunchJob, ProcessGroup], AbstractContextManager[LaunchContext]]:
    """Return a context that needs no set-up."""
    return lambda job, group: nullcontext(LaunchContext(access, site, starter))


def _carry_out(launcher: SiteLauncher, job: LaunchJob) -> LaunchOutcome:
    """Carry out a job; the outcome lacks its times."""
    launch = _Launch(launcher, job)
    try:
        try:
            with ProcessGroup(job.directory, job.limit_s) as group:
                return launch.carry_out(group)
        except OverdueError:
            return launch.end(Ending.TIMED_OUT, f"ended at its limit of {job.limit_s:g} s")
        except KeyboardInterrupt:
            return launch.end(Ending.INTERRUPTED, "ended by the user")
    except (LauncherError, SiteError) as error:
        return launch.outcome(Ending.FAILED, "", str(error))
    except OSError as error:
        return launch.outcome(Ending.FAILED, "", f"{error.filename or job.directory}: {error}")
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        return launch.outcome(Ending.FAILED, "", f"words in braces: {error} is unknown")


class _Launch:
    def __init__(self, launcher: SiteLauncher, job: LaunchJob) -> None:
        self.launcher, self.job = launcher, job
        self.words: tuple[str, ...] = job.command.arguments
        self.mains: tuple[str, ...] = ("client",)
        """Names of the files of the programs whose outputs count, one after the other."""
        self.others: tuple[str, ...] = ()

    def carry_out(self, group: ProcessGroup) -> LaunchOutcome:
        for host in self.job.hosts:
            self.launcher.site.host(host)
        for name, text in self.job.command.files:
            below(self.job.directory, name).write_text(text, encoding="utf-8")
        with self.launcher.context(self.job, group) as context:
            running = _RunningLaunch(self, group, context)
            try:
                with (
                    monitored(
                        self.job, group, running.start_on_host, context.site, self.launcher.link
                    ),
                    running.loaded(),
                ):
                    is_well = running.carry_out()
            finally:
                group.end()  # While the context exists, so that they can clean up.
        return self.end(Ending.DONE if is_well else Ending.FAILED, "")

    def outcome(self, ending: Ending, text: str, errors: str) -> LaunchOutcome:
        """Return how it ended, but for the times."""
        return LaunchOutcome(ending, text, errors, self.words, 0, 0)

    def end(self, ending: Ending, message: str) -> LaunchOutcome:
        """Collect what was written."""
        group = ProcessGroup(self.job.directory, 0)
        errors = [message, group.errors(*self.mains, *self.others)]
        text = ""
        try:
            output = self.job.command.output
            texts = map(group.text, self.mains)
            text = read(self.job.directory / output) if output else "\n".join(texts)
        except FileNotFoundError as error:
            if ending is Ending.DONE:
                return self.outcome(Ending.FAILED, "", f"{error.filename}: was not written")
        return self.outcome(ending, text, "\n".join(filter(None, errors)))


class _RunningLaunch:
    def __init__(
        self,
        launch: _Launch,
        group: ProcessGroup,
        context: LaunchContext,
        command: BenchmarkCommand | None = None,
    ) -> None:
        self.launch, self.group, self.context = launch, group, context
        self.job = launch.job
        self.command = command or self.job.command
        self.link = launch.launcher.link
        self.variables = variables(context.site, self.link) | dict(self.command.environment)

    def carry_out(self) -> bool:
        """Return whether it ended well."""
        match self.command.start:
            case Start.MPI | Start.SHMEM:
                return self._by_starter()
            case Start.CLIENT_SERVER:
                return self._serve(self.job.hosts[-1:])
            case Start.FAN_IN:
                per_node = self.job.ranks_per_node
                return self._serve([host for host in self.job.hosts[1:] for _ in range(per_node)])
            case Start.EACH_RANK:
                return self._each()
            case Start.ALONE:
                command = self._filled()
                client = self.start("client", self.job.hosts[0], command.arguments)
                return self.group.wait(client) == 0

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """Run the background while the block lasts.

        Raises ``LauncherError`` when a program of it ended before the block did.
        """
        programs = [
            (command.arguments[0], self._start_beside(f"background{at}", command))
            for at, command in enumerate(self.job.background)
        ]
        if programs:
            time.sleep(SETTLING_S)
        yield
        for name, process in programs:
            if process.poll() is not None:
                raise LauncherError(
                    f"background {name}: ended with {process.returncode} before the benchmark did; "
                    f"{self.group.errors(*self.launch.mains)}"
                )

    def _start_beside(self, name: str, command: BenchmarkCommand) -> Popen[bytes]:
        """Start a program on the hosts of the job without waiting for its end."""
        hosts = self.job.hosts
        beside = _RunningLaunch(self.launch, self.group, self.context, command)
        if command.start in (Start.MPI, Start.SHMEM):
            return beside.start_ranks(name)
        if command.start is not Start.CLIENT_SERVER:
            raise LauncherError(
                f"background {command.arguments[0]}: started as {command.start}; "
                "expected a client with a server, or ranks of MPI"
            )
        served = beside.served(hosts[0], f"{name}-server")
        return beside.start(name, hosts[-1], served.arguments)

    def _filled(self, port: int | None = None, rank: int | None = None) -> BenchmarkCommand:
        job, site = self.job, self.context.site
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
        return self.command.filled(values)

    def _by_starter(self) -> bool:
        self.launch.mains = ("ranks",)
        return self.group.wait(self.start_ranks("ranks")) == 0

    def start_ranks(self, name: str) -> Popen[bytes]:
        """Start all ranks by the starter."""
        starter = self.context.starter
        if starter is None:
            raise LauncherError(
                f"launcher {self.launch.launcher.name}: starts no ranks of MPI; "
                "expected mpirun, srun, sbatch, netns or local"
            )
        ranks = starter.ranks(self.job, self._filled(), self.variables)
        return self.start(name, ranks.host, ranks.words)

    def start(self, name: str, host: str | None, words: Sequence[str]) -> Popen[bytes]:
        """Start a program on a host, or on this machine."""
        self.launch.words = tuple(words)
        return self.group.start(name, self._words(host, words), self.variables)

    def start_on_host(self, name: str, host: str, words: Sequence[str]) -> Popen[bytes]:
        """Start a monitor; one of a switch on this machine."""
        task = Task(words, self.variables, self.group.left_s + SLACK_S, reads_input=True)
        is_here = host not in self.job.hosts
        access = LocalAccess(self.context.site) if is_here else self.context.access
        return self.group.start(name, access.words(host, task), self.variables)

    def _words(self, host: str | None, words: Sequence[str]) -> list[str]:
        command = self.command
        shared = self.job.directory if command.files or command.output else None
        task = Task(words, self.variables, self.group.left_s + _SLACK_S, shared)
        if host is None:
            return LocalAccess(self.context.site).words("", task)
        return self.context.access.words(host, task)

    def _serve(self, hosts: Sequence[str]) -> bool:
        """Start a server for each client, then all clients, on these hosts."""
        sink, count = self.job.hosts[0], len(hosts)
        ends = [str(at) if count > 1 else "" for at in range(count)]
        self.launch.mains = tuple(f"client{end}" for end in ends)
        self.launch.others = tuple(f"server{end}" for end in ends)
        commands = [self.served(sink, f"server{end}") for end in ends]
        clients = [
            self.start(name, host, command.arguments)
            for name, host, command in zip(self.launch.mains, hosts, commands, strict=True)
        ]
        return all(self.group.wait(client) == 0 for client in clients)

    def served(self, host: str, name: str) -> BenchmarkCommand:
        """Start a server and wait until it listens; return the command with its port."""
        if not any("{port}" in word for word in self.command.server):
            raise LauncherError(
                f"server {self.command.server[0]}: names no port; "
                "expected {port} among its arguments"
            )
        port = free_port(self._ports(host))
        command = self._filled(port)
        server = self.start(name, host, command.server)
        if not await_listener(self.group, server, lambda: port in self._ports(host)):
            raise LauncherError(
                f"server {command.server[0]}: ended with {server.returncode} before it listened; "
                f"{self.group.errors(name)}"
            )
        return command

    def _ports(self, host: str) -> frozenset[int]:
        return listening_ports(self.group.ask(self._words(host, SOCKET_TABLES)))

    def _each(self) -> bool:
        job = self.job
        ranks = range(job.ranks)
        port = free_port(frozenset())
        self.launch.mains = ("rank0",)
        self.launch.others = tuple(f"rank{rank}" for rank in ranks[1:])
        started = [
            self.start(
                f"rank{rank}",
                job.hosts[rank // job.ranks_per_node],
                self._filled(port, rank).arguments,
            )
            for rank in ranks
        ]
        return all(self.group.wait(process) == 0 for process in started)


SOCKET_TABLES = ("cat", *(f"/proc/net/{name}" for name in ("tcp", "tcp6", "udp", "udp6")))
"""Prints the sockets of a host; a host without IPv6 has fewer tables."""
_LISTENS, _UNCONNECTED = "0A", "07"
"""States of sockets of TCP that listen, and of UDP that receive from anyone."""
_PORTS = range(20_000, 30_000)  # Ports below those that Linux assigns to clients.
_PAUSE_S = 0.02


def listening_ports(tables: str) -> frozenset[int]:
    """Return the ports at which a host listens, from its tables (proc(5), ``/proc/net/tcp``)."""
    rows = (line.split() for line in tables.splitlines())
    sockets = [row for row in rows if len(row) > 3 and row[0].endswith(":")]
    open_to_all = (row[1] for row in sockets if row[3] in (_LISTENS, _UNCONNECTED))
    return frozenset(int(local.rpartition(":")[2], 16) for local in open_to_all)


def free_port(taken: frozenset[int]) -> int:
    """Choose a port at which no process listens."""
    # Any is as good: no result depends on it.
    return random.choice([port for port in _PORTS if port not in taken])


def await_listener(
    group: ProcessGroup, server: subprocess.Popen[bytes], listens: Callable[[], bool]
) -> bool:
    """Wait until a server listens; return whether it does, rather than having ended.

    Raises ``OverdueError`` when the limit of the launch comes first.
    """
    while server.poll() is None:
        if listens():
            return True
        if group.left_s < _PAUSE_S:
            raise OverdueError
        time.sleep(_PAUSE_S)
    return False
