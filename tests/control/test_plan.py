"""Plans: rules and addresses of a fabric."""

import json
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave.control import text
from etherweave.control.forwarding import pause_rule
from etherweave.control.plan import CARRIED, FabricPlanError, PlannedDeployment, counts, plan
from etherweave.control.rules import (
    CLASS_TABLE,
    FORWARD_TABLE,
    INGRESS_ACL_TABLE,
    SERVICE_TABLE,
    UNKNOWN_DESTINATION_TABLE,
    FlowRule,
    MatchField,
    Output,
    Purpose,
    SwitchPlan,
    ToGroup,
    WriteMetadata,
)
from support import command_line

DRAGONFLY: dict[str, object] = {"topology": {"dragonfly": {}}}
"""Figure 3c of Benito et al. 2015: 9 groups of 4 switches with 2 hosts."""
CLOS: dict[str, object] = {
    "topology": {"folded_clos": {"radix": 4, "hosts": 16, "uplinks": [{}, {}]}}
}
BUTTERFLY: dict[str, object] = {"topology": {"flattened_butterfly": {"sizes": [3, 3, 3]}}}


command = command_line.run_here


def planned(
    scenario: dict[str, object], failed: tuple[str, ...] = (), **control: object
) -> PlannedDeployment:
    return plan({**scenario, "control": control}, failed=failed)


def lines(switch: SwitchPlan, purpose: Purpose) -> list[str]:
    return [text.flow(rule) for rule in switch.rules if rule.purpose is purpose]


def carried(switch: SwitchPlan) -> int:
    return sum(counts(switch).get(purpose, 0) for purpose in CARRIED)


@pytest.mark.parametrize("scenario", [DRAGONFLY, CLOS, BUTTERFLY])
def test_rules_are_as_many_as_the_design_counts(scenario: dict[str, object]) -> None:
    counted = etherweave.design(scenario)["tables"]["compacted"]
    rules = [carried(switch) for switch in planned(scenario).plan.switches]
    assert (min(rules), max(rules)) == (counted["rules_min"], counted["largest"]["entries"])
    assert sum(rules) / len(rules) == counted["rules_mean"]


def test_a_switch_of_a_dragonfly_reads_as_the_paper_says() -> None:
    switch = planned(DRAGONFLY).plan.switches[0]
    dmp = (
        "table=0,priority=300,in_port={},dl_type=0x88b5,"
        "actions=meter:{},set_field:{}->eth_src,in_port"
    )
    first, second = "02:00:00:00:00:00", "02:00:00:00:00:01"
    expected = [dmp.format(1, 1, first), dmp.format(2, 2, second)]
    assert lines(switch, Purpose.DMP) == [
        *expected,
        "table=0,priority=290,dl_type=0x88b5,actions=drop",
    ]
    host = "table=0,priority=200,in_port={},dl_src={},actions=goto_table:1"
    fabric = "table=0,priority=200,in_port={},actions=goto_table:3"
    ports = [fabric.format(port) for port in range(3, 8)]
    assert lines(switch, Purpose.INGRESS_ACL) == [
        host.format(1, first),
        host.format(2, second),
        *ports,
    ]
    # Groups 0 to 7 have their 4-bit field below 8; group 8 alone has the bit set.
    assert lines(switch, Purpose.KNOWN_DESTINATION)[:2] == [
        "table=1,priority=20,dl_dst=02:00:00:00:00:00/ff:ff:ff:ff:ff:c0,actions=goto_table:2",
        "table=1,priority=20,dl_dst=02:00:00:00:00:40/ff:ff:ff:ff:ff:f8,actions=goto_table:2",
    ]


def test_every_path_of_tables_ends_and_rules_that_overlap_have_an_order() -> None:
    for scenario in (DRAGONFLY, CLOS, BUTTERFLY):
        for switch in planned(scenario, rules="conditional", pauses="class").plan.switches:
            seen: set[tuple[int, int, tuple[MatchField, ...]]] = set()
            for rule in switch.rules:
                key = (rule.table, rule.priority, rule.match)
                assert key not in seen, f"{switch.name}: {text.flow(rule)} stands there twice"
                seen.add(key)


