"""Rules on consistency between switches, between hosts and switches, and with the scenario."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from etherweave.control.lint.config_db import ConfiguredPort, ConfiguredQueue, ConfiguredSwitch
from etherweave.control.lint.host_script import NicSettings
from etherweave.control.lint.inputs import Configurations, LintFault
from etherweave.control.lint.queues import shares_of, span_of
from etherweave.control.qos.policy import Policy

FIXED = "FIXED"
"""The scheduler of a queue that no command changes."""
Place: TypeAlias = tuple[int | None, int | None]
"""Priority group and queue."""


def switches(site: Configurations) -> Iterator[LintFault]:
    """Find switches whose maps of code points, or pauses, differ from most others'.

    Where the scenario is known, :func:`intent` compares with it.
    """
    lossless = {
        one.file: (one, port) for one in site.switches for port in one.ports[::-1] if port.lossless
    }
    if site.fabric is not None or len(lossless) < 2:
        return
    counts = Counter(_signature(port) for _, port in lossless.values())
    (usual, most), *others = counts.most_common(2)
    is_even = bool(others) and others[0][1] == most
    name, reference = next(
        (one.name, port) for one, port in lossless.values() if _signature(port) == usual
    )
    which = "the same, as many other switches have each" if is_even else "that, as most switches"
    for switch, port in lossless.values():
        for what, one, other in _port_differences(port, reference):
            yield LintFault(switch.file, port.name, f"{what} {one}, {other} in {name}", which)


def _signature(port: ConfiguredPort) -> tuple[object, ...]:
    return port.lossless, tuple(_groups(port).items()), tuple(shares_of(port).items())


def _port_differences(
    port: ConfiguredPort, reference: ConfiguredPort
) -> Iterator[tuple[str, str, str]]:
    if port.lossless != reference.lossless:
        yield "lossless priorities are", _set(port.lossless), _set(reference.lossless)
    yield from _moved(port, reference)
    shares, wanted = _shares(port, port), _shares(reference, port)
    if shares != wanted:
        yield "weights of queues are", f"{shares}", f"{wanted}"


def _moved(port: ConfiguredPort, reference: ConfiguredPort) -> Iterator[tuple[str, str, str]]:
    """Return the code points that are in another group or queue than in the reference."""
    if not all(field in port.maps for field in ("tc_to_pg_map", "tc_to_queue_map")):
        return  # Another rule reports the missing map.
    one: Mapping[int, Place] = _groups(port)
    other: Mapping[int, Place] = _groups(reference)
    if port.lossless != reference.lossless:  # Groups follow from what is lossless.
        one, other = ({dscp: (None, at[1]) for dscp, at in each.items()} for each in (one, other))
    moved: dict[tuple[Place, Place], list[int]] = {}
    for dscp in sorted(set(one) & set(other)):
        if one[dscp] != other[dscp]:
            moved.setdefault((one[dscp], other[dscp]), []).append(dscp)
    if len(set(one.values())) == 1 and len(moved) > 1:
        (place,) = set(one.values())
        yield "every DSCP is", _group_and_queue(place), f"in {len(set(other.values()))} classes"
        return
    for (here, there), dscps in moved.items():
        yield f"DSCP {span_of(dscps)} is", _group_and_queue(here), _group_and_queue(there)


def _shares(port: ConfiguredPort, configured: ConfiguredPort) -> dict[int, int]:
    """Return the weights of the queues that commands for another port can configure."""
    queues = configured.queues
    return {
        number: share
        for number, share in shares_of(port).items()
        if number not in queues or queues[number].kind != FIXED
    }


def _groups(port: ConfiguredPort) -> dict[int, Place]:
    """Return the group and the queue of every code point."""
    groups, queues = port.maps.get("tc_to_pg_map", {}), port.maps.get("tc_to_queue_map", {})
    return {
        dscp: (groups.get(one), queues.get(one))
        for dscp, one in port.maps.get("dscp_to_tc_map", {}).items()
    }


def _group_and_queue(place: Place) -> str:
    group, queue = place
    return f"in queue {queue}" if group is None else f"in priority group {group} and queue {queue}"


def _set(priorities: frozenset[int]) -> str:
    return ", ".join(str(one) for one in sorted(priorities)) or "none"


def hosts(site: Configurations) -> Iterator[LintFault]:
    """Find hosts whose pauses, maps or weights differ from the scenario's, or the switches'."""
    expected = _expected(site) if site.hosts else None
    if expected is None:
        return
    port, whose = expected
    # Hosts that are alike share their NICs.
    nics = {id(nic): nic for host in site.hosts for nic in host.nics}
    faults = {key: list(_nic(nic, port)) for key, nic in nics.items()}
    for host in site.hosts:
        if port.lossless and host.pauses:
            off = "ethtool -A … rx off tx off"
            yield LintFault(host.file, host.name, "802.3x pause is on beside PFC", off)
        if port.lossless and not host.nics:
            yield LintFault(host.file, host.name, "no PFC", "dcb pfc set, or mlnx_qos --pfc")
        for nic in host.nics:
            for found, wanted in faults[id(nic)]:
                place = f"{host.name} {nic.tool}"
                yield LintFault(host.file, place, found, f"{wanted}, as {whose}")
        if host.mtu_bytes and port.mtu_bytes and host.mtu_bytes > port.mtu_bytes:
            most = f"at most {port.mtu_bytes}, as {whose}"
            yield LintFault(host.file, host.name, f"MTU {host.mtu_bytes}", most)


def marks(site: Configurations) -> Iterator[LintFault]:
    """Find hosts whose marks lead into lossy classes, or whose congestion control is off."""
    expected = _expected(site) if site.hosts else None
    if expected is None or not expected[0].lossless:
        return
    port, _ = expected
    classes, groups = port.maps.get("dscp_to_tc_map", {}), port.maps.get("tc_to_pg_map", {})
    lossless = {port.group_of(one) for one in port.lossless}
    right = [dscp for dscp, one in sorted(classes.items()) if groups.get(one) in lossless and dscp]
    for host in site.hosts:
        for octet in host.octets:
            dscp = octet >> 2
            if classes and (groups.get(classes.get(dscp, -1)) not in lossless):
                found = f"RoCE has traffic class {octet}, DSCP {dscp}, which is lossy"
                yield LintFault(host.file, host.name, found, f"a DSCP of {span_of(right)}")
        for nic in host.nics:
            if nic.trust != "dscp":
                found = f"trust {nic.trust}: frames without a VLAN tag have no priority"
                yield LintFault(host.file, f"{host.name} {nic.tool}", found, "trust dscp")
        if host.cnp_dscp == 0:
            found = "congestion notifications have DSCP 0"
            yield LintFault(host.file, host.name, found, "a class of their own, as 48")
        for priority in sorted(host.ecn_off & port.lossless):
            found = f"congestion control is off for lossless priority {priority}"
            yield LintFault(host.file, host.name, found, "1 in roce_np/enable and roce_rp/enable")


def _nic(nic: NicSettings, port: ConfiguredPort) -> Iterator[tuple[str, str]]:
    if nic.lossless != port.lossless:
        found = f"pauses priorities {_set(nic.lossless or frozenset())}"
        yield found, _set(port.lossless)
    total = sum(nic.weights.values())
    if nic.weights and total not in (0, 100):
        yield f"ETS weights sum to {total}", "a sum of 100"
    fixed = {number for number, queue in port.queues.items() if queue.kind == FIXED}
    shares = {one: share for one, share in nic.weights.items() if share and one not in fixed}
    if shares and shares_of(port) and shares != shares_of(port):
        yield f"ETS weights are {shares}", f"{shares_of(port)}"
    for priority in sorted(port.lossless):
        own, queue = nic.class_of_priority.get(priority, priority), port.queue_of(priority)
        if queue is not None and own != queue:
            yield f"priority {priority} is in traffic class {own}", f"{queue}, its queue"
    yield from _code_points(nic, port)


def _code_points(nic: NicSettings, port: ConfiguredPort) -> Iterator[tuple[str, str]]:
    """Compare which code points are lossless: packets are lost where this differs."""
    groups, classes = port.maps.get("tc_to_pg_map", {}), port.maps.get("dscp_to_tc_map", {})
    for priority in sorted(port.lossless):
        group = port.group_of(priority)
        of_port = {dscp for dscp, one in classes.items() if groups.get(one) == group}
        of_nic = {dscp for dscp in classes if nic.priority_of_dscp.get(dscp, dscp >> 3) == priority}
        if more := sorted(of_nic - of_port):
            yield f"DSCP {span_of(more)} is in priority {priority}", f"{span_of(sorted(of_port))}"
        if less := sorted(of_port - of_nic):
            yield f"DSCP {span_of(less)} is not in priority {priority}", f"priority {priority}"


def _expected(site: Configurations) -> tuple[ConfiguredPort, str] | None:
    """Return a port as all should be, and whose it is: the scenario's, or that of most switches."""
    if site.fabric is not None:
        return (_intended(site.fabric), "in the scenario") if site.fabric.is_pfc else None
    ports = [port for one in site.switches for port in one.ports if port.lossless]
    counts = Counter(_signature(port) for port in ports)
    usual = counts.most_common(1)[0][0] if counts else None
    port = next((port for port in ports if _signature(port) == usual), None)
    return None if port is None else (port, "on most ports")


