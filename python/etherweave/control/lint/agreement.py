"""Rules on consistency between switches, between hosts and switches, and with the scenario."""

from collections.abc import Iterator, Mapping

from etherweave.control.lint.config_db import ConfiguredPort, ConfiguredSwitch
from etherweave.control.lint.host_script import NicSettings
from etherweave.control.lint.inputs import Configurations, LintFault
from etherweave.control.lint.queues import shares_of
from etherweave.control.qos.nos import PORT_NAMES
from etherweave.control.qos.policy import Policy


def switches(site: Configurations) -> Iterator[LintFault]:
    """Find switches whose maps of code points, or pauses, differ from the first one's."""
    lossless = [(one, port) for one in site.switches for port in one.ports if port.lossless]
    if not lossless:
        return
    first, reference = lossless[0]
    seen = {first.file}
    for switch, port in lossless[1:]:
        if switch.file in seen:
            continue
        seen.add(switch.file)
        for what, one, other in _port_differences(port, reference):
            yield LintFault(switch.file, port.name, f"{what} {one}", f"{other}, as {first.name}")


def _port_differences(
    port: ConfiguredPort, reference: ConfiguredPort
) -> Iterator[tuple[str, str, str]]:
    if port.lossless != reference.lossless:
        yield "lossless priorities are", _set(port.lossless), _set(reference.lossless)
    one, other = _groups(port), _groups(reference)
    for dscp in sorted(set(one) & set(other)):
        if one[dscp] != other[dscp]:
            yield f"DSCP {dscp} is", _group_and_queue(one[dscp]), _group_and_queue(other[dscp])
    if shares_of(port) != shares_of(reference):
        yield "weights of queues are", f"{shares_of(port)}", f"{shares_of(reference)}"


def _groups(port: ConfiguredPort) -> dict[int, tuple[int | None, int | None]]:
    """Return the group and the queue of every code point."""
    groups, queues = port.maps.get("tc_to_pg_map", {}), port.maps.get("tc_to_queue_map", {})
    return {
        dscp: (groups.get(one), queues.get(one))
        for dscp, one in port.maps.get("dscp_to_tc_map", {}).items()
    }


def _group_and_queue(place: tuple[int | None, int | None]) -> str:
    return f"in priority group {place[0]} and queue {place[1]}"


def _set(priorities: frozenset[int]) -> str:
    return ", ".join(str(one) for one in sorted(priorities)) or "none"


def hosts(site: Configurations) -> Iterator[LintFault]:
    """Find hosts whose pauses, maps or weights differ from their switch port's."""
    ports = _ports_of_hosts(site)
    for host in site.hosts:
        port = ports.get(host.name)
        if port is None:
            continue
        if port.lossless and host.pauses:
            expected = "ethtool -A … rx off tx off"
            yield LintFault(host.file, host.name, "802.3x pause is on beside PFC", expected)
        if port.lossless and not host.nics:
            yield LintFault(host.file, host.name, "no PFC", "dcb pfc set, or mlnx_qos --pfc")
        for nic in host.nics:
            for found, expected in _nic(nic, port):
                yield LintFault(host.file, f"{host.name} {nic.tool}", found, expected)
        if host.mtu_bytes and port.mtu_bytes and host.mtu_bytes > port.mtu_bytes:
            found = f"MTU {host.mtu_bytes}"
            yield LintFault(
                host.file, host.name, found, f"at most {port.mtu_bytes}, as {port.name}"
            )


def _nic(nic: NicSettings, port: ConfiguredPort) -> Iterator[tuple[str, str]]:
    if nic.lossless != port.lossless:
        found = f"pauses priorities {_set(nic.lossless or frozenset())}"
        yield found, f"{_set(port.lossless)}, as {port.name}"
    total = sum(nic.weights.values())
    if nic.weights and total not in (0, 100):
        yield f"ETS weights sum to {total}", "a sum of 100"
    shares = {one: share for one, share in nic.weights.items() if share}
    if shares and shares_of(port) and shares != shares_of(port):
        yield f"ETS weights are {shares}", f"{shares_of(port)}, as {port.name}"
    for priority in sorted(port.lossless):
        own, queue = nic.class_of_priority.get(priority, priority), port.queue_of(priority)
        if queue is not None and own != queue:
            yield (
                f"priority {priority} is in traffic class {own}",
                f"{queue}, its queue in {port.name}",
            )
    yield from _code_points(nic, port)


