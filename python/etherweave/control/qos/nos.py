"""Configurations of network operating systems, and scripts of hosts.

A member is a file name and a template in ``templates``, which sees the policy and the switch, or a
function that writes its files, as :mod:`~etherweave.control.qos.sonic` does. It is added by one
line in :class:`NetworkSystem`, :data:`SYSTEMS` and :data:`PORT_NAMES` each; tests iterate over
these tables.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache, partial
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from etherweave.api.outputs import printable
from etherweave.control.qos import forms, nvue_yaml, sonic, sonic_patch
from etherweave.control.qos.policy import (
    EOS_POLLS,
    HostPolicy,
    Policy,
    PolicyError,
    PortPolicy,
    SwitchPolicy,
    ranges,
)

if TYPE_CHECKING:
    import jinja2

Export: TypeAlias = Callable[[Policy, SwitchPolicy], dict[str, str]]
"""Gives the files of one switch, texts by name."""
FABRIC = "fabric.json"
"""The values that the configurations follow from, with which the linter compares them."""
HOSTS = "hosts"
PORTS = "ports.csv"  # Names of ports, where the front panel is known.
PATCH = "patch.json"  # Changes of a running SONiC switch, for ``config apply-patch``.
BY_LINE = ("switches", "hosts")  # Fields of the policy with an entry to a line.
ONYX_LEGS_MAX = 4  # Ports of a cage of Onyx: module-type qsfp-split-4.
LINES = 1024  # Lines that are written at once.

Running: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Tables of running SONiC switches, by the switches' names."""
UNLOADED = (
    "Never loaded on a device: written after the vendor's documents; try it on one switch first."
)


def files(policy: Policy, system: str, running: Running | None = None) -> dict[str, str]:
    """Write the configurations of all switches and hosts: :func:`texts` as one dictionary."""
    written: dict[str, str] = {}
    for name, text in texts(policy, system, running):
        written[name] = written.get(name, "") + text
    return written


def texts(policy: Policy, system: str, running: Running | None = None) -> Iterator[tuple[str, str]]:
    """Write the configurations of all switches and hosts, one after the other.

    ``system`` is one of :data:`~etherweave.control.qos.nos.SYSTEMS`; patches are written for
    ``running`` configurations of switches, too. Yields a path within a directory, and the text;
    those of one path belong together. Raises ``PolicyError`` when the system does not support the
    policy.
    """
    write = forms.switch_texts(partial(SYSTEMS[system], policy))
    for switch in policy.switches:
        for name, text in write(switch):
            yield f"{switch.name}/{name}", text
        if running and switch.name in running:
            tables = sonic.config_db(policy, switch)
            patch = sonic_patch.patch(switch.name, running[switch.name], tables)
            yield f"{switch.name}/{PATCH}", json.dumps(patch, indent=1) + "\n"
    script = forms.host_texts(lambda host: _rendered("host.sh", policy=policy, host=host))
    for host in policy.hosts:
        yield f"{HOSTS}/{host.name}.sh", script(host)
    if any(port.place for switch in policy.switches for port in switch.ports):
        yield PORTS, _port_table(policy)
    for text in _fabric(policy, system):
        yield FABRIC, text


def _port_table(policy: Policy) -> str:
    """Write the name that each system has for a port, and what is plugged into it."""
    table = io.StringIO()
    names = {**PORT_NAMES, "junos": _junos_name}
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("switch", "port", "cage", "rate_gbps", "peer", "peer_port", *names))
    for switch in policy.switches:
        for port in switch.ports:
            own = (name(switch, port) for name in names.values())
            rate = f"{port.rate_mbps / 1000:g}"
            facts = (switch.name, port.number, port.cage, rate, port.peer, port.peer_port)
            writer.writerow((*facts, *own))
    return table.getvalue()


def _fabric(policy: Policy, system: str) -> Iterator[str]:
    """Write the policy: a switch or a host to a line, many lines at once."""
    encoder = json.JSONEncoder(default=_plain)
    yield f'{{\n "system": {encoder.encode(system)}'
    for field in fields(policy):
        value = getattr(policy, field.name)
        yield f',\n "{field.name}": '
        if field.name not in BY_LINE or not value:
            yield encoder.encode(value)
            continue
        lines = map(encoder.encode, value)
        for before in chain("[", repeat(",")):
            if not (some := ",\n  ".join(islice(lines, LINES))):
                break
            yield f"{before}\n  {some}"
        yield "\n ]"
    yield "\n}\n"


