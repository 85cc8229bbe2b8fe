"""Network interfaces: link, card, counters, offloads, pauses, priorities, queues."""

import json
import re

from etherweave.bench.environment.readers.place import Place, pairs, whole
from etherweave.bench.environment.snapshot import Interface, Pcie

_NET = "sys/class/net"
_PRIORITY = re.compile(r"([0-7]):on\b")
_MAPPING = re.compile(r"(\d{1,2}):([0-7])\b")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d{1,2})?) GT/s")


def names(place: Place) -> list[str]:
    """Name all interfaces but the loopback, those that are up."""
    each = [name for name in place.names(_NET) if name != "lo"]
    return [name for name in each if _state(place, f"{_NET}/{name}") != "down"]


def traffic(place: Place) -> dict[str, int]:
    """Read the bytes of every interface, both directions together (proc(5))."""
    columns = {name: line.split() for name, line in pairs(place.text("counters", "proc/net/dev"))}
    ends = {
        name: (whole(words[0]), whole(words[8]))
        for name, words in columns.items()
        if len(words) >= 16
    }
    return {
        name: received + sent
        for name, (received, sent) in ends.items()
        if received is not None and sent is not None
    }


def interface(place: Place, name: str) -> Interface:
    """Read an interface; empty if there is none of this name."""
    path = f"{_NET}/{name}"
    if "/" in name or name.startswith((".", "-")) or not place.names(path):
        place.miss("link", f"/{path}", "there is no such interface")
        return Interface()
    rate = place.number("link", f"{path}/speed")
    driver = dict(pairs(place.tool("firmware", "ethtool", "-i", name)))
    pause = dict(pairs(place.tool("lossless", "ethtool", "-a", name)))
    node = place.number("numa", f"{path}/device/numa_node")
    return Interface(
        state=_state(place, path),
        mtu=place.number("link", f"{path}/mtu"),
        rate=rate * 1e6 if rate and rate > 0 else None,
        duplex=place.text("link", f"{path}/duplex") or "",
        driver=driver.get("driver", "") or place.link(f"{path}/device/driver"),
        firmware=driver.get("firmware-version", ""),
        node=node if node is not None and node >= 0 else None,
        pcie=_pcie(place, f"{path}/device"),
        counters=place.numbers("counters", f"{path}/statistics"),
        driver_counters=_driver_counters(place.tool("counters", "ethtool", "-S", name)),
        offloads=_offloads(place.tool("offloads", "ethtool", "-k", name)),
        pause_received=_switch(pause.get("RX")),
        pause_sent=_switch(pause.get("TX")),
        fec=_fec(place.tool("fec", "ethtool", "--show-fec", name)),
        pfc=_pfc(place.tool("lossless", "dcb", "pfc", "show", "dev", name)),
        ecn=_ecn(place, f"{path}/ecn"),
        classes=_mapping(place.tool("dcb", "dcb", "ets", "show", "dev", name, "prio-tc")),
        dscp=_mapping(place.tool("dcb", "dcb", "-N", "app", "show", "dev", name, "dscp-prio")),
        qdiscs=_qdiscs(place.tool("qdisc", "tc", "-j", "qdisc", "show", "dev", name)),
    )


def _state(place: Place, path: str) -> str:
    """Read the state; the kernel notes up to a second late that a link which was down has come."""
    state = place.text("link", f"{path}/operstate") or ""
    has_carrier = state == "down" and place.number("link", f"{path}/carrier") == 1
    return "up" if has_carrier else state


def _pcie(place: Place, device: str) -> Pcie | None:
    width, most = (place.number("pcie", f"{device}/{end}_link_width") for end in ("current", "max"))
    speeds = [place.text("pcie", f"{device}/{end}_link_speed") for end in ("current", "max")]
    found = [match for text in speeds if (match := _SPEED.match(text or ""))]
    if not (width and most and len(found) == 2):
        return None
    return Pcie(width, most, float(found[0][1]), float(found[1][1]))


def _driver_counters(text: str | None) -> dict[str, int]:
    values = ((name, whole(value)) for name, value in pairs(text))
    return {name: value for name, value in values if value is not None}


def _offloads(text: str | None) -> dict[str, bool]:
    states = ((name, value.split()[:1]) for name, value in pairs(text))
    return {name: state == ["on"] for name, state in states if state in (["on"], ["off"])}


def _switch(text: str | None) -> bool | None:
    return {"on": True, "off": False}.get(text or "")


def _fec(text: str | None) -> str:
    active = (value for name, value in pairs(text) if name.startswith("Active FEC encoding"))
    return next(active, "")


def _pfc(text: str | None) -> tuple[int, ...] | None:
    for line in (text or "").splitlines():
        if line.startswith("prio-pfc"):
            return tuple(int(priority) for priority in _PRIORITY.findall(line))
    return None


def _ecn(place: Place, directory: str) -> tuple[int, ...] | None:
    """Read what mlx5's driver of the vendor shows; the kernel's own shows nothing."""
    heeds, tells = (
        place.numbers("dcb", f"{directory}/{side}/enable") for side in ("roce_rp", "roce_np")
    )
    both = [int(name) for name in heeds if name.isdigit() and heeds[name] and tells.get(name)]
    return tuple(both) if heeds else None


def _mapping(text: str | None) -> dict[str, int]:
    return {key: int(value) for key, value in _MAPPING.findall(text or "")}


def _qdiscs(text: str | None) -> tuple[str, ...]:
    try:
        found = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return ()
    kinds = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    kinds.sort(key=lambda one: "root" not in one)
    return tuple(str(one.get("kind", "")) for one in kinds)
