"""Configurations of network operating systems, one module each.

A member takes a policy and a switch and gives files by name. It is added by its module and one line
in :data:`SYSTEMS`; tests iterate over that table.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TypeAlias

from etherweave.control.qos import hosts
from etherweave.control.qos.nos import cumulus, eos, onyx, sonic
from etherweave.control.qos.policy import Policy, SwitchPolicy

Export: TypeAlias = Callable[[Policy, SwitchPolicy], dict[str, str]]
"""Gives the files of one switch, texts by name."""

SYSTEMS: Mapping[str, Export] = {
    "cumulus": cumulus.files,
    "eos": eos.files,
    "onyx": onyx.files,
    "sonic": sonic.files,
}
"""By the name that ``--nos`` takes."""
PORT_NAMES: Mapping[str, Callable[[SwitchPolicy, int], str]] = {
    "cumulus": cumulus.port_name,
    "eos": eos.port_name,
    "onyx": onyx.port_name,
    "sonic": sonic.port_name,
}
"""Names of ports, by the system and the number from 0."""

FABRIC = "fabric.json"
"""The values that the configurations follow from, with which the linter compares them."""
HOSTS = "hosts"


def files(policy: Policy, system: str) -> dict[str, str]:
    """Write the configurations of all switches and hosts.

    Parameters
    ----------
    policy
        Of the fabric.
    system
        One of :data:`~etherweave.control.qos.nos.SYSTEMS`.

    Returns
    -------
    dict
        Texts by path within a directory.

    Raises
    ------
    PolicyError
        When the system does not support the policy.
    """
    export = SYSTEMS[system]
    written = {FABRIC: json.dumps({"system": system, **asdict(policy)}, indent=1) + "\n"}
    for switch in policy.switches:
        for name, text in export(policy, switch).items():
            written[f"{switch.name}/{name}"] = text
    for host in policy.hosts:
        written[f"{HOSTS}/{host.name}.sh"] = hosts.script(policy, host)
    return written
