"""The controller against Open vSwitch: real switches without interfaces or privileges."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from etherweave.control import text
from etherweave.control.ovs import bridges, daemons, load
from etherweave.control.ovs.bridges import BridgeNames
from etherweave.control.ovs.daemons import Daemons
from etherweave.control.plan import plan
from etherweave.control.rules import FabricPlan, Purpose
from support.controlled import Running, controlled
from support.ports import free_ports
from support.waiting import until

pytestmark = pytest.mark.needs("ovs")

SCENARIO: dict[str, object] = {
    "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}},
    "control": {"rules": "conditional"},
}
"""3 groups of 2 switches; a link in every group and between any two."""


def planner(failed: Sequence[str]) -> FabricPlan:
    return plan(SCENARIO, failed=failed).plan


class Lab(NamedTuple):
    """Switches, and their intended rules."""

    ovs: Daemons
    plan: FabricPlan
    wiring: BridgeNames

    def bridge(self, switch: str) -> str:
        return self.wiring.bridges[switch]

    def connect(self, *controllers: Running) -> None:
        bridges.connect(self.ovs, self.wiring, *(each.controller.port for each in controllers))

    def ofctl(self, verb: str, switch: str, *rest: str) -> str:
        target = self.ovs.management(self.bridge(switch))
        return daemons.run("ovs-ofctl", "-O", "OpenFlow13", verb, target, *rest)

    def differences(self, plan: FabricPlan) -> list[str]:
        """Compare with the tool of Open vSwitch, not with our own eyes; cookies do not count."""
        result = [
            f"{switch.name}: {re.sub(' cookie=0x[0-9a-f]+', '', line)}"
            for switch in plan.switches
            for line in load.differences(self.ovs, self.bridge(switch.name), switch)
        ]
        less = Counter(line.replace(": -", ": ") for line in result if ": -" in line)
        more = Counter(line.replace(": +", ": ") for line in result if ": +" in line)
        return sorted(((less - more) + (more - less)).elements())


@pytest.fixture
def lab() -> Iterator[Lab]:
    fabric_plan = planner([])
    with bridges.built(fabric_plan) as (ovs, wiring):
        yield Lab(ovs, fabric_plan, wiring)


def result(running: Running, lab: Lab) -> None:
    """Wait until all switches are programmed."""
    names = [switch.name for switch in lab.plan.switches]
    until(lambda: running.has_installed(names), running.log)


@contextlib.contextmanager
def programmed(lab: Lab, **changes: Any) -> Iterator[Running]:
    """Run the only controller of the switches, which has programmed them all."""
    with controlled(lab.plan, planner, **changes) as running:
        lab.connect(running)
        result(running, lab)
        yield running


def test_all_switches_get_exactly_their_rules_groups_and_meters(lab: Lab) -> None:
    with programmed(lab) as running:
        assert lab.differences(lab.plan) == []
        rules = sum(len(switch.rules) for switch in lab.plan.switches)
        assert running.count("rules_installed") == rules
        cookies = re.findall(r"cookie=0x([0-9a-f]+)", lab.ofctl("dump-flows", "group0.switch0"))
        stamp = f"4557{running.controller.fingerprint:08x}0001"
        assert set(cookies) == {stamp}


def test_a_controller_that_starts_again_touches_nothing(lab: Lab) -> None:
    (port,) = free_ports(1)
    with programmed(lab, port=port):
        pass
    before = [lab.ofctl("dump-flows", name, "--no-stats") for name in lab.wiring.bridges]
    with controlled(lab.plan, planner, port=port) as again:
        result(again, lab)
        assert again.count("audits") == len(lab.plan.switches)
        assert again.log.events("installed") == []
        # Every claim is above those before it.
        assert again.controller.role.generation == 2
    assert [lab.ofctl("dump-flows", name, "--no-stats") for name in lab.wiring.bridges] == before


def test_an_audit_mends_what_is_missing_changed_and_foreign(lab: Lab) -> None:
    with programmed(lab, audit_s=0.3) as running:
        name = "group1.switch1"
        lab.ofctl("del-flows", name, "--strict", "table=0,priority=400,dl_type=0x88cc")
        lab.ofctl("mod-flows", name, "--strict", "table=0,priority=390,dl_type=0x8808,actions=1")
        lab.ofctl("add-flow", name, "table=7,priority=9,tcp,tp_dst=80,nw_ttl=9,actions=drop")
        drifts = until(lambda: running.log.events("drift"), "drift")
        # The audit may come between two of the three commands.
        until(lambda: lab.differences(lab.plan) == [], running.log)
        drifts = running.log.events("drift")
        assert {drift["switch"] for drift in drifts} == {name}
        assert sum(drift["missing"] for drift in drifts) == 1
        assert sum(drift["changed"] for drift in drifts) == 1
        assert sum(drift["foreign"] for drift in drifts) == 1


def test_foreign_entries_stay_if_they_are_to_stay(lab: Lab) -> None:
    name = "group1.switch1"
    with programmed(lab, audit_s=0.3, leave_foreign=True) as running:
        lab.ofctl("add-flow", name, "table=7,priority=9,cookie=5,actions=drop")
        until(lambda: running.count("audits") > 2 * len(lab.plan.switches), "audits")
        assert lab.differences(lab.plan) == [f"{name}: table=7 priority=9 actions=drop"]


def test_an_audit_leaves_the_pause_vector_alone(lab: Lab) -> None:
    """Whoever watches pauses changes it with every PAUSE frame."""
    with programmed(lab, audit_s=0.2) as running:
        (vector,) = (
            rule for rule in lab.plan.switches[0].rules if rule.purpose is Purpose.PAUSE_VECTOR
        )
        paused = text.flow(vector).replace("write_metadata:0x0/", "write_metadata:0x1/")
        assert paused != text.flow(vector)
        lab.ofctl("mod-flows", "group0.switch0", "--strict", paused)
        done = running.count("audits")
        until(lambda: running.count("audits") > done + 2 * len(lab.plan.switches), "audits")
        assert running.log.events("drift") == []
        assert "write_metadata:0x1/" in lab.ofctl("dump-flows", "group0.switch0")


def test_a_full_table_rolls_back_and_names_rule_and_switch(lab: Lab) -> None:
    name = "group2.switch0"
    limit = ["--id=@full", "create", "Flow_Table", "flow_limit=2", "overflow_policy=refuse"]
    lab.ovs.configure(*limit, "--", "set", "bridge", lab.bridge(name), "flow_tables:0=@full")
    with controlled(lab.plan, planner) as running:
        lab.connect(running)
        refusal, *_ = until(lambda: running.log.events("rejected_by_switch"), "refusal")
        assert refusal["switch"] == name
        assert re.match(
            r"rule table=0,priority=.*: table full \(type 5, code 1\)", refusal["reason"]
        )
        others = [switch.name for switch in lab.plan.switches if switch.name != name]
        until(lambda: running.has_installed(others), "others")
        # Nothing is half installed: no rule, no group, no meter.
        assert "actions" not in lab.ofctl("dump-flows", name)
        assert "meter=" not in lab.ofctl("dump-meters", name)
        # When there is room, the next attempt succeeds.
        lab.ovs.configure("clear", "bridge", lab.bridge(name), "flow_tables")
        result(running, lab)
        assert lab.differences(lab.plan) == []


def test_a_fabric_wired_as_planned_has_no_findings(lab: Lab) -> None:
    with programmed(lab) as running:
        watch = running.controller.discovery
        until(lambda: len(watch.settled) == len(lab.plan.switches), "settled")
        assert running.log.events("wiring") == []
        assert running.log.events("replanned") == []


def test_a_cable_without_link_is_planned_round_and_back(lab: Lab) -> None:
    """Only what differs is sent; the comparison is with a plan made for the failure."""
    with programmed(lab) as running:
        sent = running.count("rules_installed")
        cable = "group0.switch0 - group0.switch1"
        (port,) = (port for port in lab.plan.switches[0].ports if port.node == "group0.switch1")
        name = lab.wiring.port("group0.switch0", port.number)
        lab.ovs.configure("del-port", name)
        until(lambda: running.log.events("replanned"), running.log)
        replanned = planner([cable])
        result(running, lab)
        until(lambda: lab.differences(replanned) == [], running.log)
        changed = running.count("rules_installed") - sent
        old = {(switch.name, rule) for switch in lab.plan.switches for rule in switch.rules}
        new = {(switch.name, rule) for switch in replanned.switches for rule in switch.rules}
        assert changed == len(new - old) > 0
        peer = f"options:peer={lab.wiring.port(port.node, port.node_port)}"
        words = ["--", "set", "interface", name, "type=patch", peer]
        bridge = lab.bridge("group0.switch0")
        lab.ovs.configure("add-port", bridge, name, *words, f"ofport_request={port.number}")
        until(lambda: len(running.log.events("replanned")) == 2, "planned back")
        result(running, lab)
        until(lambda: lab.differences(lab.plan) == [], running.log)


def test_a_cable_that_carries_nothing_is_planned_round(lab: Lab) -> None:
    """Its ports have a link, but no probe comes through."""
    with programmed(lab) as running:
        for switch in lab.plan.switches[:2]:
            (port,) = (port for port in switch.ports if port.node.startswith("group0."))
            name = lab.wiring.port(switch.name, port.number)
            lab.ovs.configure("set", "interface", name, "options:peer=nowhere")
        replanned = planner(["group0.switch0 - group0.switch1"])
        until(lambda: lab.differences(replanned) == [], running.log)
        said = {wrong["finding"] for wrong in running.log.events("wiring")}
        assert "group0.switch0 port 2 leads to nothing seen; expected group0.switch1 port 2" in said


def test_two_swapped_cables_are_named_at_every_port_and_not_used(lab: Lab) -> None:
    """The cable inside group 0 and that inside group 1 have an end in the other's place."""
    first, other = ("group0.switch1", "group1.switch1")
    with programmed(lab) as running:
        ends = {(first, "group0.switch0"), (other, "group1.switch0")}
        ports = {
            (switch.name, port.node): (switch.name, port.number)
            for switch in lab.plan.switches
            for port in switch.ports
        }
        (a, b), (c, d) = ((ports[x, y], ports[y, x]) for x, y in sorted(ends))
        for left, right in ((a, d), (d, a), (c, b), (b, c)):
            peer = f"options:peer={lab.wiring.port(*right)}"
            lab.ovs.configure("set", "interface", lab.wiring.port(*left), peer)
        findings = until(
            lambda: (
                [f for f in running.log.events("wiring") if f["fault"] == "miswired"][3:]
                and running.log.events("wiring")
            ),
            "findings",
        )
        said = {finding["finding"] for finding in findings if finding["fault"] == "miswired"}
        words = {end: f"{end[0]} port {end[1]}" for end in (a, b, c, d)}
        assert said == {
            f"{words[left]} leads to {words[outcome]}; expected {words[expected]}"
            for left, outcome, expected in ((a, d, b), (b, c, a), (c, b, d), (d, a, c))
        }
        replanned = planner(["group0.switch0 - group0.switch1", "group1.switch0 - group1.switch1"])
        until(lambda: lab.differences(replanned) == [], running.log)


def test_the_second_controller_stands_by_and_takes_over_without_touching_rules(lab: Lab) -> None:
    with programmed(lab) as first, controlled(lab.plan, planner) as second:
        lab.connect(first, second)
        until(lambda: second.log.events("standby"), "standing by")
        before = [lab.ofctl("dump-flows", name, "--no-stats") for name in lab.wiring.bridges]
        assert second.count("audits") == 0
        assert first.controller.role.state.name == "MASTER"
        first.stop.set()
        until(lambda: second.log.events("master"), second.log)
        result(second, lab)
        assert second.log.events("installed") == []
        generations = [run.controller.role.generation for run in (first, second)]
        assert generations[1] > generations[0]
    assert [lab.ofctl("dump-flows", name, "--no-stats") for name in lab.wiring.bridges] == before
