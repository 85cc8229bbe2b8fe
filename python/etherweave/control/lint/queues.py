"""Whether queues are served, marked and watched as lossless traffic wants it."""

from collections.abc import Iterator, Mapping
from typing import Any

from etherweave.control.lint.config_db import Port
from etherweave.control.lint.finding import Fault
from etherweave.control.lint.lossless import each
from etherweave.control.lint.site import Site

COLOURS = ("green", "yellow", "red")
SHARED = ("DWRR", "WRR")
POLL_MS = 200
"""How often SONiC looks where nothing is said [ms]."""


def weights(site: Site) -> Iterator[Fault]:
    """Find weights that are no shares in percent."""
    for switch in site.switches:
        for port in switch.ports:
            shares = shares_of(port)
            if shares and sum(shares.values()) != 100:
                found = f"weights of queues {_told(shares)} sum to {sum(shares.values())}"
                yield Fault(switch.file, port.name, found, "a sum of 100")


def shares_of(port: Port) -> dict[int, int]:
    """Give the weight of every queue that has one [%]."""
    return {
        number: queue.weight
        for number, queue in sorted(port.queues.items())
        if queue.kind in SHARED and queue.weight is not None
    }


def served(site: Site) -> Iterator[Fault]:
    """Find lossless queues that nothing is promised to, though others are."""
    for switch, port in each(site):
        if not any(queue.kind for queue in port.queues.values()):
            continue
        for priority in sorted(port.lossless):
            number = port.queue_of(priority)
            queue = port.queues.get(number) if number is not None else None
            if queue is None or not queue.kind:
                found = f"queue {number} of lossless priority {priority} has no scheduler"
                yield Fault(switch.file, port.name, found, "a scheduler with a weight, or STRICT")


def marking(site: Site) -> Iterator[Fault]:
    """Find WRED that drops lossless packets instead of marking them, and thresholds upside down."""
    for switch, port in each(site):
        profiles = switch.tables.get("WRED_PROFILE", {})
        for priority in sorted(port.lossless):
            number = port.queue_of(priority)
            queue = port.queues.get(number) if number is not None else None
            if queue is None or queue.wred not in profiles:
                continue
            for found, expected in _marking(profiles[queue.wred]):
                yield Fault(
                    switch.file, f"{port.name} queue {number}", f"{queue.wred}: {found}", expected
                )


def _marking(profile: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    ecn = str(profile.get("ecn", "ecn_none"))
    for colour in COLOURS:
        least, most = (_size(profile.get(f"{colour}_{side}_threshold")) for side in ("min", "max"))
        if least is not None and most is not None and most < least:
            yield f"{colour} maximum {most} B below minimum {least} B", "minimum below maximum"
        enabled = str(profile.get(f"wred_{colour}_enable", "false")).lower() == "true"
        if enabled and ecn != "ecn_all" and colour not in ecn:
            yield f"WRED drops {colour} packets, for ecn is {ecn}", "ecn_all, which marks them"


def _size(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def watchdog(site: Site) -> Iterator[Fault]:
    """Find lossless priorities that a stuck neighbour may pause for ever."""
    if site.fabric is not None and site.fabric.watchdog is None:
        return
    for switch, port in each(site):
        if not port.has_watchdog:
            yield Fault(switch.file, port.name, "no PFC watchdog", "an entry in PFC_WD")
        elif missing := sorted(port.lossless - port.watched):
            found = f"pfcwd_sw_enable leaves out {', '.join(str(one) for one in missing)}"
            yield Fault(switch.file, port.name, found, "every priority of pfc_enable")


def watchdog_times(site: Site) -> Iterator[Fault]:
    """Find watchdogs that look less often than they must decide."""
    for switch in site.switches:
        table = switch.tables.get("PFC_WD", {})
        poll = _size(table.get("GLOBAL", {}).get("POLL_INTERVAL", POLL_MS))
        for name, entry in table.items():
            for field in ("detection_time", "restoration_time"):
                time = _size(entry[field]) if field in entry else None
                if poll is not None and time is not None and time < poll:
                    found = f"{field} {time} ms is below the polling interval"
                    yield Fault(switch.file, f"PFC_WD|{name}", found, f"at least {poll} ms")


def _told(shares: Mapping[int, int]) -> str:
    return ", ".join(f"{number}: {share}" for number, share in shares.items())
