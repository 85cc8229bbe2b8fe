"""An unknown fabric: discovered by LLDP, written as a scenario, planned and installed."""

import json
import re
import subprocess
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from etherweave.control.controller.learning import (
    FabricLearner,
    LearnedFabric,
    LearningError,
    fabric_of,
)
from etherweave.control.controller.learning_trial import learned_ends, planned_ends
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.wiring import ObservedWiring, SwitchPort
from etherweave.control.ovs import bridges, daemons
from etherweave.control.plan import FabricPlanError, plan
from etherweave.control.rules import FabricPlan, Output, SwitchPlan
from support import command_line
from support.controlled import PATIENCE_S, QUICK, RecordedLog, controlled
from support.fake_switch import FakeSwitch
from support.waiting import until

A, B, C = "switch0", "switch1", "switch2"
DATAPATHS = {A: 0xA1, B: 0xB2, C: 0xC3}
CABLES = {SwitchPort(A, 9): SwitchPort(B, 4), SwitchPort(B, 7): SwitchPort(C, 2)}
"""The port that a probe had left, by the port where it arrived: seen in one direction each."""
PORTS = {A: {2: True, 5: True, 9: True}, B: {4: True, 6: False, 7: True}, C: {2: True, 11: True}}


def observed(
    arrivals: dict[SwitchPort, SwitchPort] | None = None,
    neighbours: dict[SwitchPort, str] | None = None,
) -> ObservedWiring:
    return ObservedWiring(CABLES if arrivals is None else arrivals, PORTS, neighbours or {})


def learned(neighbours: dict[SwitchPort, str] | None = None) -> LearnedFabric:
    rates = {A: {9: 40_000_000}, B: {4: 100_000_000}, C: {}}
    return fabric_of(DATAPATHS, observed(neighbours=neighbours), rates)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "fabric.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_port_with_a_link_and_no_probe_leads_to_a_host() -> None:
    fabric = learned()
    ends = [(host.name, host.port.end) for host in fabric.hosts]
    assert ends == [
        ("host0", SwitchPort(A, 2)), ("host1", SwitchPort(A, 5)), ("host2", SwitchPort(C, 11)),
    ]  # fmt: skip
    assert [(cable.first.end, cable.other.end) for cable in fabric.cables] == [
        (SwitchPort(A, 9), SwitchPort(B, 4)),
        (SwitchPort(B, 7), SwitchPort(C, 2)),
    ]


def test_hosts_have_the_names_of_their_lldp_where_these_are_unique_names() -> None:
    neighbours = {SwitchPort(A, 2): "node7", SwitchPort(A, 5): "a/b", SwitchPort(C, 11): B}
    assert [host.name for host in learned(neighbours).hosts] == ["node7", "host1", "host2"]
    same = dict.fromkeys(neighbours, "node7")
    assert [host.name for host in learned(same).hosts] == ["host0", "host1", "host2"]


def test_a_port_that_leads_to_two_others_is_refused_by_name() -> None:
    shared = {**CABLES, SwitchPort(C, 11): SwitchPort(B, 4)}
    with pytest.raises(
        LearningError, match=r"switch1 port 4.*expected cables between two switches"
    ):
        fabric_of(DATAPATHS, observed(shared), {A: {}, B: {}, C: {}})
    loop = {SwitchPort(A, 2): SwitchPort(A, 5), SwitchPort(A, 5): SwitchPort(A, 2)}
    with pytest.raises(LearningError, match="switch0 port"):
        fabric_of(DATAPATHS, observed(loop), {A: {}, B: {}, C: {}})


def test_the_scenario_is_planned_with_the_numbers_of_its_switches(tmp_path: Path) -> None:
    scenario = written(tmp_path, learned().scenario("fabric"))
    made = plan(scenario)
    real = {switch.name: switch for switch in made.installed.switches}
    assert {name: switch.datapath_id for name, switch in real.items()} == DATAPATHS
    # The lesser rate of both ends, where they state one.
    assert '"rate": "40000000000b/s"' in scenario.read_text()
    ends = {(port.number, port.node, port.node_port) for port in real[B].ports}
    assert ends == {(4, A, 9), (7, C, 2)}
    for switch, planned in zip(made.installed.switches, made.plan.switches, strict=True):
        numbers = {port.number for port in switch.ports}
        assert len(switch.rules) == len(planned.rules)
        sent = (step.port for rule in switch.rules for step in rule.actions if type(step) is Output)
        assert {port for port in sent if port < 0xFFFFFF00} <= numbers
        entered = {rule.matched("in_port") for rule in switch.rules} - {None}
        assert entered == numbers
    # Not those of the plan, in which ports are numbered from 1.
    assert {port.number for port in made.plan.switches[0].ports} == {1, 2, 3}


def test_a_failed_cable_is_named_by_the_port_of_its_switch(tmp_path: Path) -> None:
    arrivals = {**CABLES, SwitchPort(A, 5): SwitchPort(C, 11)}
    fabric = fabric_of(DATAPATHS, observed(arrivals), {A: {}, B: {}, C: {}})
    doubled = replace(fabric, cables=(*fabric.cables, fabric.cables[0]._replace(
        first=fabric.cables[0].first._replace(end=SwitchPort(A, 1)),
        other=fabric.cables[0].other._replace(end=SwitchPort(B, 1)),
    )))  # fmt: skip
    around = plan(written(tmp_path, doubled.scenario("fabric")), failed=[f"{A}:1 - {B}"])
    assert around.failed == (f"{A}:1 - {B}",)
    used = {action.port for rule in around.installed.switches[0].rules for action in rule.actions
            if type(action) is Output}  # fmt: skip
    assert 1 not in used and 9 in used


