"""Access to hosts: the command that runs a process there, bounded in time.

The scripts are constant; what users write reaches them as arguments, which no shell reads.
"""

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from etherweave.bench.site.values import ClusterSite

_SHELL = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


def remote_shell(site: ClusterSite) -> tuple[str, ...]:
    """Return how a site reaches its hosts: ssh, with the site's own options."""
    return (*_SHELL, *site.texts("shell"))


@dataclass(frozen=True)
class Task:
    """A process that is to run on a host."""

    words: Sequence[str]
    variables: Mapping[str, str]
    limit_s: float  # It ends itself after that [s].
    directory: Path | None = None  # Where it runs, if that matters; must exist there.
    reads_input: bool = False  # Whether it reads standard input, and ends when that ends.

    def bounded(self, words: Sequence[str]) -> list[str]:
        """Return the task's words, however they were wrapped, with a guard or its like."""
        return (limited if self.reads_input else guarded)(words, self.limit_s)


class HostAccess(Protocol):
    """Runs processes on hosts."""

    def words(self, host: str, task: Task) -> list[str]:
        """Return what to start on this machine, so that a task runs on a host."""


@dataclass(frozen=True)
class LocalAccess:
    """All hosts are this machine."""

    site: ClusterSite

    def words(self, host: str, task: Task) -> list[str]:
        """Return the guarded task itself; variables are those of the start."""
        return task.bounded(with_modules(self.site.modules, task.words))


@dataclass(frozen=True)
class SshAccess:
    """Hosts are reached by ssh, without passwords."""

    site: ClusterSite
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


GRACE_S = 2  # Between SIGTERM and SIGKILL [s].
# A signal that comes before timeout knows its child ends timeout alone: its group is asked.
_GUARD = """
exec 3<&0 </dev/null
"$@" 3<&- &
child=$!
{ while read -r line; do :; done <&3; kill -- "-$child" || kill "$child"; } >/dev/null 2>&1 &
guard=$!
exec 3<&-
wait "$child"
status=$?
kill "$guard" 2>/dev/null
exit "$status"
"""
_MODULES = """
count=$1
shift
while [ "$count" -gt 0 ]; do
    module load "$1" || exit 127
    shift
    count=$((count - 1))
done
exec "$@"
"""


def guarded(words: Iterable[str], limit_s: float) -> list[str]:
    """End a program after some time, and when standard input ends.

    That is a pipe from whoever started it, through ssh too: if that ends, so does the program.
    """
    return ["sh", "-c", _GUARD, "etherweave", *limited(words, limit_s)]


def limited(words: Iterable[str], limit_s: float) -> list[str]:
    """End a program after some time; standard input is its own."""
    limit = str(max(math.ceil(limit_s), 1))
    return ["timeout", "-k", str(GRACE_S), limit, *words]


def with_modules(modules: tuple[str, ...], words: Iterable[str]) -> list[str]:
    """Load environment modules first; a login shell knows ``module``."""
    if not modules:
        return list(words)
    shell = ["bash", "-l", "-c", _MODULES, "etherweave"]
    return [*shell, str(len(modules)), *modules, *words]


def with_variables(variables: Mapping[str, str], words: Iterable[str]) -> list[str]:
    """Set environment variables where nothing else carries them."""
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *words]
