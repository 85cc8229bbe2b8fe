"""Rules on packet trimming in SONiC's tables (sonic-net/SONiC, packet-trimming-design.md)."""

from collections.abc import Iterator, Mapping
from typing import Any

from etherweave.control.lint.config_db import ConfiguredSwitch, reference, spans
from etherweave.control.lint.inputs import Configurations, LintFault
from etherweave.control.lint.queues import size_of
from etherweave.control.lint.systems import SONIC
from etherweave.control.qos import sonic
from etherweave.control.qos.policy import Policy

TABLE = "SWITCH_TRIMMING"
GLOBAL = f"{TABLE}|GLOBAL"
DISCARDS = ("drop", "trim")
BY_CLASS = ("dscp_value", "from-tc")
"""Field and value by which trimmed packets have the code point of a traffic class, by port."""
RANGES = {
    "size": (44, 9216, None),
    "dscp_value": (0, 63, BY_CLASS[1]),
    "tc_value": (0, 15, None),
    "queue_index": (0, 7, "dynamic"),
}
"""Fields of the table: least, most, and a word in place of a number. Sizes are in bytes: the least
is that of ``switch.trimming.size``, the most an MTU of switches."""
MTU_MIN = 1500
"""Packet that every port takes where none states its MTU (RFC 894) [B]."""
NEEDED = ("size", "dscp_value", "queue_index")


def configured(site: Configurations) -> Iterator[LintFault]:
    """Find values that SONiC rejects, halves of the configuration, and other trimming."""
    for switch in site.switches:
        if switch.system is not SONIC:
            continue
        table = switch.tables.get(TABLE, {})
        entry = table.get("GLOBAL", {})
        for key in sorted(table.keys() - {"GLOBAL"}):
            yield LintFault(switch.file, f"{TABLE}|{key[:20]}", "an unknown key", GLOBAL)
        for text, expected in _values(entry):
            yield LintFault(switch.file, GLOBAL, text, expected)
        yield from _own_class(switch, entry)
        yield from _actions(switch)
        yield from _halves(switch, entry)
        yield from _thresholds(switch, site.fabric)
        if site.fabric is not None:
            yield from _own_queue(switch, site.fabric)
            for text, expected in _unlike(site.fabric, entry):
                yield LintFault(switch.file, GLOBAL, text, f"{expected}, as in the scenario")
            yield from _marks(switch, entry, site.fabric)