def test_conditional_rules_test_one_bit_and_one_rule_writes_them_all() -> None:
    switch = planned(DRAGONFLY, rules="conditional").plan.switches[0]
    # Rules for other groups watch the local links 3 to 5 and the global ones 6 and 7.
    assert switch.pause_bits == {3: 0, 4: 1, 5: 2, 6: 3, 7: 4}
    for rule in [rule for rule in switch.rules if any(t.field == "metadata" for t in rule.match)]:
        (watched,) = (t for t in rule.match if t.field == "metadata")
        (output,) = rule.actions
        assert isinstance(output, Output)
        assert (watched.value, watched.mask) == (0, 1 << switch.pause_bits[output.port])
    assert lines(switch, Purpose.PAUSE_VECTOR) == [
        "table=2,priority=0,actions=write_metadata:0x0/0x1f,goto_table:3"
    ]
    paused = pause_rule(switch.pause_bits, frozenset({4, 7}), None)
    assert paused.instructions[0] == WriteMetadata(0b10010, 0b11111)
    assert paused[:3] == switch.rules[_place(switch, Purpose.PAUSE_VECTOR)][:3], (
        "the same rule, changed"
    )


def _place(switch: SwitchPlan, purpose: Purpose) -> int:
    return next(place for place, rule in enumerate(switch.rules) if rule.purpose is purpose)


def test_packets_in_transit_on_a_dragonfly_and_in_trees_need_no_rules_to_wait() -> None:
    # Only hosts' frames have alternatives in a dragonfly, the last of them without a condition;
    # frames of other switches never get the pause vector. A tree's last alternative has none.
    for scenario in (DRAGONFLY, CLOS):
        for switch in planned(scenario, rules="conditional").plan.switches:
            assert Purpose.WAIT not in counts(switch)
    switch = planned(DRAGONFLY, rules="conditional").plan.switches[0]
    fabric = "table=0,priority=200,in_port={},actions=goto_table:3"
    ports = [fabric.format(port) for port in range(3, 8)]
    assert lines(switch, Purpose.INGRESS_ACL)[2:] == ports
    leaf = planned(CLOS, rules="conditional").plan.switches[0]
    shares = [rule for rule in leaf.rules if rule.matched("eth_src") and rule.purpose in CARRIED]
    by_priority = {rule.priority: rule.matched("metadata") is not None for rule in shares}
    assert [by_priority[place] for place in sorted(by_priority)] == [False, True]


def test_a_butterfly_s_packet_that_finds_all_ports_paused_waits_for_its_default_port() -> None:
    switch = planned(BUTTERFLY, rules="conditional", alternatives=0).plan.switches[0]
    defaults = [rule for rule in switch.rules if any(t.field == "metadata" for t in rule.match)]
    waiting = [rule for rule in switch.rules if rule.purpose is Purpose.WAIT]
    unconditional = [tuple(t for t in rule.match if t.field != "metadata") for rule in defaults]
    assert [(rule.match, rule.actions) for rule in waiting] == [
        (match, rule.actions) for match, rule in zip(unconditional, defaults, strict=True)
    ]
    # Behind all others, in the same order.
    others = [rule.priority for rule in switch.rules if rule.purpose is Purpose.FORWARD]
    assert max(rule.priority for rule in waiting) < min(others)
    # Three dimensions of three switches: six links, four hosts, each link again to wait for.
    assert carried(switch) == 6 + 4 + 6


def test_hosts_of_a_butterfly_have_a_port_of_their_own_to_another_place_of_each_row() -> None:
    for alternatives in (0, 1):
        conditional = planned(BUTTERFLY, rules="conditional", alternatives=alternatives)
        for switch in conditional.plan.switches:
            counted = counts(switch)
            # Four hosts, and two neighbours in each of three dimensions.
            assert counted[Purpose.FORWARD] == 4 + 2 * 3
            assert counted.get(Purpose.ALTERNATIVE, 0) == alternatives * 4 * 3
    by_port = {
        port: [
            rule.actions
            for rule in switch.rules
            if rule.purpose is Purpose.ALTERNATIVE and rule.matched("in_port") == port
        ]
        for port in range(1, 5)
    }
    # Along x by ports 5 and 6, along y by 7 and 8, along z by 9 and 10; hosts take both in turn.
    assert by_port[1] == by_port[3] == [(Output(port),) for port in (5, 7, 9)]
    assert by_port[2] == by_port[4] == [(Output(port),) for port in (6, 8, 10)]


