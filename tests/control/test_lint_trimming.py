"""Packet trimming as ``control export`` writes it for SONiC, and as ``control lint`` reads it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from etherweave.control import lint
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from etherweave.control.qos.policy import PolicyError, SonicForm
from support.linted import WHOLE, Tables, edited, found

SCENARIO = Path(__file__).parents[2] / "scenarios" / "trimming.toml"
FILE = "switch0/config_db.json"
ACTION = "packet_discard_action"


def exported(**trimming: int) -> dict[str, str]:
    overrides = {f"switch.trimming.{key}": value for key, value in trimming.items()}
    return dict(files(policy(SCENARIO, overrides, options=WHOLE), "sonic"))


def faults(change: Callable[[Tables], object], **trimming: int) -> list[tuple[str, str, str]]:
    """Return place, text and expectation of each finding of the rule after a change."""
    own = found(edited(FILE, change, exported(**trimming))).get("trimming", [])
    return [(place.place, row.found, row.expected) for row in own for place in row.places]


def test_export_writes_the_table_the_action_and_a_strict_queue() -> None:
    tables = json.loads(exported()[FILE])
    (entry,) = tables["SWITCH_TRIMMING"].values()
    assert (entry["size"], entry["queue_index"]) == ("128", "6")
    # The code point is one that switches map to priority 6.
    assert tables["DSCP_TO_TC_MAP"]["ETHERWEAVE"][entry["dscp_value"]] == "6"
    profiles = {
        queue: tables["BUFFER_PROFILE"][tables["BUFFER_QUEUE"][f"Ethernet0|{queue}"]["profile"]]
        for queue in range(8)
    }
    trims = {queue for queue, row in profiles.items() if ACTION in row}
    assert trims == set(range(8)) - {6}
    assert all(profiles[queue][ACTION] == "trim" for queue in trims)
    scheduler = tables["QUEUE"]["Ethernet0|6"]["scheduler"]
    assert tables["SCHEDULER"][scheduler] == {"type": "STRICT"}


def test_what_export_writes_has_no_findings() -> None:
    assert lint.lint(lint.read(exported())) == []


GLOBAL = "SWITCH_TRIMMING|GLOBAL"
LOSSY, TRIMMED = "BUFFER_PROFILE|egress_lossy_profile", "BUFFER_PROFILE|egress_trimmed_profile"


def entry(place: str, **fields: str) -> Callable[[Tables], object]:
    """Change fields of an entry, or make it."""
    table, key = place.split("|")
    return lambda tables: tables[table].setdefault(key, {}).update(fields)


@pytest.mark.parametrize(
    ("place", "field", "value", "text", "expected"),
    [
        (GLOBAL, "size", "10", "size 10", "44 to 9216 B"),
        (GLOBAL, "dscp_value", "99", "dscp_value 99", "0 to 63, or from-tc"),
        (GLOBAL, "dscp_value", "from-tc", "no tc_value", "0 to 15"),
        (GLOBAL, "queue_index", "60", "queue_index 60", "0 to 7, or dynamic"),
        (GLOBAL, "queue_index", "six", "queue_index six", "0 to 7, or dynamic"),
        (LOSSY, ACTION, "trimm", f"{ACTION} trimm", "drop or trim"),
    ],
)
def test_a_value_that_sonic_rejects_is_a_fault(
    place: str, field: str, value: str, text: str, expected: str
) -> None:
    assert (place, text, expected) in faults(entry(place, **{field: value}))


ALL = "static_th is {}, so that every packet of 9000 B is trimmed"
AGAIN = f"{ACTION} trim in queue 6, that of trimmed packets"


@pytest.mark.parametrize(
    ("place", "fields", "text", "expected"),
    [
        ("SWITCH_TRIMMING|GLOBL", {"size": "128"}, "an unknown key", GLOBAL),
        (GLOBAL, {"size": "256"}, "size 256", "128, as in the scenario"),
        (LOSSY, {"static_th": "1"}, ALL.format(1), "9000 or more"),
        (LOSSY, {"static_th": "8999"}, ALL.format(8999), "9000 or more"),
        (TRIMMED, {ACTION: "trim"}, AGAIN, "drop, as in the scenario"),
    ],
)
def test_one_wrong_field_is_one_fault(
    place: str, fields: dict[str, str], text: str, expected: str
) -> None:
    assert faults(entry(place, **fields)) == [(place, text, expected)]


def test_trimming_that_is_half_configured_is_a_fault() -> None:
    rows = faults(lambda tables: tables.pop("SWITCH_TRIMMING"))
    assert {text for _, text, _ in rows} == {
        f"{ACTION} is trim, and no size, code point or queue is configured",
        "no packet trimming",
    }
    rows = faults(entry(LOSSY, **{ACTION: "trimm"}))
    assert any(text == "no queue trims" for _, text, _ in rows)


def test_a_stated_code_point_and_queue_are_exported() -> None:
    written = exported(code_point=48, queue=5)
    tables = json.loads(written[FILE])
    assert tables["SWITCH_TRIMMING"]["GLOBAL"] == {
        "size": "128",
        "dscp_value": "48",
        "queue_index": "5",
    }
    # Queue 5 of the switch that trims and queue 6 of those that follow do not trim again.
    rows = tables["BUFFER_QUEUE"].items()
    own = {key for key, row in rows if row["profile"] == "egress_trimmed_profile"}
    assert {key.partition("|")[2] for key in own} == {"5", "6"}
    assert lint.lint(lint.read(written)) == []
    assert [text for _, text, _ in faults(entry(GLOBAL, queue_index="dynamic"), queue=5)] == [
        "queue_index dynamic"
    ]


def test_a_queue_by_map_is_that_of_the_code_point() -> None:
    assert faults(entry(GLOBAL, queue_index="dynamic")) == []


def test_a_code_point_of_the_last_hop_is_by_class_and_port() -> None:
    marks = {"code_point": 48, "last_hop_code_point": 49}
    written = exported(**marks)
    tables = json.loads(written[FILE])
    assert tables["SWITCH_TRIMMING"]["GLOBAL"] == {
        "size": "128",
        "dscp_value": "from-tc",
        "tc_value": "8",
        "queue_index": "6",
    }
    # The only switch has hosts alone.
    bound = {row["tc_to_dscp_map"] for row in tables["PORT_QOS_MAP"].values()}
    assert [tables["TC_TO_DSCP_MAP"][name] for name in bound] == [{"8": "49"}]
    assert lint.lint(lint.read(written)) == []
    (first, *_) = sorted(tables["PORT_QOS_MAP"])
    assert faults(lambda tables: tables["PORT_QOS_MAP"][first].pop("tc_to_dscp_map"), **marks) == [
        (first, "trimmed packets have no DSCP", "49, as in the scenario")
    ]


LEVELS = """
flow_control.none = {}
[topology.fat_tree]
leaves = 2
hosts_per_leaf = 2
cores = 1
links_per_core = 1
[switch]
trimming = { priority = 6, code_point = 48, last_hop_code_point = 49 }
[transport.uet.nscc]
base_round_trip = "6us"
[[job]]
name = "all"
workload.incast = { sources = 3, messages = 2 }
"""


def test_packets_trimmed_before_the_last_switch_keep_their_code_point(tmp_path: Path) -> None:
    (file := tmp_path / "levels.toml").write_text(LEVELS)
    derived = policy(file, options=WHOLE)
    written = dict(files(derived, "sonic"))
    tables = json.loads(written["leaf0/config_db.json"])
    classes = set(tables["DSCP_TO_TC_MAP"]["ETHERWEAVE"].values())
    marked = {row["tc_to_dscp_map"] for row in tables["PORT_QOS_MAP"].values()}
    # Ports change the code point of a class that no packet has as it arrives.
    assert [tables["TC_TO_DSCP_MAP"][name] for name in sorted(marked)] == [{"8": "49"}, {"8": "48"}]
    assert "8" not in classes
    assert any("last_hop_code_point" in note for note in derived.notes)
    assert lint.lint(lint.read(written)) == []


def test_a_class_of_trimmed_packets_that_others_have_is_a_fault() -> None:
    def share(tables: Tables) -> None:
        tables["SWITCH_TRIMMING"]["GLOBAL"]["tc_value"] = "6"
        for marks in tables["TC_TO_DSCP_MAP"].values():
            marks["6"] = marks.pop("8")

    def add_unused(tables: Tables) -> None:
        tables["DSCP_TO_TC_MAP"]["UNUSED"] = {"5": "8"}

    assert faults(add_unused, code_point=48, last_hop_code_point=49) == []
    text = "tc_value 6, the class of DSCP 48, 49, 50, 51, 52, 53, 54, 55, which ports change too"
    assert faults(share, code_point=48, last_hop_code_point=49) == [
        (GLOBAL, text, "a class that DSCP_TO_TC_MAP does not have")
    ]


def test_a_code_point_that_another_priority_has_is_rejected() -> None:
    options = ExportOptions(sonic=SonicForm(is_whole=True), dscps={3: 48})
    with pytest.raises(PolicyError, match=r"switch\.trimming\.code_point: 48, which --dscp"):
        policy(SCENARIO, {"switch.trimming.code_point": 48}, options=options)
