"""The verb ``lab status``."""

import json

import typer

from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED
from etherweave.cli.lab.parameters import Name, reported_errors, root_only
from etherweave.cli.parameters import AsJson
from etherweave.control.lab import lifecycle, state
from etherweave.control.lab.status import Status, status


def status_verb(name: Name = None, as_json: AsJson = False) -> None:
    """Print the state of a lab: addresses of hosts, frames of every port.

    Exit code 1: switches do not run, or a host lacks its address; 2: there is no lab.
    """
    root_only()
    with reported_errors():
        current = status(lifecycle.find(state.machine_scope(), name))
    print(json.dumps(current.as_json())) if as_json else _print(current)
    if not current.is_whole:
        raise typer.Exit(FAILED)


def _print(current: Status) -> None:
    runs = "running" if current.is_running else "NOT RUNNING"
    pauses = ", obeys pauses" if current.obeys_pauses else ""
    print(f"{current.name}: {current.fabric}, switches by {current.plane}: {runs}{pauses}")
    rows = [
        (host.host, f"{host.switch}:{host.port}", host.mac or "none", host.ipv4, host.namespace)
        for host in current.hosts
    ]
    print_table(("host", "plugged into", "MAC address", "IPv4 address", "namespace"), rows)
    carried = [
        (
            f"{switch.switch}:{port.port}",
            port.leads_to,
            f"{port.received_frames:,}",
            f"{port.sent_frames:,}",
        )
        for switch in current.switches
        for port in switch.ports
    ]
    print_table(("port", "leads to", ">frames in", ">frames out"), carried)
