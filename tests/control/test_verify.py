"""Plans verified by Open vSwitch: good ones pass, and every kind of wrong rule is found."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from etherweave.cli.control import verify as verb
from etherweave.control import rules
from etherweave.control.ovs import bridges, load
from etherweave.control.ovs.cases import FrameKind, case_context, pairs, services, unicasts
from etherweave.control.ovs.daemons import Daemons
from etherweave.control.ovs.judgement import FrameFinding
from etherweave.control.ovs.oracle import Oracle
from etherweave.control.ovs.verify import FrameTally, VerifyOptions, VerifyReport, verify
from etherweave.control.plan import PlannedDeployment, plan
from etherweave.control.rules import FlowRule, Output, Purpose, SwitchPlan
from support import command_line
from support.waiting import until

pytestmark = pytest.mark.slow

ALL = VerifyOptions(pairs=None)
SMALL = {"dragonfly": {"p": 2, "a": 2, "h": 1}}
"""3 groups of 2 switches with 2 hosts: all pairs are 12 × 11."""
LOCAL_CABLE, GLOBAL_CABLE = "group0.switch0 - group0.switch1", "group0.switch0 - group2.switch1"


def planned(topology: object, *failed: str, **control: object) -> PlannedDeployment:
    return plan({"name": "fabric", "topology": topology, "control": control}, failed=failed)


def with_rules(
    made: PlannedDeployment, name: str, change: Callable[[FlowRule], FlowRule | None]
) -> PlannedDeployment:
    """Change the rules of a switch; none removes one."""

    def changed(switch: SwitchPlan) -> SwitchPlan:
        if switch.name != name:
            return switch
        kept = tuple(rule for old in switch.rules if (rule := change(old)))
        assert kept != switch.rules
        return dataclasses.replace(switch, rules=kept)

    fabric = dataclasses.replace(made.plan, switches=tuple(map(changed, made.plan.switches)))
    return dataclasses.replace(made, plan=fabric)


def wrong(report: VerifyReport) -> set[FrameKind]:
    return {finding.kind for finding in report.findings}


@pytest.mark.needs("ovs")
@pytest.mark.parametrize(
    ("topology", "failed"),
    [
        (SMALL, ()),
        (SMALL, (LOCAL_CABLE,)),
        (SMALL, (GLOBAL_CABLE,)),
        ({"single_switch": {"hosts": 3}}, ()),
        ({"folded_clos": {"radix": 4, "hosts": 16, "uplinks": [{}, {}]}}, ()),
        (
            {"fat_tree": {"leaves": 3, "hosts_per_leaf": 2, "cores": 2, "links_per_core": 2}},
            ("leaf0 - core0", "leaf0 - core0", "leaf1 - core1"),
        ),
        ({"flattened_butterfly": {"hosts_per_switch": 2, "sizes": [3, 3]}}, ()),
        ({"flattened_butterfly": {"hosts_per_switch": 1, "sizes": [2, 3, 2]}}, ()),
        ({"dragonfly_plus": {"p": 2, "leaves": 2, "spines": 2, "h": 1, "groups": 3}}, ()),
    ],
)
def test_a_plan_on_open_vswitch_is_the_design(topology: object, failed: tuple[str, ...]) -> None:
    made = planned(topology, *failed)
    report = verify(made, ALL)
    assert (report.findings, report.differences) == ((), {})
    hosts = len(made.plan.hosts)
    assert report.followed[FrameKind.UNICAST] == hosts * (hosts - 1)
    assert sum(report.rules.values()) == sum(len(switch.rules) for switch in made.plan.switches)


@pytest.mark.needs("ovs")
@pytest.mark.parametrize(
    ("topology", "pauses"),
    [
        (SMALL, "port"),
        (SMALL, "class"),
        ({"flattened_butterfly": {"hosts_per_switch": 2, "sizes": [3, 3]}}, "port"),
    ],
)
def test_conditional_rules_go_round_paused_ports_as_designed(topology: object, pauses: str) -> None:
    report = verify(planned(topology, rules="conditional", pauses=pauses), ALL)
    assert (report.findings, report.differences) == ((), {})
    # Once with half of the watched ports paused, once with all.
    assert report.followed[FrameKind.PAUSED] == 2 * report.followed[FrameKind.UNICAST]


@pytest.mark.needs("ovs")
def test_lossless_frames_arrive_in_the_priority_that_their_path_needs() -> None:
    made = planned(SMALL, priorities=[3, 5])
    report = verify(made, ALL)
    assert report.findings == ()
    assert report.followed[FrameKind.LOSSLESS] == report.followed[FrameKind.UNICAST]
    # A minimal path of a dragonfly has a global link at most, behind which frames go on in 5.
    known = case_context(made, {}, seed=1)
    assert known.raising == {at for at, far in known.links.items() if at[0] // 2 != far // 2}
    report = verify(with_rules(made, "group0.switch0", only(Purpose.PRIORITY, missing)), ALL)
    assert wrong(report) == {FrameKind.LOSSLESS}
    assert {finding.switch for finding in report.findings} <= {"group0.switch0", "group0.switch1"}
    assert any("vlan vid=0,pcp=3" in finding.found for finding in report.findings)
    assert any("vlan vid=0,pcp=5" in finding.found for finding in report.findings), "not lowered"


@pytest.mark.needs("ovs")
@pytest.mark.parametrize("pauses", ["port", "class"])
def test_two_priorities_that_rules_write_arrive_as_the_design_says(pauses: str) -> None:
    report = verify(planned(SMALL, rules="conditional", priorities=[3, 5], pauses=pauses), ALL)
    assert (report.findings, report.differences) == ((), {})
    # Lossless and other frames, first without pauses, then with half of the ports paused, then all.
    frames = 12 * 11
    assert report.followed[FrameKind.LOSSLESS] == 3 * frames
    assert report.followed[FrameKind.PAUSED] == 2 * frames


@pytest.mark.needs("ovs")
def test_a_switch_that_does_not_change_priorities_is_found() -> None:
    made = planned(SMALL, rules="conditional", priorities=[3, 5])

    def unchanged(rule: FlowRule) -> FlowRule | None:
        return None if rule.actions else rule

    report = verify(with_rules(made, "group0.switch0", only(Purpose.PRIORITY, unchanged)), ALL)
    assert wrong(report) == {FrameKind.LOSSLESS}


@pytest.mark.needs("ovs")
def test_answers_in_the_switch_and_checked_arp_are_verified_too() -> None:
    report = verify(planned(SMALL, resolution="responder", anti_spoofing="arp"), ALL)
    assert report.findings == ()
    assert report.followed[FrameKind.RESOLUTION] == report.followed[FrameKind.SPOOFED_ARP] == 12


@pytest.mark.needs("ovs")
def test_rewritten_addresses_arrive_as_the_factory_s() -> None:
    names = [host.name for host in planned(SMALL).plan.hosts]
    factory = {name: 0x001122000000 + number for number, name in enumerate(names)}
    scenario = {"topology": SMALL, "control": {"addresses": "rewrite"}}
    assert verify(plan(scenario, factory=factory), ALL, factory).findings == ()


@pytest.mark.needs("ovs")
def test_all_pairs_of_the_dragonfly_of_the_paper_go_where_they_must() -> None:
    report = verify(planned({"dragonfly": {"p": 2, "a": 4, "h": 2}}), ALL)
    assert (report.findings, report.differences) == ((), {})
    # Figure 3c of Benito et al. 2015: 9 groups of 4 switches with 2 hosts.
    assert report.followed[FrameKind.UNICAST] == 72 * 71


@pytest.fixture(scope="module")
def built() -> Iterator[tuple[Daemons, PlannedDeployment]]:
    made = planned(SMALL)
    with bridges.built(made.plan) as (daemons, wiring):
        load.load(daemons, made.plan, wiring)
        yield daemons, made


def next_port(rule: FlowRule) -> FlowRule:
    (action,) = rule.actions
    assert isinstance(action, Output)
    return rule._replace(actions=(Output(action.port % 4 + 1),))


def other_mask(rule: FlowRule) -> FlowRule:
    """Let a rule match twice as much; the default rule, which matches all, half of it."""
    if not rule.match:
        bit = 0b1000
        return rule._replace(match=(rules.MatchField("eth_dst", bit, bit),))
    (test,) = rule.match
    mask = test.mask or 0
    return rule._replace(
        match=(test._replace(mask=mask & (mask - 1), value=test.value & (mask - 1)),)
    )


def other_priority(rule: FlowRule) -> FlowRule:
    """Put a rule behind all others; the default rule before them."""
    return rule._replace(priority=1 if rule.match else 99)


def missing(rule: FlowRule) -> None:
    return None


@pytest.mark.needs("ovs")
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("change", [next_port, other_mask, other_priority, missing])
def test_every_wrong_rule_of_a_flow_table_is_found_where_it_is(
    built: tuple[Daemons, PlannedDeployment],
    change: Callable[[FlowRule], FlowRule | None],
    which: int,
) -> None:
    daemons, made = built
    first, wiring = made.plan.switches[0], bridges.bridge_names(made.plan)
    flow_table = [rule for rule in first.rules if rule.purpose is Purpose.FORWARD]
    assert len(flow_table) == 4
    chosen = flow_table[which]
    bad = with_rules(made, first.name, lambda rule: change(rule) if rule == chosen else rule)
    load.install(daemons, wiring.bridges[first.name], bad.plan.switches[0])
    tally = FrameTally(case_context(made, {}, seed=1))
    with Oracle(daemons.control, made.plan, wiring) as oracle:
        (frames,) = tally.count(oracle, unicasts(tally.context, pairs(tally.context, None)))
    assert frames == 12 * 11
    assert tally.findings
    assert {finding.switch for finding in tally.findings} == {first.name}
    load.install(daemons, wiring.bridges[first.name], first)
    assert load.differences(daemons, wiring.bridges[first.name], first) == []


GROUPS = {FrameKind.BROADCAST, FrameKind.MULTICAST, FrameKind.MULTICAST_IPV4, FrameKind.GROUP}


def only(
    purpose: Purpose, change: Callable[[FlowRule], FlowRule | None]
) -> Callable[[FlowRule], FlowRule | None]:
    return lambda rule: change(rule) if rule.purpose is purpose else rule


def everywhere(rule: FlowRule) -> FlowRule:
    return rule._replace(actions=tuple(map(Output, range(1, 5))))


def anybody(rule: FlowRule) -> FlowRule:
    return rule._replace(match=tuple(test for test in rule.match if test.field == "in_port"))


def other_source(rule: FlowRule) -> FlowRule:
    steps = (
        rules.SetField(step.field, step.value ^ 1) if isinstance(step, rules.SetField) else step
        for step in rule.actions
    )
    return rule._replace(actions=tuple(steps))


def also_onward(rule: FlowRule) -> FlowRule:
    return rule._replace(actions=(*rule.actions, Output(3))) if rule.actions else rule


@pytest.mark.needs("ovs")
@pytest.mark.parametrize(
    ("purpose", "change", "kinds"),
    [
        (Purpose.DMP, other_source, {FrameKind.REQUEST}),
        (Purpose.DMP, also_onward, {FrameKind.REQUEST}),
        (Purpose.DMP, lambda rule: rule if rule.actions else None, {FrameKind.STRAY}),
        (Purpose.DMP, lambda rule: None if rule.actions else rule, {FrameKind.REQUEST}),
        (Purpose.INGRESS_ACL, anybody, {FrameKind.SPOOFED}),
        (Purpose.KNOWN_DESTINATION, anybody, {FrameKind.UNKNOWN}),
        (Purpose.BROADCAST, everywhere, {*GROUPS, FrameKind.RESOLUTION}),
        (Purpose.BROADCAST, missing, {*GROUPS, FrameKind.RESOLUTION}),
        (Purpose.CONTROL, missing, {FrameKind.PAUSE, FrameKind.DISCOVERY, FrameKind.RESERVED}),
    ],
)
def test_every_wrong_rule_of_deployment_is_found(
    purpose: Purpose, change: Callable[[FlowRule], FlowRule | None], kinds: set[FrameKind]
) -> None:
    made = planned(SMALL)
    # The switches are a ring of six, and the tree begins at the first: the link that it leaves
    # out ends at the switch that is farthest from there.
    assert wrong(verify(with_rules(made, "group1.switch1", only(purpose, change)), ALL)) == kinds


@pytest.mark.needs("ovs")
def test_a_condition_on_another_port_s_pause_is_found() -> None:
    made = planned(SMALL, rules="conditional")

    def other_bit(rule: FlowRule) -> FlowRule:
        tests = (
            test._replace(mask=(test.mask or 0) << 40) if test.field == "metadata" else test
            for test in rule.match
        )
        return rule._replace(match=tuple(tests))

    assert wrong(verify(with_rules(made, "group0.switch0", other_bit), ALL)) == {FrameKind.PAUSED}


@pytest.mark.needs("ovs")
def test_an_answer_to_arp_that_keeps_a_field_is_found() -> None:
    made = planned(SMALL, resolution="responder")

    def without_operation(rule: FlowRule) -> FlowRule:
        op = rules.SetField("arp_op", 2)
        return rule._replace(actions=tuple(action for action in rule.actions if action != op))

    report = verify(with_rules(made, "group0.switch0", without_operation), ALL)
    # Two hosts ask this switch.
    assert [(finding.kind, finding.switch) for finding in report.findings] == [
        (FrameKind.RESOLUTION, "group0.switch0")
    ] * 2
    assert {(row.found[-8:], row.expected) for row in report.findings} == {("arp.op 1", "2")}


@pytest.mark.needs("ovs")
def test_a_rule_that_hides_behind_an_equal_one_is_a_difference() -> None:
    made = planned(SMALL)
    first = made.plan.switches[0]
    twice = dataclasses.replace(first, rules=(*first.rules, next_port(first.rules[-1])))
    fabric = dataclasses.replace(made.plan, switches=(twice, *made.plan.switches[1:]))
    report = verify(dataclasses.replace(made, plan=fabric), ALL)
    assert list(report.differences) == [first.name]
    assert not report.is_good


@pytest.mark.needs("ovs")
def test_a_rule_to_a_failed_cable_is_found_with_the_remark_of_open_vswitch() -> None:
    around, through = planned(SMALL, LOCAL_CABLE), planned(SMALL)
    # As if the switch had not been reprogrammed after the failure: its rules use port 3.
    switches = (through.plan.switches[0], *around.plan.switches[1:])
    fabric = dataclasses.replace(around.plan, switches=switches)
    report = verify(dataclasses.replace(around, plan=fabric), ALL)
    assert wrong(report) == {FrameKind.UNICAST, *GROUPS, FrameKind.RESOLUTION}
    unicast = next(finding for finding in report.findings if finding.kind is FrameKind.UNICAST)
    assert unicast.switch == "group0.switch0"
    assert "it goes to no port, and Open vSwitch remarks" in unicast.found
    assert unicast.expected == "port 4 by the flow table"


def test_pairs_are_all_or_a_given_number_without_repetition() -> None:
    known = case_context(planned(SMALL), {}, seed=7)
    every = {(a, b) for a in range(12) for b in range(12) if a != b}
    assert set(pairs(known, None)) == set(pairs(known, 10_000)) == every
    sample = pairs(known, 100)
    assert len(sample) == len(set(sample)) == 100
    assert set(sample) < every
    assert pairs(case_context(planned(SMALL), {}, seed=7), 100) == sample, "one seed, one choice"


def test_broadcasts_are_expected_at_all_that_can_be_reached() -> None:
    cables = [f"leaf0 - core{core}" for core in range(2)]
    tree = {"fat_tree": {"leaves": 3, "hosts_per_leaf": 2, "cores": 2, "links_per_core": 1}}
    known = case_context(planned(tree, *cables), {}, seed=1)
    sent = {case.source: case for case in services(known) if case.kind is FrameKind.BROADCAST}
    assert len(sent[0].arrivals) == 1, "its neighbour on the leaf that is cut off"
    assert len(sent[2].arrivals) == 3
    unicast = {case.destination: case.arrivals for case in unicasts(known, [(0, 1), (0, 2)])}
    assert (len(unicast[1]), len(unicast[2])) == (1, 0)


SCENARIO = """
name = "small"
[topology.dragonfly]
p = 2
a = 2
h = 1
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.needs("ovs")
def test_the_verb_prints_counts_and_ends_with_zero(scenario: Path) -> None:
    done = command_line.invoke("control", "verify", scenario, "--pairs", "50", code=0)
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert rows["unicast"] == ["50", "0"]
    assert rows["dmp"] == [str(12 + 6)], "an answer per host, a drop per switch"