def _intended(fabric: Policy) -> ConfiguredPort:
    """Return a port as the scenario has it."""
    own = {one.number: one.number for one in fabric.priorities}
    queue = {one.number: one.traffic_class for one in fabric.priorities}
    groups = fabric.group_of_priority()
    lossless = frozenset(one.number for one in fabric.lossless)
    weights = {one.number: one.weight for one in fabric.classes if one.weight}
    return ConfiguredPort(
        name="",
        is_up=True,
        speed_mbps=None,
        mtu_bytes=fabric.mtu_bytes,
        length_m=None,
        channel=None,
        lossless=lossless,
        watched=lossless,
        has_watchdog=fabric.watchdog is not None,
        maps={
            "dscp_to_tc_map": fabric.priority_of_dscp(),
            "dot1p_to_tc_map": own,
            "tc_to_pg_map": groups,
            "tc_to_queue_map": queue,
            "pfc_to_pg_map": groups,
            "pfc_to_queue_map": queue,
        },
        groups={},
        queues={one: ConfiguredQueue("DWRR", weight, "") for one, weight in weights.items()},
    )


def present(site: Configurations) -> Iterator[LintFault]:
    """Find switches and hosts of the fabric without a configuration."""
    if site.fabric is None:
        return
    switches_known = {one.name for one in site.switches}
    hosts_known = {one.name for one in site.hosts}
    for kind, wanted, known in (
        ("switch", [one.name for one in site.fabric.switches], switches_known),
        ("host", [one.name for one in site.fabric.hosts], hosts_known),
    ):
        for name in wanted:
            if name not in known:
                found = f"no configuration of {kind} {name}"
                yield LintFault(site.fabric_file, name, found, f"a file of its own for each {kind}")