def _plain(value: Any) -> dict[str, object]:
    """Return a value of the policy as JSON's encoder takes it."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _nvue(policy: Policy, switch: SwitchPolicy) -> dict[str, str]:
    """Write commands, and the same as the YAML that ``nv config patch`` takes."""
    text = _rendered("nvue.sh", policy=policy, switch=switch)
    return {"nvue.sh": text, "nvue.yaml": nvue_yaml.document(UNLOADED, text)}


def _eos(policy: Policy, switch: SwitchPolicy) -> dict[str, str]:
    """Write commands.

    Raises ``PolicyError`` when traffic class 7 and another queue belong together, or queue 7 and
    another class.
    """
    for priority in policy.priorities:
        if (priority.number == 7) != (priority.traffic_class == 7):
            place = f"priority {priority.number} in class {priority.traffic_class}"
            problem = f"{place}: EOS binds 7 to queue 7"
            raise PolicyError(f"ets.class_of_priority: {problem}; expected 7 for priority 7 only")
    return _commands("eos.cfg", policy, switch)


def _onyx(policy: Policy, switch: SwitchPolicy) -> dict[str, str]:
    """Write commands.

    Raises ``PolicyError`` when a cage is broken out into more ports than a command has.
    """
    for cage, legs in _breakouts(switch.ports).items():
        if legs > ONYX_LEGS_MAX:
            problem = f"{legs} ports of cage {cage}"
            raise PolicyError(f"--front-panel: {problem}; expected at most {ONYX_LEGS_MAX} of Onyx")
    return _commands("onyx.cfg", policy, switch)


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
    environment.globals |= {
        "unloaded": UNLOADED,
        "eos_name": _eos_name,
        "eos_polls": EOS_POLLS,
        "eos_speed": _eos_speed,
    }
    environment.filters |= {
        "breakouts": _breakouts,
        "ethernet": _ethernet,
        "kilobytes": _kilobytes,
        "printable": printable,
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
    return ",".join(_by_cage(ports, "swp", "", "s", 0))


def _ethernet(ports: Iterable[PortPolicy]) -> list[str]:
    """Name ports of Onyx by ranges: ethernet 1/1-1/12, ethernet 1/49/1-1/49/4."""
    return list(_by_cage(ports, "ethernet 1/", "1/", "/", 1))


def _by_cage(
    ports: Iterable[PortPolicy], prefix: str, again: str, divider: str, first: int
) -> Iterator[str]:
    """Name ports by ranges: cages that are complete first, then the legs of each other cage."""
    legs: dict[int, list[int]] = {}
    cages = []
    for port in ports:
        if port.place and port.is_leg:
            legs.setdefault(port.cage, []).append(port.place.leg + first)
        else:
            cages.append(port.cage)
    yield from _spans(cages, prefix, again)
    for cage, numbers in sorted(legs.items()):
        start = f"{prefix}{cage}{divider}"
        yield from _spans(numbers, start, f"{again}{cage}{divider}" if again else "")


def _leg(port: PortPolicy, divider: str, first: int = 0) -> str:
    """Write the part of a broken out cage that a port has; nothing where it has all of it."""
    return f"{divider}{port.place.leg + first}" if port.place and port.is_leg else ""


def _junos_name(_: SwitchPolicy, port: PortPolicy) -> str:
    """Name a port of Junos, which counts cages from 0; no configuration is written for it."""
    return f"et-0/0/{port.cage - 1}{_leg(port, ':')}"


def _breakouts(ports: Iterable[PortPolicy]) -> dict[int, int]:
    """Return the ports of each cage that is broken out, by its number."""
    places = (port.place for port in ports if port.place and port.is_leg)
    return dict(sorted((place.cage, place.legs) for place in places))


def _eos_name(switch: SwitchPolicy, port: PortPolicy) -> str:
    """Name a port after its first lane in its cage; a cage of one lane has no number for it."""
    place = switch.place(port)
    lane = f"/{place.lanes[0] - place.first_lane + 1}" if place.cage_lanes > 1 else ""
    return f"Ethernet{place.cage}{lane}"


def _eos_speed(switch: SwitchPolicy, port: PortPolicy) -> str:
    """Write the rate and the lanes of a port: 100g-2; 25g has one."""
    rate, lanes = port.rate_mbps // 1000, len(switch.place(port).lanes)
    return f"{rate}g" if rate <= 25 else f"{rate}g-{lanes}"


def _kilobytes(size_bytes: int) -> int:
    """Round to the unit of Onyx's thresholds [KB]."""
    return max(1, round(size_bytes / 1000))


class NetworkSystem(StrEnum):
    """Operating system of switches: the keys of :data:`SYSTEMS`."""

    CUMULUS = "cumulus"
    EOS = "eos"
    ONYX = "onyx"
    SONIC = "sonic"


SYSTEMS: Mapping[str, Export] = {"cumulus": _nvue, "eos": _eos, "onyx": _onyx, "sonic": sonic.files}
"""Functions by the name that ``--nos`` takes."""
PORT_NAMES: Mapping[str, Callable[[SwitchPolicy, PortPolicy], str]] = {
    "cumulus": lambda _, port: f"swp{port.cage}{_leg(port, 's')}",
    "eos": _eos_name,
    "onyx": lambda _, port: f"ethernet 1/{port.cage}{_leg(port, '/', 1)}",
    "sonic": sonic.port_name,
}
"""Names of ports, by the system."""
