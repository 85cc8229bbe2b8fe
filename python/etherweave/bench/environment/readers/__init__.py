"""Readers of a host's state, which :func:`take` joins to a snapshot."""

import os
import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from etherweave.bench.environment.readers.files import HostFiles, Tools, run_tool
from etherweave.bench.environment.readers.hosts import load, memory, placement, processor
from etherweave.bench.environment.readers.network import (
    counters,
    devices,
    interface,
    names,
    path_to,
    settings,
    traffic,
)
from etherweave.bench.environment.snapshot import FORMAT, Snapshot

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

    Parameters
    ----------
    root
        Holds ``proc`` and ``sys``.
    interfaces
        Those to read; all but the loopback if there are none.
    to
        Hosts to which a packet of the interface's MTU is sent, with "do not fragment".
    tools
        Starts a tool; ``None`` to read files only.
    variables
        Environment variables, of this process if ``None``.
    """
    files = HostFiles(root, tools)
    found = Snapshot(
        format=FORMAT,
        host=files.text("", "proc/sys/kernel/hostname") or platform.node(),
        boot=files.text("", "proc/sys/kernel/random/boot_id") or "",
        taken_s=time.time(),
        kernel=files.text("", "proc/sys/kernel/osrelease") or "",
        processor=processor(files),
        memory=memory(files),
        load=load(files, os.getpid()),
        placement=placement(files, os.environ if variables is None else variables),
        interfaces={name: interface(files, name) for name in interfaces or names(files)},
        traffic=traffic(files),
        rdma=devices(files),
        tcp=settings(files),
        tcp_counters=counters(files),
        paths={host: path for host in to if (path := path_to(files, host))},
    )
    return replace(found, gaps=tuple(dict.fromkeys(files.gaps)))
