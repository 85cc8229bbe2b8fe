"""``mpirun`` of Open MPI and of MPICH, distinguished by the output of ``--version``."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from etherweave.bench.launchers.access import SshAccess, remote_shell, with_modules
from etherweave.bench.launchers.launcher import Launcher, LauncherKind, LaunchJob, OptionKind
from etherweave.bench.launchers.site_launcher import (
    LauncherError,
    RanksCommand,
    SiteLauncher,
    fixed_context,
)
from etherweave.bench.programs.binaries import launcher_mpi
from etherweave.bench.programs.plans import BenchmarkCommand
from etherweave.bench.site.values import ClusterSite, SiteFabric

_PATIENCE_S = 10.0
_VERSION = re.compile(r"(\d+)\.\d+")
_AGENT = '#!/bin/sh\nexec {} "$@"\n'
_FORWARDED = ("PATH", "LD_LIBRARY_PATH")
"""Variables that programs on other hosts need besides those of the site."""
_PARAMETERS = ("OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_")


@dataclass(frozen=True)
class Mpirun:
    """Starts ranks on hosts by an MPI library's own launcher."""

    site: ClusterSite
    program: str
    arguments: tuple[str, ...] = ()
    agent: str | None = None
    """Script with which daemons get to other hosts; without one, all ranks are on this machine."""
    is_inside: bool = False
    """Whether it is itself started on the first host, and uses the hosts' names."""

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the call of mpirun."""
        library, major = flavour(self.program, self.site.modules)
        agent = self._agent(job)
        if library == "Open MPI":
            words = [*user(), *self._open_mpi(job, agent, major), *_forwarding(variables)]
            words += ["--wdir", str(job.directory), "-np"]
        else:
            settings = [word for pair in variables.items() for word in ("-genv", *pair)]
            words = [*self._hydra(job, agent), *settings, "-wdir", str(job.directory), "-n"]
        words += [str(job.ranks), *self.arguments, *command.arguments]
        return RanksCommand([self.program, *words], job.hosts[0] if self.is_inside else None)

    def _agent(self, job: LaunchJob) -> Path | None:
        if self.agent is None:
            return None
        script = job.directory / "agent"
        script.write_text(self.agent, encoding="utf-8")
        script.chmod(0o700)
        return script

    def _open_mpi(self, job: LaunchJob, agent: Path | None, major: int) -> list[str]:
        if agent is None:
            return ["--oversubscribe"]
        hosts = ",".join(f"{self._name(host)}:{job.ranks_per_node}" for host in job.hosts)
        # The part that starts daemons became a project of its own with version 5.
        agent_option = ["--mca", "plm_rsh_agent"] if major < 5 else ["--prtemca", "plm_ssh_agent"]
        placement = ["--host", hosts, "--map-by", f"ppr:{job.ranks_per_node}:node"]
        return [*agent_option, str(agent), *placement]

    def _hydra(self, job: LaunchJob, agent: Path | None) -> list[str]:
        if agent is None:
            return []
        hosts = ",".join(map(self._name, job.hosts))
        reach = ["-launcher", "rsh", "-launcher-exec", str(agent)]
        return [*reach, "-hosts", hosts, "-ppn", str(job.ranks_per_node)]

    def _name(self, host: str) -> str:
        return host if self.is_inside else self.site.host(host).address


def user() -> list[str]:
    """Allow Open MPI to run as root, if this is root."""
    return ["--allow-run-as-root"] if os.geteuid() == 0 else []


def _forwarding(variables: Mapping[str, str]) -> list[str]:
    """Name what Open MPI shall carry to other hosts; its own parameters go by themselves."""
    own = [name for name in variables if not name.startswith(_PARAMETERS)]
    names = dict.fromkeys([*(name for name in _FORWARDED if name in os.environ), *own])
    return [word for name in names for word in ("-x", name)]


def flavour(program: str, modules: tuple[str, ...] = ()) -> tuple[str, int]:
    """Return the MPI library of a launcher, and its major version.

    Raises ``LaunchError`` when it is not found, or none that is known.
    """
    try:
        done = subprocess.run(
            with_modules(modules, [program, "--version"]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LauncherError(f"{program} --version: {error}; expected an MPI launcher") from None
    library = launcher_mpi(done.stdout)
    if library is None:
        printed = " ".join(done.stdout.split())[:60]
        raise LauncherError(
            f'{program} --version: "{printed}"; expected Open MPI, MPICH or Intel MPI'
        )
    version = _VERSION.search(done.stdout)
    return library, int(version[1]) if version else 0


def lacking(*programs: str) -> str:
    """Return which programs are not found; empty when none."""
    gone = [name for name in programs if shutil.which(name) is None]
    return f"not found: {', '.join(gone)}" if gone else ""


def _make(site: ClusterSite, link: SiteFabric | None) -> Launcher:
    program = site.text("program", "mpirun")
    shell = remote_shell(site)
    # No user's line: words of the site's file, each quoted.
    starter = Mpirun(site, program, site.texts("arguments"), _AGENT.format(shlex.join(shell)))
    needed = (shell[0], "timeout") if site.modules else (program, shell[0], "timeout")
    context = fixed_context(SshAccess(site, shell), site, starter)
    return SiteLauncher("mpirun", site, link, context, lambda: lacking(*needed))


KIND = LauncherKind(
    "mpirun",
    _make,
    {"program": OptionKind.TEXT, "arguments": OptionKind.TEXTS, "shell": OptionKind.TEXTS},
)
