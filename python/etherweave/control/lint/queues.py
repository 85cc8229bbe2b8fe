"""Rules on maps to groups and queues, and on schedulers, marking and the watchdog of queues."""

from collections.abc import Iterator, Mapping
from typing import Any

from etherweave.control.lint.classification import span_of
from etherweave.control.lint.config_db import ConfiguredPort, ConfiguredSwitch
from etherweave.control.lint.inputs import Configurations, LintFault
from etherweave.control.lint.lossless import each
from etherweave.control.lint.systems import CUMULUS, SONIC, System

COLOURS = ("green", "yellow", "red")


def served(site: Configurations) -> Iterator[LintFault]:
    """Find lossless queues without a scheduler, although others have one."""
    for switch, port in each(site):
        if not any(queue.kind for queue in port.queues.values()):
            continue
        usual = default_queue(port)
        first = port.queues.get(usual)
        for priority in sorted(port.lossless):
            number = port.queue_of(priority)
            queue = port.queues.get(number) if number is not None else None
            if queue is None or not queue.kind or queue.weight == 0:
                text = f"queue {number} of lossless priority {priority} has no scheduler"
                expected = "a scheduler with a weight, or strict priority"
                yield LintFault(switch.file, port.name, text, expected)
            elif first is not None and first.kind == "STRICT" and queue.kind != "STRICT":
                text = f"queue {usual}, of traffic without a mark, goes before queue {number}"
                yield LintFault(switch.file, port.name, text, "a weight for both")


def marking(site: Configurations) -> Iterator[LintFault]:
    """Find WRED that drops lossless packets, and maximum thresholds below minimum ones."""
    for switch, port in each(site):
        profiles = switch.tables.get("WRED_PROFILE", {})
        for priority in sorted(port.lossless):
            number = port.queue_of(priority)
            queue = port.queues.get(number) if number is not None else None
            if queue is None or queue.wred not in profiles:
                continue
            for value, expected in _marking(profiles[queue.wred]):
                yield LintFault(
                    switch.file, f"{port.name} queue {number}", f"{queue.wred}: {value}", expected
                )


