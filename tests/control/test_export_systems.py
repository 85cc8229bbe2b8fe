"""Exported commands of Onyx, Cumulus and EOS against their vendors' documents, and compared."""

import json
import re
from pathlib import Path

import pytest
import yaml

from etherweave.control.qos import nvue_yaml
from etherweave.control.qos.comparison import NONE, REASONS, SETTINGS, compared
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.devices import CAPACITIES_GBPS
from etherweave.control.qos.nos import SYSTEMS, files
from etherweave.control.qos.policy import Policy, PolicyError, Watchdog
from support import command_line

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"
TESTBED = SCENARIOS / "qos_ets.toml"
PAIR: dict[str, object] = {"single_switch": {"hosts": 2, "rate": "100Gb/s", "cable": "3m"}}


def of_testbed() -> Policy:
    return policy(TESTBED, options=ExportOptions(mtu_bytes=4500))


def sections(text: str) -> dict[str, list[str]]:
    """Split a configuration of Onyx at its headings."""
    parts = [part.splitlines() for part in text.split("##\n## ")[1:]]
    return {part[0]: [line.strip() for line in part[2:]] for part in parts}


def test_onyx_is_configured_as_in_the_testbed() -> None:
    """Commands of the testbed's published settings, with our numbers of ports.

    There, hosts are on 1/2, 1/4, 1/6 and 1/8 to 1/16 and PFC is on for all priorities.
    """
    every = {"flow_control.pfc.priorities": list(range(8))}
    options = ExportOptions(mtu_bytes=4500, is_watched=False, device="sn3700")
    result = policy(TESTBED, every, options)
    sections_by_title = sections(SYSTEMS["onyx"](result, result.switches[0])["onyx.cfg"])
    assert sections_by_title["Interface Ethernet configuration"] == [
        "interface port-channel 1",
        "interface ethernet 1/1-1/16 mtu 4500 force",
        "interface port-channel 1 mtu 4500 force",
        "interface ethernet 1/13-1/16 channel-group 1 mode on",
    ]
    assert sections_by_title["DCBX ETS configuration"] == [
        f"interface {place} traffic-class {number} dcb ets wrr {weight}"
        for place in ("ethernet 1/1-1/12", "port-channel 1")
        for number, weight in enumerate([50, 50, 0, 0, 0, 0, 0, 0])
    ]
    assert sections_by_title["DCBX PFC configuration"] == [
        "dcb priority-flow-control enable force",
        *(f"dcb priority-flow-control priority {number} enable" for number in range(8)),
        "interface ethernet 1/1-1/12 dcb priority-flow-control mode on force",
        "interface port-channel 1 dcb priority-flow-control mode on force",
    ]


def test_the_watchdog_is_that_of_the_scenario_where_it_has_times_that_switches_take() -> None:
    settings = {"flow_control.pfc.watchdog.detection": "400ms"}
    result = policy(TESTBED, settings | {"flow_control.pfc.watchdog.action": "forward"})
    ports = json.loads(SYSTEMS["sonic"](result, result.switches[0])["config_db.json"])["PFC_WD"]
    assert ports["GLOBAL"] == {"POLL_INTERVAL": "200"}
    entry = {"action": "forward", "detection_time": "400", "restoration_time": "200"}
    assert ports["Ethernet0"] == entry
    with pytest.raises(PolicyError, match=r"action: forward; expected drop: the files for eos"):
        action = {"flow_control.pfc.watchdog.action": "forward"}
        policy(TESTBED, action, ExportOptions(system="eos"))
    with pytest.raises(PolicyError, match=r"watchdog\.detection: 400us; expected 100 to 5000 ms"):
        policy(
            TESTBED, {f"flow_control.pfc.watchdog.{key}": "400us" for key in ("detection", "poll")}
        )


def test_times_of_the_watchdog_that_files_do_not_have_are_named() -> None:
    settings = {"flow_control.pfc.watchdog.detection": "450ms"}

    def named(system: str, watchdog: Watchdog | None = None) -> list[str]:
        notes = policy(TESTBED, settings, ExportOptions(system=system, watchdog=watchdog)).notes
        return [note for note in notes if "watchdog" in note]

    key = "flow_control.pfc.watchdog"
    assert named("sonic") == []
    # Two polls within 200 ms, the shorter of both times.
    twice = "EOS takes 2 polls at least within each of the other times"
    assert named("eos") == [f"{key}.poll: 200 ms; the files have 100 ms, for {twice}"]
    assert named("eos", Watchdog(400, 400, 200)) == []
    assert named("onyx") == [
        f"{key}: its times are not in the files, which turn the watchdog of a port on"
    ]
    detected = "storms are detected after 2 polls, 400 ms"
    assert named("cumulus") == [f"{key}.restoration: not in the files; {detected}"]
    assert named("cumulus", Watchdog(200, 200, 200)) == []


