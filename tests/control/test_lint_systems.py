"""The linter on every system, beside its scenario and alone, where ports are compared."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from etherweave.control import lint
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from etherweave.control.qos.policy import HostPorts, PolicyError
from support.hostile import rounds
from support.lint_mistakes import FILES, Mistake, exported, mistakes
from support.linted import SCENARIO, Files, found

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@cache
def _tree(system: str) -> tuple[tuple[str, str], ...]:
    return tuple(files(policy(SCENARIO, options=ExportOptions(system=system)), system).items())


def tree(system: str) -> Files:
    """Two leaves and a core; of Cumulus, the commands."""
    return {name: text for name, text in _tree(system) if not name.endswith(".yaml")}


EXPORTED = [(file.stem, system) for file in sorted(SCENARIOS.glob("*.toml")) for system in FILES]


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "system"), EXPORTED)
def test_what_is_exported_is_right_and_read_whole(scenario: str, system: str) -> None:
    try:
        result = policy(SCENARIOS / f"{scenario}.toml", options=ExportOptions(system=system))
        written = files(result, system)
    except (PolicyError, ValueError):
        return  # Credits, or less memory than headroom: export rejects it.
    # All traffic is lossless where the scenario says so: export prints a note. In the switches of
    # conditional_rules, reserves and headroom leave next to nothing for the pools.
    noted = {"default"} if any("without a mark" in note for note in result.notes) else set()
    noted |= {"sizes"} if (scenario, system) == ("conditional_rules", "onyx") else set()
    site = lint.read(written)
    assert {finding.rule for finding in lint.lint(site)} == noted
    assert site.unread == ()


def planted(case: Mistake) -> Files:
    written, leaf = tree(case.system), f"leaf0/{FILES[case.system]}"
    return written | {leaf: case.replaced(written[leaf], 1 if case.system == "eos" else -1)}


CASES = mistakes(*FILES)


@pytest.mark.parametrize("case", CASES, ids=[f"{case.system}-{case.mistake}" for case in CASES])
def test_each_mistake_is_found_in_the_commands_of_each_system(case: Mistake) -> None:
    result = found(planted(case))
    leaf = f"leaf0/{FILES[case.system]}"
    assert case.text in [finding.found for finding in result.get(case.rule, [])], result
    assert all(file == leaf for finding in result[case.rule] for file, _ in finding.places)


@pytest.mark.parametrize(
    ("system", "created"),
    [
        ("eos", "vlan 10\n"),
        ("onyx", "   vlan 10\n"),
        ("cumulus", "nv set bridge domain br_default vlan 10\n"),
    ],
)
def test_an_access_port_needs_its_vlan(system: str, created: str) -> None:
    options = ExportOptions(system=system, host_ports=HostPorts(10))
    leaves = files(policy(SCENARIO, options=options), system)
    assert not found(leaves) and not lint.read(leaves).unread
    leaves = {name: text for name, text in leaves.items() if not name.endswith(".yaml")}
    leaf = f"leaf0/{FILES[system]}"
    without = leaves | {leaf: leaves[leaf].replace(f"\n{created}", "\n")}
    missing = found(without)["references"]
    assert {finding.found for finding in missing} == {
        "access VLAN is 10, which the switch does not have"
    }


@pytest.mark.parametrize("vlans", ["5000", "20-10", "10-", "100_200", "0"])
@pytest.mark.parametrize("system", ["eos", "onyx", "cumulus"])
def test_a_vlan_that_is_no_number_from_1_to_4094_is_one_finding(system: str, vlans: str) -> None:
    command = f"nv set bridge domain br_default vlan {vlans}"
    command = command if system == "cumulus" else f"vlan {vlans}"
    leaves = files(policy(SCENARIO, options=ExportOptions(system=system)), system)
    leaves = {name: text for name, text in leaves.items() if not name.endswith(".yaml")}
    leaves[f"leaf0/{FILES[system]}"] += f"{command}\n"
    (finding,) = found(leaves)["readable"]
    assert finding.found == f"{command.removeprefix('nv set ')!r} cannot be read"


ACCESS = "interface Ethernet1/1\n   switchport access vlan 10\n"
ONYX = "interface ethernet 1/1 switchport access vlan 10\n"
NVUE = "nv set interface swp1 bridge domain br_default access"


@pytest.mark.parametrize(
    ("name", "text", "is_missing"),
    [
        ("eos.cfg", ACCESS, True),
        ("eos.cfg", ACCESS + "   switchport mode trunk\n", False),
        ("eos.cfg", ACCESS + "   switchport mode trunk\n   switchport mode access\n", True),
        ("eos.cfg", "vlan 10\n" + ACCESS, False),
        ("eos.cfg", "vlan 10\n" + ACCESS + "no vlan 10\n", True),
        ("eos.cfg", "vlan 10\nno vlan 2-12\nvlan 10-11\n" + ACCESS, False),
        ("onyx.txt", ONYX, True),
        ("onyx.txt", "vlan 10 name storage\n" + ONYX, False),
        ("onyx.txt", "vlan 10\nno vlan 10\n" + ONYX, True),
        ("nvue.sh", f"{NVUE} 10\n", True),
        ("nvue.sh", f"{NVUE} auto\n", False),
    ],
)
def test_an_access_vlan_is_needed_where_it_is_used(name: str, text: str, is_missing: bool) -> None:
    assert ("references" in found({name: text})) == is_missing


def test_a_list_with_far_more_vlans_than_there_are_is_one_finding() -> None:
    text = "interface Ethernet1/1\nvlan " + ",".join(["1-4094"] * 100_000)
    (finding,) = found({"eos.cfg": text})["readable"]
    assert finding.places == (("eos.cfg", "line 2"),)


def written(name: str) -> str:
    return (Path(__file__).parents[1] / "data" / "switches" / name).read_text()


ONYX_GUIDE = written("onyx_guide.txt")
"""The vendor's guide for DSCP-based quality of service in advanced mode (DOC-2884)."""
ONYX_BASIC = written("onyx_basic.txt")
"""Traffic pools: manual, "Shared Buffer Commands"; a session, with its prompts."""
EOS_PROFILE = written("eos_profile.txt")
"""A profile of quality of service on routed ports, which trust DSCP."""
NVUE_ROCE = "nv set qos roce\nnv config apply\n"
"""The user guide's chapter on RoCE: all of it is one command."""
ONE_CAUSE = ("one wrong code point", "PFC off at one port", "ports trust 802.1p", "wrong share")
SINGLE = [case for case in CASES if case.mistake in ONE_CAUSE and case.system != "onyx"]


