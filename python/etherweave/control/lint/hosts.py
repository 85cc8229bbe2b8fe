"""Rules on hosts: pauses, maps, trust and marks, beside those of switches and of each other."""

from collections.abc import Iterable, Iterator

from etherweave.control.lint.agreement import expected_port
from etherweave.control.lint.classification import FIXED, priorities, shares_of, span_of
from etherweave.control.lint.comparison import Difference, Peers, Property, compare
from etherweave.control.lint.config_db import ConfiguredPort
from etherweave.control.lint.host_script import EVERY, ConfiguredHost, NicSettings
from etherweave.control.lint.inputs import Configurations, LintFault, LintPlace


def hosts(site: Configurations) -> Iterator[LintFault]:
    """Find hosts whose pauses, maps or weights differ from the scenario's, or the switches'."""
    expected = expected_port(site) if site.hosts else None
    yield from _pauses(site.hosts, expected[0] if expected else None)
    if expected is None:
        yield from _alike(site.hosts)
        return
    port, whose = expected
    # Hosts that are alike share their NICs.
    nics = {id(nic): nic for host in site.hosts for nic in host.nics}
    faults = {key: [*_shares(nic), *_nic(nic, port)] for key, nic in nics.items()}
    for host in site.hosts:
        if port.lossless and not host.nics:
            yield LintFault(host.file, host.name, "no PFC", "dcb pfc set, or mlnx_qos --pfc")
        for nic in host.nics:
            for value, wanted in faults[id(nic)]:
                yield LintFault(host.file, host.place(nic), value, f"{wanted}, as {whose}")
        if host.mtu_bytes and port.mtu_bytes and host.mtu_bytes > port.mtu_bytes:
            largest = f"at most {port.mtu_bytes}, as {whose}"
            yield LintFault(host.file, host.name, f"MTU {host.mtu_bytes}", largest)


def _pauses(hosts: Iterable[ConfiguredHost], port: ConfiguredPort | None) -> Iterator[LintFault]:
    """Find 802.3x pauses beside PFC."""
    for host in hosts:
        if host.pauses and (port.lossless if port else paused(host)):
            off = "ethtool -A … rx off tx off"
            yield LintFault(host.file, host.name, "802.3x pause is on beside PFC", off)


def _alike(hosts: Iterable[ConfiguredHost]) -> Iterator[LintFault]:
    """Compare hosts with each other, where no switch is known."""
    nics = {LintPlace(host.file, host.place(nic)): nic for host in hosts for nic in host.nics}
    for place, nic in nics.items():
        for value, expected in _shares(nic):
            yield LintFault(*place, value, expected)
    yield from compare(nics, (_PFC, _CLASSES, _CODE_POINTS), NICS)
    shared = {place: nic for place, nic in nics.items() if nic.weights}
    yield from compare(shared, (_WEIGHTS,), NICS)
    sized = {LintPlace(host.file, host.name): host for host in hosts if host.mtu_bytes}
    yield from compare(sized, (_MTU,), HOSTS)


def _shares(nic: NicSettings) -> Iterator[tuple[str, str]]:
    total = sum(nic.weights.values())
    if nic.weights and total not in (0, 100):
        yield f"ETS weights sum to {total}", "a sum of 100"


def marks(site: Configurations) -> Iterator[LintFault]:
    """Find hosts whose marks lead into lossy classes, or whose congestion control is off."""
    expected = expected_port(site) if site.hosts else None
    port = expected[0] if expected else None
    for host in site.hosts:
        yield from _untrusted(host, port)
        yield from _of_nic(host) if port is None else _of_port(host, port)
        lossless = port.lossless if port else paused(host)
        if host.cnp_dscp == 0 and lossless:
            text = "congestion notifications have DSCP 0"
            yield LintFault(host.file, host.name, text, "a class of their own, as 48")
        for priority in sorted(host.ecn_off & lossless):
            text = f"congestion control is off for lossless priority {priority}"
            yield LintFault(host.file, host.name, text, "1 in roce_np/enable and roce_rp/enable")
    places = {LintPlace(host.file, host.name): host for host in site.hosts}
    yield from compare(places, (_MARK,), HOSTS)


def paused(host: ConfiguredHost) -> frozenset[int]:
    """Return the priorities that any NIC of a host pauses."""
    return frozenset().union(*(nic.lossless or () for nic in host.nics))


def _untrusted(host: ConfiguredHost, port: ConfiguredPort | None) -> Iterator[LintFault]:
    """Find NICs that look for the priority in a VLAN tag, which no command adds."""
    for nic in host.nics:
        if nic.trust not in ("", "pcp") or not (port.lossless if port else nic.lossless):
            continue
        if not nic.trust and host.is_tagged:
            continue
        said = nic.trust or f"pcp, the default of {nic.tool}"
        text = f"trust {said}: frames without a VLAN tag have no priority"
        yield LintFault(host.file, host.place(nic), text, TRUSTING[nic.tool])


TRUSTING = {
    "mlnx_qos": "trust dscp: mlnx_qos --trust dscp",
    "dcb": "trust dscp: dcb app add dscp-prio",
    "lldptool": "trust dscp: lldptool -V APP app=PRIORITY,5,DSCP",
}


