"""The verb ``lab down``."""

from etherweave.cli.exits import reject
from etherweave.cli.lab.parameters import Name, reported_errors, root_only, step_printer
from etherweave.control.lab import lifecycle, state


def down_verb(*, name: Name = None, everything: bool = False) -> None:
    """Remove a lab: its processes, switches, links, namespaces and files.

    Also removes what a crash has left, by the name of the lab. Exit code 2: a mistake.

    Parameters
    ----------
    everything : --all
        Remove all labs, and what is left of labs whose files are lost.
    """
    root_only()
    if name and everything:
        reject("--all and --name: expected one of them")
    scope = state.machine_scope()
    with reported_errors():
        names = lifecycle.all_labs(scope) if everything else [_chosen(scope, name)]
        progress = step_printer()
        for text in names:
            progress(f"{text}: down")
            lifecycle.down(scope, text)


def _chosen(scope: state.LabScope, name: str | None) -> str:
    """Take a lab by its name even if its files are lost."""
    known = lifecycle.all_labs(scope)
    return name if name in known and name else state.choose(scope, name)
