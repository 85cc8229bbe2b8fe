"""Interfaces that a user names."""

from collections.abc import Iterable
from pathlib import Path

from etherweave.bench.environment.readers import ROOT
from etherweave.cli.exits import refuse

_NET = "sys/class/net"


def existing(names: Iterable[str], root: Path = ROOT) -> None:
    """End with the user's mistake where a host has no interface of that name."""
    known = sorted(path.name for path in (root / _NET).glob("*") if path.is_dir())
    for name in names:
        if known and name not in known:
            refuse(f"--interface {name}: is not of this host; expected one of {', '.join(known)}")