def _code_points(nic: NicSettings, port: ConfiguredPort) -> Iterator[tuple[str, str]]:
    """Compare which code points are lossless: packets are lost where this differs."""
    groups, classes = port.maps.get("tc_to_pg_map", {}), port.maps.get("dscp_to_tc_map", {})
    for priority in sorted(port.lossless):
        group = port.group_of(priority)
        of_port = {dscp for dscp, one in classes.items() if groups.get(one) == group}
        of_nic = {dscp for dscp in classes if nic.priority_of_dscp.get(dscp, dscp >> 3) == priority}
        for dscp in sorted(of_nic ^ of_port):
            where = f"priority {priority}"
            if dscp in of_nic:
                yield (
                    f"DSCP {dscp} is in {where}",
                    f"what {port.name} does: group {groups.get(classes[dscp])}",
                )
            else:
                yield f"DSCP {dscp} is not in {where}", f"{where}, as {port.name} has it"


def _ports_of_hosts(site: Configurations) -> Mapping[str, ConfiguredPort]:
    """Find the port of every host; without a fabric, the first lossless port."""
    if site.fabric is None:
        first = next((port for one in site.switches for port in one.ports if port.lossless), None)
        return {host.name: first for host in site.hosts} if first else {}
    known = {(one.name, port.name): port for one in site.switches for port in one.ports}
    by_name = {one.name: one for one in site.fabric.switches}
    name = PORT_NAMES["sonic"]
    return {
        host.name: known[place]
        for host in site.fabric.hosts
        if host.switch in by_name
        and (place := (host.switch, name(by_name[host.switch], host.switch_port))) in known
    }


def present(site: Configurations) -> Iterator[LintFault]:
    """Find switches and hosts of the fabric without a configuration."""
    if site.fabric is None:
        return
    switches_known = {one.name for one in site.switches} | _unread_places(site)
    hosts_known = {one.name for one in site.hosts}
    for kind, wanted, known in (
        ("switch", [one.name for one in site.fabric.switches], switches_known),
        ("host", [one.name for one in site.fabric.hosts], hosts_known),
    ):
        for name in wanted:
            if name not in known:
                found = f"no configuration of {kind} {name}"
                yield LintFault(site.fabric_file, name, found, f"a file of its own for each {kind}")


def _unread_places(site: Configurations) -> set[str]:
    """Return the directories of files that are of another system than SONiC."""
    return {path.split("/")[-2] for path in site.unread if "/" in path}


def intent(site: Configurations) -> Iterator[LintFault]:
    """Find differences from the scenario of the configurations."""
    if site.fabric is None:
        return
    for switch in site.switches:
        for port in switch.ports:
            for found, expected in _intent(site.fabric, port):
                yield LintFault(switch.file, port.name, found, f"{expected}, as in the scenario")
    for host in site.hosts:
        if host.mtu_bytes not in (None, site.fabric.mtu_bytes):
            expected = f"{site.fabric.mtu_bytes}, as in the scenario"
            yield LintFault(host.file, host.name, f"MTU {host.mtu_bytes}", expected)


def _intent(fabric: Policy, port: ConfiguredPort) -> Iterator[tuple[str, str]]:
    lossless = frozenset(one.number for one in fabric.lossless) if fabric.is_pfc else frozenset()
    if port.lossless != lossless:
        yield f"lossless priorities are {_set(port.lossless)}", _set(lossless)
    groups = fabric.group_of_priority()
    wanted = {dscp: groups[one] for dscp, one in fabric.priority_of_dscp().items()}
    for dscp, (group, _) in _groups(port).items():
        if group is not None and wanted.get(dscp, group) != group:
            yield f"DSCP {dscp} is in priority group {group}", f"group {wanted[dscp]}"
    shares = {one.number: one.weight for one in fabric.classes if one.weight}
    if shares_of(port) != shares:
        yield f"weights of queues are {shares_of(port)}", f"{shares}"


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
