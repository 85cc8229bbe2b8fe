"""The verb ``lab down``."""

from typing import Annotated

import typer

from etherweave.cli.exits import refuse
from etherweave.cli.lab.parameters import Name, reported_errors, root_only, step_printer
from etherweave.control.lab import lifecycle, state

EXAMPLES = """Examples:

etherweave lab down

etherweave lab down --all"""


def down_verb(
    name: Name = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="All labs, and what is left of labs whose files are lost."),
    ] = False,
) -> None:
    """Remove a lab: processes in its namespaces, switches, links, namespaces, files.

    Also what a crash has left. Nothing is removed but what bears a lab's name.
    """
    root_only()
    if name and everything:
        refuse("--all and --name: expected one of them")
    scope = state.machine_scope()
    with reported_errors():
        names = lifecycle.all_labs(scope) if everything else [_chosen(scope, name)]
        progress = step_printer()
        for one in names:
            progress(f"{one}: down")
            lifecycle.down(scope, one)


def _chosen(scope: state.LabScope, name: str | None) -> str:
    """Take a lab by its name even if its files are lost."""
    known = lifecycle.all_labs(scope)
    return name if name in known and name else state.choose(scope, name)
