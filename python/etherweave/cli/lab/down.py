"""The verb ``lab down``."""

from typing import Annotated

import typer

from etherweave.cli.exits import refuse
from etherweave.cli.lab.parameters import Name, mistakes_told, root_only, teller
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
    realm = state.realm()
    with mistakes_told():
        names = lifecycle.everything(realm) if everything else [_chosen(realm, name)]
        tell = teller()
        for one in names:
            tell(f"{one}: down")
            lifecycle.down(realm, one)


def _chosen(realm: state.Realm, name: str | None) -> str:
    """Take a lab by its name even if its files are lost."""
    known = lifecycle.everything(realm)
    return name if name in known and name else state.choose(realm, name)
