"""Whether packets as large as the interface sends them reach another host."""

import json
import re

from etherweave.bench.environment.readers.place import Place
from etherweave.bench.environment.snapshot import Path

_HOST = re.compile(r"[0-9A-Za-z]([0-9A-Za-z.:_-]{0,252}[0-9A-Za-z])?")
_HEADERS = 28
"""IPv4 and ICMP echo without options [bytes]."""


def path_to(place: Place, host: str) -> Path | None:
    """Send an echo request of the interface's MTU; ``None`` where that is not possible."""
    if not _HOST.fullmatch(host):
        place.miss("path", host[:80], "is neither a host's name nor an address")
        return None
    routes = place.tool("path", "getent", "ahostsv4", host)
    address = (routes or "").split()[:1]
    if not address:
        return None
    interface = _interface(place.tool("path", "ip", "-j", "route", "get", address[0]))
    mtu = place.number("path", f"sys/class/net/{interface}/mtu") if interface else None
    if not interface or not mtu or mtu <= _HEADERS:
        return None
    return _probed(place, address[0], interface, mtu)


def _probed(place: Place, address: str, interface: str, mtu: int) -> Path | None:
    # A loopback carries 64 KiB, but no IPv4 packet is larger than 65,535 bytes.
    sent = min(mtu, 65_535)
    small = ("ping", "-n", "-c", "1", "-W", "1", address)
    large = (*small[:-1], "-M", "do", "-s", str(sent - _HEADERS), address)
    if place.tool("path", *small) is None:
        return None
    gaps = len(place.gaps)
    if place.tool("path", *large) is not None:
        return Path(interface, sent, True, "")
    return Path(interface, sent, False, place.gaps.pop(gaps).reason)


def _interface(text: str | None) -> str:
    try:
        found = json.loads(text or "[]")
        name = found[0]["dev"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) and "/" not in name and name not in (".", "..") else ""
