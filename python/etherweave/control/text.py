"""Rules as text for ``ovs-ofctl``: one line each, in a fixed form, so that plans can be compared.

``ovs-ofctl -O OpenFlow13 --bundle replace-flows BRIDGE FILE`` installs it at once. Groups and
meters have files of their own, which must be installed first. Rules for OpenFlow 1.0 are installed
by ``ovs-ofctl -O OpenFlow10 -F openflow10 replace-flows BRIDGE FILE``.
"""

import re
from collections.abc import Iterable, Iterator

from etherweave.control.rules import (
    CONTROLLER,
    IN_PORT,
    Action,
    FlowRule,
    GoTo,
    Group,
    Instruction,
    MatchField,
    Meter,
    Output,
    Protocol,
    SetField,
    ToGroup,
    UseMeter,
    WriteActions,
    WriteMetadata,
)

_MAC = {"eth_dst": "dl_dst", "eth_src": "dl_src", "arp_sha": "arp_sha", "arp_tha": "arp_tha"}
_MAC_FORM = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", re.ASCII)
_IPV4 = {"arp_spa", "arp_tpa"}
_HEX = {"metadata", "eth_type", "vlan_vid"}
_NAMES = {"eth_type": "dl_type"} | _MAC
_PORTS = {IN_PORT: "in_port", CONTROLLER: "controller:65535"}
_MODIFY = {"eth_dst": "mod_dl_dst", "eth_src": "mod_dl_src"}
"""Optional actions of OpenFlow 1.0, "Modify-Field" (specification 1.0.0, section 3.3)."""


def mac_text(value: int) -> str:
    """Write a MAC address: 02:00:00:00:00:01."""
    return value.to_bytes(6).hex(":")


def mac_value(word: str) -> int:
    """Read a MAC address, as :func:`mac_text` writes it.

    Raises ``ValueError`` when it is not a MAC address.
    """
    if not _MAC_FORM.fullmatch(word):
        raise ValueError(f'"{word}": expected a MAC address of six octets: 02:00:00:00:00:01')
    return int(word.replace(":", ""), 16)


def ipv4_text(value: int) -> str:
    """Write an IPv4 address: 10.0.0.1."""
    return ".".join(str(octet) for octet in value.to_bytes(4))


def flows(rules: Iterable[FlowRule], protocol: Protocol = "openflow13") -> Iterator[str]:
    """Write one line per rule."""
    return map(flow if protocol == "openflow13" else flow10, rules)


def flow(rule: FlowRule) -> str:
    """Write a rule in the form of ``ovs-ofctl add-flow``."""
    parts = [f"table={rule.table}", f"priority={rule.priority}"]
    parts += map(_match_field, rule.match)
    meters = [_instruction(step) for step in rule.instructions if isinstance(step, UseMeter)]
    others = [_instruction(step) for step in rule.instructions if not isinstance(step, UseMeter)]
    steps = [*meters, *map(_action, rule.actions), *others] or ["drop"]
    return f"{','.join(parts)},actions={','.join(steps)}"


def flow10(rule: FlowRule) -> str:
    """Write a rule for OpenFlow 1.0, which has one table and does not number it."""
    parts = [f"priority={rule.priority}", *map(_match_field, rule.match)]
    steps = [_action10(action) for action in rule.actions] or ["drop"]
    return f"{','.join(parts)},actions={','.join(steps)}"


def group(group: Group) -> str:
    """Write a group in the form of ``ovs-ofctl add-group``."""
    buckets = "".join(f",bucket=weight:1,actions=output:{port}" for port in group.ports)
    return f"group_id={group.number},type=select{buckets}"


def meter(meter: Meter) -> str:
    """Write a meter in the form of ``ovs-ofctl add-meter``."""
    band = f"type=drop,rate={meter.packets_per_s},burst_size={meter.burst_packets}"
    return f"meter={meter.number},pktps,burst,bands={band}"


def _match_field(field: MatchField) -> str:
    name = _NAMES.get(field.field, field.field)
    value = _value(field.field, field.value)
    return (
        f"{name}={value}"
        if field.mask is None
        else f"{name}={value}/{_value(field.field, field.mask)}"
    )


def _value(field: str, value: int) -> str:
    if field in _MAC:
        return mac_text(value)
    if field in _IPV4:
        return ipv4_text(value)
    return f"{value:#x}" if field in _HEX else str(value)


def _action(action: Action) -> str:
    if isinstance(action, Output):
        return _PORTS.get(action.port, f"output:{action.port}")
    if isinstance(action, SetField):
        return f"set_field:{_value(action.field, action.value)}->{action.field}"
    if isinstance(action, ToGroup):
        return f"group:{action.group}"
    source = _span(action.source, action.source_bit, action.bits)
    return f"move:{source}->{_span(action.target, action.target_bit, action.bits)}"


def _action10(action: Action) -> str:
    if isinstance(action, SetField):
        return f"{_MODIFY[action.field]}:{_value(action.field, action.value)}"
    return _action(action)


def _span(field: str, low: int, bits: int) -> str:
    return f"{field}[{low}..{low + bits - 1}]"


def _instruction(step: Instruction) -> str:
    if isinstance(step, GoTo):
        return f"goto_table:{step.table}"
    if isinstance(step, WriteMetadata):
        return f"write_metadata:{step.value:#x}/{step.mask:#x}"
    if isinstance(step, WriteActions):
        return f"write_actions({','.join(map(_action, step.actions))})"
    return f"meter:{step.meter}"
