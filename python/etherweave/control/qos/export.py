"""All files of a fabric, by path: one directory for each switch, one script for each host."""

import json
from dataclasses import asdict

from etherweave.control.qos import hosts
from etherweave.control.qos.nos import SYSTEMS
from etherweave.control.qos.policy import Policy

FABRIC = "fabric.json"
"""What the configurations follow from; the linter holds them against it."""
HOSTS = "hosts"


def files(policy: Policy, system: str) -> dict[str, str]:
    """Write everything that switches and hosts are told.

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
        When the system cannot be told.
    """
    export = SYSTEMS[system]
    written = {FABRIC: json.dumps({"system": system, **asdict(policy)}, indent=1) + "\n"}
    for switch in policy.switches:
        for name, text in export(policy, switch).items():
            written[f"{switch.name}/{name}"] = text
    for host in policy.hosts:
        written[f"{HOSTS}/{host.name}.sh"] = hosts.script(policy, host)
    return written
