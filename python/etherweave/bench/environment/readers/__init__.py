"""The edge: what is read from a host, and how."""

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
        Those to look at; all but the loopback if there are none.
    to
        Hosts to which a packet of the interface's MTU is sent, with "do not fragment".
    tools
        Starts a tool; ``None`` to read files only.
    variables
        Environment variables, of this process if ``None``.
    """
    place = HostFiles(root, tools)
    found = Snapshot(
        format=FORMAT,
        host=place.text("", "proc/sys/kernel/hostname") or platform.node(),
        boot=place.text("", "proc/sys/kernel/random/boot_id") or "",
        taken_s=time.time(),
        kernel=place.text("", "proc/sys/kernel/osrelease") or "",
        processor=processor(place),
        memory=memory(place),
        load=load(place, os.getpid()),
        placement=placement(place, os.environ if variables is None else variables),
        interfaces={name: interface(place, name) for name in interfaces or names(place)},
        traffic=traffic(place),
        rdma=devices(place),
        tcp=settings(place),
        tcp_counters=counters(place),
        paths={host: path for host in to if (path := path_to(place, host))},
    )
    return replace(found, gaps=tuple(dict.fromkeys(place.gaps)))
