"""Configurations of the field: reported mistakes are found, and states are not configurations.

Sources: sonic-buildimage issues 4545 and 11157, Mellanox/nic-configuration-operator 38,
dmf-mxl/mxl 603, and what people wrote by hand.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from etherweave.control.qos.derive import policy
from etherweave.control.qos.nos import files
from support import command_line
from support.lint_mistakes import ALONE, exported
from support.linted import WHOLE

CASES = Path(__file__).parent / "cases"
ALL_PORTS = {f"Ethernet{4 * port}" for port in range(4)}


def sonic(table: str, **changes: object) -> str:
    """Return an exported switch with four ports with other entries in a table; none removes."""
    tables = json.loads(exported("sonic"))
    for key, entry in changes.items():
        fields = tables[table][key]
        fields |= entry
        for name in [name for name, value in fields.items() if value is None]:
            del fields[name]
    return json.dumps(tables)


def eos(mode: str) -> str:
    """Return an exported switch whose second port trusts 802.1p, in this mode."""
    before, name, rest = exported("eos").partition("interface Ethernet2/1")
    return before + name + rest.replace("qos trust dscp", f"{mode}\n   qos trust cos", 1)


ENABLES = [f"wred_{colour}_enable" for colour in ("green", "yellow", "red")]
WITHOUT_ECN, ECN_OFF = (
    sonic("WRED_PROFILE", ETHERWEAVE_LOSSLESS=dict.fromkeys(ENABLES, value))
    for value in (None, "false")
)


def lint(*names: str | Path) -> list[dict[str, Any]]:
    """Return the findings of files together."""
    done = command_line.invoke("control", "lint", "--json", *(CASES / name for name in names))
    assert done.exit_code == (1 if json.loads(done.stdout) else 0), done.stderr
    findings: list[dict[str, Any]] = json.loads(done.stdout)
    return findings


def of(rule: str, *names: str | Path) -> list[tuple[str, str, set[str]]]:
    """Return what a rule finds and expects, and the places."""
    return [
        (finding["found"], finding["expected"], {place["place"] for place in finding["places"]})
        for finding in lint(*names)
        if finding["rule"] == rule
    ]


@pytest.mark.parametrize(("state", "text"), [("missing", WITHOUT_ECN), ("false", ECN_OFF)])
def test_disabled_ecn_of_sonic_marks_nothing(state: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "config_db.json").write_text(text)
    ((result, expected, places),) = of("unmarked", tmp_path / "config_db.json")
    assert f"wred_green_enable is {state}: nothing is marked" in result
    assert expected == "wred_green_enable true, for its default is false"
    assert places == {f"{port} queue 3" for port in ALL_PORTS}


def test_code_points_of_a_group_without_a_buffer_are_named(tmp_path: Path) -> None:
    groups = sonic("TC_TO_PRIORITY_GROUP_MAP", ETHERWEAVE={"2": "2", "6": "6"})
    (tmp_path / "config_db.json").write_text(groups)
    results = of("unbuffered", tmp_path / "config_db.json")
    assert [result for result, _, _ in results] == [
        "DSCP 16-23 is in priority group 2, which has no BUFFER_PG",
        "DSCP 48-55 is in priority group 6, which has no BUFFER_PG",
    ]
    assert results[1][2] == {f"{port} priority group 6" for port in ALL_PORTS}


@pytest.mark.parametrize(
    ("name", "text", "port", "classes"),
    [
        # Queues 0, 3 and 6, of which 3 has a group of its own; EOS leaves class 7 in queue 7.
        ("a.json", sonic("PORT_QOS_MAP", Ethernet4={"dscp_to_tc_map": None}), "Ethernet4", 3),
        ("a.cfg", eos("switchport mode trunk"), "Ethernet2/1", 4),
        ("a.cfg", eos("no switchport"), "Ethernet2/1", 4),
    ],
    ids=["sonic", "eos", "eos-routed"],
)
def test_a_port_that_classifies_otherwise_than_most_is_found(
    name: str, text: str, port: str, classes: int, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    (result,) = lint(tmp_path / name)
    assert result["rule"] == "classification"
    assert [place["place"] for place in result["places"]] == [port]
    assert result["found"] == "every DSCP is in priority group 0 and queue 0"
    assert result["expected"] == f"in {classes} classes, as on most ports of the switch"


HOSTS = "20-host-without-trust"
BY_DEFAULT = "trust pcp, the default of mlnx_qos: frames without a VLAN tag have no priority"


@pytest.mark.parametrize("name", [f"{HOSTS}/hosts", HOSTS, f"{HOSTS}/hosts/host2.sh"])
def test_a_host_that_trusts_802_1p_by_default_is_found(name: str) -> None:
    faults = [(result, places) for result, _, places in of("marks", name)]
    assert any(result == BY_DEFAULT and "host2 mlnx_qos" in places for result, places in faults)


def test_hosts_without_trust_are_found_beside_the_scenario(tmp_path: Path) -> None:
    written = files(policy(ALONE, options=WHOLE), "sonic")
    (tmp_path / "switch0").mkdir()
    for name in ("fabric.json", "switch0/config_db.json"):
        (tmp_path / name).write_text(written[name])
    ((result, _, places),) = of("marks", tmp_path, f"{HOSTS}/hosts")
    assert (result, len(places)) == (BY_DEFAULT, 4)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("wrong-option.sh", "'mlnx_qos --tc_bw' cannot be read", "--tcbw, which mlnx_qos has"),
        (
            "lldptool.sh",
            "'lldptool -V ETS-CFG tc_bw' cannot be read",
            "tcbw, which lldptool -V ETS-CFG has",
        ),
    ],
)
def test_an_option_that_a_tool_lacks_is_corrected(name: str, text: str, expected: str) -> None:
    assert [row[:2] for row in of("readable", f"{HOSTS}/{name}")] == [(text, expected)]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("short-options.sh", "short-options mlnx_qos"),
        ("lldptool.sh", "lldptool lldptool"),
        ("variable.sh", "variable mlnx_qos"),
        ("one-nic-without.sh", "one-nic-without mlnx_qos eth1"),
    ],
)
def test_the_default_trust_of_each_nic_and_tool_is_found(name: str, place: str) -> None:
    ((result, _, places),) = of("marks", f"{HOSTS}/{name}")
    assert result.startswith("trust pcp, the default of ") and places == {place}


def test_a_host_that_trusts_dscp_is_right_as_people_write_scripts() -> None:
    assert lint(f"{HOSTS}/right.sh") == []


WRITTEN = sorted(path.name for path in (CASES / "as-people-write").iterdir())


@pytest.mark.parametrize("name", WRITTEN)
def test_configurations_as_people_write_them_have_no_finding(name: str) -> None:
    """Sessions, scripts and exports in forms of public repositories."""
    assert lint(f"as-people-write/{name}") == []


@pytest.mark.parametrize("name", ["n7.txt", "nvue1.yaml", "mode-first.txt"])
def test_roce_of_cumulus_in_lossy_mode_has_no_pfc(name: str) -> None:
    (result,) = lint(f"21-nvue-roce-lossy/{name}")
    assert (result["rule"], result["found"]) == ("pfc", "PFC is enabled for no priority")
    assert "qos roce mode lossless" in result["expected"]


SESSION = CASES / "as-people-write/onyx-session.txt"
ONYX = "".join(
    line for line in SESSION.read_text().splitlines(True) if "(config) # show" not in line
)


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        (ONYX.replace("type lossless", "type lossy"), "groups", "ethernet 1/1 priority group 3"),
        (ONYX + "no interface ethernet 1/4 dcb priority-flow-control\n", "pfc", "ethernet 1/4"),
        (ONYX + "no interface ethernet 1/4 pfc-wd\n", "watchdog", "ethernet 1/4"),
        (ONYX + "no dcb priority-flow-control enable\n", "pfc", "switch.txt"),
        (ONYX + "no dcb priority-flow-control priority 3 enable\n", "pfc", "switch.txt"),
    ],
)
def test_what_onyx_takes_back_is_gone(text: str, rule: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "switch.txt").write_text(text)
    results = of(rule, str(tmp_path / "switch.txt"))
    assert any(home.endswith(place) for _, _, places in results for home in places)


def test_a_mode_of_roce_that_cumulus_lacks_is_not_lossless(tmp_path: Path) -> None:
    text = (CASES / "as-people-write/nvue-roce-pools.txt").read_text()
    (tmp_path / "switch.txt").write_text(text.replace("mode lossless", "mode losless"))
    ((result, _, _),) = of("readable", str(tmp_path / "switch.txt"))
    assert result == "'qos roce mode losless' cannot be read"


def test_of_two_ports_neither_is_most_and_maps_decide() -> None:
    name = "22-eos-one-of-two-is-most/eos1.cfg"
    ((result, expected, places),) = of("pfc", name)
    assert result == (
        "PFC differs between the ports: PFC is enabled for 4 on Ethernet1/1; 3 on Ethernet2/1"
    )
    assert (expected, places) == ("3 on all: maps lead DSCP 24-31 there", {"Ethernet1/1"})
    ((result, expected, places),) = of("mtu", name)
    assert result == ("MTU differs between the ports: MTU 1500 on Ethernet2/1; 9214 on Ethernet1/1")
    assert (expected, places) == ("the same on all", {"Ethernet1/1", "Ethernet2/1"})
    ((_, expected, places),) = of("classification", name)
    assert (expected, places) == ("in 8 classes on all: DSCP decides there", {"Ethernet2/1"})
    assert not any("most ports" in finding["expected"] for finding in lint(name))


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("eos-pfc.txt", "show interfaces priority-flow-control"),
        ("eos-interfaces.txt", "show interfaces Ethernet1/1"),
        ("mlnx-qos.sh", "mlnx_qos -i eth0"),
        ("nvue-roce.txt", "a command that prints tables"),
        ("onyx-pfc.txt", "show dcb priority-flow-control"),
        ("onyx-qos.txt", "show interfaces"),
        ("sonic-pfc-counters.txt", "show pfc counters"),
    ],
)
def test_what_a_command_shows_is_called_a_state(name: str, command: str) -> None:
    done = command_line.invoke("control", "lint", CASES / "show-outputs" / name, code=2)
    assert done.stdout == ""
    assert f"{name}: not read: output of {command}, a state and no configuration" in done.stderr


def test_a_named_file_that_is_not_read_ends_with_2_beside_one_that_is() -> None:
    state = CASES / "show-outputs/eos-pfc.txt"
    done = command_line.invoke("control", "lint", state, (CASES / HOSTS / "right.sh"), code=2)
    assert done.stdout == "no findings in 0 switches, 1 host; not read: 1 file\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty.sh", "#!/bin/sh\necho mlnx_qos is not called here\n"),
        ("shown.sh", "#!/bin/sh\nmlnx_qos -i eth0\n"),
        ("unknown.cfg", "interface Vlan10\n   ip address 10.0.0.1/24\nqos map\n"),
        ("unknown.txt", "nv set router bgp\nnv unset qos roce\n"),
        ("nothing.yaml", "- set:\n"),
    ],
)
def test_a_file_that_is_not_understood_never_passes(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    done = command_line.invoke("control", "lint", tmp_path / name)
    assert done.exit_code != 0 and "no findings" not in done.stdout


NX_OS = """policy-map type network-qos NQ
  class type network-qos c-8q-nq3
    pause pfc-cos 3
