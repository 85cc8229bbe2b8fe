"""LLDP frames (IEEE 802.1AB): probes that show cables, and beacons that show controllers.

A probe carries 128 random bits of its port: whoever has not received it cannot make it up, and
octets are all that is compared when it arrives. Frames of hosts that speak LLDP tell their names.
"""

import secrets
import struct
from typing import Any

from os_ken.lib.packet import ethernet, lldp, packet

from etherweave.control.controller.roles import Beacon, State
from etherweave.control.controller.wiring import End

_SOURCE = "02:45:57:00:00:01"
_ORGANISATION = b"\x02EW"
"""Locally administered: no organisation that IEEE knows."""
_PROBE, _BEACON = 1, 2
_BEACON_BODY = struct.Struct("!QBQ")
_SECONDS_TO_LIVE = 120
_LOCAL = 7
_FRAME_MAX = 1600
_NAME_MAX = 64


class Probes:
    """Probes of all ports, made when first asked for."""

    def __init__(self) -> None:
        self._frames: dict[End, bytes] = {}
        self._ends: dict[bytes, End] = {}

    def frame(self, end: End) -> bytes:
        """Give the frame that is sent out of a port."""
        if end not in self._frames:
            made = _frame(end.switch, str(end.port), _PROBE, secrets.token_bytes(16))
            self._frames[end] = made
            self._ends[made] = end
        return self._frames[end]

    def end(self, frame: bytes) -> End | None:
        """Give the port that a frame had left by; none: no probe of ours."""
        return self._ends.get(frame)


def beacon_frame(beacon: Beacon) -> bytes:
    """Write what other controllers are told."""
    return _frame("etherweave", "controller", _BEACON, _BEACON_BODY.pack(*beacon))


def read_beacon(frame: bytes) -> Beacon | None:
    """Read what another controller says."""
    for tlv in _tlvs(frame):
        is_ours = isinstance(tlv, lldp.OrganizationallySpecific) and tlv.oui == _ORGANISATION
        if is_ours and tlv.subtype == _BEACON and len(tlv.info) == _BEACON_BODY.size:
            controller, state, generation = _BEACON_BODY.unpack(tlv.info)
            known = state in tuple(State)
            return Beacon(controller, State(state), generation) if known else None
    return None


def read_name(frame: bytes) -> str | None:
    """Read the system name that a host's LLDP tells; none: it is a controller's, or has none."""
    tlvs = _tlvs(frame)
    if any(isinstance(tlv, lldp.OrganizationallySpecific) and tlv.oui == _ORGANISATION
           for tlv in tlvs):  # fmt: skip
        return None
    names = [tlv.system_name for tlv in tlvs if isinstance(tlv, lldp.SystemName)]
    text = "".join(name.decode("ascii", "replace") for name in names[:1])
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:_NAME_MAX] or None


def _frame(chassis: str, port: str, kind: int, body: bytes) -> bytes:
    head = ethernet.ethernet(lldp.LLDP_MAC_NEAREST_BRIDGE, _SOURCE, 0x88CC)
    tlvs = (
        lldp.ChassisID(subtype=_LOCAL, chassis_id=chassis.encode()[:255]),
        lldp.PortID(subtype=_LOCAL, port_id=port.encode()),
        lldp.TTL(ttl=_SECONDS_TO_LIVE),
        lldp.OrganizationallySpecific(oui=_ORGANISATION, subtype=kind, info=body),
        lldp.End(),
    )
    made = packet.Packet()
    made.add_protocol(head)
    made.add_protocol(lldp.lldp(tlvs))
    made.serialize()
    return bytes(made.data).ljust(60, b"\0")


def _tlvs(frame: bytes) -> tuple[Any, ...]:
    """Read LLDP, whatever a host sends: os-ken's parser ends in many ways with bad frames."""
    if len(frame) > _FRAME_MAX or frame[12:14] != b"\x88\xcc":
        return ()
    try:
        read, *_ = lldp.lldp.parser(frame[14:])
    except Exception:
        return ()
    return tuple(read.tlvs) if read else ()
