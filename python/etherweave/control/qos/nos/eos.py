"""Arista EOS: a configuration for ``configure replace`` or to be merged.

Commands are those of the EOS manual's chapters on quality of service and priority flow control.
Headroom follows from the platform and the cable there and has no command of its own. No schema
exists here: try it on a device first.
"""

from collections.abc import Iterator

from etherweave.control.qos.policy import FlowControl, Policy, PortPolicy, SwitchPolicy


def files(policy: Policy, switch: SwitchPolicy) -> dict[str, str]:
    """Write the configuration of a switch."""
    blocks = [
        [f"hostname {switch.name}"],
        list(_maps(policy)),
        list(_watchdog(policy)),
        *(list(_channel(policy, number)) for number in switch.bundles()),
        *(list(_interface(policy, switch, port)) for port in switch.ports),
    ]
    return {"eos.cfg": "!\n".join("\n".join(block) + "\n" for block in blocks if block) + "end\n"}


def port_name(switch: SwitchPolicy, number: int) -> str:
    """Name a port: Ethernet1/1, the first of its cage."""
    return f"Ethernet{number + 1}/1"


def _maps(policy: Policy) -> Iterator[str]:
    for one in policy.priorities:
        yield f"qos map cos {one.number} to traffic-class {one.number}"
        dscps = " ".join(str(dscp) for dscp in one.dscps)
        if dscps:
            yield f"qos map dscp {dscps} to traffic-class {one.number}"
        yield f"qos map traffic-class {one.number} to tx-queue {one.traffic_class}"


def _watchdog(policy: Policy) -> Iterator[str]:
    if policy.watchdog is None:
        return
    watchdog = policy.watchdog
    default = "priority-flow-control pause watchdog default"
    # EOS requires at least two polls within the shorter of both times.
    poll_ms = min(watchdog.poll_ms, watchdog.detect_ms // 2, watchdog.restore_ms // 2)
    yield f"{default} timeout {watchdog.detect_ms / 1000:g}"
    yield f"{default} recovery-time {watchdog.restore_ms / 1000:g}"
    yield f"{default} polling-interval {poll_ms / 1000:g}"
    yield "priority-flow-control pause watchdog action drop"


def _channel(policy: Policy, number: int) -> Iterator[str]:
    yield f"interface Port-Channel{number}"
    yield f"   mtu {policy.mtu_bytes}"
    yield "   switchport mode trunk"


def _interface(policy: Policy, switch: SwitchPolicy, port: PortPolicy) -> Iterator[str]:
    yield f"interface {port_name(switch, port.number)}"
    yield f"   description {port.peer} port {port.peer_port}"
    if port.bundle:
        yield f"   channel-group {port.bundle} mode active"
    else:
        yield f"   mtu {policy.mtu_bytes}"
        yield "   switchport mode trunk"
    yield "   qos trust dscp"
    if policy.flow_control is FlowControl.GLOBAL_PAUSE:
        yield "   flowcontrol send on"
        yield "   flowcontrol receive on"
    if policy.is_pfc:
        yield "   priority-flow-control on"
        for one in policy.lossless:
            yield f"   priority-flow-control priority {one.number} no-drop"
    yield from _queues(policy)


def _queues(policy: Policy) -> Iterator[str]:
    for one in policy.classes:
        marking = policy.marking if one.is_lossless else None
        if not (one.weight or one.is_used or one.is_lossless):
            continue
        yield f"   uc-tx-queue {one.number}"
        if one.weight:
            yield "      no priority"
            yield f"      bandwidth percent {one.weight}"
        else:
            yield "      priority strict"
        if marking:
            yield (
                f"      random-detect ecn minimum-threshold {marking.minimum_bytes} bytes "
                f"maximum-threshold {marking.maximum_bytes} bytes "
                f"max-mark-probability {marking.percent}"
            )
