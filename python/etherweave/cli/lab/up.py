"""The verb ``lab up``."""

import json
from dataclasses import asdict

from etherweave.cli.control.parameters import Failed
from etherweave.cli.lab import parameters
from etherweave.cli.parameters import AsJson, File, Settings, overrides
from etherweave.control.lab import lifecycle
from etherweave.control.lab.lifecycle import Lab
from etherweave.control.lab.state import machine_scope
from etherweave.control.reaction import DataPlane


def up_verb(
    file: File,
    *,
    name: str | None = None,
    plane: parameters.PlaneOption = DataPlane.OVS,
    failed: Failed = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Start a scenario's fabric: switches with their rules, hosts with their addresses.

    Hosts are network namespaces, which request their MAC addresses by DMP; at most 80 hosts and 40
    switches. After a failure everything is removed. Exit code 1: a failure; 2: a mistake.

    Parameters
    ----------
    name : NAME
        Name of the lab; default: the file's.
    """
    parameters.root_only()
    with parameters.reported_errors():
        made = lifecycle.up(
            machine_scope(),
            name or parameters.name_of(file),
            file,
            overrides(settings),
            failed=failed or (),
            plane=plane,
            progress=parameters.step_printer(),
        )
    facts = {"name": made.directory.name, "plane": plane, **asdict(made.boot)}
    print(json.dumps(facts)) if as_json else _print(made)


def _print(made: Lab) -> None:
    plan = made.layout.plan
    print(f"{made.directory.name}: {plan.size}")
    for host in made.boot.hosts:
        print(f"  {host.host:<8} {host.mac}  {host.ipv4}")
    first, last = plan.hosts[0].host, plan.hosts[-1].host
    print(f"Try: etherweave lab exec {first} ping -c 3 {last}")
