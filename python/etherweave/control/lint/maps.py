"""Whether code points, priorities, groups and queues agree from end to end of a port."""

from collections.abc import Iterator

from etherweave.control.lint.config_db import Port
from etherweave.control.lint.finding import Fault
from etherweave.control.lint.lossless import each
from etherweave.control.lint.site import Site

NEEDED = ("tc_to_pg_map", "tc_to_queue_map", "pfc_to_queue_map")
INTO = ("dscp_to_tc_map", "dot1p_to_tc_map")
"""Maps that put packets into traffic classes."""


def bound(site: Site) -> Iterator[Fault]:
    """Find lossless ports without a map that they need."""
    for switch, port in each(site):
        for field in NEEDED:
            if field not in port.maps:
                yield Fault(switch.file, port.name, f"no {field}", f"a {field} in PORT_QOS_MAP")
        if not any(field in port.maps for field in INTO):
            expected = "one of both in PORT_QOS_MAP"
            yield Fault(switch.file, port.name, f"neither {INTO[0]} nor {INTO[1]}", expected)


def known_classes(site: Site) -> Iterator[Fault]:
    """Find traffic classes that lead nowhere."""
    for switch, port in each(site):
        for into in INTO:
            for field in NEEDED[:2]:
                target = port.maps.get(field)
                if target is None:
                    continue
                lost = sorted(set(port.maps.get(into, {}).values()) - set(target))
                for traffic_class in lost:
                    origins = _origins(port, into, traffic_class)
                    found = f"{into} leads {origins} to traffic class {traffic_class}"
                    expected = f"a class that {field} knows: {_span(list(target))}"
                    yield Fault(switch.file, port.name, found, expected)


def reached(site: Site) -> Iterator[Fault]:
    """Find lossless priorities that no packet ever gets into."""
    for switch, port in each(site):
        group_of_class = port.maps.get("tc_to_pg_map")
        into = [port.maps[field] for field in INTO if field in port.maps]
        if group_of_class is None or not into:
            continue
        classes = {one for pairs in into for one in pairs.values()}
        used = {group_of_class[one] for one in classes if one in group_of_class}
        for priority in sorted(port.lossless):
            group = port.group_of(priority)
            if group is not None and group not in used:
                found = f"no code point leads to priority group {group} of priority {priority}"
                expected = f"a DSCP or 802.1p priority in a traffic class of group {group}"
                yield Fault(switch.file, port.name, found, expected)


def same_queue(site: Site) -> Iterator[Fault]:
    """Find pauses that stop another queue than the one that fills the group."""
    for switch, port in each(site):
        groups, queues = port.maps.get("tc_to_pg_map"), port.maps.get("tc_to_queue_map")
        if groups is None or queues is None:
            continue
        for priority in sorted(port.lossless):
            queue, group = port.queue_of(priority), port.group_of(priority)
            for traffic_class in sorted(groups):
                out = queues.get(traffic_class)
                if groups[traffic_class] == group and out is not None and out != queue:
                    found = (
                        f"traffic class {traffic_class} fills priority group {group} and leaves by "
                        f"queue {out}, but a pause of priority {priority} stops queue {queue}"
                    )
                    yield Fault(switch.file, port.name, found, f"queue {out} for both")


def unmixed(site: Site) -> Iterator[Fault]:
    """Find lossy traffic in a queue that a pause stops, and lossless in one that none does."""
    for switch, port in each(site):
        groups, queues = port.maps.get("tc_to_pg_map"), port.maps.get("tc_to_queue_map")
        if groups is None or queues is None:
            continue
        lossless = {port.group_of(one) for one in port.lossless}
        stopped = {port.queue_of(one) for one in port.lossless}
        for traffic_class, queue in sorted(queues.items()):
            if queue in stopped and groups.get(traffic_class) not in lossless:
                found = (
                    f"traffic class {traffic_class} shares lossless queue {queue}, but fills "
                    f"priority group {groups.get(traffic_class)}, which is lossy"
                )
                expected = "another queue, or the group of a lossless priority"
                yield Fault(switch.file, port.name, found, expected)


def _origins(port: Port, field: str, traffic_class: int) -> str:
    origins = [one for one, other in port.maps[field].items() if other == traffic_class]
    return _span(origins)


def _span(numbers: list[int]) -> str:
    shown = ", ".join(str(one) for one in sorted(numbers)[:6])
    return shown + (", …" if len(numbers) > 6 else "")
