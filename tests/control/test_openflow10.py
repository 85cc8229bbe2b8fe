"""Plans for OpenFlow 1.0: one table, exact addresses, and the same frames as OpenFlow 1.3."""

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest

from etherweave import ScenarioError
from etherweave.control import text
from etherweave.control.ebpf.maps import MapError, entries
from etherweave.control.ovs import bridges, load
from etherweave.control.ovs.cases import FrameKind
from etherweave.control.ovs.verify import VerifyOptions, verify
from etherweave.control.plan import FabricPlanError, PlannedDeployment, counts, plan
from etherweave.control.rules import FlowRule, GoTo, Purpose, SwitchPlan
from support import command_line

SQUARE: dict[str, object] = {"dragonfly": {"p": 2, "a": 2, "h": 1, "groups": 2}}
"""4 switches with 2 hosts each."""
CLOS: dict[str, object] = {"folded_clos": {"radix": 4, "hosts": 16, "uplinks": [{}, {}]}}
BUTTERFLY: dict[str, object] = {"flattened_butterfly": {"sizes": [2, 3]}}
FACTORY = {f"host{number}": 0x00163E000000 + number for number in range(8)}
BROADCAST = 0xFFFFFFFFFFFF


def planned(topology: dict[str, object], **control: object) -> PlannedDeployment:
    spec = {"protocol": "openflow10", **control}
    is_rewritten = spec.get("addresses") == "rewrite"
    return plan({"topology": topology, "control": spec}, factory=FACTORY if is_rewritten else None)


def decisive(switch: SwitchPlan, **fields: int) -> FlowRule:
    """Return the rule of the highest priority that a frame matches."""
    return max(
        (
            rule
            for rule in switch.rules
            if all(fields.get(name) == value for name, value, _ in rule.match)
        ),
        key=lambda rule: rule.priority,
    )


@pytest.mark.parametrize("topology", [SQUARE, CLOS, BUTTERFLY, {"single_switch": {"hosts": 3}}])
def test_rules_have_one_table_no_mask_and_one_action_list(topology: dict[str, object]) -> None:
    for switch in planned(topology).plan.switches:
        assert {(rule.table, rule.instructions) for rule in switch.rules} == {(0, ())}
        assert all(field.mask is None for rule in switch.rules for field in rule.match)
        assert (switch.groups, switch.meters, switch.protocol) == ((), (), "openflow10")
        # OpenFlow 1.0 sends a packet without a rule to the controller, so one matches all.
        assert switch.rules[-1].match == ()
        assert all(a.priority >= b.priority for a, b in pairwise(switch.rules))


def test_a_rule_stands_for_each_own_host_with_each_destination_and_for_each_destination() -> None:
    for switch in planned(SQUARE).plan.switches:
        carried = [rule for rule in switch.rules if rule.purpose is Purpose.FORWARD]
        own = [rule for rule in carried if rule.matched("in_port")]
        # 8 destinations of 2 hosts of its own.
        assert len(own) == 8 * 2
        assert all(rule.matched("eth_src") is not None for rule in own)
        # Of other switches, a default rule is for a host or for the other group of 4.
        assert len(carried) - len(own) in (8 - 1 + 1, 8 - 2 + 1, 8 - 4 + 1)
        # A rule per host, and one that drops requests of others (section IV).
        assert counts(switch)[Purpose.DMP] == 2 + 1


def test_a_request_for_an_address_returns_by_modify_field() -> None:
    switch = planned(SQUARE).plan.switches[0]
    (line, _, _) = (
        line
        for line, rule in zip(text.flows(switch.rules, "openflow10"), switch.rules, strict=True)
        if rule.purpose is Purpose.DMP
    )
    number = line.partition(",")[0]
    assert line == (
        f"{number},in_port=2,dl_type=0x88b5,actions=mod_dl_src:02:00:00:00:00:01,in_port"
    )


