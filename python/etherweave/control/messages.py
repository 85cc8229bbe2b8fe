"""Rules as OpenFlow 1.3 messages, ready to be sent.

``ofp_…`` names are those of the OpenFlow 1.3.5 specification, whose section stands at each message.
Bundles are ONF's extension 230 for OpenFlow 1.3: what is added to a bundle takes effect when it is
committed, all of it or nothing. They hold flow entries and groups; meters must go ahead of them.

Nothing here is sent or read; writing a FLOW_MOD takes some ten microseconds.
"""

import struct
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from etherweave.control import oxm, rules
from etherweave.control.controller.roles import UNSET, Role

VERSION = 4  # OpenFlow 1.3 on the wire.
HEADER = struct.Struct("!BBHI")  # Version, type, length, transaction (``ofp_header``).

NO_BUFFER = 0xFFFFFFFF
ANY = 0xFFFFFFFF
ONF = 0x4F4E4600  # The experimenter of extension 230.
BUNDLE_CONTROL = 2300
BUNDLE_ADD = 2301
_NICIRA = 0x2320
_WRITE_ACTIONS, _APPLY_ACTIONS = 3, 4  # ``OFPIT_WRITE_ACTIONS``, ``OFPIT_APPLY_ACTIONS``.

_FLOW_MOD = struct.Struct("!QQBBHHHIIIHxx")
_PORT_ACTION = struct.Struct("!HHIH6x")
_GROUP_ACTION = struct.Struct("!HHI")
_REG_MOVE = struct.Struct("!HHIHHHH")
_METADATA = struct.Struct("!HH4xQQ")
_BUCKET = struct.Struct("!HHII4x")
_METER_BAND = struct.Struct("!HHII4x")
_BUNDLE = struct.Struct("!IIIHH")


class MessageType(IntEnum):
    """Types of messages (``ofp_type``)."""

    HELLO = 0
    ERROR = 1
    ECHO_REQUEST = 2
    ECHO_REPLY = 3
    EXPERIMENTER = 4
    FEATURES_REQUEST = 5
    FEATURES_REPLY = 6
    PACKET_IN = 10
    PORT_STATUS = 12
    PACKET_OUT = 13
    FLOW_MOD = 14
    GROUP_MOD = 15
    MULTIPART_REQUEST = 18
    MULTIPART_REPLY = 19
    BARRIER_REQUEST = 20
    BARRIER_REPLY = 21
    ROLE_REQUEST = 24
    ROLE_REPLY = 25
    SET_ASYNC = 28
    METER_MOD = 29


class FlowCommand(IntEnum):
    """Change of a flow entry (``ofp_flow_mod_command``)."""

    ADD = 0  # Replaces an entry of equal table, priority and match.
    MODIFY = 1
    MODIFY_STRICT = 2  # Keeps the entry's cookie and counters.
    DELETE = 3
    DELETE_STRICT = 4


class ModCommand(IntEnum):
    """Change of a group or meter (``ofp_group_mod_command``, ``ofp_meter_mod_command``)."""

    ADD = 0
    MODIFY = 1
    DELETE = 2


class BundleStep(IntEnum):
    """Requests about a bundle, and their replies (``onf_bundle_ctrl_type``)."""

    OPEN = 0
    OPENED = 1
    CLOSE = 2
    CLOSED = 3
    COMMIT = 4
    COMMITTED = 5
    DISCARD = 6
    DISCARDED = 7


ATOMIC = 1
ORDERED = 2


class Cookie(NamedTuple):
    """A tag of flow entries."""

    value: int
    mask: int = 0  # Bits of the value that entries must have to be modified or deleted; 0: any.


NO_COOKIE = Cookie(0)


def message(kind: MessageType, body: bytes, xid: int) -> bytes:
    """Put the header in front (7.1.1).

    ``xid`` is the transaction id, which the reply or the error repeats.
    """
    return HEADER.pack(VERSION, kind, HEADER.size + len(body), xid) + body


def with_xid(octets: bytes, xid: int) -> bytes:
    """Return a message in another transaction."""
    return octets[:4] + xid.to_bytes(4) + octets[8:]


def flow_mod(
    rule: rules.FlowRule, command: FlowCommand, *, cookie: Cookie = NO_COOKIE, xid: int = 0
) -> bytes:
    """Write a FLOW_MOD (7.3.4.1) of an entry without time-outs and without removal messages."""
    deletes = command in (FlowCommand.DELETE, FlowCommand.DELETE_STRICT)
    head = _flow_head(rule.table, rule.priority, command, cookie)
    actions = b"" if deletes else instructions(rule)
    return message(MessageType.FLOW_MOD, head + match(rule.match) + actions, xid)


def flow_delete(table: int, priority: int, written: bytes, *, cookie: Cookie) -> bytes:
    """Write a FLOW_MOD that deletes one entry, by its match as a switch reports it."""
    head = _flow_head(table, priority, FlowCommand.DELETE_STRICT, cookie)
    return message(MessageType.FLOW_MOD, head + written, 0)


def match(conditions: Iterable[rules.MatchField]) -> bytes:
    """Write a match (``ofp_match``, 7.2.3), padded to eight octets."""
    fields = b"".join(map(oxm.encode, conditions))
    return struct.pack("!HH", 1, 4 + len(fields)) + fields + bytes(-(4 + len(fields)) % 8)


def instructions(rule: rules.FlowRule) -> bytes:
    """Write a rule's instructions (7.2.4): its meter, its actions, then the others."""
    meters, others = b"", b""
    for step in rule.instructions:
        if isinstance(step, rules.UseMeter):
            meters += _instruction(step)
        else:
            others += _instruction(step)
    applied = _actions_instruction(_APPLY_ACTIONS, rule.actions) if rule.actions else b""
    return meters + applied + others