def _of_port(host: ConfiguredHost, port: ConfiguredPort) -> Iterator[LintFault]:
    """Find marks that are lossy at the switch."""
    classes, groups = port.maps.get("dscp_to_tc_map", {}), port.maps.get("tc_to_pg_map", {})
    lossless = {port.group_of(priority) for priority in port.lossless}
    right = [dscp for dscp, tc in sorted(classes.items()) if groups.get(tc) in lossless and dscp]
    for octet in host.octets if classes and lossless else ():
        if groups.get(classes.get(octet >> 2, -1)) not in lossless:
            text = f"RoCE has traffic class {octet}, DSCP {octet >> 2}, which is lossy"
            expected = f"a DSCP of {span_of(right)}" if right else "ports that trust DSCP"
            yield LintFault(host.file, host.name, text, expected)


def _of_nic(host: ConfiguredHost) -> Iterator[LintFault]:
    """Find marks that are lossy at the NICs themselves, where no switch is known."""
    for nic in host.nics:
        classes = {dscp: nic.priority_of_dscp.get(dscp, dscp >> 3) for dscp in range(64)}
        right = [dscp for dscp, priority in classes.items() if priority in (nic.lossless or ())]
        for octet in host.octets if right and nic.trust == "dscp" else ():
            if octet >> 2 not in right:
                text = f"RoCE has traffic class {octet}, DSCP {octet >> 2}, which is lossy"
                yield LintFault(host.file, host.place(nic), text, f"a DSCP of {span_of(right)}")


def _nic(nic: NicSettings, port: ConfiguredPort) -> Iterator[tuple[str, str]]:
    if nic.lossless != port.lossless:
        text = f"pauses priorities {priorities(nic.lossless or frozenset())}"
        yield text, priorities(port.lossless)
    fixed = {number for number, queue in port.queues.items() if queue.kind == FIXED}
    shares = {key: share for key, share in nic.weights.items() if share and key not in fixed}
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
        of_port = {dscp for dscp, tc in classes.items() if groups.get(tc) == group}
        of_nic = {dscp for dscp in classes if nic.priority_of_dscp.get(dscp, dscp >> 3) == priority}
        if more := sorted(of_nic - of_port):
            right = span_of(sorted(of_port)) or "none: the port does not trust DSCP"
            yield f"DSCP {span_of(more)} is in priority {priority}", right
        if less := sorted(of_port - of_nic):
            yield f"DSCP {span_of(less)} is not in priority {priority}", f"priority {priority}"


def _nic_pauses(nic: NicSettings, other: NicSettings) -> Iterator[Difference]:
    yield "pauses priorities", priorities(nic.lossless or ()), priorities(other.lossless or ())


def _nic_classes(nic: NicSettings, other: NicSettings) -> Iterator[Difference]:
    own, right = dict(_classes(nic)), dict(_classes(other))
    for priority in (number for number in EVERY if own[number] != right[number]):
        yield f"priority {priority} is in traffic class", f"{own[priority]}", f"{right[priority]}"


def _classes(nic: NicSettings) -> tuple[tuple[int, int], ...]:
    return tuple((priority, nic.class_of_priority.get(priority, priority)) for priority in EVERY)


def _nic_code_points(nic: NicSettings, other: NicSettings) -> Iterator[Difference]:
    own, right = dict(_priorities(nic)), dict(_priorities(other))
    moved: dict[tuple[int, int], list[int]] = {}
    for dscp in (entry for entry in own if own[entry] != right[entry]):
        moved.setdefault((own[dscp], right[dscp]), []).append(dscp)
    for (here, there), dscps in moved.items():
        yield f"DSCP {span_of(dscps)} is in priority", f"{here}", f"{there}"


def _priorities(nic: NicSettings) -> tuple[tuple[int, int], ...]:
    return tuple((dscp, nic.priority_of_dscp.get(dscp, dscp >> 3)) for dscp in range(64))


def _nic_weights(nic: NicSettings, other: NicSettings) -> Iterator[Difference]:
    yield "ETS weights are", f"{nic.weights}", f"{other.weights}"


def _host_mtu(host: ConfiguredHost, other: ConfiguredHost) -> Iterator[Difference]:
    yield "MTU", f"{host.mtu_bytes or 'not set'}", f"{other.mtu_bytes or 'not set'}"


def _host_mark(host: ConfiguredHost, other: ConfiguredHost) -> Iterator[Difference]:
    own, right = (priorities(set(end.octets), "0, the default") for end in (host, other))
    yield "RoCE has traffic class", own, right


HOSTS = Peers("hosts", "as on most hosts")
NICS = Peers("NICs", "as at most NICs")
_PFC = Property[NicSettings]("PFC", lambda nic: nic.lossless, _nic_pauses, absent=frozenset())
_CLASSES = Property[NicSettings]("classification", _classes, _nic_classes)
_CODE_POINTS = Property[NicSettings]("classification", _priorities, _nic_code_points)
_WEIGHTS = Property[NicSettings](
    "share", lambda nic: tuple(sorted(nic.weights.items())), _nic_weights
)
_MTU = Property[ConfiguredHost]("MTU", lambda host: host.mtu_bytes, _host_mtu)
_MARK = Property[ConfiguredHost](
    "mark", lambda host: frozenset(host.octets), _host_mark, absent=frozenset()
)
