"""The rules of a switch for OpenFlow 1.0: one table, whose matches have no masks of MAC addresses.

A path through the tables of a plan becomes one rule: the matches of its rules together, their
actions one after the other. Its priority is the rank of the priorities on the path, table by table.
Where a table has no match a packet is dropped, as in the plan; OpenFlow 1.0 would send it to the
controller. A match of many addresses becomes a rule for each address that hosts have, and for
broadcasts, so that a switch needs a rule for each host (specification 1.0.0, sections 3.3 and
5.2.3). Meters are left out.

Rules that no packet matches are left out, and rules that drop what would be dropped anyway.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from etherweave.control.forwarding import BROADCAST
from etherweave.control.rules import (
    INGRESS_ACL_TABLE,
    Action,
    FlowRule,
    GoTo,
    MatchField,
    Purpose,
    SetField,
    SwitchPlan,
)

_EVERY_BIT = {"in_port": (1 << 32) - 1, "eth_type": 0xFFFF}
_ADDRESS = (1 << 48) - 1
_FIELDS = ("in_port", "eth_type", "eth_dst", "eth_src")
"""Fields that rules match, in the order in which they are written."""

_Match = Mapping[str, tuple[int, int]]  # Values and masks, by field.


class _PathRule(NamedTuple):
    """A path through the tables of a plan."""

    priorities: tuple[int, ...]  # Priority of each of its rules; -1 where no rule matches.
    match: _Match
    actions: tuple[Action, ...]
    purpose: Purpose


def single_table(switch: SwitchPlan, addresses: Sequence[int]) -> SwitchPlan:
    """Write the rules of a switch for OpenFlow 1.0.

    ``switch`` is its plan for several tables, without conditions and groups; ``addresses`` are MAC
    addresses of all hosts.
    """
    tables: dict[int, list[FlowRule]] = {}
    for rule in sorted(switch.rules, key=lambda rule: -rule.priority):
        tables.setdefault(rule.table, []).append(rule)
    tables[INGRESS_ACL_TABLE] = _with_shared_entry(switch, tables[INGRESS_ACL_TABLE])
    start = _PathRule((), {}, (), Purpose.INGRESS_ACL)
    paths = sorted(_paths(tables, INGRESS_ACL_TABLE, start), key=lambda path: path.priorities)
    distinct = dict.fromkeys(path.priorities for path in paths)
    ranks = {priorities: rank for rank, priorities in enumerate(distinct)}
    targets = (*addresses, BROADCAST)
    rules = [
        FlowRule(0, ranks[path.priorities], match, path.actions, (), path.purpose)
        for path in paths
        for match in _exact(path.match, targets)
    ]
    effective = tuple(_effective(rules))
    return replace(switch, rules=effective, groups=(), meters=(), protocol="openflow10")


def _with_shared_entry(switch: SwitchPlan, rules: list[FlowRule]) -> list[FlowRule]:
    """Replace the equal rules of all ports to switches by one below a drop for each host's port."""
    between = {port.number for port in switch.ports if not port.is_host}
    single = [rule for rule in rules if len(rule.match) == 1]
    entries = [rule for rule in single if rule.matched("in_port") in between]
    alike = {(rule.actions, rule.instructions) for rule in entries}
    if len(entries) != len(between) or len(alike) != 1:
        return rules
    lowest = min(rule.priority for rule in rules)
    hosts = (MatchField("in_port", port.number) for port in switch.ports if port.is_host)
    stray = [FlowRule(0, lowest - 1, (port,), (), (), Purpose.INGRESS_ACL) for port in hosts]
    shared = entries[0]._replace(priority=lowest - 2, match=())
    return [*(rule for rule in rules if rule not in entries), *stray, shared]


def _paths(
    tables: Mapping[int, Sequence[FlowRule]], table: int, before: _PathRule
) -> Iterator[_PathRule]:
    """Yield the paths that go on from one, and the drop where no rule matches."""
    for rule in tables.get(table, ()):
        match = _intersection(before, rule.match)
        if match is None:
            continue
        priorities, actions = (*before.priorities, rule.priority), before.actions + rule.actions
        path = _PathRule(priorities, match, actions, rule.purpose)
        onward = next((step.table for step in rule.instructions if isinstance(step, GoTo)), None)
        if onward is None:
            yield path
        else:
            yield from _paths(tables, onward, path)
    yield _PathRule((*before.priorities, -1), before.match, (), Purpose.INGRESS_ACL)


def _intersection(before: _PathRule, fields: Iterable[MatchField]) -> _Match | None:
    """Return what matches both; None: nothing does."""
    written = {step.field: step.value for step in before.actions if isinstance(step, SetField)}
    match = dict(before.match)
    for name, value, stated in fields:
        mask = _EVERY_BIT.get(name, _ADDRESS) if stated is None else stated
        known, known_mask = match.get(name, (0, 0))
        if name in written:
            known, known_mask = written[name], mask
        if (known ^ value) & known_mask & mask:
            return None
        if name not in written:
            match[name] = known & known_mask | value & mask, known_mask | mask
    return match


def _exact(match: _Match, targets: Sequence[int]) -> Iterator[tuple[MatchField, ...]]:
    """Write a match without masks: one for each address that it has."""
    assert match.keys() <= set(_FIELDS), f"the core refuses what needs a match of {[*match]}"
    values = [
        [value]
        if mask == _EVERY_BIT.get(name, _ADDRESS)
        else [target for target in targets if not (target ^ value) & mask]
        for name, (value, mask) in match.items()
    ]
    for chosen in product(*values):
        fields = dict(zip(match, chosen, strict=True))
        yield tuple(MatchField(name, fields[name]) for name in _FIELDS if name in fields)


def _effective(rules: Sequence[FlowRule]) -> list[FlowRule]:
    """Leave out rules without an effect; priorities rise, those returned fall."""
    kept: list[FlowRule] = []
    last = {rule.match: rule for rule in rules}
    for rule in (rule for rule in rules if last[rule.match] is rule):
        if rule.actions or _is_drop_needed(rule, reversed(kept)):
            kept.append(rule)
    return kept[::-1]


def _is_drop_needed(drop: FlowRule, below: Iterable[FlowRule]) -> bool:
    """Return whether a rule further down would send what this one drops."""
    values = {field.field: field.value for field in drop.match}
    for rule in below:
        if rule.actions and all(values.get(name, value) == value for name, value, _ in rule.match):
            return True
        if not rule.actions and set(rule.match) <= set(drop.match):
            return False
    return not drop.match
