"""Differences between a switch's tables and its plan, and the messages that remove them.

Entries are the same when table, priority and match are. Cookies are not compared: a rule that does
what the plan says is kept, whoever installed it. The value of the pause vector is not compared
either, because an agent for pauses changes it all the time.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypeAlias, TypeVar

from etherweave.control import messages, oxm, text
from etherweave.control.controller.reports import ReportedEntry, ReportedTables
from etherweave.control.messages import NO_COOKIE, Cookie, FlowCommand, ModCommand
from etherweave.control.rules import (
    FabricPlan,
    FlowRule,
    Group,
    MatchField,
    Meter,
    Purpose,
    SwitchPlan,
)

OWNER = 0x4557  # The first 16 bits of Etherweave's cookies: "EW".
GENERATIONS = 1 << 16
_EVERY_BIT = (1 << 64) - 1
_WRITE_METADATA = 2
_HEADER = 8

_EntryKey: TypeAlias = tuple[int, int, object]
_Numbered = TypeVar("_Numbered", Group, Meter)


class CookieFields(NamedTuple):
    """Fields of Etherweave's cookies: the plan of a rule, and the change that installed it."""

    plan: int  # First 32 bits of the plan's fingerprint.
    generation: int  # Counts changes, modulo 65536.

    @property
    def cookie(self) -> int:
        """The cookie, 64 bits."""
        return OWNER << 48 | self.plan << 16 | self.generation

    @classmethod
    def read(cls, cookie: int) -> Self | None:
        """Read a cookie; None if it is not Etherweave's."""
        if cookie >> 48 != OWNER:
            return None
        return cls(cookie >> 16 & 0xFFFFFFFF, cookie & 0xFFFF)


@dataclass(frozen=True, slots=True)
class Drift:
    """Differences between a switch and its plan."""

    missing: tuple[FlowRule, ...] = ()
    changed: tuple[FlowRule, ...] = ()
    """Rules that are installed with other actions, or with a time-out."""
    foreign: tuple[ReportedEntry, ...] = ()  # Entries that are not in the plan.
    groups_missing: tuple[Group, ...] = ()
    groups_changed: tuple[Group, ...] = ()
    groups_foreign: tuple[int, ...] = ()
    meters_missing: tuple[Meter, ...] = ()
    meters_changed: tuple[Meter, ...] = ()
    meters_foreign: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return self != Drift()

    def without_foreign(self) -> "Drift":
        """Return the differences without entries that are not in the plan."""
        fields = {name: getattr(self, name) for name in self.__slots__ if "foreign" not in name}
        return Drift(**fields)

    def is_like(self, other: "Drift") -> bool:
        """Whether the same differs, whichever cookies foreign entries have."""
        return (
            replace(self, foreign=()) == replace(other, foreign=())
            and {*map(_entry_key, self.foreign)} == {*map(_entry_key, other.foreign)}
        )  # fmt: skip


class TableChange(NamedTuple):
    """A message to a switch, and the entry that it changes."""

    about: FlowRule | ReportedEntry | Group | Meter | int
    octets: bytes
    cleanup: bytes = b""  # The message that undoes it, where no bundle does.


class TableChanges(NamedTuple):
    """Messages that make a switch equal to its plan, in this order."""

    meters: tuple[TableChange, ...]  # First, because rules name them and bundles do not take them.
    bundle: tuple[TableChange, ...]  # All at once.
    meters_left: tuple[TableChange, ...]  # Last: of rules that were removed.


def fingerprint(plan: FabricPlan) -> int:
    """Return a hash of 32 bits."""
    digest = hashlib.sha256()
    for switch in plan.switches:
        digest.update(f"{switch.name} {switch.datapath_id}\n".encode())
        for line in switch_text(switch):
            digest.update(line.encode() + b"\n")
    return int.from_bytes(digest.digest()[:4])


