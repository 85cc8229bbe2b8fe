"""The linter: exported configurations pass, and each mistake is found by its rule."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from etherweave.control import lint
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from etherweave.control.qos.policy import SonicForm
from support.linted import (
    CORE,
    HOST,
    LEAF,
    WHOLE,
    Files,
    Tables,
    drop,
    edited,
    foreign,
    found,
    put,
    tree,
)

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.mark.parametrize(
    "scenario", ["qos_ets", "dcqcn", "halo3d_roce", "halo3d_tcp", "halo3d_tcp_pfc", "custom"]
)
def test_what_is_exported_is_right_as_a_whole_and_file_by_file(scenario: str) -> None:
    written = files(policy(SCENARIOS / f"{scenario}.toml", options=WHOLE), "sonic")
    # What is not marked is lossless, because the scenario says so: export prints a note.
    noted = {"default"} if scenario in ("qos_ets", "halo3d_tcp_pfc") else set()
    assert set(found(written)) == noted
    alone = {"pfc"} if scenario == "halo3d_tcp" else noted
    for name, text in written.items():
        if name.endswith("config_db.json"):
            assert set(found({name: text})) == alone, name


def test_a_deadlock_free_dragonfly_is_right() -> None:
    assert found(dragonfly()) == {}


def dragonfly() -> Files:
    scenario = {
        "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}},
        "flow_control": {"pfc": {"priorities": [3, 4]}},
    }
    options = ExportOptions(routing="dragonfly_minimal", sonic=SonicForm(is_whole=True))
    return files(policy(scenario, options=options), "sonic")


def test_what_is_loaded_into_a_running_configuration_is_right_without_its_ports() -> None:
    written = files(policy(SCENARIOS / "dcqcn.toml"), "sonic")
    assert "PORT" not in json.loads(written["switch0/config_db.json"])
    assert found(written) == {}


Case = tuple[str, Callable[[Tables], object], str, str, str]
"""Rule, change, place, found, expected."""
PORT = "PORT_QOS_MAP"
OTHER_QUEUE = (
    "traffic class 3 fills priority group 3 and leaves by queue 3, but a pause of priority 3 "
    "stops queue 2"
)
LOSSLESS = "pg_lossless_100000_5m_profile"
MUTATIONS: list[Case] = [
    (
        "readable",
        put("SCHEDULER", "scheduler.3", "weight", "half"),
        "SCHEDULER|scheduler.3|weight",
        "'half' cannot be read",
        "a whole number",
    ),
    (
        "references",
        put(PORT, "Ethernet0", "dscp_to_tc_map", "[DSCP_TO_TC_MAP|NONE]"),
        "PORT_QOS_MAP|Ethernet0",
        "dscp_to_tc_map is NONE, which DSCP_TO_TC_MAP does not have",
        "one of ETHERWEAVE",
    ),
    (
        "ports",
        put("PFC_WD", "Ethernet99", "action", "drop"),
        "PFC_WD",
        "Ethernet99 is not a port of the switch",
        "one of Ethernet0, Ethernet4, Ethernet8, Ethernet12",
    ),
    (
        "pfc",
        put(PORT, "Ethernet4", "pfc_enable", "3"),
        "Ethernet4",
        "PFC is enabled for 3",
        "3, 4, as on most ports of the switch",
    ),
    (
        "groups",
        put("BUFFER_PG", "Ethernet0|3", "profile", "ingress_lossy_profile"),
        "Ethernet0 priority group 3",
        "profile ingress_lossy_profile of lossless priority 3 has no xoff",
        "a profile with xoff, the headroom",
    ),
    (
        "groups",
        drop("BUFFER_PG", "Ethernet0|3"),
        "Ethernet0 priority group 3",
        "no BUFFER_PG for lossless priority 3",
        "a profile with xoff",
    ),
    (
        "headroom",
        put("BUFFER_PROFILE", "pg_lossless_100000_5m_profile", "xoff", "30000"),
        "Ethernet0 priority 3",
        "xoff of pg_lossless_100000_5m_profile is 30000 B",
        # Of the device that it was exported for: 2 · (14800 B + 12.5 B/ns · 2 · 25 ns), in cells.
        "at least 30912 B at 100 Gb/s, 5 m",
    ),
    (
        "cables",
        put("CABLE_LENGTH", "AZURE", "Ethernet0", "0m"),
        "Ethernet0",
        "a cable of 0 m",
        "its length in CABLE_LENGTH, as 5m",
    ),
    (
        "orphans",
        put("BUFFER_PG", "Ethernet0|0", "profile", "pg_lossless_100000_5m_profile"),
        "Ethernet0 priority group 0",
        "priority group 0 has xoff, but PFC is off for its priority",
        "PFC on, or a profile without xoff",
    ),
    (
        "pools",
        put("BUFFER_PROFILE", "ingress_lossy_profile", "pool", "egress_lossy_pool"),
        "BUFFER_PG|Ethernet0|0",
        "profile ingress_lossy_profile uses egress_lossy_pool, a pool of the egress",
        "a pool of the ingress",
    ),
    (
        "maps",
        drop(PORT, "Ethernet0", "tc_to_pg_map"),
        "Ethernet0",
        "no tc_to_pg_map",
        "a tc_to_pg_map in PORT_QOS_MAP",
    ),
    (
        # What YANG lets pass: a class beyond all maps.
        "classes",
        put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "12"),
        "Ethernet0",
        "dscp_to_tc_map leads 26 to traffic class 12",
        "a class of tc_to_pg_map: 0-7",
    ),
    (
        "reached",
        put("TC_TO_PRIORITY_GROUP_MAP", "ETHERWEAVE", "3", "0"),
        "Ethernet0",
        "no code point leads to priority group 3 of priority 3",
        "a DSCP or 802.1p priority in a traffic class of group 3",
    ),
    (
        "queue",
        put("MAP_PFC_PRIORITY_TO_QUEUE", "ETHERWEAVE", "3", "2"),
        "Ethernet0",
        OTHER_QUEUE,
        "queue 3 for both",
    ),
    (
        "mixed",
        put("TC_TO_QUEUE_MAP", "ETHERWEAVE", "0", "3"),
        "Ethernet0",
        "traffic class 0 shares lossless queue 3, but fills priority group 0, which is lossy",
        "another queue, or the group of a lossless priority",
    ),
    (
        "served",
        drop("QUEUE", "Ethernet0|3", "scheduler"),
        "Ethernet0",
        "queue 3 of lossless priority 3 has no scheduler",
        "a scheduler with a weight, or STRICT",
    ),
    (
        "marking",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "ecn", "ecn_green"),
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: WRED drops red packets, because ecn is ecn_green",
        "ecn_all, which marks them",
    ),
    (
        "marking",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "green_max_threshold", "1"),
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: green maximum 1 B below minimum 150000 B",
        "minimum below maximum",
    ),
    (
        "watchdog",
        drop("PFC_WD", "Ethernet0"),
        "Ethernet0",
        "no PFC watchdog",
        "an entry in PFC_WD",
    ),
    (
        "watchdog",
        put(PORT, "Ethernet0", "pfcwd_sw_enable", "3"),
        "Ethernet0",
        "pfcwd_sw_enable leaves out 4",
        "every priority of pfc_enable",
    ),
    (
        "watchdog-times",
        put("PFC_WD", "GLOBAL", "POLL_INTERVAL", "400"),
        "PFC_WD|Ethernet0",
        "detection_time 200 ms is below the polling interval",
        "at least 400 ms",
    ),
    (
        "channels",
        put("PORT", "Ethernet12", "speed", "25000"),
        "Ethernet12",
        "speed 25000 in PortChannel1",
        "100000, as Ethernet8",
    ),
    (
        "mtu",
        put("PORT", "Ethernet0", "mtu", "1500"),
        "Ethernet0",
        "MTU 1500",
        "9000, as everywhere else",
    ),
    (
        "ends",
        put(PORT, "Ethernet8", "pfc_enable", "3"),
        "Ethernet8",
        "pauses priorities [3]",
        "[3, 4], as core0 Ethernet0",
    ),
    (
        "intent",
        put("SCHEDULER", "scheduler.0", "weight", "25"),
        "Ethernet0",
        "weights of queues are {0: 25, 3: 50, 4: 30}",
        "{0: 20, 3: 50, 4: 30}, as in the scenario",
    ),
    (
        "cables",
        put("CABLE_LENGTH", "AZURE", "Ethernet8", "5m"),
        "Ethernet8",
        "a cable of 5 m",
        "20 m, as in the scenario",
    ),
    (
        "sizes",
        put("BUFFER_PROFILE", LOSSLESS, "xon", "90000"),
        "Ethernet0 priority 3",
        f"xon of {LOSSLESS} is 90000 B, more than its size and xoff together",
        # 19 KiB and twice the headroom.
        f"at most {(19 << 10) + 2 * 30912} B",
    ),
    (
        "sizes",
        put("BUFFER_POOL", "ingress_lossless_pool", "size", "10000"),
        "Ethernet0 priority 3",
        f"{LOSSLESS} takes {(19 << 10) + 30912} B of a pool of 10000 B",
        "a pool for all groups of all ports",
    ),
    (
        "sizes",
        put("BUFFER_PROFILE", LOSSLESS, "size", "0"),
        "Ethernet0 priority 3",
        f"size of {LOSSLESS} is 0 B",
        "its reserve and headroom, or a pool with shared headroom",
    ),
    (
        "shared",
        put("BUFFER_POOL", "ingress_lossless_pool", "xoff", "10240"),
        "Ethernet0 priority 3",
        f"ingress_lossless_pool has shared headroom of 10240 B, {LOSSLESS} an xoff of 30912 B",
        "at least 30912 B",
    ),
    (
        "thresholds",
        put("BUFFER_PROFILE", LOSSLESS, "dynamic_th", "-8"),
        "Ethernet0 priority 3",
        f"dynamic_th of {LOSSLESS} is -8, 1/256 of the free pool",
        "a threshold of an active port, as 0",
    ),
    (
        "egress",
        put("BUFFER_QUEUE", "Ethernet0|3", "profile", "egress_lossy_profile"),
        "Ethernet0 queue 3",
        "lossless queue 3 has egress_lossy_profile, as queue 0 has",
        "a profile of lossless queues, which takes the whole pool",
    ),
    (
        "default",
        put("DSCP_TO_TC_MAP", "ETHERWEAVE", "0", "3"),
        "Ethernet0",
        "DSCP 0 is in lossless priority group 3",
        "a lossy class for traffic without a mark, as DSCP 26 for RoCE",
    ),
    (
        "unmarked",
        drop("QUEUE", "Ethernet0|3", "wred_profile"),
        "Ethernet0 queue 3",
        "no wred_profile",
        "wred_profile in QUEUE, as ETHERWEAVE_LOSSLESS",
    ),
    (
        "unmarked",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "green_drop_probability", "0"),
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: green probability 0",
        "at least 1 %",
    ),
    (
        "unmarked",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "green_min_threshold", "99000000"),
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: green minimum 99000000 B is never reached",
        "less than the largest pool, 13945824 B",
    ),
    (
        "watchdog-times",
        put("PFC_WD", "Ethernet0", "detection_time", "soon"),
        "PFC_WD|Ethernet0",
        "detection_time soon",
        "100 to 5000 ms",
    ),
    (
        "watchdog-times",
        put("PFC_WD", "Ethernet0", "action", "alert"),
        "PFC_WD|Ethernet0",
        "action alert reports a storm and lets it go on",
        "drop, or forward",
    ),
    (
        "asymmetric",
        put("PORT", "Ethernet0", "pfc_asym", "on"),
        "Ethernet0",
        "pfc_asym is on",
        "off, as at the peer",
    ),
]


@pytest.mark.parametrize("case", MUTATIONS, ids=[f"{case[0]}-{case[3][:24]}" for case in MUTATIONS])
def test_each_mistake_is_found_by_its_rule(case: Case) -> None:
    rule, change, place, what, expected = case
    result = found(edited(LEAF, change)).get(rule, [])
    assert (what, expected) in [(one.found, one.expected) for one in result]
    one = next(one for one in result if one.found == what)
    assert any(file == LEAF and each.startswith(place) for file, each in one.places)
    assert one.why


def test_one_wrong_map_is_one_finding_where_the_scenario_is_known() -> None:
    (one,) = lint.lint(lint.read(edited(LEAF, put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "4"))))
    assert (one.rule, one.severity) == ("intent", lint.Severity.LOSES)
    assert one.found == "DSCP 26 is in priority group 4 and queue 4"
    assert one.expected == "in priority group 3 and queue 3, as in the scenario"
    assert {file for file, _ in one.places} == {LEAF} and len(one.places) == 4


def test_without_the_scenario_most_switches_are_right_and_with_a_tie_none_is() -> None:
    written = edited(LEAF, put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "4"))
    switches = {name: text for name, text in written.items() if name.endswith("config_db.json")}
    (one,) = found(switches)["switches"]
    assert {file for file, _ in one.places} == {LEAF}
    assert one.expected == "that, as most switches"
    del switches["leaf1/config_db.json"]
    (one,) = found(switches)["switches"]
    assert one.expected == "the same, as many other switches have each"


def test_lossless_classes_that_a_proof_takes_apart_must_be_apart() -> None:
    written = dragonfly()
    (name, *_) = [name for name in written if name.endswith("config_db.json")]
    tables = json.loads(written[name])
    for table in ("TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"):
        tables[table]["ETHERWEAVE"]["4"] = "3"
    (result,) = found(written | {name: json.dumps(tables)})["deadlock"]
    assert result.found == "lossless priorities 3, 4 have 1 queues of their own"
    assert result.expected == "2, which dragonfly_minimal needs"


def test_only_priorities_that_frames_are_raised_to_count_where_there_are_such() -> None:
    scenario = {
        "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}},
        "control": {"priorities": [3, 4]},
        "flow_control": {"pfc": {"priorities": [0, 3, 4]}},
    }
    written = files(policy(scenario, options=WHOLE), "sonic")
    assert set(found(written)) == {"default"}
    name = next(name for name in written if name.endswith("config_db.json"))
    tables = json.loads(written[name])
    tables["MAP_PFC_PRIORITY_TO_QUEUE"]["ETHERWEAVE"]["4"] = "3"
    (result,) = found(written | {name: json.dumps(tables)})["deadlock"]
    assert result.found == "lossless priorities 3, 4 have 1 queues of their own"
    assert result.expected.startswith("2, which ")


def test_a_device_without_configuration_is_found() -> None:
    written = tree()
    del written[CORE], written[HOST]
    result = {one.found for one in found(written)["present"]}
    assert result == {"no configuration of switch core0", "no configuration of host host0"}


HOST_MUTATIONS = [
    (
        "--pfc 0,0,0,1,1,0,0,0",
        "--pfc 0,0,0,1,0,0,0,0",
        "pauses priorities 3",
        "3, 4, as in the scenario",
    ),
    ("3:on 4:on", "3:on", "pauses priorities 3", "3, 4, as in the scenario"),
    ("--tcbw 20,0,0,50,30", "--tcbw 20,0,0,60,30", "ETS weights sum to 110", "a sum of 100"),
    (
        "tc-bw 0:20 1:0 2:0 3:50",
        "tc-bw 0:50 1:0 2:0 3:20",
        "ETS weights are {0: 50, 3: 20, 4: 30}",
        "{0: 20, 3: 50, 4: 30}, as in the scenario",
    ),
    ("26:3", "26:2", "DSCP 26 is not in priority 3", "priority 3, as in the scenario"),
    ("mtu 9000", "mtu 9216", "MTU 9216", "at most 9000, as in the scenario"),
    ("rx off", "rx on", "802.3x pause is on beside PFC", "ethtool -A … rx off tx off"),
    (
        "prio-tc 0:0 1:1 2:2 3:3",
        "prio-tc 0:0 1:1 2:2 3:1",
        "priority 3 is in traffic class 1",
        "3,",
    ),
]


@pytest.mark.parametrize("case", HOST_MUTATIONS, ids=[case[1][:20] for case in HOST_MUTATIONS])
def test_a_host_must_agree_with_its_port(case: tuple[str, str, str, str]) -> None:
    old, new, what, expected = case
    written = tree()
    assert old in written[HOST]
    result = found(written | {HOST: written[HOST].replace(old, new)})
    assert any(
        one.places[0].file == HOST and one.found == what and one.expected.startswith(expected)
        for one in result["hosts"]
    )


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("--trust dscp", "--trust pcp", "trust pcp: frames without a VLAN tag have no priority"),
        ("-t 106", "-t 0", "RoCE has traffic class 0, DSCP 0, which is lossy"),
        ("put 106", "put 2", "RoCE has traffic class 2, DSCP 0, which is lossy"),
        ("put 48", "put 0", "congestion notifications have DSCP 0"),
        ("put 1 ", "put 0 ", "congestion control is off for lossless priority 3"),
    ],
)
def test_marks_of_hosts_lead_into_lossless_classes(old: str, new: str, what: str) -> None:
    written = tree()
    assert old in written[HOST]
    result = found(written | {HOST: written[HOST].replace(old, new)})
    assert what in [one.found for one in result["marks"]]


def test_every_rule_is_put_to_the_test() -> None:
    others = {"switches", "deadlock", "present", "hosts", "marks"}
    tested = {case[0] for case in MUTATIONS} | others
    assert tested == {rule.name for rule in lint.RULES}


def test_a_file_of_others_is_read_as_they_write() -> None:
    assert found({"x.json": json.dumps(foreign())}) == {}


def test_the_least_headroom_follows_from_rate_length_and_mtu() -> None:
    tables = foreign()
    tables["BUFFER_PROFILE"]["lossless"]["xoff"] = "5000"
    (result,) = found({"x.json": json.dumps(tables)})["headroom"]
    # 40 Gb/s are 5 B/ns: 5 · (500 + 2 · 25) + 3 · (1500 + 42) + 84.
    assert result.expected == "at least 7460 B at 40 Gb/s, 5 m, lossless frames of 1500 B"
    assert len(result.places) == 4
    # What the switch itself computes with counts.
    tables["LOSSLESS_TRAFFIC_PATTERN"] = {"AZURE": {"mtu": "9100"}}
    (result,) = found({"x.json": json.dumps(tables)})["headroom"]
    assert result.expected == "at least 30260 B at 40 Gb/s, 5 m, lossless frames of 9100 B"


def test_groups_that_the_switch_computes_are_left_to_it() -> None:
    tables = foreign()
    tables["BUFFER_PG"]["Ethernet0,Ethernet4|3-4"]["profile"] = "NULL"
    assert found({"x.json": json.dumps(tables)}) == {}


def test_a_map_for_all_ports_counts() -> None:
    tables = foreign()
    for port in tables["PORT_QOS_MAP"].values():
        del port["dscp_to_tc_map"]
    assert "maps" in found({"x.json": json.dumps(tables)})
    tables["PORT_QOS_MAP"]["global"] = {"dscp_to_tc_map": "AZURE"}
    assert found({"x.json": json.dumps(tables)}) == {}


def test_ports_that_are_shut_do_not_count() -> None:
    tables = foreign()
    # The default of SONiC's model is down.
    for state in ({"admin_status": "down"}, {}):
        tables["PORT"]["Ethernet8"] = {"lanes": "9", "speed": "40000", **state}
        assert found({"x.json": json.dumps(tables)}) == {}
    tables["PORT"]["Ethernet8"]["admin_status"] = "up"
    assert set(found({"x.json": json.dumps(tables)})) == {"pfc"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", "{", "x.json: Expecting property name"),
        ("x.json", "[]", "x.json: expected an object of tables"),
        ("x.json", '{"PORT": []}', "x.json: PORT: expected a table"),
        ("x.json", '{"PORT": {"Ethernet0": "up"}}', "x.json: PORT: expected a table"),
        ("x.json", '{"QUEUE": {}}', "x.json: no table PORT; expected a config_db.json"),
        ("x.json", "[" * 100_000, "x.json: "),
        ("fabric.json", "{}", "fabric.json: 'system'; expected the file that etherweave control"),
        ("fabric.json", '{"system": "sonic"}', "fabric.json: policy: name is missing"),
    ],
)
def test_what_is_no_configuration_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(lint.ConfigError) as error:
        lint.read({name: text})
    assert str(error.value).startswith(message)


VALUES: list[Any] = [
    None,
    True,
    -1,
    3.5,
    "",
    "x",
    "9" * 30,
    "٣",
    [],
    ["1"],
    {},
    "0-99999999",
    "Ethernet0|",
]


def test_no_value_anywhere_makes_the_linter_stumble() -> None:
    chance = random.Random(1)
    good = {name: text for name, text in tree().items() if name != HOST}
    for _ in range(300):
        tables = foreign() if chance.random() < 0.5 else json.loads(good[LEAF])
        table = tables[chance.choice(list(tables))]
        entry = table[chance.choice(list(table))]
        kind = chance.randrange(3)
        if kind == 0 and entry:
            entry[chance.choice(list(entry))] = chance.choice(VALUES)
        elif kind == 1:
            table[str(chance.choice(VALUES))] = dict(entry)
        else:
            entry[str(chance.choice(VALUES))] = chance.choice(VALUES)
        lint.lint(lint.read({"x.json": json.dumps(tables)}))


def test_no_change_of_the_fabric_s_file_makes_the_linter_stumble() -> None:
    chance = random.Random(2)
    written = tree()
    for _ in range(200):
        said = json.loads(written["fabric.json"])
        place: Any = said
        while isinstance(place, dict | list) and place:
            key: Any = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or chance.random() < 0.2:
                place[key] = chance.choice(VALUES)
                break
            place = place[key]
        try:
            lint.lint(lint.read(written | {"fabric.json": json.dumps(said)}))
        except lint.ConfigError as error:
            assert str(error).startswith("fabric.json: ")


@pytest.mark.parametrize(
    "line", ["mlnx_qos -i x --pfc 1,1", "dcb pfc set dev x prio-pfc q:on", "ip link set mtu", "'"]
)
def test_a_line_that_cannot_be_read_is_an_error(line: str) -> None:
    (result,) = found({"host0.sh": f"#!/bin/sh\n{line}\n"})["readable"]
    assert (
        result.places == (("host0.sh", "line 2"),) and result.expected == "a command as documented"
    )


def test_a_switch_of_several_chips_is_a_switch_for_each() -> None:
    chips = {"localhost": {"DEVICE_METADATA": {}}, "asic0": foreign(), "asic1": foreign()}
    site = lint.read({"x.json": json.dumps(chips)})
    assert [one.file for one in site.switches] == ["x.json asic0", "x.json asic1"]


def test_what_vendors_write_is_right() -> None:
    tables = foreign()
    # Groups of the traditional buffer model, weights that are relative, texts of other programs.
    del tables["BUFFER_PG"]["Ethernet0,Ethernet4|3-4"]
    del tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_to_queue_map"]
    tables["SCHEDULER"]["half"]["weight"] = "14"
    tables["bgpraw"] = "router bgp 65100"
    assert found({"x.json": json.dumps(tables)}) == {}