def test_a_butterfly_without_non_minimal_paths_needs_a_priority_less() -> None:
    planned(BUTTERFLY, rules="conditional", alternatives=0, priorities=[1, 2, 3])


def test_a_vector_per_class_is_a_rule_per_priority() -> None:
    switch = planned(DRAGONFLY, rules="conditional", pauses="class").plan.switches[0]
    rules = lines(switch, Purpose.PAUSE_VECTOR)
    assert len(rules) == 9, "eight priorities, and packets without a tag"
    assert rules[3] == (
        "table=2,priority=1,vlan_vid=0x1000/0x1000,vlan_pcp=3,"
        "actions=write_metadata:0x0/0x1f,goto_table:3"
    )


def test_the_responder_answers_for_hosts_of_the_plan_and_for_no_probe() -> None:
    switch = planned(DRAGONFLY, resolution="responder").plan.switches[5]
    probe, first, second, unknown, lost = lines(switch, Purpose.RESOLVE)
    assert probe.startswith("table=2,priority=300,dl_type=0x806,arp_op=1,arp_spa=0.0.0.0,")
    # 64 addresses of groups 0 to 7 and 8 of group 8, below 10.128.0.0.
    assert "arp_tpa=10.128.0.0/255.255.255.192" in first
    assert "arp_tpa=10.128.0.64/255.255.255.248" in second
    assert unknown == "table=2,priority=285,dl_type=0x806,arp_op=1,actions=drop"
    assert lost == "table=2,priority=280,dl_dst=ff:ff:ff:ff:ff:ff,dl_type=0x806,actions=drop"


def test_broadcasts_follow_a_tree_to_every_host() -> None:
    switches = planned(BUTTERFLY).plan.switches
    outputs = {}
    for switch in switches:
        (rule,) = (rule for rule in switch.rules if rule.purpose is Purpose.BROADCAST)
        ports = {action.port for action in rule.actions if isinstance(action, Output)}
        outputs[switch.name] = [port for port in switch.ports if port.number in ports]
    hosts = [port.node for ports in outputs.values() for port in ports if port.is_host]
    links = [port.node for ports in outputs.values() for port in ports if not port.is_host]
    assert len(hosts) == len(set(hosts)) == len(planned(BUTTERFLY).plan.hosts)
    assert len(links) == 2 * (len(switches) - 1), "a tree of 27 switches has 26 links"


def test_rewriting_keeps_factory_addresses_outside_the_fabric() -> None:
    scenario = {**DRAGONFLY, "control": {"addresses": "rewrite"}}
    factory = {f"host{number}": 0xAA0000000000 + number for number in range(72)}
    switch = plan(scenario, factory=factory).plan.switches[0]
    rewritten = lines(switch, Purpose.REWRITE)
    assert "in_port=1,dl_src=aa:00:00:00:00:00,dl_type=0x806" in rewritten[0]
    assert rewritten[0].endswith(
        "actions=set_field:02:00:00:00:00:00->eth_src,set_field:02:00:00:00:00:00->arp_sha,"
        "goto_table:1"
    )
    outward = [line for line in lines(switch, Purpose.FORWARD) if "output:1" in line]
    assert all("set_field:aa:00:00:00:00:00->eth_dst" in line for line in outward)
    with pytest.raises(FabricPlanError, match="no factory address of host3; expected one per host"):
        plan(scenario, factory={name: mac for name, mac in factory.items() if name != "host3"})


def test_lossless_frames_go_on_in_the_next_priority_after_a_global_link() -> None:
    # Minimal paths of a dragonfly use two: local and global, then a local link (section V-E).
    switch = planned(DRAGONFLY, priorities=[3, 4]).plan.switches[0]
    raised = "table=0,priority=210,in_port={},vlan_vid=0x1000/0x1000,vlan_pcp=3,"
    raised += "actions=set_field:4->vlan_pcp,goto_table:3"
    lowered = "table=0,priority=210,in_port=1,dl_src=02:00:00:00:00:00,vlan_vid=0x1000/0x1000,"
    lowered += "vlan_pcp=4,actions=set_field:3->vlan_pcp,goto_table:1"
    rules = lines(switch, Purpose.PRIORITY)
    assert rules[0] == lowered
    assert rules[2:] == [raised.format(port) for port in (6, 7)], "ports 6 and 7 are global"