def switch_text(switch: SwitchPlan) -> Iterator[str]:
    """Write a switch's meters, groups and rules, one line each."""
    yield from map(text.meter, switch.meters)
    yield from map(text.group, switch.groups)
    yield from text.flows(switch.rules, switch.protocol)


def as_reported(switch: SwitchPlan) -> ReportedTables:
    """Return what a switch reports in which a plan is installed."""
    return ReportedTables(
        tuple(
            ReportedEntry(rule.table, rule.priority, messages.match(_normalised(rule.match)),
                  messages.instructions(rule), None)
            for rule in switch.rules
        ),
        {group.number: _group_octets(group) for group in switch.groups},
        {meter.number: _meter_octets(meter) for meter in switch.meters},
    )  # fmt: skip


def between(old: SwitchPlan, new: SwitchPlan) -> Drift:
    """Compare two plans of a switch."""
    return compare(new, as_reported(old))


def compare(planned: SwitchPlan, reported: ReportedTables) -> Drift:
    """Compare a switch with its plan; takes a few microseconds per rule."""
    rules = {_rule_key(rule): rule for rule in planned.rules}
    there = {_entry_key(entry): entry for entry in reported.entries}
    return Drift(
        tuple(rule for key, rule in rules.items() if key not in there),
        tuple(
            rule
            for key, rule in rules.items()
            if key in there and not _is_installed(rule, there[key])
        ),
        tuple(entry for key, entry in there.items() if key not in rules),
        *_differing(planned.groups, reported.groups, _group_octets),
        *_differing(planned.meters, reported.meters, _meter_octets),
    )


def _differing(
    planned: Iterable[_Numbered],
    reported: Mapping[int, bytes],
    octets: Callable[[_Numbered], bytes],
) -> tuple[tuple[_Numbered, ...], tuple[_Numbered, ...], tuple[int, ...]]:
    """Return groups or meters that are missing, those that differ, and numbers not planned."""
    wanted = {numbered.number: numbered for numbered in planned}
    there = [entry for number, entry in wanted.items() if number in reported]
    return (
        tuple(entry for number, entry in wanted.items() if number not in reported),
        tuple(entry for entry in there if reported[entry.number] != octets(entry)),
        tuple(number for number in reported if number not in wanted),
    )


def table_changes(drift: Drift, reported: ReportedTables, stamp: CookieFields) -> TableChanges:
    """Write the messages that make a switch equal to its plan.

    ``reported`` has the tables of the switch; its former meters are restored when rules are
    rejected. ``stamp`` has fields of the cookies of new rules.
    """
    return TableChanges(
        (
            *(_meter_step(meter, ModCommand.ADD, reported) for meter in drift.meters_missing),
            *(_meter_step(meter, ModCommand.MODIFY, reported) for meter in drift.meters_changed),
        ),
        tuple(_bundle(drift, Cookie(stamp.cookie))),
        tuple(
            TableChange(number, messages.meter_mod(Meter(number, 0, 0), ModCommand.DELETE))
            for number in drift.meters_foreign
        ),
    )


def _bundle(drift: Drift, cookie: Cookie) -> Iterator[TableChange]:
    """Write groups before rules that name them, and delete before adding: tables may be full."""
    for entry in drift.foreign:
        own = NO_COOKIE if entry.cookie is None else Cookie(entry.cookie, _EVERY_BIT)
        where = (entry.table, entry.priority, entry.match)
        yield TableChange(entry, messages.flow_delete(*where, cookie=own))
    for group in drift.groups_missing:
        yield TableChange(group, messages.group_mod(group, ModCommand.ADD))
    for group in drift.groups_changed:
        yield TableChange(group, messages.group_mod(group, ModCommand.MODIFY))
    for rule in (*drift.changed, *drift.missing):
        yield TableChange(rule, messages.flow_mod(rule, FlowCommand.ADD, cookie=cookie))
    for number in drift.groups_foreign:
        yield TableChange(number, messages.group_mod(Group(number, ()), ModCommand.DELETE))


