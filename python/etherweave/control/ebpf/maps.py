"""Contents of the maps of ``switch.bpf.c`` for the plan of a switch.

Rules that decide where packets go have entries. Admission, replies to DMP, pauses and
waiting are part of the program itself.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from etherweave.control.ebpf.match import Condition, MatchError, arrange, condition
from etherweave.control.pause.frame import quantum_ps
from etherweave.control.rules import (
    CLASS_BIT,
    CLASS_MASK,
    CLASS_TABLE,
    IN_PORT,
    UNKNOWN_DESTINATION_TABLE,
    FlowRule,
    GoTo,
    Meter,
    Output,
    Purpose,
    SetField,
    SwitchPlan,
    ToGroup,
    UseMeter,
    WriteMetadata,
)

PORTS_MAX = 128  # The highest number of a port.
GROUPS_MAX = 1024  # Sets of ports of a switch.
MASKS_MAX = 256  # Largest number of masks of a lookup; each takes some tens of nanoseconds.
RULES_MAX = 65536  # Rules of a switch.

_SETTINGS = struct.Struct("=IIQII")
_PORT = struct.Struct("=I4B8BQQQQ")
_MATCH = struct.Struct("=QQII")
_RULE = struct.Struct("=QQIHHHHI")
_GROUP = struct.Struct(f"=I{PORTS_MAX}H")
_NUMBER = struct.Struct("=I")

_DROP, _OUTPUT, _SELECT, _FLOOD = range(4)
_KEEP = 0xFF  # The priority in a packet's tag stays as it is.
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 by the golden ratio: spreads small numbers.

_FORWARDING = {Purpose.BROADCAST, Purpose.FORWARD, Purpose.ALTERNATIVE}
_UNSUPPORTED = {
    Purpose.RESOLVE: 'control.resolution = "broadcast"',
    Purpose.REWRITE: 'control.addresses = "dmp"',
}
"""Purposes that the program does not support, and the settings that avoid them."""


class MapError(ValueError):
    """A plan that the program does not support; the message says why."""


class PortLink(NamedTuple):
    """The interface of a port."""

    interface: int  # Its index in the namespace of the switch.
    bits_per_s: int  # Rate of the link, which the quanta of pauses count in.


class MapEntry(NamedTuple):
    """An element of a map."""

    map: str
    key: bytes
    value: bytes


class _RuleAction(NamedTuple):
    """Action of a rule on packets."""

    kind: int
    ports: tuple[int, ...] = ()
    priority: int = _KEEP  # The priority that it gives to lossless packets.


class _MappedRule(NamedTuple):
    number: int  # Among all rules of the plan.
    condition: Condition
    action: _RuleAction


def entries(switch: SwitchPlan, wires: Mapping[int, PortLink]) -> tuple[MapEntry, ...]:
    """Write all maps of a switch.

    ``wires`` are interfaces of its ports, by number; without ports that have none. Raises
    ``MapError`` if the program does not support a rule, or a limit is exceeded.
    """
    try:
        return _entries(switch, wires)
    except MatchError as error:
        raise MapError(f"switch {switch.name}, {error}") from None


def _entries(switch: SwitchPlan, wires: Mapping[int, PortLink]) -> tuple[MapEntry, ...]:
    if switch.protocol != "openflow13":
        raise MapError(
            f"switch {switch.name}, rules for {switch.protocol}; expected control.protocol = "
            '"openflow13"'
        )
    ports = [0, *wires, *(port.number for port in switch.ports)]
    _check("port number", max(ports), PORTS_MAX)
    known = list(_mapped_rules(switch, {Purpose.KNOWN_DESTINATION}))
    others = list(_mapped_rules(switch, _FORWARDING))
    _check("rules", len(known) + len(others), RULES_MAX)
    groups: dict[tuple[int, ...], int] = {}
    known_masks, known_rules = _rule_entries(switch, known, 0, groups)
    masks, rules = _rule_entries(switch, others, len(known_masks), groups)
    masks = known_masks + masks
    _check("masks", len(masks), MASKS_MAX)
    _check("sets of ports", len(groups), GROUPS_MAX)
    return (
        _settings(switch, len(known_masks), len(masks)),
        *_ports(switch, wires),
        *(MapEntry("groups", _NUMBER.pack(at), _group(members)) for members, at in groups.items()),
        *(MapEntry("masks", _NUMBER.pack(at), _match(mask, at)) for at, mask in enumerate(masks)),
        *known_rules,
        *rules,
    )


def _settings(switch: SwitchPlan, known: int, masks: int) -> MapEntry:
    pauses = (rule.match for rule in switch.rules if rule.purpose is Purpose.PAUSE_VECTOR)
    by_class = any(field.field == "vlan_pcp" for match in pauses for field in match)
    seed = switch.datapath_id * _GOLDEN % (1 << 64)
    moved = {rule.matched("vlan_pcp") for rule in switch.rules if rule.table == CLASS_TABLE}
    lossless = sum(1 << priority for priority in moved if priority is not None)
    value = _SETTINGS.pack(known, masks, seed, by_class, lossless)
    return MapEntry("settings", _NUMBER.pack(0), value)


def _ports(switch: SwitchPlan, wires: Mapping[int, PortLink]) -> Iterator[MapEntry]:
    for port, wire in wires.items():
        behaviour = port_behaviour(switch, port)
        interval_ns = 10**9 // behaviour.limit.packets_per_s if behaviour.limit else 0
        burst_ns = (behaviour.limit.burst_packets - 1) * interval_ns if behaviour.limit else 0
        flags = (behaviour.checks_source, behaviour.checks_destination, behaviour.answers, 0)
        times = (quantum_ps(wire.bits_per_s), interval_ns, burst_ns)
        value = _PORT.pack(wire.interface, *flags, *behaviour.priorities, behaviour.address, *times)
        yield MapEntry("ports", _NUMBER.pack(port), value)
        yield MapEntry("interfaces", _NUMBER.pack(wire.interface), _NUMBER.pack(port))


def _mapped_rules(switch: SwitchPlan, purposes: set[Purpose]) -> Iterator[_MappedRule]:
    """Yield rules that have entries, in the order of the lookup."""
    order = sorted(enumerate(switch.rules), key=lambda pair: (pair[1].table, -pair[1].priority))
    for at, rule in order:
        if rule.purpose in _UNSUPPORTED:
            raise MatchError(f"rule {at}: {rule.purpose}; expected {_UNSUPPORTED[rule.purpose]}")
        if rule.purpose in purposes:
            try:
                yield _MappedRule(at, condition(rule.match), _rule_action(switch, rule))
            except MatchError as error:
                raise MatchError(f"rule {at} ({rule.purpose}): {error}") from None


def _rule_action(switch: SwitchPlan, rule: FlowRule) -> _RuleAction:
    """Read the actions of a rule: send to a port, several, or a group."""
    groups = [step for step in rule.steps if isinstance(step, ToGroup)]
    outputs = tuple(step.port for step in rule.steps if isinstance(step, Output))
    if rule.steps != (*groups, *map(Output, outputs)) or len(groups) > 1:
        raise MatchError(f"actions {rule.steps}: expected ports or a group")
    if any(port > PORTS_MAX for port in outputs):
        raise MatchError(f"output to {max(outputs)}: expected a port up to {PORTS_MAX}")
    several = _SELECT if groups else _FLOOD
    ports = _members(switch, groups[0].group) if groups else outputs
    kind = (_DROP, _OUTPUT, several)[min(len(ports), 2)]
    return _RuleAction(kind, ports, _given_priority(switch, rule))


def _given_priority(switch: SwitchPlan, rule: FlowRule) -> int:
    """Look up which priority lossless packets of a rule leave in."""
    if GoTo(CLASS_TABLE) not in rule.instructions:
        return _KEEP
    steps = (step for step in rule.instructions if isinstance(step, WriteMetadata))
    at = next((step.value & CLASS_MASK for step in steps), 0)
    changes = (change for change in switch.rules if change.table == CLASS_TABLE)
    after = (_written_value(step, "vlan_pcp") for step in changes if step.matched("metadata") == at)
    priority = next(after, None)
    if priority is None:
        raise MatchError(f"no rule changes to priority {at >> CLASS_BIT} of its table")
    return priority


def _members(switch: SwitchPlan, number: int) -> tuple[int, ...]:
    for group in switch.groups:
        if group.number == number:
            return group.ports
    raise MatchError(f"group {number}: not among the groups of the switch")


def _rule_entries(
    node: SwitchPlan, mapped: Sequence[_MappedRule], first: int, groups: dict[tuple[int, ...], int]
) -> tuple[list[int], list[MapEntry]]:
    """Write rules under their masks, numbered from ``first``; number sets of ports."""
    masks, places = arrange(rule.condition.packets for rule in mapped)
    port_of = {bit: port for port, bit in node.pause_bits.items()}
    written = []
    for rule, place in zip(mapped, places, strict=True):
        kind, ports, priority = rule.action
        bit = rule.condition.unless_bit
        if bit is not None and bit not in port_of:
            raise MatchError(f"rule {rule.number}: no port has bit {bit} of the pause vector")
        unless = 0 if bit is None else port_of[bit]
        several = kind in (_SELECT, _FLOOD)
        to = groups.setdefault(ports, len(groups)) if several else next(iter(ports), 0)
        value = _RULE.pack(0, 0, rule.number, kind, to, unless, priority, 0)
        written.append(MapEntry("rules", _match(place.value, first + place.mask), value))
    return masks, written


def _match(value: int, mask_number: int) -> bytes:
    words = (value >> 80, value >> 16 & (1 << 64) - 1, value & 0xFFFF)
    return _MATCH.pack(*words, mask_number)


def _group(ports: tuple[int, ...]) -> bytes:
    return _GROUP.pack(len(ports), *ports, *(0 for _ in range(PORTS_MAX - len(ports))))


def _check(what: str, count: int, most: int) -> None:
    if count > most:
        raise MatchError(f"{what}: {count}; the eBPF switch takes at most {most}")


PRIORITIES = tuple(range(8))  # Each unchanged.
_ADMISSION = {"in_port", "eth_src", "vlan_vid", "vlan_pcp"}
"""Fields that rules of admission may match."""


@dataclass(frozen=True, slots=True)
class PortBehaviour:
    """Handling of frames that arrive at a port, before the lookup."""

    address: int = 0  # MAC address of the host; 0: there is none.
    answers: bool = False  # Whether requests of DMP are returned with the host's address.
    limit: Meter | None = None  # Limit of those replies; None: no limit.
    checks_source: bool = False  # Whether only the host's address may send.
    checks_destination: bool = False  # Whether frames must be for an address that some host has.
    priorities: tuple[int, ...] = PRIORITIES
    """New priority of tagged frames, by the one with which they arrive."""


def port_behaviour(switch: SwitchPlan, port: int) -> PortBehaviour:
    """Read the behaviour of a port.

    Raises ``MatchError`` if rules of admission match fields that the program does not examine.
    """
    rules = [rule for rule in switch.rules if rule.matched("in_port") == port]
    admit = [rule for rule in rules if rule.purpose is Purpose.INGRESS_ACL]
    raised = [rule for rule in rules if rule.purpose is Purpose.PRIORITY]
    for field in (field.field for rule in admit + raised for field in rule.match):
        if field not in _ADMISSION:
            raise MatchError(
                f'port {port} admits by {field}; expected control.anti_spoofing "none" or "mac"'
            )
    answer = next((rule for rule in rules if _is_dmp_answer(rule)), None)
    sources = {rule.matched("eth_src") for rule in admit}
    checked = next(iter(sources - {None}), None)
    return PortBehaviour(
        address=checked or (_written_value(answer, "eth_src") if answer else 0),
        answers=answer is not None,
        limit=_limit(switch, answer),
        checks_source=checked is not None,
        checks_destination=any(
            GoTo(UNKNOWN_DESTINATION_TABLE) in rule.instructions for rule in admit
        ),
        priorities=_priorities(raised),
    )


def _priorities(rules: list[FlowRule]) -> tuple[int, ...]:
    after = {rule.matched("vlan_pcp"): _written_value(rule, "vlan_pcp") for rule in rules}
    return tuple(after.get(before, before) for before in PRIORITIES)


def _is_dmp_answer(rule: FlowRule) -> bool:
    return rule.purpose is Purpose.DMP and Output(IN_PORT) in rule.actions


def _written_value(rule: FlowRule, field: str) -> int:
    steps = (step for step in rule.actions if isinstance(step, SetField))
    return next((step.value for step in steps if step.field == field), 0)


def _limit(switch: SwitchPlan, answer: FlowRule | None) -> Meter | None:
    steps = answer.instructions if answer else ()
    numbers = [step.meter for step in steps if isinstance(step, UseMeter)]
    return next((meter for meter in switch.meters if meter.number in numbers), None)
