"""Sliders and choices as overrides of a scenario."""

import tomllib

import pytest

import etherweave
from etherweave.api.scenario import ScenarioText
from etherweave.explore.changes import Changes, Controls, changed_text

TREE = """\
[topology.fat_tree]
cores = 2
links_per_core = 2
[[job]]
name = "a"
workload.incast = { sources = 2 }
"""
CLOS = "[topology.folded_clos]\n"


def controls(text: str) -> Controls:
    return Controls.of(etherweave.resolve(ScenarioText(text)))


def test_positions_as_written_override_nothing() -> None:
    assert controls(TREE).overrides(Changes(uplinks=2)) == {}


def test_rates_of_all_links_are_multiplied() -> None:
    assert controls(TREE).overrides(Changes(rate=4)) == {
        "topology.fat_tree.host_rate": "400Gb/s",
        "topology.fat_tree.uplink_rate": "400Gb/s",
        "nic.drain_rate": "428Gb/s",
    }


def test_rates_in_a_list_of_stages_are_multiplied() -> None:
    stages = controls(CLOS).overrides(Changes(rate=2))["topology.folded_clos.uplinks"]
    before = controls(CLOS).resolved["topology"]["folded_clos"]["uplinks"]
    assert isinstance(stages, list)
    assert [stage["rate"] for stage in stages] == ["200Gb/s"] * len(before)
    assert [stage["rate"] for stage in before] == ["100Gb/s"] * len(before)


def test_uplinks_change_the_taper() -> None:
    uplinks = controls(TREE).uplinks
    assert uplinks is not None
    # 12 hosts of 100 Gb/s below, 3 links to each of 2 cores above.
    assert uplinks.words(3) == "6 uplinks of a leaf, taper 2:1"
    assert uplinks.number_max == 6
    assert controls(TREE).overrides(Changes(uplinks=3)) == {"topology.fat_tree.links_per_core": 3}


def test_a_family_without_a_number_of_uplinks_has_none_to_change() -> None:
    assert controls(CLOS).uplinks is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (Changes(transport="tcp"), {"transport": {"tcp": {}}}),
        (Changes(transport="roce"), {}),
        (Changes(flow_control="none"), {"flow_control": {"none": {}}}),
        (Changes(routing="ecmp"), {"routing": "ecmp"}),
    ],
)
def test_choices_replace_what_differs(changes: Changes, expected: dict[str, object]) -> None:
    assert controls(TREE).overrides(changes) == expected
    etherweave.resolve(ScenarioText(TREE), expected)


def test_choices_are_those_of_the_schema() -> None:
    known = controls(TREE)
    assert {"roce", "tcp"} <= set(known.transports)
    assert {"pfc", "none"} <= set(known.flow_controls)
    assert {"up_down", "spray"} <= set(known.routings)


def test_a_changed_scenario_is_what_its_overrides_simulate() -> None:
    overrides = controls(TREE).overrides(Changes(rate=2, uplinks=3, transport="tcp"))
    written = tomllib.loads(etherweave.resolve(ScenarioText(changed_text(TREE, overrides))))
    assert written == tomllib.loads(etherweave.resolve(ScenarioText(TREE), overrides))