def test_frames_of_every_kind_meet_the_same_actions_as_in_several_tables() -> None:
    """Every port, source and destination of a small fabric, decided by both plans."""
    one, several = (
        plan({"topology": SQUARE, "control": {"protocol": name}}).plan.switches[0]
        for name in ("openflow10", "openflow13")
    )
    hosts = [host.mac for host in planned(SQUARE).plan.hosts]
    frames = product(range(1, 5), [*hosts, 5], [*hosts, 5, BROADCAST], [0x0800, 0x88B5, 0x8808])
    for port, source, target, kind in frames:
        is_foreign = 5 in (source, target) and port > 2
        fields = {"in_port": port, "eth_src": source, "eth_dst": target, "eth_type": kind}
        if not is_foreign:  # Only frames between hosts arrive of other switches.
            assert decisive(one, **fields).actions == actions(several, fields), fields


def actions(switch: SwitchPlan, fields: dict[str, int]) -> tuple[object, ...]:
    """Follow a frame through several tables."""
    table: int | None = 0
    collected: tuple[object, ...] = ()
    while table is not None:
        matching = [
            rule
            for rule in switch.rules
            if rule.table == table
            and all(
                not (fields.get(name, 0) ^ value) & ((1 << 48) - 1 if mask is None else mask)
                for name, value, mask in rule.match
            )
        ]
        if not matching:
            return ()
        rule = max(matching, key=lambda rule: rule.priority)
        collected += rule.actions
        table = next((step.table for step in rule.instructions if isinstance(step, GoTo)), None)
    return collected


@pytest.mark.parametrize(
    ("control", "message"),
    [
        ({"rules": "conditional"}, r'control\.rules: "conditional" needs metadata'),
        ({"resolution": "responder"}, r'control\.resolution: not "broadcast"'),
        ({"resolution": "manager"}, r'control\.resolution: not "broadcast"'),
        ({"anti_spoofing": "arp"}, r'control\.anti_spoofing: "arp" needs a match'),
        ({"addresses": "rewrite"}, r'control\.addresses: "rewrite" beside ipv4'),
        ({"priorities": [3, 4]}, r"control\.priorities: a match of any VLAN's priority"),
    ],
)
def test_openflow_1_0_refuses_what_it_lacks(control: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        planned(SQUARE, **control)


def test_paths_that_a_hash_selects_are_refused_because_there_are_no_groups() -> None:
    shared = {"topology": CLOS, "design": {"tables": {"share_by": "hash"}}}
    with pytest.raises(FabricPlanError, match=r"selects among ports .*share_by = .source"):
        plan({**shared, "control": {"protocol": "openflow10"}})


def test_the_switch_in_the_kernel_refuses_rules_for_openflow_1_0() -> None:
    with pytest.raises(MapError, match=r'expected control\.protocol = "openflow13"'):
        entries(planned(SQUARE).plan.switches[0], {})


def test_the_controller_refuses_a_plan_for_openflow_1_0(tmp_path: Path) -> None:
    scenario = tmp_path / "pair.toml"
    scenario.write_text("topology.single_switch.hosts = 2\ncontrol.protocol = 'openflow10'\n")
    done = command_line.run_here("control", "serve", scenario, code=2)
    assert "the controller speaks OpenFlow 1.3" in done.stderr


@pytest.mark.needs("ovs")
@pytest.mark.parametrize(
    ("topology", "control"),
    [
        (SQUARE, {}),
        (SQUARE, {"anti_spoofing": "none"}),
        (SQUARE, {"addresses": "rewrite", "ipv4": ""}),
        (CLOS, {}),
    ],
)
def test_open_vswitch_accepts_the_rules_and_forwards_all_frames_as_designed(
    topology: dict[str, object], control: dict[str, object]
) -> None:
    report = verify(planned(topology, **control), VerifyOptions(pairs=None), FACTORY)
    assert report.is_good, (report.findings[:3], report.differences)
    assert report.followed[FrameKind.UNICAST] == (56 if topology is SQUARE else 240)


@pytest.mark.needs("ovs")
def test_a_bridge_speaks_openflow_1_0_only_and_a_changed_rule_is_a_difference() -> None:
    made = planned(SQUARE).plan
    with bridges.built(made) as (daemons, wiring):
        load.load(daemons, made, wiring)
        bridge, switch = wiring.bridges[made.switches[0].name], made.switches[0]
        assert load.differences(daemons, bridge, switch) == []
        load.install(daemons, bridge, replace(switch, rules=switch.rules[1:]))
        (line,) = load.differences(daemons, bridge, switch)
        assert line.startswith("+") and "0x88cc" in line
        assert daemons.configure("get", "bridge", bridge, "protocols").strip() == "[OpenFlow10]"