def test_onyx_pauses_globally_where_the_scenario_does() -> None:
    result = policy(SCENARIOS / "global_pause.toml")
    text = SYSTEMS["onyx"](result, result.switches[0])["onyx.cfg"]
    assert "interface ethernet 1/1-1/4 flowcontrol send on force" in text
    assert "priority-flow-control" not in text
    with pytest.raises(PolicyError, match=r"flow_control\.global_pause: SONiC"):
        files(result, "sonic")


def test_eos_has_marking_shares_and_the_watchdog() -> None:
    weights = {"ets.weights": [60, 0, 0, 40, 0, 0, 0, 0], "flow_control.pfc.priorities": [3]}
    result = policy(SCENARIOS / "dcqcn.toml", weights, ExportOptions(system="eos"))
    text = SYSTEMS["eos"](result, result.switches[0])["eos.cfg"]
    port = [line.strip() for line in text[text.index("interface Ethernet5/1") :].splitlines()]
    marking = "random-detect ecn minimum-threshold 50000 bytes maximum-threshold 200000 bytes"
    # The watchdog observes queues with guaranteed bandwidth.
    assert [line for line in port if re.match("bandwidth|random|.* no-drop", line)] == [
        "priority-flow-control priority 3 no-drop",
        "bandwidth percent 60",
        "bandwidth guaranteed percent 40",
        f"{marking} max-mark-probability 10",
    ]
    # Class 7 has queue 7, which no command changes.
    assert "traffic-class 7 to tx-queue" not in text and "uc-tx-queue 7" not in text
    # EOS polls at most every half of the shorter time.
    assert "watchdog default polling-interval 0.1\n" in text


def test_eos_of_another_chip_has_other_queues() -> None:
    options = ExportOptions(system="eos", device="jericho2")
    result = policy({"topology": PAIR}, options=options)
    text = SYSTEMS["eos"](result, result.switches[0])["eos.cfg"]
    assert "\n   tx-queue 3\n" in text and "uc-tx-queue" not in text


def test_eos_does_not_move_class_7() -> None:
    classes = {"ets.class_of_priority": [0, 1, 2, 3, 4, 5, 7, 6]}
    result = policy({"topology": PAIR}, classes)
    with pytest.raises(PolicyError, match="priority 6 in class 7: EOS binds 7 to queue 7"):
        files(result, "eos")


def test_onyx_pauses_above_the_reserve_and_keeps_the_headroom_behind_it() -> None:
    """Form of the vendor's guide: reserved 67538 xoff 18432 xon 18432, headroom is the rest."""
    result = policy(SCENARIOS / "dcqcn.toml")
    text = SYSTEMS["onyx"](result, result.switches[0])["onyx.cfg"]
    reserve, headroom = 19 << 10, result.switches[0].ports[0].headroom_bytes
    group = "interface ethernet 1/1-1/5 ingress-buffer iPort.pg3"
    queue = "interface ethernet 1/1-1/5 egress-buffer ePort.tc3"
    sizes = f"reserved {reserve + headroom} xoff {reserve} xon {reserve}"
    half = result.switches[0].pool_bytes // 2
    assert [line.strip() for line in sections(text)["Buffers"] if "pg0" not in line] == [
        "advanced buffer management force",
        f"pool iPool1 size {half} type dynamic",
        "pool ePool1 size 13945824 type dynamic",
        f"pool iPool0 size {half} type dynamic",
        f"pool ePool0 size {half} type dynamic",
        f"{group} bind switch-priority 3",
        f"{group} map pool iPool1 type lossless {sizes} shared alpha 8",
        f"{queue} map pool ePool1 reserved 1500 shared alpha inf",
    ]