@pytest.mark.parametrize("case", SINGLE, ids=[f"{case.system}-{case.mistake}" for case in SINGLE])
def test_one_cause_is_one_finding_at_all_its_ports(case: Mistake) -> None:
    (finding,) = lint.lint(lint.read(planted(case)))
    assert (finding.rule, finding.found) == (case.rule, case.text)


VENDORS = {
    "onyx guide": ONYX_GUIDE,
    "onyx basic": ONYX_BASIC,
    "onyx roce": "interface ethernet 1/1-1/4 speed 100G force\nroce lossless\n",
    "eos profile": EOS_PROFILE,
    "nvue roce": NVUE_ROCE,
}


@pytest.mark.parametrize("text", VENDORS.values(), ids=VENDORS.keys())
def test_what_vendors_write_is_right_but_for_the_watchdog(text: str) -> None:
    """None of the examples enables it, and a storm of pauses then stops the fabric."""
    assert set(found({"x": text})) == {"watchdog"}


def test_a_running_configuration_of_eos_gives_its_ports_what_its_profile_has() -> None:
    (switch,) = lint.read({"x.cfg": EOS_PROFILE}).switches
    assert [port.name for port in switch.ports] == ["Ethernet1", "Ethernet2"]
    port = switch.ports[0]
    assert (set(port.lossless), port.mtu_bytes, port.is_up) == ({3}, 9214, True)
    # The defaults of the manual: code points 0 to 7 are in class 1, 8 to 15 in class 0.
    classes = port.maps["dscp_to_tc_map"]
    assert (classes[0], classes[8], classes[26], classes[48]) == (1, 0, 3, 6)
    assert (port.queues[3].kind, port.queues[3].weight, port.queues[6].kind) == (
        "DWRR",
        95,
        "STRICT",
    )


def test_commands_that_are_not_known_are_named_once() -> None:
    site = lint.read({"x.cfg": EOS_PROFILE + "vrf a\nvrf b\nmonitor session\n", "y": NVUE_ROCE})
    router, shutdown = "router bgp 65001 (line 24)", "shutdown (line 25)"
    commands = (router, shutdown, "vrf a (line 26)", "monitor session (line 28)")
    assert [(text.file, text.commands) for text in site.unread] == [("x.cfg", commands)]


def test_the_commands_and_the_yaml_of_a_switch_are_one_configuration() -> None:
    written = files(policy(SCENARIO), "cumulus")
    alone = {name: text for name, text in written.items() if not name.endswith(".sh")}
    assert found({name: text for name, text in written.items() if "hosts/" not in name}).keys() == {
        "present"
    }
    assert len(lint.read(written).switches) == len(lint.read(alone).switches) == 3
    changed = written["leaf0/nvue.yaml"].replace("mtu: 9000", "mtu: 1500")
    result = found(written | {"leaf0/nvue.yaml": changed})
    assert {file for file, _ in result["mtu"][0].places} == {"leaf0/nvue.yaml"}


