"""Names of ports on real front panels, breakouts among them, and kinds of host ports."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from etherweave.control import lint
from etherweave.control.qos import front_panel
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import PORTS, SYSTEMS, files
from etherweave.control.qos.policy import HostPorts, PolicyError, SonicForm
from support import command_line

LEAF_48_8 = "leaf*=48x100G-2,8x400G"  # 48 SFP-DD or DSFP and 8 QSFP-DD.


def leaf(hosts: int = 48, spines: int = 8, rate: str = "400Gb/s") -> dict[str, Any]:
    stages = [{"down": 2, "up": spines, "rate": rate}]
    return {"topology": {"staged_fat_tree": {"hosts_per_leaf": hosts, "stages": stages}}}


def names(panel: str, scenario: dict[str, Any]) -> dict[str, list[str]]:
    """Return names of the ports of leaf0, by the system."""
    options = ExportOptions(panels=front_panel.panels([panel]))
    table = io.StringIO(files(policy(scenario, options=options), "sonic")[PORTS])
    rows = [row for row in csv.DictReader(table) if row["switch"] == "leaf0"]
    return {name: [row[name] for row in rows] for name in (*SYSTEMS, "junos")}


def of_leaf(scenario: dict[str, Any], **options: Any) -> dict[str, dict[str, str]]:
    """Return the files of leaf0, by the system."""
    policies = {
        system: policy(scenario, options=ExportOptions(system=system, **options))
        for system in SYSTEMS
    }
    return {system: SYSTEMS[system](own, own.switches[0]) for system, own in policies.items()}


def test_a_leaf_of_48_and_8_ports_is_named_as_each_system_does() -> None:
    known = names(LEAF_48_8, leaf())
    assert known["cumulus"] == [f"swp{number}" for number in range(1, 57)]
    assert known["eos"] == [f"Ethernet{number}/1" for number in range(1, 57)]
    assert known["onyx"] == [f"ethernet 1/{number}" for number in range(1, 57)]
    assert known["junos"] == [f"et-0/0/{number}" for number in range(56)]
    lanes = [2 * number for number in range(48)] + [96 + 8 * number for number in range(8)]
    assert known["sonic"] == [f"Ethernet{lane}" for lane in lanes]


def test_sonic_numbers_a_leaf_with_uplinks_on_both_sides_as_its_platform_file() -> None:
    """DellEMC S5448f-C48O8 of sonic-buildimage: cages 1 to 4 and 53 to 56 have 400 Gb/s."""
    known = names("leaf*=4x400G,48x100G-2,4x400G", leaf())["sonic"]
    assert known[:48] == [f"Ethernet{lane}" for lane in range(32, 128, 2)]
    left, right = (0, 8, 16, 24), (128, 136, 144, 152)
    assert known[48:] == [f"Ethernet{lane}" for lane in (*left, *right)]


def test_uplinks_of_100g_are_quarters_of_the_cages_of_400g() -> None:
    known = {name: own[48:] for name, own in names(LEAF_48_8, leaf(48, 32, "100Gb/s")).items()}
    assert len(known["sonic"]) == 32
    first = {name: own[:5] for name, own in known.items()}
    assert first == {
        "sonic": [f"Ethernet{lane}" for lane in (96, 98, 100, 102, 104)],
        "eos": [f"Ethernet{end}" for end in ("49/1", "49/3", "49/5", "49/7", "50/1")],
        "cumulus": ["swp49s0", "swp49s1", "swp49s2", "swp49s3", "swp50s0"],
        "onyx": [f"ethernet 1/{end}" for end in ("49/1", "49/2", "49/3", "49/4", "50/1")],
        "junos": [f"et-0/0/{end}" for end in ("48:0", "48:1", "48:2", "48:3", "49:0")],
    }


def test_a_cage_of_one_lane_has_no_number_of_a_lane() -> None:
    slow = leaf(24, 4, "100Gb/s")
    slow["topology"]["staged_fat_tree"]["host_rate"] = "25Gb/s"
    assert names("leaf*=24x25G,4x100G", slow)["eos"][:2] == ["Ethernet1", "Ethernet2"]
    assert names("leaf*=24x25G,4x100G", slow)["sonic"][23:25] == ["Ethernet23", "Ethernet24"]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("kind", [None, HostPorts(10), HostPorts(None)])
def test_what_is_exported_for_a_panel_is_read_without_a_finding(
    system: str, kind: HostPorts | None
) -> None:
    options = ExportOptions(
        system=system, panels=front_panel.panels([LEAF_48_8]), host_ports=kind, mtu_bytes=9000
    )
    written = files(policy(leaf(50, 6), options=options), system)
    site = lint.read(written)
    assert [*lint.lint(site)] == [] and site.unread == ()
    (own,) = (switch for switch in site.switches if switch.name == "leaf0")
    assert len(own.ports) == 56


def test_cages_are_broken_out_by_the_command_of_each_system() -> None:
    panels, form = front_panel.panels([LEAF_48_8]), SonicForm(is_whole=True)
    options = ExportOptions(panels=panels, sonic=form)
    assert policy(leaf(50, 6), options=options).notes[0] == (
        "leaf0 and 1 others: `config interface breakout` first: Ethernet144 4x100G"
    )
    text = of_leaf(leaf(50, 6), panels=panels, sonic=form)
    assert "nv set interface swp55 link breakout 4x\n" in text["cumulus"]["nvue.sh"]
    assert "swp1-54,swp55s0-1 link mtu" in text["cumulus"]["nvue.sh"]
    assert "interface ethernet 1/55 module-type qsfp-split-4 force\n" in text["onyx"]["onyx.cfg"]
    assert (
        "interface Ethernet55/3\n   description host49 port 0\n   speed 100g-2\n"
        in (text["eos"]["eos.cfg"])
    )
    half = json.loads(text["sonic"]["config_db.json"])["PORT"]["Ethernet146"]
    assert (half["alias"], half["index"], half["lanes"]) == ("etp55b", "55", "147,148")


def test_ports_of_hosts_are_access_ports_or_routed_and_others_stay() -> None:
    def texts(kind: HostPorts) -> dict[str, str]:
        own = of_leaf(leaf(2, 1), host_ports=kind)
        return {system: next(iter(text.values())) for system, text in own.items()}

    access = texts(HostPorts(10))
    assert access["eos"].count("switchport access vlan 10\n") == 2
    assert access["eos"].count("\nvlan 10\n") == access["onyx"].count("   vlan 10\n   exit\n") == 1
    assert "nv set bridge domain br_default vlan 10\n" in access["cumulus"]
    assert "nv set interface swp1-2 bridge domain br_default access 10\n" in access["cumulus"]
    assert "interface ethernet 1/1-1/2 switchport access vlan 10\n" in access["onyx"]
    tables = json.loads(access["sonic"])
    assert tables["VLAN"] == {"Vlan10": {"vlanid": "10"}}
    assert [*tables["VLAN_MEMBER"]] == ["Vlan10|Ethernet0", "Vlan10|Ethernet8"]
    routed = texts(HostPorts(None))
    assert routed["eos"].count("no switchport\n") == 2
    assert "interface ethernet 1/1-1/2 no switchport force\n" in routed["onyx"]
    assert "bridge" not in routed["cumulus"] and "vlan" not in routed["eos"] + routed["onyx"]
    assert [*json.loads(routed["sonic"])["INTERFACE"]] == ["Ethernet0", "Ethernet8"]


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        ("48x100G,", "--front-panel '': expected cages as 48x100G-2,8x400G, of 1, 10, 25, "),
        ("4x123G", "--front-panel '4x123G': expected cages as"),
        ("0x100G", "--front-panel 0x100G: expected 1 to 512 cages"),
        ("leaf*=48x100G,1x400G", "leaf0 has 2 ports of 400 Gb/s; expected at most 1"),
        ("leaf*=40x100G,2x400G", "leaf0 has 48 ports of 100 Gb/s; expected at most 40"),
        ("rack*=48x100G", "--front-panel rack*: no other switch has such a name; expected names"),
    ],
)
def test_a_panel_that_does_not_fit_is_rejected(panel: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(leaf(48, 2), options=ExportOptions(panels=front_panel.panels([panel])))
    assert message in str(caught.value)


def test_onyx_breaks_a_cage_out_into_at_most_four() -> None:
    options = ExportOptions(panels=front_panel.panels(["leaf*=1x800G,1x100G"]), device="sn5600")
    result = policy(leaf(7, 1, "100Gb/s"), options=options)
    with pytest.raises(PolicyError, match="8 ports of cage 1; expected at most 4 of Onyx"):
        files(result, "onyx")


@pytest.mark.parametrize("kind", ["trunk", "access:0", "access:4095", "access:x", "access"])
def test_an_unknown_kind_of_host_port_is_rejected(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "pair.toml"
    file.write_text("topology.single_switch.hosts = 2\n")
    words = ("control", "export", file, "--nos", "eos", "--host-ports", kind)
    done = command_line.invoke(*words, code=2)
    assert "expected routed, or access:VLAN of 1 to 4094" in done.output