def test_cumulus_has_a_lossless_pool_and_leaves_buffers_to_the_switch() -> None:
    lines = SYSTEMS["cumulus"](of_testbed(), of_testbed().switches[0])["nvue.sh"].splitlines()
    assert [line for line in lines if "traffic-pool" in line or "pfc lossless-40m" in line] == [
        "nv set qos traffic-pool default-lossless memory-percent 50",
        "nv set qos traffic-pool default-lossy memory-percent 50",
        "nv set qos pfc lossless-40m switch-priority 0,1",
        "nv set qos pfc lossless-40m tx enable",
        "nv set qos pfc lossless-40m rx enable",
        "nv set qos pfc lossless-40m cable-length 40",
    ]
    assert not any("port-buffer" in line for line in lines)
    assert "nv set interface swp13-16 qos pfc profile lossless-40m" in lines
    assert "nv set interface bond1 bond member swp13-16" in lines
    assert "nv set qos mapping default-global dscp 8,9,10,11,12,13,14,15 switch-priority 1" in lines


def test_the_yaml_of_cumulus_has_the_commands_as_a_tree() -> None:
    commands = (
        "nv set qos pfc x switch-priority 3,4\n"
        "nv set interface swp1-2 qos pfc profile x\n"
        "nv set qos mapping default-global dscp 26,27 switch-priority 3\n"
        "nv set interface bond1 bond member swp3\n"
    )
    text = nvue_yaml.document("said", commands)
    classes = {26: {"switch-priority": 3}, 27: {"switch-priority": 3}}
    profile = {"qos": {"pfc": {"profile": "x"}}}
    qos = {
        "pfc": {"x": {"switch-priority": {3: {}, 4: {}}}},
        "mapping": {"default-global": {"dscp": classes}},
    }
    bond: dict[str, object] = {"bond": {"member": {"swp3": {}}}}
    interfaces = {"swp1": profile, "swp2": profile, "bond1": bond}
    assert text.startswith("# said\n")
    assert yaml.safe_load(text) == [{"set": {"qos": qos, "interface": interfaces}}]


@pytest.mark.parametrize(
    ("system", "note"),
    [
        ("sonic", "cables: 3 m as 5 m: SONiC's tables know lengths of 5, 40 and 300 m"),
        ("onyx", "cables: 3 m as 5 m: vendors' tables of headroom know lengths of 5, 40 and 300 m"),
        ("eos", ""),
    ],
)
def test_a_cable_rounded_up_is_noted_where_the_files_depend_on_it(system: str, note: str) -> None:
    notes = policy({"topology": PAIR}, options=ExportOptions(system=system)).notes
    assert [note for note in notes if note.startswith("cables: ")] == [note] * bool(note)


def test_a_fabric_whose_switches_have_more_ports_than_the_device_is_noted() -> None:
    fabric = {"leaves": 20, "hosts_per_leaf": 24, "cores": 2, "links_per_core": 4}
    options = ExportOptions(system="sonic")
    notes = policy({"topology": {"fat_tree": fabric}}, options=options).notes
    problem = "core0 and 1 other: ports of 8,000 Gb/s together; sn2700 has 3,200 Gb/s"
    expected = f"{problem}: expected fewer ports or another --switch"
    assert [note for note in notes if "together" in note] == [expected]
    # 24 hosts and 8 uplinks are 32 ports of a leaf, 4 leaves with 4 links 16 of a core.
    result = policy({"topology": {"fat_tree": {**fabric, "leaves": 4}}}, options=options)
    assert not any("together" in note for note in result.notes)


@pytest.mark.parametrize("profile", [*CAPACITIES_GBPS])
def test_capacities_of_devices_are_those_of_their_profiles(profile: str) -> None:
    first = (ROOT / f"profiles/switch/{profile}.toml").read_text().partition("\n")[0]
    ports = re.findall(r"(\d+) (?:ports )?of (\d+)(?: Gb/s)?", first.partition(", or ")[0])
    assert profile == "spectrum" or CAPACITIES_GBPS[profile] == sum(
        int(count) * int(rate) for count, rate in ports
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_trimming_that_files_do_not_configure_is_noted(system: str) -> None:
    options = ExportOptions(system=system)
    result = policy(SCENARIOS / "uet_incast.toml", options=options)
    notes = [note for note in result.notes if "trimming" in note]
    last = list(compared({system: result}))[-1]
    if system == "sonic":
        assert notes == []
        assert last.line == "SWITCH_TRIMMING GLOBAL size = 128"
    else:
        (note,) = notes
        assert note.startswith("switch.trimming: not in the files, and switches drop packets")
        assert last.line == "not written by control export"
    assert last.setting == "packet trimming"
    without = policy(TESTBED, options=options)
    assert not any("trimming" in note for note in without.notes)
    assert all(line.setting in SETTINGS for line in compared({system: without}))


def test_nics_of_ultra_ethernet_that_files_do_not_configure_are_noted() -> None:
    def notes(scenario: str) -> list[str]:
        return [note for note in policy(SCENARIOS / scenario).notes if "transport.uet" in note]

    (note,) = notes("uet_incast.toml")
    assert note.startswith("transport.uet: not in the files of hosts")
    assert notes("dcqcn.toml") == []


SCENARIO: dict[str, object] = {
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 1, "cores": 1, "links_per_core": 2}},
    "transport": {"roce": {}},
}