def test_yaml_as_the_switch_prints_it_is_read() -> None:
    """A map with a header, ranges, lists of names and values in quotes."""
    (switch,) = lint.read({"startup.yaml": STARTUP}).switches
    assert switch.name == "leaf01"
    assert [port.name for port in switch.ports] == ["swp1", "swp2", "swp3"]
    assert [sorted(port.lossless) for port in switch.ports] == [[2, 3], [2, 3], [2, 3]]
    assert switch.ports[0].maps["dscp_to_tc_map"][26] == 3


STARTUP = written("nvue_startup.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- set: {a: &x [1], b: *x}", "x.yaml: line 1: an alias; expected YAML of NVUE"),
        ("- set: " + "[" * 200 + "]" * 200, "x.yaml: line 1: nested more than 64 times"),
        ("- set:\n    {[a]: b}", "x.yaml: line 2: expected a name before the colon"),
        ("- set:\n  a: 'b", "x.yaml: line 2: found unexpected end of stream"),
    ],
)
def test_yaml_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(lint.ConfigError) as error:
        lint.read({"x.yaml": text})
    assert str(error.value).startswith(message)


RANGES: dict[str, Callable[[str], str]] = {
    "onyx": lambda last: f"interface ethernet 1/1-1/{last} mtu 9000",
    "eos": lambda last: f"interface Ethernet1-{last}\n   mtu 9000",
    "nvue": lambda last: f"nv set interface swp1-{last} link mtu 9000",
}


@pytest.mark.parametrize("system", RANGES)
@pytest.mark.parametrize("last", ["4096", "4097", "9999999", "9" * 5000, "0", "x"])
def test_a_range_without_an_end_takes_no_time(system: str, last: str) -> None:
    (switch,) = lint.read({"x": RANGES[system](last)}).switches
    assert len(switch.ports) == 4096 if last == "4096" else len(switch.ports) <= 1


ODD = ["-1", "9" * 30, "٣", "1-", "-", "/", ".", "inf", "nan", "1e9", ",", "'", "alpha", "to", ""]


@pytest.mark.fuzz
@pytest.mark.parametrize("system", FILES)
def test_no_word_anywhere_makes_the_linter_stumble(system: str) -> None:
    lines = tree(system)[f"leaf0/{FILES[system]}"].splitlines()
    for chance in (chance for chance in rounds(3) for _ in range(100)):
        changed = list(lines)
        for at in chance.sample(range(len(lines)), 5):
            words = changed[at].split(" ")
            words[chance.randrange(len(words))] = chance.choice(ODD)
            changed[at] = " ".join(words[: chance.randrange(1, len(words) + 1)])
        lint.lint(lint.read({FILES[system]: "\n".join(changed)}))


def test_more_lines_or_ports_than_a_switch_has_are_refused() -> None:
    with pytest.raises(lint.ConfigError, match="x: more than 200,000 lines; expected one switch"):
        lint.read({"x": "interface Ethernet1\n" * 200_001})
    with pytest.raises(lint.ConfigError, match="x: commands for more than 2,000,000 ports"):
        lint.read({"x": "nv set interface swp1-4096 link state up\n" * 500})
    with pytest.raises(
        lint.ConfigError, match="x: commands for more than 2,000,000 ports or VLANs"
    ):
        lint.read({"x": "interface Ethernet1\nvlan 1-4094\n" * 500})


@pytest.mark.parametrize("system", FILES)
def test_switches_that_are_alike_share_what_is_read_of_them(system: str) -> None:
    switches = lint.read(_alike(system)).switches
    assert {switch.name for switch in switches} == {"leaf0", "leaf1"}
    assert all(switch.tables is switches[0].tables for switch in switches)
    assert {switch.file.partition("/")[0] for switch in switches} == {"leaf0", "leaf1"}


def _alike(system: str) -> Files:
    name = FILES[system]
    text = tree(system)[f"leaf0/{name}"].replace("host0 port", "host9 port")
    return {
        f"leaf0/{name}": tree(system)[f"leaf0/{name}"],
        f"leaf1/{name}": text.replace("hostname leaf0", "hostname leaf1"),
    }


def test_a_file_without_a_fabric_is_compared_with_others_of_its_system() -> None:
    assert json.loads(tree("eos")["fabric.json"])["system"] == "eos"
    leaves = {name: text for name, text in tree("eos").items() if name.endswith("eos.cfg")}
    spoiled = leaves["leaf0/eos.cfg"].replace("qos map dscp 32 ", "qos map dscp 26 32 ")
    (switch,) = found(leaves | {"leaf0/eos.cfg": spoiled})["switches"]
    assert (switch.found, switch.expected) == (
        "DSCP 26 is in priority group 4 and queue 4",
        "in priority group 3 and queue 3, as in most switches",
    )