def _values(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    by_class = entry.get(BY_CLASS[0]) == BY_CLASS[1]
    for field in (*NEEDED, *(("tc_value",) if by_class else ())) if entry else ():
        if field not in entry:
            yield f"no {field}", _expected(field)
    for field in (known for known in RANGES if known in entry):
        least, most, word = RANGES[field]
        text = str(entry[field])
        number = size_of(text)
        if text != word and (number is None or not least <= number <= most):
            yield f"{field} {text[:20]}", _expected(field)


def _expected(field: str) -> str:
    least, most, word = RANGES[field]
    unit = " B" if field == "size" else ""
    return f"{least} to {most}{unit}" + (f", or {word}" if word else "")


def _own_class(switch: ConfiguredSwitch, entry: Mapping[str, Any]) -> Iterator[LintFault]:
    """Find a class of trimmed packets that others have, to which ports give their code point."""
    if entry.get(BY_CLASS[0]) != BY_CLASS[1] or "tc_value" not in entry:
        return
    own = str(entry["tc_value"])
    ports = switch.tables.get("PORT_QOS_MAP", {}).values()
    bound = {reference(port.get("dscp_to_tc_map")) for port in ports}
    maps = switch.tables.get("DSCP_TO_TC_MAP", {}).items()
    rows = [row for name, row in maps if name in bound]
    shared = {dscp for row in rows for dscp, number in row.items() if str(number) == own}
    if shared:
        marks = ", ".join(sorted(shared, key=lambda dscp: (len(dscp), dscp)))
        text = f"tc_value {own[:20]}, the class of DSCP {marks[:60]}, which ports change too"
        yield LintFault(switch.file, GLOBAL, text, "a class that DSCP_TO_TC_MAP does not have")


def _actions(switch: ConfiguredSwitch) -> Iterator[LintFault]:
    for name, profile in switch.tables.get("BUFFER_PROFILE", {}).items():
        action = profile.get("packet_discard_action", DISCARDS[0])
        if action not in DISCARDS:
            place, text = f"BUFFER_PROFILE|{name}", f"packet_discard_action {str(action)[:20]}"
            yield LintFault(switch.file, place, text, " or ".join(DISCARDS))


def _halves(switch: ConfiguredSwitch, entry: Mapping[str, Any]) -> Iterator[LintFault]:
    """Find queues that trim without the table, and the table where no queue does."""
    trims = sorted(_trimming_profiles(switch))
    if trims and not entry:
        text = "packet_discard_action is trim, and no size, code point or queue is configured"
        yield LintFault(switch.file, f"BUFFER_PROFILE|{trims[0]}", text, f"an entry {GLOBAL}")
    if entry and not trims:
        expected = "packet_discard_action trim in the profile of a queue in BUFFER_QUEUE"
        yield LintFault(switch.file, GLOBAL, "no queue trims", expected)


def _trimming_profiles(switch: ConfiguredSwitch) -> dict[str, set[int]]:
    """Return the queues of each profile that trims."""
    profiles = switch.tables.get("BUFFER_PROFILE", {})
    trims: dict[str, set[int]] = {}
    for key, row in switch.tables.get("BUFFER_QUEUE", {}).items():
        name = reference(row.get("profile"))
        if profiles.get(name, {}).get("packet_discard_action") == DISCARDS[1]:
            trims.setdefault(name, set()).update(queue for _, queue in spans(key))
    return trims


def _thresholds(switch: ConfiguredSwitch, fabric: Policy | None) -> Iterator[LintFault]:
    """Find profiles that trim every packet of the MTU, unless the scenario has their threshold."""
    own = fabric.memory.egress.size_bytes if fabric else None
    mtu = max((port.mtu_bytes or MTU_MIN for port in switch.ports), default=MTU_MIN)
    for name in sorted(_trimming_profiles(switch)):
        profile = switch.tables["BUFFER_PROFILE"][name]
        fixed, reserve = size_of(profile.get("static_th")), size_of(profile.get("size")) or 0
        if fixed not in (None, own) and fixed + reserve < mtu:
            text = f"static_th is {fixed}, so that every packet of {mtu} B is trimmed"
            yield LintFault(switch.file, f"BUFFER_PROFILE|{name}", text, f"{mtu} or more")


def _own_queue(switch: ConfiguredSwitch, fabric: Policy) -> Iterator[LintFault]:
    """Find a queue of trimmed packets that trims: what it has no room for is dropped."""
    own = fabric.trimming
    for name, queues in sorted(_trimming_profiles(switch).items()):
        if own is not None and (trimmed := queues & {own.queue, own.next_queue}):
            text = f"packet_discard_action trim in queue {min(trimmed)}, that of trimmed packets"
            expected = f"{DISCARDS[0]}, as in the scenario"
            yield LintFault(switch.file, f"BUFFER_PROFILE|{name}", text, expected)


def _unlike(fabric: Policy, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    own = fabric.trimming
    if own is None or not entry:
        if own is not None:
            yield "no packet trimming", f"size {own.size_bytes}"
        elif entry:
            yield "packet trimming", "none"
        return
    wanted: dict[str, object] = {"size": own.size_bytes, "dscp_value": own.dscp}
    if own.is_by_class:
        wanted["dscp_value"] = BY_CLASS[1]
    elif entry.get(BY_CLASS[0]) == BY_CLASS[1]:
        del wanted["dscp_value"]  # Maps of ports say which.
    # By the map of code points, which rules on classes compare.
    if entry.get("queue_index") != RANGES["queue_index"][2] or own.queue != own.next_queue:
        wanted["queue_index"] = own.queue
    for field, value in wanted.items():
        if field in entry and str(entry[field]) != str(value):
            yield f"{field} {str(entry[field])[:20]}", str(value)


def _marks(
    switch: ConfiguredSwitch, entry: Mapping[str, Any], fabric: Policy
) -> Iterator[LintFault]:
    """Find ports that give trimmed packets other code points than the scenario."""
    own = fabric.trimming
    if own is None or entry.get(BY_CLASS[0]) != BY_CLASS[1]:
        return
    known = [known for known in fabric.switches if known.name == switch.name]
    for own_policy, port in ((policy, port) for policy in known for port in policy.ports):
        name = sonic.port_name(own_policy, port)
        bound = switch.tables.get("PORT_QOS_MAP", {}).get(name, {}).get("tc_to_dscp_map", "")
        marks = switch.tables.get("TC_TO_DSCP_MAP", {}).get(reference(bound), {})
        mark = marks.get(str(entry.get("tc_value")))
        expected = own.mark(is_last_hop=port.is_host)
        if mark != str(expected):
            text = f"trimmed packets have {'no DSCP' if mark is None else f'DSCP {mark}'}"
            yield LintFault(switch.file, name, text, f"{expected}, as in the scenario")
