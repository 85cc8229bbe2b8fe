"""Settings of a scenario as each system writes them."""

from etherweave.control.qos.comparison import NONE, REASONS, SETTINGS, compared
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import SYSTEMS

SCENARIO: dict[str, object] = {
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 1, "cores": 1, "links_per_core": 2}},
    "transport": {"roce": {}},
}


def found(**changes: object) -> dict[tuple[str, str], str]:
    scenario = SCENARIO | changes
    policies = {
        system: policy(scenario, options=ExportOptions(system=system)) for system in SYSTEMS
    }
    return {(one.setting, one.system): one.line for one in compared(policies)}


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
