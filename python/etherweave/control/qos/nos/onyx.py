"""NVIDIA (Mellanox) Onyx: commands for ``configure terminal``.

Sections and commands are those of the 96-node testbed's published switch settings (Kenny et al.,
2020: repository ethernet-performance-data, ``switch-configs``), of Onyx 3.8; buffers, ECN and the
watchdog are as in the vendor's RoCE guides. No schema exists: try them on a device first.
"""

from collections.abc import Iterator

from etherweave.control.qos.policy import (
    FlowControl,
    Policy,
    PortPolicy,
    SwitchPolicy,
    TrafficClass,
    ranges,
)


def files(policy: Policy, switch: SwitchPolicy) -> dict[str, str]:
    """Write the configuration of a switch."""
    sections = (
        ("Interface Ethernet configuration", _interfaces(policy, switch)),
        ("Trust and classes", _classes(policy, switch)),
        ("DCBX ETS configuration", _ets(policy, switch)),
        ("DCBX PFC configuration", _pfc(policy, switch)),
        ("Pause configuration", _global_pause(policy, switch)),
        ("Buffers", _buffers(policy, switch)),
        ("ECN", _marking(policy, switch)),
    )
    return {"onyx.cfg": "".join(_section(title, list(lines)) for title, lines in sections)}


def port_name(switch: SwitchPolicy, number: int) -> str:
    """Name a port: ethernet 1/1."""
    return f"ethernet 1/{number + 1}"


def _section(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    return "".join([f"##\n## {title}\n##\n", *(f"   {line}\n" for line in lines)])


def _ethernet(ports: list[PortPolicy]) -> Iterator[str]:
    """Name ports by ranges: interface ethernet 1/1-1/12."""
    for first, last in ranges([port.number + 1 for port in ports]):
        span = f"1/{first}" if first == last else f"1/{first}-1/{last}"
        yield f"interface ethernet {span}"


def _channels(switch: SwitchPolicy) -> Iterator[str]:
    for first, last in ranges(list(switch.bundles())):
        yield f"interface port-channel {first if first == last else f'{first}-{last}'}"


def _single(switch: SwitchPolicy) -> list[PortPolicy]:
    return [port for port in switch.ports if port.bundle is None]


def _logical(switch: SwitchPolicy) -> list[str]:
    """Name the logical interfaces: ports outside port channels, and port channels."""
    return [*_ethernet(_single(switch)), *_channels(switch)]


def _interfaces(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    channels = list(_channels(switch))
    yield from channels
    for place in (*_ethernet(list(switch.ports)), *channels):
        yield f"{place} mtu {policy.mtu_bytes} force"
    for number, ports in switch.bundles().items():
        for place in _ethernet(list(ports)):
            yield f"{place} channel-group {number} mode on"
    for place in _logical(switch):
        yield f"{place} switchport mode trunk"


def _classes(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    for place in _logical(switch):
        yield f"{place} qos trust both"
        for one in policy.priorities:
            for dscp in one.dscps:
                if dscp >> 3 != one.number:
                    yield f"{place} qos map dscp {dscp} to switch-priority {one.number}"
            if one.traffic_class != one.number:
                yield (
                    f"{place} traffic-class {one.traffic_class} bind switch-priority {one.number}"
                )


def _ets(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    for place in _logical(switch):
        for one in policy.classes:
            yield f"{place} traffic-class {one.number} dcb ets {_share(one)}"


def _share(one: TrafficClass) -> str:
    """Write a share; a class that no job uses has none, as in the testbed."""
    return "strict" if one.is_used and not one.weight else f"wrr {one.weight}"


def _pfc(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    if not policy.is_pfc:
        return
    yield "dcb priority-flow-control enable force"
    for one in policy.lossless:
        yield f"dcb priority-flow-control priority {one.number} enable"
    for place in _logical(switch):
        yield f"{place} dcb priority-flow-control mode on force"
    if policy.watchdog:
        for place in _ethernet(list(switch.ports)):
            yield f"{place} pfc-wd"


def _global_pause(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    if policy.flow_control is FlowControl.GLOBAL_PAUSE:
        for place in _logical(switch):
            yield f"{place} flowcontrol receive on force"
            yield f"{place} flowcontrol send on force"


def _buffers(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    if not policy.is_pfc:
        return
    memory = policy.memory
    if memory.ingress.alpha is None:
        shared = f"shared size {memory.ingress.size_bytes}"
    else:
        shared = f"shared alpha {memory.ingress.alpha:g}"
    xon = max(memory.reserve_bytes - memory.xon_offset_bytes, 0)
    for headroom in sorted({port.headroom_bytes for port in switch.ports}):
        ports = [port for port in switch.ports if port.headroom_bytes == headroom]
        reserved = memory.reserve_bytes + headroom
        for place in _ethernet(ports):
            for one in policy.lossless:
                group = f"{place} ingress-buffer iPort.pg{one.number}"
                yield f"{group} bind switch-priority {one.number}"
                yield (
                    f"{group} map pool iPool0 type lossless reserved {reserved} "
                    f"xoff {headroom} xon {xon} {shared}"
                )


def _marking(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    if policy.marking is None:
        return
    least = _kilobytes(policy.marking.minimum_bytes)
    most = _kilobytes(policy.marking.maximum_bytes)
    for place in _logical(switch):
        for one in policy.classes:
            if one.is_lossless:
                yield (
                    f"{place} traffic-class {one.number} congestion-control ecn "
                    f"minimum-absolute {least} maximum-absolute {most}"
                )


def _kilobytes(size_bytes: int) -> int:
    """Round to the unit of Onyx's thresholds [KB]."""
    return max(1, round(size_bytes / 1000))
