"""All that is linted together: switches, hosts, and their fabric, if it is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from etherweave.control.lint import config_db, fabric, host_script
from etherweave.control.lint.config_db import Switch
from etherweave.control.lint.host_script import Host
from etherweave.control.qos.policy import Policy

FABRIC = "fabric.json"


@dataclass(frozen=True, slots=True)
class Site:
    """See the module."""

    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]
    fabric_file: str
    fabric: Policy | None
    unread: tuple[str, ...]
    """Files that the linter has no eyes for."""


def read(files: Mapping[str, str]) -> Site:
    """Read files by their names: ``fabric.json``, ``*.json`` of SONiC, ``*.sh`` of hosts.

    Raises
    ------
    ConfigError
        When one is not of its kind.
    """
    switches, hosts, unread = [], [], []
    policy, fabric_file = None, ""
    for path, text in sorted(files.items()):
        name = PurePosixPath(path).name
        if name == FABRIC:
            fabric_file, (_, policy) = path, fabric.read(path, text)
        elif name.endswith(".json"):
            switches.append(config_db.read(path, text))
        elif name.endswith(".sh") and name != "nvue.sh":
            hosts.append(host_script.read(path, name.removesuffix(".sh"), text))
        else:
            unread.append(path)
    return Site(tuple(switches), tuple(hosts), fabric_file, policy, tuple(unread))
