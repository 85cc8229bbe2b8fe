"""How one process is brought to a host."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from etherweave.bench.launchers.wrapping import guarded, limited, with_modules, with_variables
from etherweave.bench.site.values import Site

_SHELL = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


def remote_shell(site: Site) -> tuple[str, ...]:
    """Return how a site reaches its hosts: ssh, with the site's own options."""
    return (*_SHELL, *site.texts("shell"))


@dataclass(frozen=True)
class Task:
    """A process as it is wanted."""

    words: Sequence[str]
    variables: Mapping[str, str]
    limit_s: float
    """It ends itself after that [s]."""
    directory: Path | None = None
    """Where it runs, if that matters; must exist there."""
    hears: bool = False
    """Whether it reads standard input, and ends itself when that ends."""

    def bounded(self, words: Sequence[str]) -> list[str]:
        """Return the task's words, however they were wrapped, with a guard or its like."""
        return (limited if self.hears else guarded)(words, self.limit_s)


class Place(Protocol):
    """Brings processes to hosts."""

    def words(self, host: str, task: Task) -> list[str]:
        """Return what to start on this machine, so that a task runs on a host."""


@dataclass(frozen=True)
class Here:
    """All hosts are this machine."""

    site: Site

    def words(self, host: str, task: Task) -> list[str]:
        """Return the guarded task itself; variables are those of the start."""
        return task.bounded(with_modules(self.site.modules, task.words))


@dataclass(frozen=True)
class BySsh:
    """Hosts are reached by ssh, without passwords."""

    site: Site
    shell: tuple[str, ...]

    def words(self, host: str, task: Task) -> list[str]:
        """Return the call of ssh.

        It joins what follows the host, and the user's shell there splits it: the only words of a
        launch that must be quoted.
        """
        own = with_variables(task.variables, with_modules(self.site.modules, task.words))
        if task.directory:
            own = ["env", "-C", str(task.directory), *own]
        address = self.site.host(host).address
        return [*self.shell, "-T", "--", address, shlex.join(task.bounded(own))]