def group_mod(group: rules.Group, command: ModCommand) -> bytes:
    """Write a GROUP_MOD (7.3.4.2) of a group that selects a port by hash."""
    select = 1
    buckets = b"" if command is ModCommand.DELETE else b"".join(map(_bucket, group.ports))
    body = struct.pack("!HBxI", command, select, group.number) + buckets
    return message(MessageType.GROUP_MOD, body, 0)


def meter_mod(meter: rules.Meter, command: ModCommand) -> bytes:
    """Write a METER_MOD (7.3.4.4): packets per second, with a burst, one band that drops."""
    packets, burst, drop = 2, 4, 1
    body = struct.pack("!HHI", command, packets | burst, meter.number)
    if command is not ModCommand.DELETE:
        body += _METER_BAND.pack(drop, 16, meter.packets_per_s, meter.burst_packets)
    return message(MessageType.METER_MOD, body, 0)


def barrier(xid: int) -> bytes:
    """Write a BARRIER_REQUEST (7.3.7): its reply follows all that was sent before."""
    return message(MessageType.BARRIER_REQUEST, b"", xid)


def bundle_step(bundle: int, step: BundleStep, *, xid: int) -> bytes:
    """Write a request about a bundle, atomic and ordered (extension 230, ``onf_bundle_ctrl``)."""
    body = _BUNDLE.pack(ONF, BUNDLE_CONTROL, bundle, step, ATOMIC | ORDERED)
    return message(MessageType.EXPERIMENTER, body, xid)


def bundle_add(bundle: int, added: bytes) -> bytes:
    """Wrap a message for a bundle (extension 230, ``onf_bundle_add``), under its transaction."""
    xid = int.from_bytes(added[4:8])
    body = _BUNDLE.pack(ONF, BUNDLE_ADD, bundle, 0, ATOMIC | ORDERED) + added
    return message(MessageType.EXPERIMENTER, body, xid)


def _flow_head(table: int, priority: int, command: FlowCommand, cookie: Cookie) -> bytes:
    limits = (0, 0, priority, NO_BUFFER, ANY, ANY, 0)
    return _FLOW_MOD.pack(cookie.value, cookie.mask, table, command, *limits)


def _action(action: rules.Action) -> bytes:
    """Write an action (7.2.5)."""
    if isinstance(action, rules.Output):
        length = _WHOLE if action.port == rules.CONTROLLER else 0
        return _PORT_ACTION.pack(0, 16, action.port, length)
    if isinstance(action, rules.SetField):
        field = oxm.encode(rules.MatchField(action.field, action.value))
        padding = -(4 + len(field)) % 8
        return struct.pack("!HH", 25, 4 + len(field) + padding) + field + bytes(padding)
    if isinstance(action, rules.ToGroup):
        return _GROUP_ACTION.pack(22, 8, action.group)
    return _move(action)


def _move(action: rules.Move) -> bytes:
    """Write Nicira's action 6, ``nx_action_reg_move``."""
    experimenter, reg_move = 0xFFFF, 6
    head = _REG_MOVE.pack(
        experimenter, 24, _NICIRA, reg_move, action.bits, action.source_bit, action.target_bit
    )
    return head + oxm.nicira_header(action.source) + oxm.nicira_header(action.target)


def _instruction(step: rules.Instruction) -> bytes:
    if isinstance(step, rules.GoTo):
        return struct.pack("!HHB3x", 1, 8, step.table)
    if isinstance(step, rules.WriteMetadata):
        return _METADATA.pack(2, 24, step.value, step.mask)
    if isinstance(step, rules.WriteActions):
        return _actions_instruction(_WRITE_ACTIONS, step.actions)
    return struct.pack("!HHI", 6, 8, step.meter)


def _actions_instruction(kind: int, actions: Iterable[rules.Action]) -> bytes:
    """Write ``ofp_instruction_actions``."""
    octets = b"".join(map(_action, actions))
    return struct.pack("!HH4x", kind, 8 + len(octets)) + octets


def _bucket(port: int) -> bytes:
    output = _action(rules.Output(port))
    weight = 1
    return _BUCKET.pack(16 + len(output), weight, ANY, ANY) + output


_PACKET_OUT = struct.Struct("!IIH6x")
_ROLE = struct.Struct("!I4xQ")
_WHOLE = 0xFFFF
_ACTION_ONLY = 1 << 1
"""Packets that a rule or a PACKET_OUT sends to the controller (``OFPR_ACTION``)."""
_EVERY_PORT_CHANGE = 0b111


def packet_out(port: int, frame: bytes) -> bytes:
    """Write a PACKET_OUT (7.3.7): the switch sends this frame out of a port.

    To ``CONTROLLER``, it reaches all controllers that receive packets: a message to the others.
    """
    action = _PORT_ACTION.pack(0, 16, port, _WHOLE)
    body = _PACKET_OUT.pack(NO_BUFFER, rules.CONTROLLER, len(action)) + action + frame
    return message(MessageType.PACKET_OUT, body, 0)


def role_request(wanted: Role, generation: int, xid: int) -> bytes:
    """Write a ROLE_REQUEST (7.3.9)."""
    return message(MessageType.ROLE_REQUEST, _ROLE.pack(wanted, generation % (UNSET + 1)), xid)


def set_async() -> bytes:
    """Write a SET_ASYNC (7.3.10): only packets and changes of ports, in every role."""
    masks = (_ACTION_ONLY, _ACTION_ONLY, _EVERY_PORT_CHANGE, _EVERY_PORT_CHANGE, 0, 0)
    return message(MessageType.SET_ASYNC, struct.pack("!6I", *masks), 0)
