"""The linter: exported configurations pass, and each mistake is found by its rule."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from etherweave.control import lint
from etherweave.control.lint import config_db
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from etherweave.control.qos.policy import SonicForm
from support.hostile import rounds
from support.lint_mistakes import Mistake, mistakes
from support.linted import (
    CORE,
    HOST,
    LEAF,
    SCENARIO,
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
SONIC, HOSTS = mistakes("sonic"), mistakes("hosts")
IDS = [case.mistake for case in SONIC]


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


FIRST = "group0.switch0/config_db.json"
"""A switch of a dragonfly."""


def test_a_deadlock_free_dragonfly_is_right() -> None:
    assert found(dragonfly()) == {}


def dragonfly() -> Files:
    scenario = {
        "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}},
        "flow_control": {"pfc": {"priorities": [3, 4]}},
    }
    options = ExportOptions(routing="minimal", sonic=SonicForm(is_whole=True))
    return files(policy(scenario, options=options), "sonic")


def test_what_is_loaded_into_a_running_configuration_is_right_without_its_ports() -> None:
    written = files(policy(SCENARIOS / "dcqcn.toml"), "sonic")
    assert "PORT" not in json.loads(written["switch0/config_db.json"])
    assert found(written) == {}


@pytest.mark.parametrize("case", SONIC, ids=IDS)
def test_each_mistake_is_found_by_its_rule(case: Mistake) -> None:
    result = found(edited(LEAF, case.spoil)).get(case.rule, [])
    assert (case.text, case.expected) in [(finding.found, finding.expected) for finding in result]
    number = next(finding for finding in result if finding.found == case.text)
    assert any(file == LEAF and each.startswith(case.place) for file, each in number.places)
    assert number.why


@cache
def wide_tree() -> tuple[tuple[str, str], ...]:
    wide = {"fat_tree": {"leaves": 2, "hosts_per_leaf": 9, "cores": 1, "links_per_core": 2}}
    return tuple(files(policy(SCENARIO | {"topology": wide}, options=WHOLE), "sonic").items())


@pytest.mark.parametrize("case", SONIC, ids=IDS)
def test_few_ports_of_a_kind_stand_for_all(case: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    written = edited(LEAF, case.spoil, dict(wide_tree()))
    site = lint.read(written)
    assert any(len(switch.repeated) >= 5 for switch in site.switches)
    monkeypatch.setattr(config_db, "SAMPLES", 100)
    assert not any(switch.repeated for switch in lint.read(written).switches)
    assert lint.lint(site) == lint.lint(lint.read(written))


def test_one_wrong_map_is_one_finding_where_the_scenario_is_known() -> None:
    (finding,) = lint.lint(lint.read(edited(LEAF, put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "4"))))
    assert (finding.rule, finding.severity) == ("intent", lint.Severity.LOSES)
    assert finding.found == "DSCP 26 is in priority group 4 and queue 4"
    assert finding.expected == "in priority group 3 and queue 3, as in the scenario"
    assert {file for file, _ in finding.places} == {LEAF} and len(finding.places) == 4


def test_without_the_scenario_most_switches_are_right_and_with_a_tie_none_is() -> None:
    written = edited(LEAF, put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "4"))
    switches = {name: text for name, text in written.items() if name.endswith("config_db.json")}
    (switch,) = found(switches)["switches"]
    assert {file for file, _ in switch.places} == {LEAF}
    assert switch.expected == "in priority group 3 and queue 3, as in most switches"
    del switches["leaf1/config_db.json"]
    (switch,) = found(switches)["switches"]
    assert switch.found.startswith("classification differs between the switches: DSCP 26 is ")
    assert switch.expected == "the same on all"
    assert {file for file, _ in switch.places} == {LEAF, CORE}


def test_lossless_classes_that_a_proof_takes_apart_must_be_apart() -> None:
    def join(tables: Tables) -> None:
        for table in ("TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"):
            tables[table]["ETHERWEAVE"]["4"] = "3"

    (result,) = found(edited(FIRST, join, dragonfly()))["deadlock"]
    assert result.found == "lossless priorities 3, 4 have 1 queues of their own"
    assert result.expected == "2, which minimal needs"


def test_only_priorities_that_frames_are_raised_to_count_where_there_are_such() -> None:
    scenario = {
        "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}},
        "control": {"priorities": [3, 4]},
        "flow_control": {"pfc": {"priorities": [0, 3, 4]}},
    }
    written = files(policy(scenario, options=WHOLE), "sonic")
    assert set(found(written)) == {"default"}
    join = put("MAP_PFC_PRIORITY_TO_QUEUE", "ETHERWEAVE", "4", "3")
    (result,) = found(edited(FIRST, join, written))["deadlock"]
    assert result.found == "lossless priorities 3, 4 have 1 queues of their own"
    assert result.expected.startswith("2, which ")


def test_a_switch_that_marks_nothing_is_found_beside_others() -> None:
    def unmarked(tables: Tables) -> None:
        del tables["WRED_PROFILE"]
        for queue in tables["QUEUE"].values():
            queue.pop("wred_profile", None)

    written = edited(LEAF, unmarked)
    assert "unmarked" in found(written)  # The scenario has ECN.
    del written["fabric.json"]
    (finding,) = found(written)["ecn"]
    assert (finding.found, finding.expected) == (
        "lossless queues are not marked",
        "marked, as in most switches",
    )
    assert {file for file, _ in finding.places} == {LEAF}


def test_a_port_of_the_scenario_that_is_missing_or_shut_is_found() -> None:
    for change in (drop("PORT", "Ethernet0"), put("PORT", "Ethernet0", "admin_status", "down")):
        (finding,) = found(edited(LEAF, change))["present"]
        assert finding.found == "no configuration of the port, or it is shut down"
        assert finding.places == ((LEAF, "Ethernet0"),)


def test_hosts_are_compared_with_each_other_where_no_switch_is_known() -> None:
    hosts = {name: text for name, text in tree().items() if name.startswith("hosts/")}
    assert found(hosts) == {}
    for old, new, what in (
        ("--pfc 0,0,0,1,1,0,0,0", "--pfc 0,0,0,1,0,0,0,0", "pauses priorities 3"),
        ("3:on 4:on", "4:on", "pauses priorities 4"),
        ("prio-tc 0:0 1:1 2:2 3:3", "prio-tc 0:0 1:1 2:2 3:1", "priority 3 is in traffic class 1"),
        ("26:3", "26:2", "DSCP 26 is in priority 2"),
        ("mtu 9000", "mtu 1500", "MTU 1500"),
        ("rx off", "rx on", "802.3x pause is on beside PFC"),
        ("--tcbw 20,0,0,50,30", "--tcbw 20,0,0,60,30", "ETS weights sum to 110"),
    ):
        assert old in hosts[HOST]
        result = found(hosts | {HOST: hosts[HOST].replace(old, new)})
        (finding,) = [host for host in result["hosts"] if host.found == what]
        assert {file for file, _ in finding.places} == {HOST}


def test_a_device_without_configuration_is_found() -> None:
    written = tree()
    del written[CORE], written[HOST]
    result = {finding.found for finding in found(written)["present"]}
    assert result == {"no configuration of the switch", "no configuration of the host"}


@pytest.mark.parametrize("case", HOSTS, ids=[case.mistake for case in HOSTS])
def test_each_mistake_of_a_host_is_found_by_its_rule(case: Mistake) -> None:
    written = tree()
    result = found(written | {HOST: case.replaced(written[HOST])})
    assert any(
        finding.places[0].file == HOST
        and finding.found == case.text
        and finding.expected.startswith(case.expected)
        for finding in result[case.rule]
    )


def test_every_rule_is_put_to_the_test() -> None:
    others = {"switches", "ecn", "deadlock", "present", "pauses", "policed", "unused", "shares"}
    alone = mistakes("sonic", scenario="none")
    tested = {case.rule for case in (*SONIC, *HOSTS, *alone)} | others
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


def test_fields_that_sonic_does_not_know_are_named_once() -> None:
    tables = foreign()
    for port in tables["PORT_QOS_MAP"].values():
        port["pfc_enabel"] = "3"
    tables["BUFFER_PROFILE"]["lossless"]["xof"] = "40000"
    (text,) = lint.read({"x.json": json.dumps(tables)}).unread
    assert text.commands == ("BUFFER_PROFILE xof", "PORT_QOS_MAP pfc_enabel")
    assert lint.read(tree()).unread == ()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", "{", "x.json: EOF while parsing an object"),
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


@pytest.mark.fuzz
def test_no_value_anywhere_makes_the_linter_stumble() -> None:
    good = {name: text for name, text in tree().items() if name != HOST}
    for chance in (chance for chance in rounds(1) for _ in range(300)):
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


@pytest.mark.fuzz
def test_no_change_of_the_fabric_s_file_makes_the_linter_stumble() -> None:
    written = tree()
    for chance in (chance for chance in rounds(2) for _ in range(200)):
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
    "line",
    ["mlnx_qos -i x --pfc 1,1", "dcb pfc set dev x prio-pfc q:on", "ip link set mtu", "dcb pfc '"],
)
def test_a_line_that_cannot_be_read_is_an_error(line: str) -> None:
    (run,) = found({"host0.sh": f"#!/bin/sh\n{line}\n"})["readable"]
    assert run.places == (("host0.sh", "line 2"),) and run.expected == "a command as documented"


def test_a_switch_of_several_chips_is_a_switch_for_each() -> None:
    chips = {"localhost": {"DEVICE_METADATA": {}}, "asic0": foreign(), "asic1": foreign()}
    site = lint.read({"x.json": json.dumps(chips)})
    assert [switch.file for switch in site.switches] == ["x.json asic0", "x.json asic1"]


def test_switches_that_are_alike_have_the_same_findings() -> None:
    good, bad = foreign(), foreign()
    del bad["BUFFER_PG"]["Ethernet0,Ethernet4|3-4"]
    bad["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"] = "8"

    def written(name: str, tables: dict[str, Any]) -> Files:
        own = {"DEVICE_METADATA": {"localhost": {"hostname": name}}}
        return {f"{name}/config_db.json": json.dumps({**tables, **own})}

    apart = {name: found(written(name, bad)) for name in ("a", "c")}
    together = found(written("a", bad) | written("b", good) | written("c", bad))
    assert {"readable", "pfc", "cables"} & set(together) == {"readable", "pfc"}
    for rule in ("readable", "pfc", "groups"):
        for at, finding in enumerate(together.get(rule, [])):
            assert finding.places == apart["a"][rule][at].places + apart["c"][rule][at].places


def test_what_vendors_write_is_right() -> None:
    tables = foreign()
    # Groups of the traditional buffer model, weights that are relative, texts of other programs.
    del tables["BUFFER_PG"]["Ethernet0,Ethernet4|3-4"]
    del tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_to_queue_map"]
    tables["SCHEDULER"]["half"]["weight"] = "14"
    tables["bgpraw"] = "router bgp 65100"
    assert found({"x.json": json.dumps(tables)}) == {}


def test_without_a_table_of_ports_the_fabric_says_which_are_missing() -> None:
    written = dict(files(policy(SCENARIO), "sonic"))
    assert "PORT" not in json.loads(written[LEAF]) and "ports" not in found(written)
    change = put("PFC_WD", "Ethernet999", "action", "drop")
    (finding,) = found(edited(LEAF, change, written))["ports"]
    assert (finding.found, finding.places[0].place) == (
        "not a port of the switch",
        "PFC_WD|Ethernet999",
    )
