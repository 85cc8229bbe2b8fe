"""Configurations of network operating systems, and scripts of hosts.

A member is a file name and a template in ``templates``, which sees the policy and the switch, or a
function that writes its files, as :mod:`~etherweave.control.qos.sonic` does. It is added by one
line in :data:`SYSTEMS` and one in :data:`PORT_NAMES`; tests iterate over these tables.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

from etherweave.control.qos import sonic
from etherweave.control.qos.policy import HostPolicy, Policy, PortPolicy, SwitchPolicy, ranges

if TYPE_CHECKING:
    import jinja2

Export: TypeAlias = Callable[[Policy, SwitchPolicy], dict[str, str]]
"""Gives the files of one switch, texts by name."""
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
        written[f"{HOSTS}/{host.name}.sh"] = _rendered("host.sh", policy=policy, host=host)
    return written


def _commands(file: str, policy: Policy, switch: SwitchPolicy) -> dict[str, str]:
    return {file: _rendered(file, policy=policy, switch=switch)}


def _rendered(file: str, **values: Policy | SwitchPolicy | HostPolicy) -> str:
    return _templates().get_template(f"{file}.jinja").render(values)


@cache
def _templates() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("etherweave.control.qos"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "ethernet": _ethernet,
        "kilobytes": _kilobytes,
        "printable": _printable,
        "spans": _spans,
        "swp": _swp,
    }
    return environment


def _spans(numbers: Iterable[int], prefix: str = "", again: str = "") -> list[str]:
    """Name ranges of numbers: swp1-3, swp5; Onyx begins the last number ``again``."""
    return [
        f"{prefix}{first}" if first == last else f"{prefix}{first}-{again}{last}"
        for first, last in ranges(list(numbers))
    ]


def _swp(ports: Iterable[PortPolicy]) -> str:
    """Name ports of Cumulus."""
    return ",".join(_spans((port.number + 1 for port in ports), "swp"))


def _ethernet(ports: Iterable[PortPolicy]) -> list[str]:
    """Name ports of Onyx by ranges: ethernet 1/1-1/12."""
    return _spans((port.number + 1 for port in ports), "ethernet 1/", "1/")


def _kilobytes(size_bytes: int) -> int:
    """Round to the unit of Onyx's thresholds [KB]."""
    return max(1, round(size_bytes / 1000))


def _printable(name: str) -> str:
    """Keep a name within its comment."""
    return "".join(sign if sign.isprintable() else "?" for sign in name)


SYSTEMS: Mapping[str, Export] = {
    "cumulus": partial(_commands, "nvue.sh"),
    "eos": partial(_commands, "eos.cfg"),
    "onyx": partial(_commands, "onyx.cfg"),
    "sonic": sonic.files,
}
"""By the name that ``--nos`` takes."""
PORT_NAMES: Mapping[str, Callable[[SwitchPolicy, int], str]] = {
    "cumulus": lambda switch, number: f"swp{number + 1}",
    "eos": lambda switch, number: f"Ethernet{number + 1}/1",
    "onyx": lambda switch, number: f"ethernet 1/{number + 1}",
    "sonic": sonic.port_name,
}
"""Names of ports, by the system and the number from 0; EOS names the first of a cage."""
