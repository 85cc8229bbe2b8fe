"""What the controller asks of a switch besides rules, as OpenFlow 1.3 messages."""

import struct

from etherweave.control.controller.roles import UNSET, Role
from etherweave.control.messages import NO_BUFFER, Kind, message
from etherweave.control.rules import CONTROLLER

_PACKET_OUT = struct.Struct("!IIH6x")
_OUTPUT = struct.Struct("!HHIH6x")
_ROLE = struct.Struct("!I4xQ")
_WHOLE = 0xFFFF
_ACTION_ONLY = 1 << 1
"""Packets that a rule or a PACKET_OUT sends to the controller (``OFPR_ACTION``)."""
_EVERY_PORT_CHANGE = 0b111


def packet_out(port: int, frame: bytes) -> bytes:
    """Write a PACKET_OUT (7.3.7): the switch sends a frame of ours out of a port.

    To ``CONTROLLER``, it reaches all controllers that want packets: a message to the others.
    """
    action = _OUTPUT.pack(0, 16, port, _WHOLE)
    body = _PACKET_OUT.pack(NO_BUFFER, CONTROLLER, len(action)) + action + frame
    return message(Kind.PACKET_OUT, body, 0)


def role(wanted: Role, generation: int, xid: int) -> bytes:
    """Write a ROLE_REQUEST (7.3.9)."""
    return message(Kind.ROLE_REQUEST, _ROLE.pack(wanted, generation % (UNSET + 1)), xid)


def wanted_events() -> bytes:
    """Write a SET_ASYNC (7.3.10): packets and changes of ports, whatever our role; nothing else."""
    masks = (_ACTION_ONLY, _ACTION_ONLY, _EVERY_PORT_CHANGE, _EVERY_PORT_CHANGE, 0, 0)
    return message(Kind.SET_ASYNC, struct.pack("!6I", *masks), 0)