def _marking(profile: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    ecn = str(profile.get("ecn", "ecn_none"))
    for colour in COLOURS:
        least, most = (limit_of(profile, colour, side) for side in ("min", "max"))
        if least is not None and most is not None and most < least:
            yield f"{colour} maximum {most} B below minimum {least} B", "minimum below maximum"
        enabled = str(profile.get(f"wred_{colour}_enable", "false")).lower() == "true"
        if enabled and ecn != "ecn_all" and colour not in ecn:
            yield f"WRED drops {colour} packets, because ecn is {ecn}", "ecn_all, which marks them"


def unmarked(site: Configurations) -> Iterator[LintFault]:
    """Find lossless queues that WRED never marks."""
    for switch, port in each(site):
        profiles = switch.tables.get("WRED_PROFILE", {})
        memory = _largest_pool(switch) or (site.fabric.memory.buffer_bytes if site.fabric else 0)
        for priority in sorted(port.lossless):
            number = port.queue_of(priority)
            queue = port.queues.get(number) if number is not None else None
            if not profiles and (site.fabric is None or site.fabric.marking is None):
                continue
            place = f"{port.name} queue {number}"
            if queue is None or not queue.wred:
                named = switch.system.terms["marking"]
                expected = f"{named}, as {next(iter(profiles), 'in the scenario')}"
                yield LintFault(switch.file, place, f"no {named}", expected)
                continue
            profile = profiles.get(queue.wred, {})
            faults = (*_unmarked(profile, memory), *_disabled(switch, profile))
            for value, expected in (*faults, *_unlimited(switch, profile)):
                yield LintFault(switch.file, place, f"{queue.wred}: {value}", expected)


def _unmarked(profile: Mapping[str, Any], memory_bytes: int) -> Iterator[tuple[str, str]]:
    if profile and str(profile.get("ecn", "ecn_none")) == "ecn_none":
        yield "ecn is ecn_none", "ecn_all"
    for colour in COLOURS:
        least = limit_of(profile, colour, "min")
        if least is not None and memory_bytes and least >= memory_bytes:
            expected = f"less than the memory, {memory_bytes} B"
            yield f"{colour} minimum {least} B is never reached", expected
        if size_of(profile.get(f"{colour}_drop_probability")) == 0:
            yield f"{colour} probability 0", "at least 1 %"


def _disabled(switch: ConfiguredSwitch, profile: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find profiles of SONiC that are off for green packets, as all are that no meter colours."""
    ecn = str(profile.get("ecn", "ecn_none"))
    if switch.system is not SONIC or ecn == "ecn_none":
        return
    enabled = str(profile.get("wred_green_enable", "missing")).lower()
    if ecn != "ecn_all" and "green" not in ecn:
        yield f"ecn is {ecn}, but packets that no meter colours are green", "ecn_all"
    elif enabled != "true":
        text = f"ecn is {ecn}, but wred_green_enable is {enabled}: nothing is marked"
        yield text, "wred_green_enable true, for its default is false"


def _unlimited(switch: ConfiguredSwitch, profile: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find thresholds that are missing or 0, for which SAI takes the whole memory."""
    if switch.system is CUMULUS or str(profile.get("ecn", "ecn_none")) == "ecn_none":
        return  # The thresholds of Cumulus have defaults.
    sides = [
        f"green_{side}_threshold" for side in ("min", "max") if not limit_of(profile, "green", side)
    ]
    is_complete = switch.system is SONIC or len(sides) == 1
    for field in sides if is_complete else ():
        yield f"{field} is missing: the whole memory is the threshold", "a size in bytes"


def limit_of(profile: Mapping[str, Any], colour: str, side: str) -> int | None:
    """Return a threshold of marking, which is that of WRED unless it has one of its own."""
    field = f"{colour}_{side}_threshold"
    return size_of(profile.get(f"ecn_{field}", profile.get(field)))


def _largest_pool(switch: ConfiguredSwitch) -> int:
    pools = switch.tables.get("BUFFER_POOL", {}).values()
    return max((size_of(pool.get("size")) or 0 for pool in pools), default=0)


def default_queue(port: ConfiguredPort) -> int:
    """Return the queue of traffic without a mark."""
    traffic_class = port.maps.get("dscp_to_tc_map", {}).get(0, 0)
    return port.maps.get("tc_to_queue_map", {}).get(traffic_class, traffic_class)


def lossless_groups(port: ConfiguredPort) -> set[int]:
    """Return the groups of lossless priorities, but those that have no headroom."""
    groups = {port.group_of(priority) for priority in port.lossless} - {None}
    profiles = {group: port.groups.get(group) for group in groups if group is not None}
    return {group for group, profile in profiles.items() if profile is None or profile.xoff_bytes}


def default(site: Configurations) -> Iterator[LintFault]:
    """Find traffic without a mark in a lossless group."""
    for switch, port in each(site):
        traffic_class = port.maps.get("dscp_to_tc_map", {}).get(0)
        group = port.maps.get("tc_to_pg_map", {}).get(
            -1 if traffic_class is None else traffic_class
        )
        if group is not None and group in lossless_groups(port):
            text = f"DSCP 0 is in lossless priority group {group}"
            expected = "a lossy class for traffic without a mark, as DSCP 26 for RoCE"
            yield LintFault(switch.file, port.name, text, expected)


def size_of(value: object) -> int | None:
    """Return a whole number, or nothing."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def watchdog(site: Configurations) -> Iterator[LintFault]:
    """Find lossless priorities without a watchdog."""
    if site.fabric is not None and site.fabric.watchdog is None:
        return
    for switch, port in each(site):
        if not port.has_watchdog:
            expected = switch.system.terms["watchdog"]
            yield LintFault(switch.file, port.name, "no PFC watchdog", expected)
        elif missing := sorted(port.lossless - port.watched):
            left = ", ".join(str(name) for name in missing)
            text = f"{switch.system.terms['watched']} leaves out {left}"
            yield LintFault(switch.file, port.name, text, "every lossless priority")


ACTIONS = ("drop", "forward")  # Actions of SONiC's watchdog that end a storm.
REPORTING = ("alert", "notify-only")  # Actions of the watchdog that only report.


def watchdog_times(site: Configurations) -> Iterator[LintFault]:
    """Find times that switches reject, or below the polling interval, and watchdogs that report."""
    for switch in site.switches:
        system = switch.system
        table = switch.tables.get("PFC_WD", {})
        polling = table.get("GLOBAL", {}).get("POLL_INTERVAL", system.poll_ms)
        poll = size_of(polling)
        if poll is None:
            text = f"polling interval {str(polling)[:20]}"
            place = system.place("PFC_WD", "GLOBAL")
            yield LintFault(switch.file, place, text, "a time in milliseconds")
        for name, entry in table.items():
            place = system.place("PFC_WD", name)
            if entry.get("action") in REPORTING:
                text = f"action {entry['action']} reports a storm and lets it go on"
                yield LintFault(switch.file, place, text, "drop")
            for text, expected in _rejected(switch, name, entry):
                yield LintFault(switch.file, place, text, expected)
            for field in (times_m for times_m in system.times_ms if times_m in entry):
                for text, expected in _time(system, field, str(entry[field]), poll or 0):
                    yield LintFault(switch.file, place, text, expected)


def _rejected(
    switch: ConfiguredSwitch, name: str, entry: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Find entries that pfcwdorch of SONiC rejects: without a time, or with another action."""
    if switch.system is not SONIC or name == "GLOBAL":
        return
    if "detection_time" not in entry:
        yield "no detection_time", "a time in milliseconds, as 200"
    if entry.get("action", ACTIONS[0]) not in (*ACTIONS, *REPORTING):
        yield f"action {str(entry['action'])[:20]}", " or ".join(ACTIONS)


def _time(system: System, field: str, text: str, poll_ms: int) -> Iterator[tuple[str, str]]:
    least, most = system.times_ms[field]
    time = size_of(text)
    if time is None or not least <= time <= most:
        yield f"{system.term(field)} {text[:20]}", f"{least} to {most} ms"
    elif time < poll_ms * system.polls:
        times = f"{system.term(field)} {time} ms, polling interval {poll_ms} ms"
        yield times, f"at least {poll_ms * system.polls} ms"


NEEDED = ("tc_to_pg_map", "tc_to_queue_map")
INTO = ("dscp_to_tc_map", "dot1p_to_tc_map")  # Maps that put packets into traffic classes.


def bound(site: Configurations) -> Iterator[LintFault]:
    """Find lossless ports without a map that they need."""
    for switch, port in each(site):
        for field in NEEDED:
            if field not in port.maps:
                yield LintFault(switch.file, port.name, f"no {field}", f"a {field} in PORT_QOS_MAP")
        if not any(field in port.maps for field in INTO):
            expected = "one of both in PORT_QOS_MAP"
            yield LintFault(switch.file, port.name, f"neither {INTO[0]} nor {INTO[1]}", expected)


def known_classes(site: Configurations) -> Iterator[LintFault]:
    """Find traffic classes without a group or queue."""
    for switch, port in each(site):
        for into in INTO:
            for field in NEEDED:
                target = port.maps.get(field)
                if target is None:
                    continue
                lost = sorted(set(port.maps.get(into, {}).values()) - set(target))
                for traffic_class in lost:
                    origins = _origins(port, into, traffic_class)
                    text = f"{into} leads {origins} to traffic class {traffic_class}"
                    expected = f"a class of {field}: {span_of(list(target))}"
                    yield LintFault(switch.file, port.name, text, expected)


def reached(site: Configurations) -> Iterator[LintFault]:
    """Find lossless priorities that no code point maps to."""
    for switch, port in each(site):
        group_of_class = port.maps.get("tc_to_pg_map")
        into = [port.maps[field] for field in INTO if field in port.maps]
        if group_of_class is None or not into:
            continue
        classes = {pair for pairs in into for pair in pairs.values()}
        used = {group_of_class[tc] for tc in classes if tc in group_of_class}
        for priority in sorted(port.lossless):
            group = port.group_of(priority)
            if group is not None and group not in used:
                text = f"no code point leads to priority group {group} of priority {priority}"
                expected = f"a DSCP or 802.1p priority in a traffic class of group {group}"
                yield LintFault(switch.file, port.name, text, expected)


def same_queue(site: Configurations) -> Iterator[LintFault]:
    """Find pauses that stop another queue than the one that fills the group."""
    for switch, port in each(site):
        groups, queues = port.maps.get("tc_to_pg_map"), port.maps.get("tc_to_queue_map")
        if groups is None or queues is None:
            continue
        for priority in sorted(port.lossless):
            queue, group = port.queue_of(priority), port.group_of(priority)
            if group not in lossless_groups(port):
                continue  # Another rule reports that it drops.
            for traffic_class in sorted(groups):
                out = queues.get(traffic_class)
                if groups[traffic_class] == group and out is not None and out != queue:
                    text = (
                        f"traffic class {traffic_class} fills priority group {group} and leaves by "
                        f"queue {out}, but a pause of priority {priority} stops queue {queue}"
                    )
                    yield LintFault(switch.file, port.name, text, f"queue {out} for both")


def unmixed(site: Configurations) -> Iterator[LintFault]:
    """Find lossy traffic in a queue that a pause stops, and lossless in one that none does."""
    for switch, port in each(site):
        groups, queues = port.maps.get("tc_to_pg_map"), port.maps.get("tc_to_queue_map")
        if groups is None or queues is None:
            continue
        lossless = {port.group_of(priority) for priority in port.lossless}
        stopped = {port.queue_of(priority) for priority in port.lossless}
        for traffic_class, queue in sorted(queues.items()):
            if queue in stopped and groups.get(traffic_class) not in lossless:
                text = (
                    f"traffic class {traffic_class} shares lossless queue {queue}, but fills "
                    f"priority group {groups.get(traffic_class)}, which is lossy"
                )
                expected = "another queue, or the group of a lossless priority"
                yield LintFault(switch.file, port.name, text, expected)


def _origins(port: ConfiguredPort, field: str, traffic_class: int) -> str:
    origins = [first for first, other in port.maps[field].items() if other == traffic_class]
    return span_of(origins)
