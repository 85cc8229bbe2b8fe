"""Carries out a job: processes at places, or ranks by an MPI launcher."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from subprocess import Popen
from typing import NamedTuple, Protocol

from etherweave.bench.launchers import listening
from etherweave.bench.launchers.companions import SLACK_S, accompanied
from etherweave.bench.launchers.family import Family, OverdueError, read
from etherweave.bench.launchers.launcher import Ending, Job, Outcome
from etherweave.bench.launchers.places import Here, Place, Task
from etherweave.bench.plans import Command, Start
from etherweave.bench.site.values import Link, Site, SiteError, address, interface, variables

_SLACK_S = 2.0
"""By which a process outlives the limit of its launch when nobody ends it [s]."""


class LaunchError(Exception):
    """A launch cannot be carried out; the words say why, and what would help."""


class Ranks(NamedTuple):
    """What starts all ranks."""

    words: list[str]
    """Complete but for the guard."""
    host: str | None
    """On which that is started; none is this machine."""


class Starter(Protocol):
    """Starts the ranks of a job by one command."""

    def ranks(self, job: Job, command: Command, variables: Mapping[str, str]) -> Ranks:
        """Return the command.

        Raises
        ------
        LaunchError
            When there is none.
        """


class Ground(NamedTuple):
    """What stands while a launch lasts."""

    place: Place
    site: Site
    starter: Starter | None


@dataclass(frozen=True)
class Placed:
    """A launcher: a site, and the ground that is prepared for each launch."""

    name: str
    site: Site
    link: Link | None
    ground: Callable[[Job, Family], AbstractContextManager[Ground]]
    lacks: Callable[[], str] = str

    def missing(self) -> str:
        """Tell which program or privilege is; empty when nothing."""
        return self.lacks()

    def launch(self, job: Job) -> Outcome:
        """Carry out a job."""
        start_ns = time.time_ns()
        # Programs are told it, and start in it themselves.
        end = _carry_out(self, replace(job, directory=job.directory.absolute()))
        return Outcome(end.ending, end.text, end.errors, end.words, start_ns, time.time_ns())


class End(NamedTuple):
    """How a launch ended, but for the times."""

    ending: Ending
    text: str = ""
    errors: str = ""
    words: tuple[str, ...] = ()


def steady(
    place: Place, site: Site, starter: Starter | None
) -> Callable[[Job, Family], AbstractContextManager[Ground]]:
    """Return a ground that is always there."""
    return lambda job, family: nullcontext(Ground(place, site, starter))


def _carry_out(launcher: Placed, job: Job) -> End:
    act = _Act(launcher, job)
    try:
        try:
            with Family(job.directory, job.limit_s) as family:
                return act.play(family)
        except OverdueError:
            return act.end(Ending.TIMED_OUT, f"ended at its limit of {job.limit_s:g} s")
        except KeyboardInterrupt:
            return act.end(Ending.INTERRUPTED, "ended by the user")
    except (LaunchError, SiteError) as error:
        return End(Ending.FAILED, "", str(error), act.words)
    except OSError as error:
        return End(Ending.FAILED, "", f"{error.filename or job.directory}: {error}", act.words)
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        return End(Ending.FAILED, "", f"words in braces: {error} is unknown", act.words)


class _Act:
    """One launch while it lasts."""

    def __init__(self, launcher: Placed, job: Job) -> None:
        self.launcher, self.job = launcher, job
        self.words: tuple[str, ...] = job.command.arguments
        self.main = "client"
        """Name of the files of the program whose output counts."""
        self.others: tuple[str, ...] = ()

    def play(self, family: Family) -> End:
        for host in self.job.hosts:
            self.launcher.site.host(host)
        for name, text in self.job.command.files:
            (self.job.directory / name).write_text(text, encoding="utf-8")
        with self.launcher.ground(self.job, family) as ground:
            scene = _Scene(self, family, ground)
            try:
                with accompanied(self.job, family, scene.bring, ground.site, self.launcher.link):
                    is_well = scene.play()
            finally:
                family.end()  # While they stand on their ground, and may tidy up.
        return self.end(Ending.DONE if is_well else Ending.FAILED, "")

    def end(self, ending: Ending, said: str) -> End:
        """Collect what was written."""
        family = Family(self.job.directory, 0)
        errors = [said, family.errors(self.main, *self.others)]
        text = ""
        try:
            output = self.job.command.output
            text = read(self.job.directory / output) if output else family.text(self.main)
        except FileNotFoundError as error:
            if ending is Ending.DONE:
                return End(Ending.FAILED, "", f"{error.filename}: was not written", self.words)
        told = "\n".join(part for part in errors if part)
        return End(ending, text, told, self.words)


class _Scene:
    """One launch on its ground."""

    def __init__(self, act: _Act, family: Family, ground: Ground) -> None:
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

    def _filled(self, port: int | None = None, rank: int | None = None) -> Command:
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
            raise LaunchError(
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
            return Here(self.ground.site).words("", task)
        return self.ground.place.words(host, task)

    def _serve(self) -> bool:
        host = self.job.hosts[0]
        before = self._ports(host)
        port = listening.free(before)
        command = self._filled(port)
        is_told = any("{port}" in word for word in self.job.command.server)
        self.act.others = ("server",)
        server = self._start("server", host, command.server)
        if not listening.wait(
            self.family,
            server,
            lambda: self._ports(host),
            lambda now: port in now if is_told else bool(now - before),
        ):
            raise LaunchError(
                f"server {command.server[0]}: ended with {server.returncode} before it listened; "
                f"{self.family.errors('server')}"
            )
        client = self._start("client", self.job.hosts[-1], command.arguments)
        return self.family.wait(client) == 0

    def _ports(self, host: str) -> frozenset[int]:
        return listening.ports(self.family.ask(self._words(host, listening.TABLES)))

    def _each(self) -> bool:
        job = self.job
        ranks = range(job.ranks)
        port = listening.free(frozenset())
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
