"""Whether links in parallel, and both ends of a link, are alike."""

from collections.abc import Iterator

from etherweave.control.lint.config_db import Port, Switch
from etherweave.control.lint.finding import Fault
from etherweave.control.lint.site import Site
from etherweave.control.qos.nos import PORT_NAMES


def channels(site: Site) -> Iterator[Fault]:
    """Find members of one port channel that treat packets differently."""
    for switch in site.switches:
        members: dict[str, list[Port]] = {}
        for port in switch.ports:
            if port.channel:
                members.setdefault(port.channel, []).append(port)
        for channel, ports in members.items():
            first = ports[0]
            for port in ports[1:]:
                for what, one, other in _differences(port, first):
                    found = f"{what} {one} in {channel}"
                    yield Fault(switch.file, port.name, found, f"{other}, as {first.name}")


def _differences(port: Port, first: Port) -> Iterator[tuple[str, object, object]]:
    pairs: list[tuple[str, object, object]] = [
        ("speed", port.speed_mbps, first.speed_mbps),
        ("lossless priorities", sorted(port.lossless), sorted(first.lossless)),
    ]
    pairs += [
        (f"{field}", dict(port.maps.get(field, {})), dict(first.maps.get(field, {})))
        for field in sorted({*port.maps, *first.maps})
    ]
    return (pair for pair in pairs if pair[1] != pair[2])


def mtu(site: Site) -> Iterator[Fault]:
    """Find ports of one switch, or members of one fabric, that let through different packets."""
    switches = site.switches
    sizes = [port.mtu_bytes for one in switches for port in one.ports if port.mtu_bytes is not None]
    usual = max(set(sizes), key=sizes.count, default=None)
    wanted = site.fabric.mtu_bytes if site.fabric else usual
    for switch in switches:
        for port in switch.ports:
            if port.mtu_bytes is not None and port.mtu_bytes != wanted:
                found = f"MTU {port.mtu_bytes}"
                yield Fault(switch.file, port.name, found, f"{wanted}, as everywhere else")


def ends(site: Site) -> Iterator[Fault]:
    """Find links whose ends pause, or run, differently; the fabric says what is plugged where."""
    if site.fabric is None:
        return
    known = {one.name: one for one in site.switches}
    name = PORT_NAMES["sonic"]
    places = {one.name: one for one in site.fabric.switches}
    for switch in site.fabric.switches:
        for port in switch.ports:
            near = _port(known.get(switch.name), name(switch, port.number))
            far_switch = places.get(port.peer)
            if far_switch is None or near is None:
                continue
            far_name = name(far_switch, port.peer_port)
            far = _port(known.get(port.peer), far_name)
            if far is None:
                continue
            file, peer = known[switch.name].file, f"{port.peer} {far_name}"
            if near.speed_mbps != far.speed_mbps:
                found = f"speed {near.speed_mbps} Mb/s"
                yield Fault(file, near.name, found, f"{far.speed_mbps} Mb/s, as {peer}")
            if near.lossless != far.lossless:
                found = f"pauses priorities {sorted(near.lossless)}"
                yield Fault(file, near.name, found, f"{sorted(far.lossless)}, as {peer}")


def _port(switch: Switch | None, name: str) -> Port | None:
    ports = switch.ports if switch else ()
    return next((port for port in ports if port.name == name), None)