def generation(entries: Iterable[ReportedEntry]) -> int:
    """Return the latest generation of Etherweave's rules; 0 without any."""
    stamps = (CookieFields.read(entry.cookie or 0) for entry in entries)
    return max((stamp.generation for stamp in stamps if stamp), default=0)


def describe(about: FlowRule | ReportedEntry | Group | Meter | int) -> str:
    """Describe the entry that a message changes."""
    if isinstance(about, FlowRule):
        return f"rule {text.flow(about)}"
    if isinstance(about, ReportedEntry):
        return f"foreign entry {entry_text(about)}"
    if isinstance(about, Group):
        return f"group {text.group(about)}"
    return f"meter {text.meter(about)}" if isinstance(about, Meter) else f"number {about}"


def entry_text(entry: ReportedEntry) -> str:
    """Write an entry as a switch reports it, as far as its fields are known."""
    match = _match_fields(entry)
    rule = FlowRule(entry.table, entry.priority, match or (), ())
    line = text.flow(rule).removesuffix(",actions=drop")
    unread = f",match={entry.match.hex()}" if match is None else ""
    tag = "" if entry.cookie is None else f"cookie={entry.cookie:#x},"
    return f"{tag}{line}{unread}"


def _normalised(fields: Iterable[MatchField]) -> Iterator[MatchField]:
    """Write match fields as switches report them: masked-out bits are 0, a full mask is None."""
    for field in fields:
        full = (1 << 8 * oxm.FIELDS[field.field].octets) - 1
        mask = full if field.mask is None else field.mask
        if mask:
            yield MatchField(field.field, field.value & mask, None if mask == full else mask)


def _rule_key(rule: FlowRule) -> _EntryKey:
    return rule.table, rule.priority, frozenset(_normalised(rule.match))


def _entry_key(entry: ReportedEntry) -> _EntryKey:
    match = _match_fields(entry)
    return entry.table, entry.priority, entry.match if match is None else frozenset(match)


def _match_fields(entry: ReportedEntry) -> tuple[MatchField, ...] | None:
    kind, length = int.from_bytes(entry.match[:2]), int.from_bytes(entry.match[2:4])
    return oxm.decode(entry.match[4:length]) if kind == 1 else None


def _is_installed(rule: FlowRule, entry: ReportedEntry) -> bool:
    wanted = messages.instructions(rule)
    if rule.purpose is Purpose.PAUSE_VECTOR:
        return not entry.expires and _without_vector(wanted) == _without_vector(entry.instructions)
    return not entry.expires and wanted == entry.instructions


def _without_vector(instructions: bytes) -> bytes:
    """Replace the value that WRITE_METADATA writes by zeros; its mask stays."""
    start = 0
    while start + _HEADER <= len(instructions):
        kind = int.from_bytes(instructions[start : start + 2])
        length = int.from_bytes(instructions[start + 2 : start + 4])
        if kind == _WRITE_METADATA:
            return instructions[: start + 8] + bytes(8) + instructions[start + 16 :]
        start += max(length, _HEADER)
    return instructions


def _group_octets(group: Group) -> bytes:
    """Return type and buckets, as a report has them."""
    written = messages.group_mod(group, ModCommand.ADD)
    return written[10:11] + written[16:]


def _meter_octets(meter: Meter) -> bytes:
    """Return flags and bands, as a report has them."""
    written = messages.meter_mod(meter, ModCommand.ADD)
    return written[10:12] + written[16:]


def _meter_step(meter: Meter, command: ModCommand, reported: ReportedTables) -> TableChange:
    octets = messages.meter_mod(meter, command)
    if command is ModCommand.ADD:
        return TableChange(meter, octets, messages.meter_mod(meter, ModCommand.DELETE))
    former = reported.meters[meter.number]
    body = octets[8:10] + former[:2] + octets[12:16] + former[2:]
    return TableChange(meter, octets, messages.message(messages.MessageType.METER_MOD, body, 0))