def test_numbers_that_are_missing_wrong_or_repeated_are_refused(tmp_path: Path) -> None:
    text = learned().scenario("fabric")

    def check(old: str, new: str, message: str) -> None:
        assert old in text
        with pytest.raises(FabricPlanError, match=message):
            plan(written(tmp_path, text.replace(old, new, 1)))

    check(', "datapath": "00000000000000b2"', "", "no datapath of switch switch1; expected")
    check('"00000000000000b2"', '"leaf"', "datapath 'leaf' of switch switch1")
    check('"00000000000000b2"', '"00000000000000a1"', "datapath 0xa1 twice")
    check('"targetport": 11', '"targetport": "swp11"', r"links.2.targetport: 'swp11'; expected")
    check(', "targetport": 11', "", r"links.2.targetport: missing; expected the number")
    doubled = text.replace('"targetport": 4', '"targetport": 4, "links": 2')
    with pytest.raises(FabricPlanError, match="ports of switch0 are not those of its links"):
        plan(written(tmp_path, doubled))


def renumbered(made: FabricPlan) -> FabricPlan:
    """Give switches and ports other numbers than a plan would."""
    ports = {
        switch.name: {port.number: 10 * port.number + number for port in switch.ports}
        for number, switch in enumerate(made.switches)
    }

    def switch(number: int, old: SwitchPlan) -> SwitchPlan:
        links = tuple(
            replace(
                port,
                number=ports[old.name][port.number],
                node_port=1 if port.is_host else ports[port.node][port.node_port],
            )
            for port in old.ports
        )
        return replace(old, datapath_id=0xF00 - number, ports=links)

    return replace(made, switches=tuple(switch(*pair) for pair in enumerate(made.switches)))


@pytest.mark.needs("ovs")
def test_an_unknown_fabric_is_learned_planned_and_installed(tmp_path: Path) -> None:
    there = renumbered(plan({"topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}}}).plan)
    with bridges.built(there) as (ovs, wiring):
        learner = FabricLearner(QUICK, EventLog(RecordedLog()))
        bridges.connect(ovs, wiring, learner.port)
        fabric = learner.learn(6, 20, threading.Event())
        assert set(learned_ends(fabric)) == set(planned_ends(there))
        for bridge in wiring.bridges.values():
            target = ovs.management(bridge)
            dumped = daemons.run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", target)
            assert "actions=" not in dumped, "its rule is removed"
        installed = plan(written(tmp_path, fabric.scenario("fabric"))).installed
        with controlled(installed) as running:
            bridges.connect(ovs, wiring, running.controller.port)
            until(lambda: running.has_installed(list(fabric.datapaths)), running.log)
            watch = running.controller.discovery
            until(lambda: len(watch.settled) == 6, "settled")
            # On a busy machine a probe may come late: what was missing then is seen later.
            come, gone = (partial(running.log.events, name) for name in ("wiring", "wiring_mended"))
            until(lambda: len(come()) == len(gone()), running.log)
            assert {event["fault"] for event in come()} <= {"missing"}
            own = {switch.datapath_id: wiring.bridges[switch.name] for switch in there.switches}
            for switch in installed.switches:
                target = ovs.management(own[switch.datapath_id])
                dump = ("dump-flows", "--no-stats", "--no-names", target)
                dumped = daemons.run("ovs-ofctl", "-O", "OpenFlow13", *dump)
                assert dumped.count("actions=") == len(switch.rules)
                sent = set(map(int, re.findall(r"output:(\d+)", dumped)))
                assert sent == {port.number for port in switch.ports}


def test_the_command_line_writes_the_scenario_and_prints_its_plan(tmp_path: Path) -> None:
    output = tmp_path / "fabric.toml"
    options = ("--switches", "1", "--probe", "0.1s", "--listen", "127.0.0.1:0")
    command = [*command_line.COMMAND, "control", "learn", "-o", str(output), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        with FakeSwitch(json.loads(process.stderr.readline())["port"], 0xA1) as switch:
            printed, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    # One rule was added and removed, each in a bundle of its own.
    assert (switch.added, switch.committed) == (2, 2)
    first, second, *_ = printed.splitlines()
    assert first == f"{output}: 1 switch, 0 cables, 1 host"
    assert second == "fabric: 1 switch, 1 host"
    (planned,) = plan(output).installed.switches
    assert planned.datapath_id == 0xA1


def test_no_scenario_is_written_of_a_fabric_that_does_not_connect(tmp_path: Path) -> None:
    output = tmp_path / "fabric.toml"
    options = ("--wait", "0.1s", "--listen", "127.0.0.1:0")
    done = command_line.run_here("control", "learn", "-o", output, *options, code=1)
    assert "0 switches have connected" in done.stderr
    assert not output.exists()


def test_too_few_switches_are_counted() -> None:
    learner = FabricLearner(QUICK, EventLog(RecordedLog()))
    with pytest.raises(LearningError, match=r"0 switches have connected within 0\.1 s; expected 3"):
        learner.learn(3, 0.1, threading.Event())


def test_the_scenario_is_json_in_toml(tmp_path: Path) -> None:
    text = learned().scenario('a "b"')
    assert text.startswith('name = "a \\"b\\""\n')
    listed = json.loads(text.partition("'''")[2].rpartition("'''")[0])
    assert len(listed["nodes"]) == 6 and len(listed["links"]) == 5