interface Ethernet1/1
  priority-flow-control mode on
"""
OS10 = """trust dscp-map roce
 qos-group 3 dscp 24-31
interface ethernet1/1/1
 priority-flow-control mode on
 trust-map dscp roce
"""
JUNOS = "set class-of-service interfaces et-0/0/0 congestion-notification-profile cnp\n"
H3C = "sysname leaf1\ninterface HundredGigE1/0/1\n priority-flow-control no-drop dot1p 3\n"


@pytest.mark.parametrize(
    ("text", "system"),
    [
        (NX_OS, "Cisco NX-OS"),
        (OS10, "Dell OS10"),
        (JUNOS, "Junos"),
        (H3C, "Comware or VRP"),
        ("frr version 8.4\nfrr defaults datacenter\n", "FRR"),
    ],
)
def test_a_configuration_of_another_system_is_named(text: str, system: str, tmp_path: Path) -> None:
    file = tmp_path / "leaf1.cfg"
    file.write_text(f"hostname leaf1\n{text}")
    done = command_line.invoke("control", "lint", file, code=2)
    assert f"not read: a configuration of {system}" in done.stderr


def test_marks_colours_and_prompts_change_no_finding(tmp_path: Path) -> None:
    prompt = "cumulus@leaf1:mgmt:~$ "
    lossy = f"{prompt}nv set qos roce\n{prompt}nv set qos roce mode lossy\n"
    for name, text, result in (
        ("marked.json", f"\ufeff{WITHOUT_ECN}", "wred_green_enable is missing"),
        ("coloured.json", f"\x1b[0m{WITHOUT_ECN}", "wred_green_enable is missing"),
        ("session.txt", lossy, "PFC is enabled for no priority"),
    ):
        (tmp_path / name).write_text(text)
        done = command_line.invoke("control", "lint", tmp_path / name, code=1)
        assert result in done.stdout, name