def test_two_priorities_do_for_conditional_dragonflies_and_rules_write_them() -> None:
    switch = planned(DRAGONFLY, rules="conditional", priorities=[3, 4]).plan.switches[0]
    plain = planned(DRAGONFLY, rules="conditional").plan.switches[0]
    # Each rule to another switch writes its own, and sends after the last table.
    second = "write_metadata:0x2000000000000000/0xe000000000000000,"
    home, *remote = [line for line in lines(switch, Purpose.FORWARD) if "output:3" in line]
    assert home.endswith(f"actions=write_actions(output:3),{second}goto_table:4"), "group 0: second"
    assert all(line.endswith("actions=write_actions(output:3),goto_table:4") for line in remote)
    own = [line for line in lines(switch, Purpose.FORWARD) if "output:6" in line]
    assert all(second in line for line in own), "a minimal global hop: second"
    away = lines(switch, Purpose.ALTERNATIVE)
    assert away[0].endswith("in_port=1,actions=write_actions(output:6),goto_table:4"), "first"
    # The table that changes tags has two rules, whatever the number of ports, and one for others.
    bits = "metadata={}/0xe000000000000000,vlan_vid=0x1000/0x1000,vlan_pcp={}"
    assert lines(switch, Purpose.PRIORITY) == [
        f"table=4,priority=1,{bits.format('0x0', 4)},actions=set_field:3->vlan_pcp",
        f"table=4,priority=1,{bits.format('0x2000000000000000', 3)},actions=set_field:4->vlan_pcp",
        "table=4,priority=0,actions=write_metadata:0x0/0xe000000000000000",
    ]
    assert len(switch.rules) == len(plain.rules) + 3
    assert carried(switch) == carried(plain)


def test_a_vector_per_class_needs_one_priority_for_each_port() -> None:
    settings: dict[str, Any] = {"rules": "conditional", "priorities": [3, 4], "pauses": "class"}
    switch = planned(DRAGONFLY, **settings).plan.switches[0]
    # Local links are left for other groups in the first priority, global ones in the second.
    assert switch.pause_classes == {3: 3, 4: 3, 5: 3, 6: 4, 7: 4}
    with pytest.raises(FabricPlanError, match=r"control\.pauses = .* expected .*alternatives = 1"):
        planned(DRAGONFLY, **settings, alternatives=2)


@pytest.mark.parametrize(
    ("scenario", "rules", "needed"),
    # Benito et al., V-E: two for a dragonfly; one per hop of a butterfly, a non-minimal one before
    # the dimensions in any order (Günther 1981); up and down needs one.
    [
        (DRAGONFLY, "minimal", 2),
        (DRAGONFLY, "conditional", 2),
        (BUTTERFLY, "conditional", 4),
        (CLOS, "conditional", 1),
    ],
)
def test_priorities_must_be_as_many_as_the_routing_needs(
    scenario: dict[str, object], rules: str, needed: int
) -> None:
    enough = list(range(1, needed + 1))
    assert planned(scenario, rules=rules, priorities=enough).warnings == ()
    with pytest.raises(etherweave.ScenarioError, match=f"expected {needed}, which the routing"):
        planned(scenario, rules=rules, priorities=[*enough, 7])
    warnings = planned(scenario, rules=rules).warnings
    if rules == "minimal" or needed == 1:
        assert warnings == ()
    else:
        assert len(warnings) == 1
        assert warnings[0].startswith("control.priorities: none, so that pauses can deadlock")
        assert f"expected {needed} for lossless traffic" in warnings[0]


def test_a_plan_is_warned_of_under_the_flow_control_that_the_file_states() -> None:
    pauses = {**DRAGONFLY, "flow_control": {"pfc": {}}}
    assert "expected 2 for lossless traffic" in planned(pauses).warnings[0]
    assert planned(pauses, priorities=[3, 4]).warnings == ()
    links = {**DRAGONFLY, "flow_control": {"global_pause": {}}}
    (warning,) = planned(links, priorities=[3, 4]).warnings
    assert warning.startswith("flow_control.global_pause:")


