"""Needs of tests of a machine beyond the package and its development dependencies.

A test marked ``@pytest.mark.needs("ovs", "root")`` is skipped where one of these is missing; the
reason names the Debian packages. Run as a program, it prints the packages that this machine lacks,
for ``apt-get install``; so it imports only the standard library.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/local/sbin"
"""Daemons are on the path of root only."""
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21  # Number in capabilities(7).


@dataclass(frozen=True)
class Need:
    """A requirement of tests: executables on the path, and Debian packages that bring them.

    ``obstacle`` returns what is missing besides programs, if anything. Tests of a machine-wide need
    change what the machine has once, so that they run one after the other.
    """

    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    obstacle: Callable[[], str] = str
    is_machine_wide: bool = False

    def missing(self) -> str:
        """Return what this machine lacks; empty when nothing."""
        absent = [name for name in self.programs if shutil.which(name, path=SEARCH_PATH) is None]
        if absent:
            return f"{', '.join(absent)} not found; Debian: {' '.join(self.packages)}"
        return self.obstacle()


def _not_root() -> str:
    return "" if os.geteuid() == 0 else "not root"


def _not_administrator() -> str:
    """Root in a container may lack what namespaces, mounts and links require."""
    status = Path("/proc/self/status").read_text()
    (effective,) = (line.split()[1] for line in status.splitlines() if line.startswith("CapEff"))
    required = 1 << _CAP_NET_ADMIN | 1 << _CAP_SYS_ADMIN
    is_able = os.geteuid() == 0 and int(effective, 16) & required == required
    return "" if is_able else "not root with CAP_NET_ADMIN and CAP_SYS_ADMIN"


def _no_bpf() -> str:
    headers = Path("/usr/include/bpf/bpf_helpers.h")
    return _not_administrator() or (
        "" if headers.exists() else f"{headers} not found; Debian: libbpf-dev"
    )


def _no_control_groups() -> str:
    is_mounted = any(" cgroup" in line for line in Path("/proc/mounts").read_text().splitlines())
    return _not_root() or ("" if is_mounted else "no cgroup file system is mounted")


def _unset(variable: str, content: str) -> Callable[[], str]:
    return lambda: "" if os.environ.get(variable) else f"{variable} names no {content}"


@cache
def interfaces_with_driver_counters() -> list[str]:
    """Return the interfaces of which ``ethtool --statistics`` prints something, sorted."""
    names = sorted(path.name for path in Path("/sys/class/net").glob("*"))
    program = shutil.which("ethtool", path=SEARCH_PATH)
    if program is None:
        return []
    words = ([program, "--statistics", name] for name in names)
    done = [subprocess.run(word, capture_output=True, check=False, timeout=10) for word in words]
    return [name for name, process in zip(names, done, strict=True) if process.returncode == 0]


def _no_driver_counters() -> str:
    return "" if interfaces_with_driver_counters() else "no interface has a driver with counters"


NEEDS = {
    "root": Need(obstacle=_not_root),
    "namespaces": Need(("ip", "tc"), ("iproute2",), _not_administrator, is_machine_wide=True),
    "ovs": Need(
        ("ovsdb-tool", "ovsdb-server", "ovs-vsctl", "ovs-vswitchd", "ovs-ofctl"),
        ("openvswitch-switch",),
    ),
    "ebpf": Need(
        ("clang", "bpftool", "ip", "mount", "unshare"),
        ("clang", "bpftool", "libbpf-dev", "iproute2", "mount", "util-linux"),
        _no_bpf,
        is_machine_wide=True,
    ),
    "slurm": Need(
        ("slurmctld", "slurmd", "sbatch", "salloc", "munged"),
        ("slurm-wlm", "munge"),
        _no_control_groups,
        is_machine_wide=True,
    ),
    "sshd": Need(
        ("sshd", "ssh", "ssh-keygen"),
        ("openssh-server", "openssh-client"),
        _not_root,
        is_machine_wide=True,
    ),
    "mpicc": Need(("mpicc",), ("libopenmpi-dev",)),
    "mpicc.mpich": Need(("mpicc.mpich",), ("libmpich-dev",)),
    "gfortran": Need(("gfortran",), ("gfortran",)),
    "mpirun": Need(("mpirun",), ("openmpi-bin",)),
    "mpirun.openmpi": Need(("mpirun.openmpi",), ("openmpi-bin",)),
    "mpirun.mpich": Need(("mpirun.mpich",), ("mpich",)),
    "cc": Need(("cc",), ("gcc", "libc6-dev")),
    "iperf3": Need(("iperf3",), ("iperf3",)),
    "qperf": Need(("qperf",), ("qperf",)),
    "perftest": Need(("ib_send_bw", "ib_read_lat", "ib_atomic_bw"), ("perftest",)),
    "hpcc": Need(("hpcc",), ("hpcc",)),
    "ping": Need(("ping",), ("iputils-ping",)),
    "ethtool": Need(("ethtool",), ("ethtool",)),
    "driver-counters": Need(obstacle=_no_driver_counters),
    "tshark": Need(("tshark",), ("tshark",)),
    "chromium": Need(("chromium",), ("chromium",)),
    "yanglint": Need(("yanglint",), ("libyang2-tools",)),
    "openssl": Need(("openssl",), ("openssl",)),
    "groff": Need(("groff",), ("groff-base",)),
    "setpriv": Need(("setpriv",), ("util-linux",)),
    "systemd-analyze": Need(("systemd-analyze",), ("systemd",)),
    "reframe": Need(("reframe",), ("reframe-hpc (PyPI)",)),
    "wheel": Need(obstacle=_unset("ETHERWEAVE_WHEEL", "wheel, as `make wheel` does")),
    "sonic-yang": Need(obstacle=_unset("ETHERWEAVE_SONIC_YANG", "directory with SONiC's models")),
    "sonic-repo": Need(obstacle=_unset("ETHERWEAVE_SONIC_REPO", "checkout of sonic-buildimage")),
}
"""Needs by the name that the marker takes."""


@cache
def missing(name: str) -> str:
    """Return what this machine lacks for a need; empty when nothing. Raises ``LookupError``."""
    if name not in NEEDS:
        raise LookupError(f"unknown need {name!r}; known: {', '.join(sorted(NEEDS))}")
    return NEEDS[name].missing()


def all_missing(names: Iterable[str]) -> str:
    """Return all that this machine lacks for these needs, on one line; empty when nothing."""
    return "; ".join(f"{name}: {lack}" for name in names if (lack := missing(name)))


def require(*names: str) -> None:
    """Skip the test whose fixture calls this, where the machine lacks one of these."""
    if lack := all_missing(names):
        import pytest

        pytest.skip(lack)


def packages() -> list[str]:
    """Return the Debian packages of programs that this machine lacks, sorted."""
    optional = ("reframe", "systemd-analyze")
    """Their tests stay skipped where nobody prepared the machine for them."""
    lacking = [
        need
        for name, need in NEEDS.items()
        if name not in optional and "not found" in need.missing()
    ]
    return sorted({package for need in lacking for package in need.packages})


if __name__ == "__main__":
    print(*packages())