def test_queues_of_multicast_subinterfaces_and_default_classes_of_eos_are_their_own() -> None:
    text = (
        "qos map dscp 26 to traffic-class 3 drop-precedence 2\n"
        "interface Ethernet1/1\n   qos trust dscp\n   priority-flow-control on\n"
        "   priority-flow-control priority 3 no-drop\n   mc-tx-queue 3\n      no priority\n"
        "interface Ethernet1/1.10\n   mtu 1500\n"
        "interface Ethernet2/1\n   qos cos 3\n   priority-flow-control on\n"
    )
    first, other = lint.read({"x": text}).switches[0].ports
    assert (first.name, first.mtu_bytes, sorted(first.lossless)) == ("Ethernet1/1", None, [3])
    # The queue of multicast is another one; a subinterface is no port.
    assert first.queues[3].kind == "STRICT"
    # Frames without a tag have the port's own class.
    assert set(other.maps["dscp_to_tc_map"].values()) == {3}
    (off,) = lint.read({"x": text + "priority-flow-control all off\n"}).switches
    assert not any(port.lossless for port in off.ports)


def test_thresholds_of_onyx_are_in_kilobytes_or_with_a_unit() -> None:
    ecn = "interface ethernet 1/1 traffic-class 3 congestion-control ecn minimum-absolute"
    for text, size in (("150", "150000"), ("150K", "153600"), ("1M", "1048576")):
        (switch,) = lint.read({"x": f"{ecn} {text} maximum-absolute 3M"}).switches
        (profile,) = switch.tables["WRED_PROFILE"].values()
        assert profile["green_min_threshold"] == size


def test_a_port_without_802_3x_pauses_loses_packets_where_others_have_them() -> None:
    scenario = {key: value for key, value in SCENARIO.items() if key == "topology"}
    scenario |= {"flow_control": {"global_pause": {}}, "transport": {"roce": {}}}
    written = files(policy(scenario, options=ExportOptions(system="eos")), "eos")
    assert "pauses" not in found(written)
    written["leaf0/eos.cfg"] = written["leaf0/eos.cfg"].replace("   flowcontrol send on\n", "", 1)
    (pause,) = found(written)["pauses"]
    assert pause.found == "802.3x pause is on to receive only"
    assert [place for _, place in pause.places] == ["Ethernet1/1"]
    del written["fabric.json"]
    assert [finding.rule for finding in lint.lint(lint.read(written))] == ["pauses"]


def test_a_class_of_an_access_list_is_named_where_its_policy_acts() -> None:
    text = """
class-map type qos match-any LISTED
   match ip access-group A
policy-map type quality-of-service P
   class LISTED
      set traffic-class 5
   class class-default
      set traffic-class 2
interface Ethernet1
   qos trust dscp
   service-policy type qos input P
"""
    site = lint.read({"x.cfg": text})
    assert [text.commands for text in site.unread] == [("class LISTED",)]
    (port,) = site.switches[0].ports
    assert set(port.maps["dscp_to_tc_map"].values()) == {2}


SONIC = mistakes("sonic", scenario="none")
COMMANDS = mistakes(*FILES, scenario="none")


@pytest.mark.parametrize(("system", "file"), [*FILES.items(), ("sonic", "config_db.json")])
def test_what_is_exported_is_right_without_the_scenario(system: str, file: str) -> None:
    assert found({file: exported(system)}) == {}
    assert lint.read({file: exported(system)}).unread == ()


@pytest.mark.parametrize("case", SONIC, ids=[case.mistake for case in SONIC])
def test_a_mistake_in_tables_is_found_without_the_scenario(case: Mistake) -> None:
    tables = json.loads(exported("sonic"))
    case.spoil(tables)
    check(case, {"switch0/config_db.json": json.dumps(tables)})


@pytest.mark.parametrize(
    "case", COMMANDS, ids=[f"{case.system}-{case.mistake}" for case in COMMANDS]
)
def test_a_mistake_in_commands_is_found_without_the_scenario(case: Mistake) -> None:
    before = exported(case.system)
    place = re.sub(
        r"(?<=line )\+\d", lambda at: f"{before.count(chr(10)) + int(at[0])}", case.place
    )
    check(case._replace(place=place), {f"switch0/{FILES[case.system]}": f"{before}{case.lines}\n"})


def check(case: Mistake, written: dict[str, str]) -> None:
    result = found(written)
    places = {
        place
        for finding in result.get(case.rule, [])
        if finding.found == case.text
        for _, place in finding.places
    }
    assert case.place in places, result