def test_a_plan_is_warned_of_where_a_later_priority_has_no_larger_share() -> None:
    # By default the later one has three times the share.
    assert planned(DRAGONFLY, rules="conditional", priorities=[3, 4]).warnings == ()
    equal = {**DRAGONFLY, "ets": {"weights": [16, 12, 12, 12, 12, 12, 12, 12]}}
    (warning,) = planned(equal, rules="conditional", priorities=[3, 4]).warnings
    assert warning.startswith("ets.weights: priority 4 has less than twice the share of 3")
    strict = {**DRAGONFLY, "ets": {"weights": [0] * 8}}
    (warning,) = planned(strict, rules="conditional", priorities=[4, 3]).warnings
    assert warning.startswith("ets.weights: priority 3 has less than twice the share of 4")


def test_several_ports_are_a_group() -> None:
    # Without shares of the sources, every uplink of a leaf is as good as the other.
    switch = plan({**CLOS, **{"design": {"tables": {"share_by": "hash"}}}}).plan.switches[0]
    used = {step.group for row in switch.rules for step in row.actions if isinstance(step, ToGroup)}
    assert used == {group.number for group in switch.groups} == {1}
    (group,) = switch.groups
    assert text.group(group).startswith("group_id=1,type=select,bucket=weight:1,actions=output:3")


def test_a_failed_cable_is_left_and_addresses_and_ports_stay() -> None:
    cable = "group0.switch0 - group0.switch1"
    before, after = planned(DRAGONFLY), planned(DRAGONFLY, (cable,))
    assert after.failed == (cable,)
    assert before.plan.hosts == after.plan.hosts
    first = before.plan.switches[0]
    assert first.ports == after.plan.switches[0].ports
    (port,) = (port.number for port in first.ports if port.node == "group0.switch1")
    for rule in after.plan.switches[0].rules:
        assert Output(port) not in rule.actions, text.flow(rule)


def test_the_same_scenario_gives_the_same_plan() -> None:
    assert planned(CLOS, rules="conditional").plan == planned(CLOS, rules="conditional").plan


def test_tables_follow_one_another() -> None:
    order = [
        INGRESS_ACL_TABLE,
        UNKNOWN_DESTINATION_TABLE,
        SERVICE_TABLE,
        FORWARD_TABLE,
        CLASS_TABLE,
    ]
    assert order == sorted(set(order))

    def onward(rule: FlowRule) -> list[int]:
        return [getattr(step, "table", rule.table + 1) for step in rule.instructions]

    for rule in planned(DRAGONFLY, rules="conditional", priorities=[3, 4]).plan.switches[0].rules:
        assert all(table > rule.table for table in onward(rule))


def test_the_command_writes_files_that_the_plan_says(tmp_path: Path) -> None:
    scenario = tmp_path / "dragonfly.toml"
    scenario.write_text("[topology.dragonfly]\n")
    done = command("control", "plan", str(scenario), "-o", str(tmp_path / "rules"), code=0)
    assert "subtotal: design 9 11 348" in " ".join(done.stdout.split())
    flows = (tmp_path / "rules" / "group0.switch0.flows").read_text().splitlines()
    assert flows == list(text.flows(planned(DRAGONFLY).plan.switches[0].rules))
    assert done.stderr == ""
    hosts = (tmp_path / "rules" / "hosts.csv").read_text().splitlines()
    assert hosts[72] == "host71,group8.switch3,2,02:00:00:00:00:47,10.128.0.71"


