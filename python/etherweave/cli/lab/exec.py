"""The verb ``lab exec``."""

from etherweave.cli.exits import reject
from etherweave.cli.lab.parameters import Name, reported_errors, root_only
from etherweave.control.lab import lifecycle, state
from etherweave.control.lab.layout import host_namespace
from etherweave.linux.namespaces import execute

SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""Options after the command belong to the command."""


def exec_verb(host: str, command: list[str], *, name: Name = None) -> None:
    """Run a command in a host of a lab, where names of hosts are addresses.

    Exit code: that of the command.

    Parameters
    ----------
    host : HOST
        Host of the lab, as in host0.
    command : COMMAND...
        Command to run there; -- may stand before it.
    """
    root_only()
    words = command[1:] if command[0] == "--" else command
    if not words:
        reject("no command behind --; expected one such as ping -c 3 host7")
    with reported_errors():
        lab = lifecycle.find(state.machine_scope(), name)
        namespace = host_namespace(lab.layout, host)
        execute(namespace, lab.directory / "hosts", words)