@pytest.mark.needs("ovs")
def test_findings_are_named_and_end_with_1(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = planned(SMALL)
    wrong_port = only(Purpose.FORWARD, lambda rule: next_port(rule) if not rule.match else rule)
    bad = with_rules(made, "group0.switch0", wrong_port)
    monkeypatch.setattr(verb, "warned_plan", lambda *_, **__: bad)
    command = ["control", "verify", str(scenario), "--pairs", "all", "--json"]
    result = json.loads(command_line.invoke(*command, code=1).stdout)
    assert result["good"] is False
    # By the default rule: port 3 to the other switch became port 4 to another group.
    expected = FrameFinding(
        *(FrameKind.UNICAST, "host0", "host2", "group0.switch0", "table=3,priority=2"),
        *("it goes to port 4", "port 3 by the flow table"),
    )
    assert expected._asdict() in result["findings"]
    page = command_line.invoke(*command[:-1], code=1)
    assert f"{expected}\n" in page.stderr


@pytest.mark.parametrize("pairs", ["0", "-1", "some", "1.5", "", "٣"])
def test_a_number_of_pairs_that_is_none_is_the_user_s_mistake(scenario: Path, pairs: str) -> None:
    done = command_line.invoke("control", "verify", scenario, "--pairs", pairs, code=2)
    assert done.stderr == f"--pairs {pairs}: expected a number from 1, or all\n"


def test_lacking_open_vswitch_is_an_error(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "missing", lambda: ["ovs-vswitchd", "ovs-ofctl"])
    done = command_line.invoke("control", "verify", scenario, code=2)
    assert "not found: ovs-vswitchd, ovs-ofctl; expected Open vSwitch" in done.stderr


@pytest.mark.needs("ovs")
def test_a_cable_that_is_not_there_is_the_user_s_mistake(scenario: Path) -> None:
    done = command_line.invoke("control", "verify", scenario, "--failed", "a - b", code=2)
    assert 'no cable "a - b"' in done.stderr


@pytest.mark.needs("ovs")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_interruptions_remove_daemons_and_directory(scenario: Path, sign: signal.Signals) -> None:
    words = [*command_line.COMMAND, "control", "verify"]
    size = ["--pairs", "all", "--set", "topology.dragonfly.p=8", "--set", "topology.dragonfly.h=4"]
    with tempfile.TemporaryDirectory(prefix="ew-") as directory:
        environment = os.environ | {"TMPDIR": directory, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [*words, str(scenario), *size], env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            pids = running_in(Path(directory))
            process.send_signal(sign)
            _, said = process.communicate(timeout=30)
        assert (process.returncode, said) == (130, "")
        assert list(Path(directory).iterdir()) == []
        # What is left of an ended process, until its parent asks, has no command line.
        lines = [Path(f"/proc/{pid}/cmdline") for pid in pids]
        assert not any(line.exists() and line.read_bytes() for line in lines)


def running_in(directory: Path) -> list[str]:
    """Wait until both daemons run."""
    until(lambda: len(list(directory.glob("*/run/*.pid"))) == 2)
    return [file.read_text().strip() for file in directory.glob("*/run/*.pid")]


PORTS: dict[str, dict[str, object]] = {
    "planes": {
        "host_ports": {"planes": 2},
        "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2, "cores": 2}},
    },
    "leaves": {
        "host_ports": {"leaves": 2},
        "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2, "cores": 2}},
    },
    "rails": {
        "host_ports": {"leaves": 8},
        "topology": {"rail_optimised": {"rails": 8, "servers": 2, "servers_per_pod": 1}},
    },
    "listed": {"topology": {"custom": {"links": "h0,s0\nh0,s1\nh1,s1\nh1,s0\ns0,s1\n"}}},
}
"""Hosts with several ports, and the pairs of ports that a fabric joins."""


@pytest.mark.parametrize(
    ("name", "joined"),
    [("planes", 2 * 4 * 3), ("leaves", 4 * 3), ("rails", 16 * 15), ("listed", 4 * 3)],
)
def test_every_pair_of_ports_that_a_fabric_joins_is_proved(name: str, joined: int) -> None:
    made = plan({"name": name, **PORTS[name], "control": {"resolution": "responder"}})
    report = verify(made, ALL)
    assert report.is_good, report.findings[:3]
    assert report.followed[FrameKind.UNICAST] == joined


def test_a_rule_that_leads_out_of_a_plane_is_found() -> None:
    made = plan({"name": "planes", **PORTS["planes"]})
    own = made.plan.hosts[0].mac

    def other_plane(rule: FlowRule) -> FlowRule:
        """Let a switch of the first plane accept addresses of the second."""
        if rule.purpose is not Purpose.KNOWN_DESTINATION or rule.match[0].value != own:
            return rule
        (field,) = rule.match
        assert field.mask is not None
        return rule._replace(match=(field._replace(mask=field.mask & ~4),))

    assert wrong(verify(with_rules(made, "plane0.leaf0", other_plane), ALL)) == {FrameKind.UNKNOWN}
