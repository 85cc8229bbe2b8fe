"""Roles of Ansible beside an export: each file that they name is there."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from etherweave.control.qos.nos import SYSTEMS
from support import command_line

TESTBED = Path(__file__).parents[2] / "scenarios/qos_ets.toml"


def exported(place: Path, system: str, *words: object) -> dict[str, Any]:
    out, roles = place / "files", place / "roles of ansible"
    command = ("control", "export", TESTBED, "--nos", system, "-o", out, "--ansible", roles)
    command_line.invoke(*command, *words, code=0)
    return {
        str(path.relative_to(roles)): yaml.safe_load(path.read_text())
        for path in roles.rglob("*.yml")
    }


@pytest.mark.parametrize("system", SYSTEMS)
def test_roles_name_files_that_the_export_has(system: str, tmp_path: Path) -> None:
    texts = exported(tmp_path, system)
    inventory = texts["inventory.yml"]["all"]
    home = tmp_path / "roles of ansible" / inventory["vars"]["etherweave_files"]
    switches = inventory["children"]["switches"]["hosts"]
    assert len(switches) == 9
    named = re.findall(r"inventory_hostname }}/(\S+?)['\"}]", str(texts))
    assert named
    for switch in switches:
        assert all((home / switch / name).is_file() for name in named)
    for host in inventory["children"]["hosts"]["hosts"].values():
        (port,) = host["etherweave_ports"]
        assert (home / "hosts" / port["script"]).is_file()


def test_the_playbook_applies_a_role_to_each_group(tmp_path: Path) -> None:
    texts = exported(tmp_path, "sonic")
    groups = texts["inventory.yml"]["all"]["children"]
    for play in texts["site.yml"]:
        assert play["hosts"] in groups
        (role,) = play["roles"]
        assert all("name" in task for task in texts[f"roles/{role}/tasks/main.yml"])


def test_ports_of_a_host_have_a_script_and_a_device_each(tmp_path: Path) -> None:
    planes = Path(__file__).parents[2] / "scenarios/two_planes.toml"
    out, roles = tmp_path / "files", tmp_path / "roles"
    words = ("--nos", "sonic", "-o", out, "--ansible", roles)
    command_line.invoke("control", "export", planes, *words, code=0)
    hosts = yaml.safe_load((roles / "inventory.yml").read_text())["all"]["children"]["hosts"][
        "hosts"
    ]
    ports = hosts["host0"]["etherweave_ports"]
    assert [port["device"] for port in ports] == ["eth0", "eth1"]
    assert all((out / "hosts" / port["script"]).is_file() for port in ports)


def test_roles_without_exported_files_are_refused(tmp_path: Path) -> None:
    words = ("--nos", "sonic", "--ansible", tmp_path / "roles")
    done = command_line.invoke("control", "export", TESTBED, *words, code=2)
    assert "--ansible: roles apply exported files" in done.output
