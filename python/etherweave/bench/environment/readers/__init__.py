"""Readers of a host's state, which :func:`take` joins to a snapshot.

Processors, memory, load and where this process may run are read here.
"""

import os
import platform
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from etherweave.bench.environment.readers import network
from etherweave.bench.environment.readers.files import HostFiles, Tools, pairs, run_tool, whole
from etherweave.bench.environment.snapshot import (
    FORMAT,
    Load,
    NumaMemory,
    Processor,
    ProcessPlacement,
    Snapshot,
)

ROOT = Path("/")


def take(
    root: Path = ROOT,
    *,
    interfaces: Iterable[str] = (),
    to: Iterable[str] = (),
    tools: Tools | None = run_tool,
    variables: Mapping[str, str] | None = None,
) -> Snapshot:
    """Take a snapshot of this host.

    ``root`` holds ``proc`` and ``sys``. ``interfaces`` are all but the loopback if none is named. A
    packet of the interface's MTU is sent ``to`` hosts with "do not fragment". Without ``tools``
    only files are read; ``variables`` are those of this process unless given.
    """
    files = HostFiles(root, tools)
    snapshot = Snapshot(
        format=FORMAT,
        host=files.text("", "proc/sys/kernel/hostname") or platform.node(),
        boot=files.text("", "proc/sys/kernel/random/boot_id") or "",
        taken_s=time.time(),
        kernel=files.text("", "proc/sys/kernel/osrelease") or "",
        processor=processor(files),
        memory=memory(files),
        load=load(files, os.getpid()),
        placement=placement(files, os.environ if variables is None else variables),
        interfaces={
            name: network.interface(files, name) for name in interfaces or network.names(files)
        },
        traffic=network.traffic(files),
        rdma=network.devices(files),
        tcp=network.settings(files),
        tcp_counters=network.counters(files),
        paths={host: path for host in to if (path := network.path_to(files, host))},
    )
    return replace(snapshot, gaps=tuple(dict.fromkeys(files.gaps)))


_CPU = "sys/devices/system/cpu"
_PREFIXES = ("UCX_", "OMPI_MCA_", "PRTE_MCA_", "MPICH_", "MPIR_CVAR_", "I_MPI_", "FI_", "NCCL_")
_KERNEL_THREAD = 0x200000  # ``PF_KTHREAD`` in linux/sched.h.
_ALSO = ("OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES")


def processor(files: HostFiles) -> Processor:
    """Read the processors."""
    each = [name for name in files.names(_CPU) if name.removeprefix("cpu").isdigit()]
    scaling = [f"{_CPU}/{name}/cpufreq" for name in each]
    governors = [files.text("frequency", f"{path}/scaling_governor") for path in scaling]
    now = [files.number("frequency", f"{path}/scaling_cur_freq") for path in scaling]
    most = [files.number("frequency", f"{path}/cpuinfo_max_freq") for path in scaling]
    if not any(governors):
        files.miss("frequency", f"/{_CPU}/cpu*/cpufreq", "the kernel shows no frequencies")
    smt = files.text("smt", f"{_CPU}/smt/active")
    cpuinfo = pairs(files.text("", "proc/cpuinfo"))
    return Processor(
        model=next((value for name, value in cpuinfo if name == "model name"), ""),
        online=files.text("", f"{_CPU}/online") or "",
        governors=dict(Counter(governor for governor in governors if governor)),
        frequency_hz_min=min((number * 1e3 for number in now if number), default=None),
        frequency_hz_max=max((number * 1e3 for number in most if number), default=None),
        smt=None if smt is None else smt == "1",
    )


def memory(files: HostFiles) -> NumaMemory:
    """Read the NUMA nodes."""
    path = "sys/devices/system/node"
    each = [name for name in files.names(path) if name.removeprefix("node").isdigit()]
    lists = {name[4:]: files.text("numa", f"{path}/{name}/cpulist") for name in each}
    balancing = files.text("numa", "proc/sys/kernel/numa_balancing")
    return NumaMemory(
        nodes={name: cpus for name, cpus in lists.items() if cpus is not None},
        balancing=None if balancing is None else balancing != "0",
    )


def load(files: HostFiles, own: int) -> Load:
    """Read what else runs.

    ``own`` is the number of the process that does not count.
    """
    average = (files.text("load", "proc/loadavg") or "").split()
    running: Counter[str] = Counter()
    for name in files.names("proc"):
        if name.isdigit() and int(name) != own:
            program = _running(files.text("load", f"proc/{name}/stat") or "")
            if program:
                running[program] += 1
    return Load(one_minute=_decimal(average[0]) if average else None, running=dict(running))


def _running(stat: str) -> str:
    """Name the program of ``12 (a name) R 1 1 1 0 -1 FLAGS``; empty if it waits or is the kernel's.

    A name may hold blanks and brackets.
    """
    name, _, rest = stat.partition("(")[2].rpartition(")")
    words = rest.split()
    flags = whole(words[6]) if len(words) > 6 else None
    return "" if words[:1] != ["R"] or (flags or 0) & _KERNEL_THREAD else name


def _decimal(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdecimal() and len(text) < 20 else None


def placement(files: HostFiles, variables: Mapping[str, str]) -> ProcessPlacement:
    """Read where this process may run, and its variables for communication libraries."""
    status = dict(pairs(files.text("placement", "proc/self/status")))
    chosen = {
        name: value
        for name, value in sorted(variables.items())
        if name.startswith(_PREFIXES) or name in _ALSO
    }
    return ProcessPlacement(allowed=status.get("Cpus_allowed_list", ""), variables=chosen)