def intent(site: Configurations) -> Iterator[LintFault]:
    """Find differences from the scenario of the configurations."""
    if site.fabric is None:
        return
    lossless = frozenset(one.number for one in site.fabric.lossless if site.fabric.is_pfc)
    wanted = replace(_intended(site.fabric), lossless=lossless)
    for switch in site.switches:
        for port in switch.ports:
            if not site.fabric.is_pfc:  # Without PFC, groups are the switch's own matter.
                groups = {"tc_to_pg_map": port.maps.get("tc_to_pg_map", {})}
                wanted = replace(wanted, maps={**wanted.maps, **groups})
            for what, one, other in _port_differences(port, wanted):
                yield _unlike(switch.file, port.name, f"{what} {one}", other)
    for host in site.hosts:
        if host.mtu_bytes not in (None, site.fabric.mtu_bytes):
            found, right = f"MTU {host.mtu_bytes}", f"{site.fabric.mtu_bytes}"
            yield _unlike(host.file, host.name, found, right)


def _unlike(file: str, place: str, found: str, expected: str) -> LintFault:
    return LintFault(file, place, found, f"{expected}, as in the scenario")


def deadlock(site: Configurations) -> Iterator[LintFault]:
    """Find ports with fewer groups and queues than the routing's deadlock proof needs."""
    fabric = site.fabric
    if fabric is None or not fabric.is_pfc or fabric.routing_priorities <= 1:
        return
    for switch in site.switches:
        for port in switch.ports:
            yield from _distinct(fabric, switch, port)


def _distinct(
    fabric: Policy, switch: ConfiguredSwitch, port: ConfiguredPort
) -> Iterator[LintFault]:
    needed = fabric.routing_priorities
    counted = frozenset(fabric.raised) or port.lossless
    for what, places in (
        ("priority groups", {port.group_of(one) for one in counted & port.lossless}),
        ("queues", {port.queue_of(one) for one in counted & port.lossless}),
    ):
        apart = len(places - {None})
        if apart < needed:
            own = _set(counted & port.lossless)
            found = f"lossless priorities {own} have {apart} {what} of their own"
            expected = f"{needed}, which {fabric.routing} needs"
            yield LintFault(switch.file, port.name, found, expected)
