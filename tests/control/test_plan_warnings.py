"""Warnings of plans that pauses can deadlock, or that failed cables divide, by every command."""

import json
from pathlib import Path

import pytest

from etherweave.control.lab import lifecycle
from etherweave.control.plan import plan
from etherweave.control.qos import derive
from support import command_line
from support.labs import new_scope

GROUPS = {"dragonfly": {"p": 1, "a": 3, "h": 1}}
"""Four groups of three switches with a host each, a global cable between any two."""
LEAVES = {"fat_tree": {"leaves": 4, "hosts_per_leaf": 1, "cores": 4, "links_per_core": 1}}
"""Every leaf has a cable to every core."""
RING = [
    f"leaf{leaf} - core{core}"
    for leaf in range(4)
    for core in range(4)
    if core not in (leaf, (leaf + 1) % 4)
]
"""Cables without which leaves and cores are a ring of eight."""
PFC: dict[str, object] = {"pfc": {}}
PRIORITIES = "WARNING: control.priorities: none, so that pauses can deadlock this plan; expected 2"

command = command_line.run_here


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a scenario with conditional rules and one priority."""
    path = tmp_path / "triangle.toml"
    path.write_text(
        '[topology.dragonfly]\np = 1\na = 2\nh = 1\n[control]\nrules = "conditional"\n',
        encoding="utf-8",
    )
    return path


def warnings(topology: object, *failed: str, **scenario: object) -> tuple[str, ...]:
    return plan({"topology": topology, **scenario}, failed=failed).warnings


@pytest.mark.parametrize(
    ("verb", "code"),
    [
        ("plan", 0),
        ("diff --to control.alternatives=2", 0),
        pytest.param("verify --pairs 1", 0, marks=pytest.mark.needs("ovs")),
        ("agent --switch group0.switch0 --connect unix:/nowhere --port 2=nowhere", 2),
    ],
)
def test_every_verb_that_plans_warns_of_a_deadlock(file: Path, verb: str, code: int) -> None:
    words = verb.split()
    done = command("control", words[0], file, *words[1:])
    assert done.stderr.splitlines()[0].startswith(PRIORITIES), done.stderr
    assert done.returncode == code
    enough = command("control", words[0], file, *words[1:], "--set", "control.priorities=[3,4]")
    assert PRIORITIES not in enough.stderr


def test_the_controller_logs_the_warning_once(file: Path) -> None:
    serve = ("serve", file, "--dry-run", "--wait", "0s", "--probe", "0.1s")
    done = command("control", *serve, "--listen", "127.0.0.1:0")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    (warned,) = (event for event in events if event["event"] == "warning")
    assert f"WARNING: {warned['plan']}".startswith(PRIORITIES)


def test_exported_settings_of_a_plan_note_the_warning(file: Path) -> None:
    settings = {"flow_control.pfc.priorities": [3, 4]}
    without = derive.policy(file, settings).notes
    enough = derive.policy(file, {**settings, "control.priorities": [3, 4]}).notes
    (note,) = (note for note in without if f"WARNING: {note}".startswith(PRIORITIES))
    assert not any(other.startswith(note.split(":")[0]) for other in enough)


@pytest.mark.needs("namespaces", "ovs")
def test_a_lab_warns_before_it_is_brought_up(file: Path) -> None:
    steps: list[str] = []
    with new_scope() as scope:
        lifecycle.up(scope, "one", file, progress=steps.append)
        lifecycle.down(scope, "one")
    assert steps[0].startswith(PRIORITIES)


def test_paths_around_failed_cables_that_close_a_ring_are_warned_of() -> None:
    assert warnings(LEAVES, flow_control=PFC) == ()
    assert warnings(LEAVES, *RING) == (), "lossy frames wait for nobody"
    (found,) = warnings(LEAVES, *RING, flow_control=PFC)
    assert found.startswith("failed: may deadlock: ")
    assert {word for word in found.split() if word.startswith(("leaf", "core"))}
    assert found.endswith("expected flow_control.none, or these cables mended")
    # Without one cable other cores stand in, up and down.
    assert warnings(LEAVES, RING[0], flow_control=PFC) == ()


def test_priorities_that_suffice_are_followed_around_failed_cables_too() -> None:
    settings: dict[str, object] = {"flow_control": PFC, "control": {"priorities": [3, 4]}}
    # Three groups of which two switches are joined by the third, or by another group only.
    cables = [(1, 0, 1), (2, 0, 2), (3, 0, 1)]
    failed = [f"group{group}.switch{a} - group{group}.switch{b}" for group, a, b in cables]
    assert warnings(GROUPS, failed[0], **settings) == ()
    (found,) = warnings(GROUPS, *failed, **settings)
    assert found.startswith("failed: may deadlock: group")


def test_families_without_a_known_number_of_priorities_are_followed_rule_by_rule() -> None:
    (found,) = warnings({"torus": {"dimensions": [{"size": 5}]}}, flow_control=PFC)
    assert found.startswith("flow_control: may deadlock: ")
    assert found.endswith("; expected flow_control.none")
    assert warnings({"mesh": {"dimensions": [{"size": 5}]}}, flow_control=PFC) == ()


def test_fabrics_that_are_too_large_to_follow_are_said_to_be_unproved() -> None:
    ring = {"torus": {"dimensions": [{"size": 300}], "hosts_per_switch": 4}}
    (found,) = warnings(ring, flow_control=PFC)
    assert found.startswith("flow_control: not proved: the fabric is too large")


def test_hosts_without_a_tree_between_them_are_counted() -> None:
    cut = [f"leaf0 - core{core}" for core in range(4)]
    assert warnings(LEAVES, *cut[:3]) == ()
    (found,) = warnings(LEAVES, *cut)
    assert found.startswith("failed: 2 parts without a cable between them, of 3, 1 hosts, ")
    assert found.endswith("which neither rules nor groups connect; expected one part")
