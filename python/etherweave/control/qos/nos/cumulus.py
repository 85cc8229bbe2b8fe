"""NVIDIA Cumulus Linux 5: NVUE commands, ``nv set … ; nv config apply``.

Names of objects are those of the NVUE command reference. Headroom is the size of a port's
buffer; no schema exists here: try the commands on a device first.
"""

import math
from collections.abc import Iterator

from etherweave.control.qos.policy import (
    FlowControl,
    Policy,
    PortPolicy,
    SwitchPolicy,
    ranges,
)

PROFILE = "default-global"
"""Applies to every port unless it has another."""


def files(policy: Policy, switch: SwitchPolicy) -> dict[str, str]:
    """Write the configuration of a switch."""
    lines = [
        f"system hostname {switch.name}",
        *_interfaces(policy, switch),
        *_mapping(policy),
        *_scheduling(policy),
        *_flow_control(policy, switch),
        *_marking(policy),
    ]
    text = "".join(f"nv set {line}\n" for line in lines)
    return {"nvue.sh": f"#!/bin/sh\nset -e\n{text}nv config apply -y\n"}


def port_name(switch: SwitchPolicy, number: int) -> str:
    """Name a port: swp1."""
    return f"swp{number + 1}"


def _span(ports: list[PortPolicy]) -> str:
    spans = ranges([port.number + 1 for port in ports])
    return ",".join(
        f"swp{first}" if first == last else f"swp{first}-{last}" for first, last in spans
    )


def _interfaces(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    if not switch.ports:
        return
    yield f"interface {_span(list(switch.ports))} link state up"
    yield f"interface {_span(list(switch.ports))} link mtu {policy.mtu_bytes}"
    for number, ports in switch.bundles().items():
        yield f"interface bond{number} bond member {_span(list(ports))}"
        yield f"interface bond{number} link mtu {policy.mtu_bytes}"


def _mapping(policy: Policy) -> Iterator[str]:
    yield f"qos mapping {PROFILE} trust both"
    for one in policy.priorities:
        yield f"qos mapping {PROFILE} pcp {one.number} switch-priority {one.number}"
        for first, last in ranges(list(one.dscps)):
            span = f"{first}" if first == last else f"{first}-{last}"
            yield f"qos mapping {PROFILE} dscp {span} switch-priority {one.number}"


def _scheduling(policy: Policy) -> Iterator[str]:
    for one in policy.priorities:
        queue = f"qos egress-queue-mapping {PROFILE} switch-priority {one.number}"
        yield f"{queue} traffic-class {one.traffic_class}"
    for kind in policy.classes:
        scheduler = f"qos egress-scheduler {PROFILE} traffic-class {kind.number}"
        if kind.weight:
            yield f"{scheduler} mode dwrr"
            yield f"{scheduler} bw-percent {kind.weight}"
        elif kind.is_used:
            yield f"{scheduler} mode strict"


def _flow_control(policy: Policy, switch: SwitchPolicy) -> Iterator[str]:
    if policy.flow_control is FlowControl.NONE:
        return
    is_pfc = policy.is_pfc
    for headroom in sorted({port.headroom_bytes for port in switch.ports}):
        ports = [port for port in switch.ports if port.headroom_bytes == headroom]
        name = f"lossless-{headroom}"
        profile = f"qos {'pfc' if is_pfc else 'link-pause'} {name}"
        if is_pfc:
            lossless = ",".join(str(one.number) for one in policy.lossless)
            yield f"{profile} switch-priority {lossless}"
        yield f"{profile} tx enable"
        yield f"{profile} rx enable"
        yield f"{profile} port-buffer {policy.memory.reserve_bytes + headroom}"
        yield f"{profile} cable-length {max(1, math.ceil(max(p.length_m for p in ports)))}"
        yield f"interface {_span(ports)} qos {'pfc' if is_pfc else 'link-pause'} profile {name}"
    if policy.watchdog:
        watchdog = policy.watchdog
        yield f"qos pfc-watchdog polling-interval {watchdog.poll_ms}"
        yield f"qos pfc-watchdog robustness {max(1, watchdog.detect_ms // watchdog.poll_ms)}"
        yield f"interface {_span(list(switch.ports))} qos pfc-watchdog state enable"


def _marking(policy: Policy) -> Iterator[str]:
    if policy.marking is None:
        return
    queues = ",".join(str(one.number) for one in policy.classes if one.is_lossless)
    marking = f"qos congestion-control {PROFILE} traffic-class {queues}"
    yield f"{marking} ecn enable"
    yield f"{marking} red disable"
    yield f"{marking} min-threshold {policy.marking.minimum_bytes}"
    yield f"{marking} max-threshold {policy.marking.maximum_bytes}"
    yield f"{marking} probability {policy.marking.percent}"
