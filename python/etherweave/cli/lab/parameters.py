"""Parameters that several verbs of ``lab`` share, and how their errors are printed."""

import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.cli.exits import FAILED, mistakes, notice, print_error, reject
from etherweave.control.lab.boot import BootError
from etherweave.control.lab.layout import LayoutError
from etherweave.control.lab.lifecycle import LabError
from etherweave.control.lab.probes import CaptureIncompleteError
from etherweave.control.lab.state import StateError
from etherweave.control.ovs.daemons import OvsError
from etherweave.control.plan import FabricPlanError
from etherweave.control.reaction import DataPlane
from etherweave.linux.namespaces import NamespaceError, missing

Name = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the lab; default: the only one."),
]
PlaneOption = Annotated[
    DataPlane,
    typer.Option(
        "--plane",
        case_sensitive=False,
        help="Switches: bridges of Open vSwitch, or eBPF programs in the kernel.",
    ),
]

MISTAKES = (etherweave.ScenarioError, FabricPlanError, LayoutError, StateError)
FAILURES = (LabError, NamespaceError, OvsError, BootError, CaptureIncompleteError)


def name_of(scenario: Path) -> str:
    """Return a lab's name for a scenario's file."""
    return re.sub(r"[^a-z0-9_-]+", "-", scenario.stem.lower()).strip("-")[:24] or "lab"


def root_only() -> None:
    """Reject users who lack the privileges or programs for namespaces."""
    if why := missing():
        reject(f"lab: {why}")


def reported_errors() -> AbstractContextManager[None]:
    """Print mistakes in one line, with exit code 2, and failures of the machine, with 1."""
    return mistakes(*MISTAKES, failures=FAILURES)


def end_with(failures: Sequence[str]) -> None:
    """Print what is not as expected, and end with exit code 1 if there is anything."""
    for line in failures:
        print_error(line)
    if failures:
        raise typer.Exit(FAILED)


def step_printer() -> Callable[[str], None]:
    """Return a function that prints steps on standard error, with the seconds since now."""
    start_s = time.monotonic()

    def progress(line: str) -> None:
        notice(f"{time.monotonic() - start_s:6.2f} s  {line}")

    return progress