def test_the_command_gives_json_and_refuses_what_is_wrong(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text("[topology.single_switch]\nhosts = 2\n")
    done = command("control", "plan", str(scenario), "--json")
    figures = json.loads(done.stdout)
    assert [host["mac"] for host in figures["hosts"]] == [0x020000000000, 0x020000000001]
    assert figures["switches"][0]["rules"][0]["actions"][0]["kind"] == "Output"
    for wrong, message in [
        (["--switch", "leaf0"], "no such switch; expected one of"),
        (["--failed", "a - b"], 'no cable "a - b"'),
        (["--set", "control.rules=conditional"], "expected a dragonfly"),
        (["--set", "design.tables.widths=[40, 7]"], "need 47 bits; expected at most 46"),
        (["--set", "control.ipv4=10.0.0.0/32"], "expected a network and its length"),
    ]:
        assert message in command("control", "plan", str(scenario), *wrong, code=2).stderr


def test_the_command_warns_and_its_json_names_every_step(tmp_path: Path) -> None:
    scenario = tmp_path / "dragonfly.toml"
    scenario.write_text('[topology.dragonfly]\n[control]\nrules = "conditional"\n')
    done = command("control", "plan", str(scenario), code=0)
    assert "WARNING: control.priorities: none" in done.stderr
    priorities = ("--set", "control.priorities=[3,4]")
    done = command("control", "plan", str(scenario), *priorities, "--json")
    assert done.stderr == ""
    rules = json.loads(done.stdout)["switches"][0]["rules"]
    steps = [step for rule in rules for step in rule["instructions"]]
    written = next(step for step in steps if step["kind"] == "WriteActions")
    assert written["actions"] == [{"kind": "Output", "port": 3}]


TREE: dict[str, object] = {
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2, "cores": 1, "links_per_core": 1}}
}
TWO_PLANES: dict[str, object] = {**TREE, "host_ports": {"planes": 2}}


def test_each_plane_has_rules_of_its_own_and_a_host_an_address_a_port() -> None:
    single, two = planned(TREE).plan, planned(TWO_PLANES).plan
    assert two.size == "6 switches, 4 hosts with 8 ports"
    ports = [(port.name, port.host, port.switch, port.port) for port in two.hosts[:2]]
    assert ports == [
        ("host0.0", "host0", "plane0.leaf0", 1),
        ("host0.1", "host0", "plane1.leaf0", 1),
    ]
    # Three bits: plane, leaf, host.
    assert [port.mac & 7 for port in two.hosts] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert [(port.ipv4 or 0) & 7 for port in two.hosts] == [0, 4, 1, 5, 2, 6, 3, 7]
    first, second = two.switches[0], two.switches[3]
    assert (first.name, second.name) == ("plane0.leaf0", "plane1.leaf0")
    assert counts(first) == counts(second) == counts(single.switches[0])
    known = "table=1,priority=20,dl_dst=02:00:00:00:00:0{}/ff:ff:ff:ff:ff:fc,actions=goto_table:2"
    for plane, switch in ((0, first), (1, second)):
        assert lines(switch, Purpose.KNOWN_DESTINATION)[0] == known.format(4 * plane)
        (own,) = {line.split("dl_src=")[1][:17] for line in lines(switch, Purpose.INGRESS_ACL)[:1]}
        assert own == f"02:00:00:00:00:0{4 * plane}"


def test_a_switch_for_openflow_1_0_has_rules_for_the_ports_in_its_plane_only() -> None:
    source = {"design": {"tables": {"share_by": "source"}}}
    single = plan({**TREE, **source, "control": {"protocol": "openflow10"}}).plan
    two = plan({**TWO_PLANES, **source, "control": {"protocol": "openflow10"}}).plan
    rules = [len(switch.rules) for switch in single.switches]
    assert [len(switch.rules) for switch in two.switches] == 2 * rules


def test_factory_addresses_are_those_of_ports_where_hosts_have_several() -> None:
    rewrite: dict[str, object] = {**TWO_PLANES, "control": {"addresses": "rewrite"}}
    with pytest.raises(FabricPlanError, match=r"no factory address of host0\.0 and 7 others"):
        plan(rewrite, factory={"host0": 1})
    names = [port.name for port in planned(TWO_PLANES).plan.hosts]
    rewriting = plan(rewrite, factory={name: number for number, name in enumerate(names)})
    assert len(rewriting.plan.hosts) == 8


def test_ports_of_hosts_that_would_have_one_name_are_refused() -> None:
    graph = {
        "nodes": [
            *({"id": name, "kind": "host"} for name in ("a", "a.1")),
            *({"id": name, "kind": "switch"} for name in ("s", "t")),
        ],
        "links": [
            {"source": a, "target": b}
            for a, b in (("a", "s"), ("a", "t"), ("a.1", "t"), ("s", "t"))
        ],
    }
    with pytest.raises(etherweave.ScenarioError, match=r"two ports of hosts called a\.1"):
        plan({"topology": {"custom": {"json": json.dumps(graph)}}})