def found(**changes: object) -> dict[tuple[str, str], str]:
    case = SCENARIO | changes
    policies = {system: policy(case, options=ExportOptions(system=system)) for system in SYSTEMS}
    return {(row.setting, row.system): row.line for row in compared(policies)}


def test_every_system_writes_every_setting_or_says_why_not() -> None:
    lines = found()
    assert lines.keys() == {(setting, system) for setting in SETTINGS for system in SYSTEMS}
    assert [place for place, line in lines.items() if line == NONE] == []
    assert all(lines[place] == reason for place, reason in REASONS.items())


def test_lines_are_those_of_the_lossless_class() -> None:
    lines = found()
    share = "share of the lossless class"
    assert lines[share, "sonic"] == "SCHEDULER scheduler.3 weight = 50"
    assert lines[share, "cumulus"].endswith("traffic-class 3 bw-percent 50")
    assert lines[share, "eos"] == "bandwidth guaranteed percent 50"
    assert lines["ECN", "onyx"].endswith("minimum-absolute 150 maximum-absolute 1500")


def test_what_a_scenario_does_not_have_is_said() -> None:
    lines = found(flow_control={"none": {}})
    assert {lines["PFC of the lossless priority", system] for system in SYSTEMS} == {NONE}


def watchdogs(*arguments: str) -> dict[str, str]:
    """Return the line of the watchdog of each system in the comparison."""
    ended = command_line.invoke("control", "systems", *arguments, code=0)
    own = ended.stdout.partition("watchdog\n")[2].partition("\nMTU")[0]
    return dict(line.split(maxsplit=1) for line in own.splitlines())


def test_a_system_that_lacks_the_action_of_the_watchdog_is_compared_in_all_else() -> None:
    lines = watchdogs(str(TESTBED), "-s", "flow_control.pfc.watchdog.action=forward")
    assert lines["sonic"] == "PFC_WD Ethernet0 detection_time = 200"
    assert lines["eos"].startswith("not written: flow_control.pfc.watchdog.action: forward")


def test_systems_are_compared_where_no_switch_takes_the_times_of_the_watchdog() -> None:
    lines = watchdogs(str(SCENARIOS / "sonic" / "watchdog_bursts.toml"))
    key = "flow_control.pfc.watchdog.detection"
    reason = f"{key}: 200us; expected 100 to 5000 ms, whole, as switches take"
    replaced = "`control export --watchdog DETECT:RESTORE` replaces it"
    assert lines == dict.fromkeys(SYSTEMS, f"not written: {reason}; {replaced}")


@pytest.mark.parametrize("name", ["watchdog", "sonic/watchdog_deadlock"])
def test_a_system_whose_switches_need_more_buffer_is_left_out_with_the_reason(name: str) -> None:
    ended = command_line.invoke("control", "systems", str(SCENARIOS / f"{name}.toml"), code=0)
    assert "\n  eos" not in ended.stdout
    (warning,) = ended.stderr.splitlines()
    assert warning.startswith("WARNING: eos is left out: ")
    assert "switch.buffer: reserves and headroom of" in warning
    assert re.search(r"; counted for \w+ and frames of 9000 B$", warning)


def test_a_buffer_that_is_too_small_for_all_systems_is_a_mistake() -> None:
    scenario = str(SCENARIOS / "sonic" / "watchdog_false_alarm.toml")
    ended = command_line.invoke("control", "systems", scenario, code=2)
    assert ended.stdout == ""
    assert "; counted for sn2700 and frames of 9000 B" in ended.stderr
