"""Configurations of network operating systems, one module each.

A member takes a policy and a switch and gives files by name. It is added by its module and one line
in :data:`SYSTEMS`; tests iterate over that table.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

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
"""What a system calls a port, numbered from 0."""
