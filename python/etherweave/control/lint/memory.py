"""Rules on sizes and thresholds of groups, pools and queues."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from etherweave.control.lint.classification import dscp_classes, places
from etherweave.control.lint.config_db import ConfiguredSwitch, reference, spans
from etherweave.control.lint.inputs import Configurations, LintFault
from etherweave.control.lint.lossless import each
from etherweave.control.lint.queues import default_queue, size_of


def _lossless_profiles(
    site: Configurations,
) -> Iterator[tuple[ConfiguredSwitch, str, str, Mapping[str, Any]]]:
    """Return the profile of every lossless group, with its place."""
    for switch, port in each(site):
        profiles = switch.tables.get("BUFFER_PROFILE", {})
        for priority in sorted(port.lossless):
            group = port.groups.get(port.group_of(priority) or 0)
            if group is not None and group.xoff_bytes and group.name in profiles:
                place = f"{port.name} priority {priority}"
                yield switch, place, group.name, profiles[group.name]


def sizes(site: Configurations) -> Iterator[LintFault]:
    """Find groups that never resume, and groups larger than their pools."""
    for switch, place, name, profile in _lossless_profiles(site):
        size, xon, xoff = (size_of(profile.get(key, "0")) for key in ("size", "xon", "xoff"))
        if size is None or xon is None or xoff is None:
            continue
        pool_name = reference(profile.get("pool", ""))
        pool = switch.tables.get("BUFFER_POOL", {}).get(pool_name, {})
        total, shared = (size_of(pool.get(key)) for key in ("size", "xoff"))
        pause = size_of(profile.get("pause"))
        most, what = (
            (size + xoff, "its size and xoff together") if pause is None else (pause, "xoff")
        )
        if xon > most:
            text = f"xon of {name} is {xon} B, more than {what}"
            yield LintFault(switch.file, place, text, f"at most {most} B")
        if size == 0 and not shared:
            expected = "its reserve and headroom, or a pool with shared headroom"
            yield LintFault(switch.file, place, f"size of {name} is 0 B", expected)
        if total is not None and max(size, xoff) > total + (shared or 0):
            text = f"{pool_name} has {total} B, less than one of its groups"
            yield LintFault(switch.file, place, text, "a pool for all groups of all ports")


def shared(site: Configurations) -> Iterator[LintFault]:
    """Find pools of shared headroom that are smaller than the headroom of one group."""
    for switch, place, name, profile in _lossless_profiles(site):
        pool = reference(profile.get("pool", ""))
        entry = switch.tables.get("BUFFER_POOL", {}).get(pool, {})
        size, xoff = size_of(entry.get("xoff")), size_of(profile.get("xoff", "0"))
        if size and xoff and size < xoff:
            text = f"{pool} has shared headroom of {size} B, {name} an xoff of {xoff} B"
            yield LintFault(switch.file, place, text, f"at least {xoff} B")


def thresholds(site: Configurations) -> Iterator[LintFault]:
    """Find lossless groups that get next to nothing of their pools."""
    for switch, place, name, profile in _lossless_profiles(site):
        inactive = switch.system.inactive
        if inactive and str(profile.get("dynamic_th", "")) == inactive:
            named = switch.system.terms["threshold"]
            text = f"{named} of {name} is {inactive}, next to nothing of the free pool"
            yield LintFault(switch.file, place, text, "a threshold of an active port")


def egress(site: Configurations) -> Iterator[LintFault]:
    """Find lossless queues with the buffer profile of unmarked traffic, and queues without one."""
    for switch in site.switches:
        by_port = _queue_profiles(switch)
        known = set().union(*by_port.values())
        for port in switch.ports:
            profiles = by_port.get(port.name, {})
            stopped = {port.queue_of(priority) for priority in port.lossless} - {None}
            used = {queue for _, queue in places(port, dscp_classes(port)).values()} & known
            for number in sorted(group for group in stopped | used if group is not None):
                place = f"{port.name} queue {number}"
                for value, expected in _egress(number, profiles, default_queue(port), stopped):
                    yield LintFault(switch.file, place, value, expected)


def _egress(
    number: int, profiles: Mapping[int, str], lossy: int, stopped: AbstractSet[int | None]
) -> Iterator[tuple[str, str]]:
    is_lossless = number in stopped
    ample = "a profile of lossless queues, which takes the whole pool"
    if profiles and number not in profiles:
        kind = "lossless queue" if is_lossless else "queue"
        yield f"no BUFFER_QUEUE for {kind} {number}", ample if is_lossless else "a profile"
    elif is_lossless and lossy not in stopped and profiles.get(number, "") == profiles.get(lossy):
        yield f"lossless queue {number} has {profiles[number]}, as queue {lossy} has", ample


def _queue_profiles(switch: ConfiguredSwitch) -> Mapping[str, Mapping[int, str]]:
    texts: dict[str, dict[int, str]] = {}
    for key, entry in switch.tables.get("BUFFER_QUEUE", {}).items():
        for port, number in spans(key):
            texts.setdefault(port, {})[number] = reference(entry.get("profile", ""))
    return texts
