"""Options with units that ``measure``, ``calibrate`` and ``bench`` share, and their amounts.

Sizes, rates and times are texts with a unit: 64KiB, 100Gb/s, 10min.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from etherweave.api.units import size_of
from etherweave.bench.environment.readers import ROOT
from etherweave.cli.exits import mistakes, reject

TimeLimit = Annotated[
    str | None,
    typer.Option(
        "--time-limit", metavar="TIME", help="End a launch after this time, such as 10min."
    ),
]

TrafficLimit = Annotated[
    str,
    typer.Option(
        "--traffic-limit",
        metavar="SIZE",
        help="Refuse to start if all launches together are predicted to send more, such as 10GB.",
    ),
]


def octets(option: str, text: str) -> int:
    """Read the size of an option [bytes], above zero, or end with the mistake."""
    with mistakes(ValueError, before=f"{option} "):
        value = size_of(text)
    if not value:
        reject(f"{option} {text}: expected more than zero")
    return value


_NET = "sys/class/net"


def existing(names: Iterable[str], root: Path = ROOT) -> None:
    """End with the user's mistake where a host has no interface of that name."""
    known = sorted(path.name for path in (root / _NET).glob("*") if path.is_dir())
    for name in names:
        if known and name not in known:
            reject(f"--interface {name}: is not of this host; expected one of {', '.join(known)}")
