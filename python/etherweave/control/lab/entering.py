"""Runs a program in a host of a lab, where names of hosts can be used as addresses."""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from etherweave.control.lab.layout import Layout, LayoutError
from etherweave.control.lab.namespaces import NAMED, NamespaceError
from etherweave.control.text import ipv4_text

_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000
_HOSTS = "/etc/hosts"
_libc = ctypes.CDLL(None, use_errno=True)


def names(layout: Layout) -> str:
    """Write hosts(5) for a lab."""
    lines = [f"{ipv4_text(host.ipv4 or 0)} {host.name}\n" for host in layout.plan.hosts]
    return "".join(["127.0.0.1 localhost\n", *lines])


def check(layout: Layout, host: str) -> str:
    """Return a host's namespace.

    Raises
    ------
    LayoutError
        If the lab has no such host.
    NamespaceError
        If its namespace is gone.
    """
    known = [one.name for one in layout.hosts]
    if host not in known:
        raise LayoutError(f"no host {host}; expected one of {known[0]} to {known[-1]}")
    namespace = layout.host(host)
    if not (NAMED / namespace).exists():
        raise NamespaceError(f"namespace {namespace}: is gone; expected `lab down` and `lab up`")
    return namespace


def enter(directory: Path, namespace: str, command: Sequence[str]) -> NoReturn:
    """Become a program in a namespace.

    Parameters
    ----------
    directory
        Of the lab; holds the file ``hosts``.
    namespace, command
        Where, and what.

    Raises
    ------
    NamespaceError
        If the file cannot be bound to ``/etc/hosts``.
    OSError
        If there is no such program.
    """
    # Mounts of this process alone; they go with it.
    done = _libc.unshare(_CLONE_NEWNS)
    done = done or _libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None)
    source = os.fsencode(directory / "hosts")
    done = done or _libc.mount(source, _HOSTS.encode(), None, _MS_BIND, None)
    if done:
        raise NamespaceError(f"{_HOSTS}: {os.strerror(ctypes.get_errno())}")
    os.execvp("ip", ["ip", "netns", "exec", namespace, *command])
