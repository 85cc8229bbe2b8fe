"""Follows frames over the printed rules of a plan, switch by switch, without Open vSwitch.

What ``etherweave control plan --switch`` prints is read again: a mistake in a rule or in its text
leads a frame elsewhere.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from etherweave.control import text
from etherweave.control.forwarding import pause_rule
from etherweave.control.rules import FabricPlan, FlowRule, Purpose, SwitchPlan

HOPS_MAX = 64
_STEP = re.compile(r"[\w.]+(?:\((?:[^()]*)\))?(?::[^,(]*)?(?:->\w+)?")


class Frame(NamedTuple):
    """Fields of a frame that rules may match."""

    eth_dst: int
    eth_src: int
    eth_type: int = 0x0800
    vlan_pcp: int | None = None  # None: it has no tag.


class Sent(NamedTuple):
    """A frame on its way out of a switch."""

    port: int
    frame: Frame


class Arrived(NamedTuple):
    """A frame that left the fabric, and the switches and ports that it passed."""

    node: str
    frame: Frame
    path: tuple[tuple[str, int, Frame], ...]
    """Switch and output port of every hop, and the frame there."""


@dataclass(frozen=True)
class Rule:
    table: int
    priority: int
    match: tuple[tuple[str, int, int], ...]  # Field, value and mask.
    steps: tuple[str, ...]

    def matches(self, fields: Mapping[str, int]) -> bool:
        return all(
            name in fields and fields[name] & mask == cell & mask for name, cell, mask in self.match
        )


def read(line: str) -> Rule:
    """Read a line of ``text.flow``."""
    head, _, actions = line.partition(",actions=")
    values = {name: value for name, _, value in [word.partition("=") for word in head.split(",")]}
    table, priority = int(values.pop("table")), int(values.pop("priority"))
    match = tuple((name, *_masked(value)) for name, value in values.items())
    return Rule(table, priority, match, tuple(step.group() for step in _STEP.finditer(actions)))


def _masked(value: str) -> tuple[int, int]:
    number, slash, mask = value.partition("/")
    return _number(number), _number(mask) if slash else (1 << 64) - 1


def _number(word: str) -> int:
    if ":" in word:
        return int(word.replace(":", ""), 16)
    if word.count(".") == 3:
        return int.from_bytes(bytes(map(int, word.split("."))))
    return int(word, 0)


class PrintedSwitch:
    """The printed rules of a switch, by table, the highest priority first."""

    def __init__(self, switch: SwitchPlan) -> None:
        self.switch = switch
        self.tables: dict[int, list[Rule]] = {}
        for line in text.flows(switch.rules):
            rule = read(line)
            self.tables.setdefault(rule.table, []).append(rule)
        for rules in self.tables.values():
            rules.sort(key=lambda rule: -rule.priority)

    def forward(self, frame: Frame, in_port: int) -> list[Sent]:
        """Return what leaves the switch, by the pipeline of OpenFlow 1.3 (section 5.1)."""
        table: int | None = 0
        metadata, sent = 0, list[Sent]()
        later: tuple[str, ...] = ()
        while table is not None:
            fields = _fields(frame, in_port, metadata)
            rule = next((rule for rule in self.tables.get(table, ()) if rule.matches(fields)), None)
            if rule is None:
                return sent
            table = None
            for step in rule.steps:
                name, _, value = step.partition(":")
                if name.startswith("write_actions"):
                    later = tuple(step[len("write_actions(") : -1].split(","))
                elif name == "goto_table":
                    table = int(value)
                elif name == "write_metadata":
                    number, mask = _masked(value)
                    metadata = metadata & ~mask | number
                elif name == "set_field":
                    frame = _written(frame, value)
                else:
                    sent += self._outputs(step, frame, in_port)
        for step in later:
            sent += self._outputs(step, frame, in_port)
        return sent

    def _outputs(self, step: str, frame: Frame, in_port: int) -> list[Sent]:
        name, _, value = step.partition(":")
        if name == "in_port":
            return [Sent(in_port, frame)]
        if name == "output":
            return [Sent(int(value), frame)] if int(value) != in_port else []
        if name == "group":
            groups = {group.number: group.ports for group in self.switch.groups}
            return [Sent(groups[int(value)][0], frame)]
        assert name in ("drop", "meter", "controller"), step
        return []


def _fields(frame: Frame, in_port: int, metadata: int) -> dict[str, int]:
    fields = {
        "in_port": in_port,
        "metadata": metadata,
        "dl_dst": frame.eth_dst,
        "dl_src": frame.eth_src,
        "dl_type": frame.eth_type,
        "vlan_vid": 0 if frame.vlan_pcp is None else 0x1000,
    }
    return fields if frame.vlan_pcp is None else {**fields, "vlan_pcp": frame.vlan_pcp}


def _written(frame: Frame, step: str) -> Frame:
    value, _, name = step.partition("->")
    return frame._replace(**{name: _number(value)})


class PrintedFabric:
    """The printed rules of all switches, and their cables."""

    def __init__(self, plan: FabricPlan, paused: Iterable[tuple[str, int]] = ()) -> None:
        ports = frozenset(paused)
        self.plan = plan
        self.switches = {
            switch.name: PrintedSwitch(_with_pauses(switch, ports)) for switch in plan.switches
        }

    @cached_property
    def across(self) -> dict[tuple[str, int], tuple[str, int, bool]]:
        """The other end of every port: its node, its port there, whether it is a host."""
        return {
            (switch.name, port.number): (port.node, port.node_port, port.is_host)
            for switch in self.plan.switches
            for port in switch.ports
        }

    def follow(self, host: str, frame: Frame) -> list[Arrived]:
        """Follow what a host sends to the hosts where it arrives; no path is endless."""
        start = next(own for own in self.plan.hosts if own.name == host)
        arrived: list[Arrived] = []
        on_way: list[tuple[str, int, Frame, tuple[tuple[str, int, Frame], ...]]] = []
        on_way.append((start.switch, start.port, frame, ()))
        while on_way:
            name, in_port, seen, path = on_way.pop()
            assert len(path) < HOPS_MAX, f"{host} to {frame.eth_dst:012x} circulates: {path}"
            for port, left in self.switches[name].forward(seen, in_port):
                node, node_port, is_host = self.across[name, port]
                hops = (*path, (name, port, left))
                if is_host:
                    arrived.append(Arrived(node, left, hops))
                else:
                    on_way.append((node, node_port, left, hops))
        return arrived


def _with_pauses(switch: SwitchPlan, paused: frozenset[tuple[str, int]]) -> SwitchPlan:
    """Write the pauses of a switch's ports into all its vectors."""
    ports = frozenset(port for name, port in paused if name == switch.name)

    def now(rule: FlowRule) -> FlowRule:
        if rule.purpose is not Purpose.PAUSE_VECTOR:
            return rule
        return pause_rule(switch.pause_bits, ports, rule.matched("vlan_pcp"))

    return replace(switch, rules=tuple(map(now, switch.rules)))
