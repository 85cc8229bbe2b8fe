"""Roles of Ansible that apply exported configurations: an inventory, a playbook, two roles.

::

    inventory.yml                       switches and hosts; devices of hosts to be filled in
    site.yml                            the playbook: switches, then hosts
    roles/etherweave_switch/tasks/main.yml
    roles/etherweave_host/tasks/main.yml

The roles carry exported files to devices and give them to the vendor's own command or module: what
is in them is the export's. Never run against a device: written after the modules' documents.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from etherweave.control.qos.policy import Policy

_SWITCH, _HOST = "etherweave_switch", "etherweave_host"
_HEAD = "# Written by etherweave control export --ansible; never run against a device.\n"
_FILES = "{{ playbook_dir }}/{{ etherweave_files }}"
_OWN = f"{_FILES}/{{{{ inventory_hostname }}}}"


def _copied(file: str, target: str, commands: tuple[str, ...]) -> list[dict[str, Any]]:
    """Copy a file to the switch, and run commands there where it changed."""
    source = {"src": f"{_OWN}/{file}", "dest": target, "mode": "0600"}
    copy = {
        "name": f"Copy {file}",
        "become": True,
        "ansible.builtin.copy": source,
        "register": "copied",
    }
    run = [
        {
            "name": command.partition(" -")[0].capitalize(),
            "become": True,
            "ansible.builtin.command": {"cmd": command},
            "when": "copied is changed",
        }
        for command in commands
    ]
    return [copy, *run]


def _module(module: str, file: str) -> list[dict[str, Any]]:
    return [{"name": f"Load {file}", module: {"src": f"{_OWN}/{file}"}}]


_NVUE, _CONFIG_DB = "/etc/etherweave-nvue.yaml", "/etc/sonic/etherweave.json"
_TASKS: dict[str, list[dict[str, Any]]] = {
    "cumulus": _copied("nvue.yaml", _NVUE, (f"nv config patch {_NVUE}", "nv config apply -y")),
    "eos": _module("arista.eos.eos_config", "eos.cfg"),
    "onyx": _module("mellanox.onyx.onyx_config", "onyx.cfg"),
    "sonic": _copied("config_db.json", _CONFIG_DB, (f"config load -y {_CONFIG_DB}",)),
}
"""Tasks of a switch, by its system."""
_CONNECTIONS = {
    "eos": {"ansible_connection": "network_cli", "ansible_network_os": "arista.eos.eos"},
    "onyx": {"ansible_connection": "network_cli", "ansible_network_os": "mellanox.onyx.onyx"},
}
"""Variables of switches that take commands instead of files."""


def files(policy: Policy, system: str, exported: str) -> Iterator[tuple[str, str]]:
    """Write all files, each with its path.

    ``exported`` is the directory of the export as seen from that of the playbook.
    """
    switches: dict[str, Any] = {switch.name: None for switch in policy.switches}
    groups = {
        "switches": {"hosts": switches, "vars": _CONNECTIONS.get(system, {})},
        "hosts": {"hosts": _hosts(policy)},
    }
    yield (
        "inventory.yml",
        _text({"all": {"vars": {"etherweave_files": exported}, "children": groups}}),
    )
    plays = [
        {"name": "Switches", "hosts": "switches", "gather_facts": False, "roles": [_SWITCH]},
        {"name": "Hosts", "hosts": "hosts", "gather_facts": False, "roles": [_HOST]},
    ]
    yield "site.yml", _text(plays)
    yield f"roles/{_SWITCH}/tasks/main.yml", _text(_TASKS[system])
    script = f"{_FILES}/hosts/{{{{ item.script }}}} {{{{ item.device }}}} {{{{ item.rdma }}}}"
    task = {
        "name": "Configure the ports of the NIC",
        "become": True,
        "ansible.builtin.script": {"cmd": script},
        "loop": "{{ etherweave_ports }}",
    }
    yield f"roles/{_HOST}/tasks/main.yml", _text([task])


def _hosts(policy: Policy) -> dict[str, Any]:
    """Return the ports of each host with their scripts, and the devices that scripts assume."""
    owners = {
        (switch.name, port.number): port.peer
        for switch in policy.switches
        for port in switch.ports
        if port.is_host
    }
    hosts: dict[str, Any] = {}
    for port in policy.hosts:
        owner = owners[port.switch, port.switch_port]
        ports = hosts.setdefault(owner, {"etherweave_ports": []})["etherweave_ports"]
        at = len(ports)
        ports.append({"script": f"{port.name}.sh", "device": f"eth{at}", "rdma": f"mlx5_{at}"})
    return hosts


def _text(value: object) -> str:
    text: str = yaml.safe_dump(value, sort_keys=False, width=1000)
    return _HEAD + text
