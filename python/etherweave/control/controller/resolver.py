"""Answers of the fabric manager to ARP requests that switches intercept, from the plan's addresses.

As in PortLand (Niranjan Mysore et al. 2009, section 3.3) and SEATTLE (Kim et al. 2011), a request
never enters the fabric: the first switch hands it to its controller, which knows all hosts.
"""

import struct
from collections.abc import Iterable, Mapping

from etherweave.control.admission import ARP
from etherweave.control.rules import HostPlan

_REQUEST, _REPLY = 1, 2
_FRAME = struct.Struct("!6s6sHHHBBH6sI6sI")
"""Ethernet's header, and ARP of IPv4 over Ethernet (RFC 826)."""
_FORM = (ARP, 1, 0x0800, 6, 4)
_OCTETS_MIN = 60


def directory(hosts: Iterable[HostPlan]) -> dict[int, int]:
    """Return the MAC address of every IPv4 address of a plan."""
    return {host.ipv4: host.mac for host in hosts if host.ipv4 is not None}


def reply(known: Mapping[int, int], frame: bytes) -> bytes | None:
    """Write the reply to an ARP request, in the form that the requesting host accepts.

    None of another frame, of a request for an address that no host has, of a probe (RFC 5227,
    2.1.1) and of an announcement (2.3): a reply to these would be a conflict.
    """
    if len(frame) < _FRAME.size:
        return None
    _, source, *form, operation, sender, own, _, target = _FRAME.unpack_from(frame)
    is_request = tuple(form) == _FORM and operation == _REQUEST and own not in (0, target)
    mac = known.get(target) if is_request else None
    if mac is None:
        return None
    address = mac.to_bytes(6)
    answer = (source, address, *_FORM, _REPLY, address, target, sender, own)
    return _FRAME.pack(*answer).ljust(_OCTETS_MIN, b"\0")
