"""Parameters that several verbs of ``lab`` share, and how their mistakes are told."""

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.cli.exits import FAILED, alarm, notice, refuse, told
from etherweave.control.lab.boot import BootError
from etherweave.control.lab.guests.image import ImageError
from etherweave.control.lab.layout import LayoutError
from etherweave.control.lab.lifecycle import LabError
from etherweave.control.lab.probes import CaptureIncompleteError
from etherweave.control.lab.state import StateError
from etherweave.control.ovs.daemons import OvsError
from etherweave.control.plan import FabricPlanError
from etherweave.linux.namespaces import NamespaceError, missing


class DataPlane(StrEnum):
    """What switches are."""

    OVS = "ovs"
    EBPF = "ebpf"


Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Which lab; the only one by default.")
]
PlaneOption = Annotated[
    DataPlane,
    typer.Option(
        "--plane", help="Switches: bridges of an Open vSwitch, or eBPF programs in the kernel."
    ),
]

MISTAKES = (etherweave.ScenarioError, FabricPlanError, LayoutError, StateError)
FAILURES = (LabError, NamespaceError, OvsError, BootError, CaptureIncompleteError, ImageError)


def name_of(scenario: Path) -> str:
    """Make a lab's name of a scenario's."""
    return re.sub(r"[^a-z0-9_-]+", "-", scenario.stem.lower()).strip("-")[:24] or "lab"


def root_only() -> None:
    """Refuse whoever may not make namespaces."""
    if why := missing():
        refuse(f"lab: {why}")


@contextmanager
def reported_errors() -> Iterator[None]:
    """Tell mistakes in a line each, ending with 2, and failures of the machine, ending with 1."""
    try:
        yield
    except MISTAKES as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))
    except FAILURES as error:
        alarm(error)
        raise typer.Exit(FAILED) from None


@contextmanager
def terminable_cleanup() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into Ctrl-C, which undoes what was begun."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def step_printer() -> Callable[[str], None]:
    """Make what prints steps to standard error, with the seconds since now."""
    start_s = time.monotonic()

    def progress(line: str) -> None:
        text = f"{time.monotonic() - start_s:6.2f} s  {line}"
        notice(text)

    return progress
