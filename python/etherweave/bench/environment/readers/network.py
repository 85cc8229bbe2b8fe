"""Readers of network interfaces, RDMA devices, TCP, and the path to other hosts."""

import json
import re

from etherweave.bench.environment import snapshot
from etherweave.bench.environment.readers.files import HostFiles, pairs, whole

_NET = "sys/class/net"
_PRIORITY = re.compile(r"([0-7]):on\b")
_MAPPING = re.compile(r"(\d{1,2}):([0-7])\b")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d{1,2})?) GT/s")


def names(files: HostFiles) -> list[str]:
    """Name all interfaces but the loopback, those that are up."""
    each = [name for name in files.names(_NET) if name != "lo"]
    return [name for name in each if _state(files, f"{_NET}/{name}") != "down"]


def traffic(files: HostFiles) -> dict[str, int]:
    """Read the bytes of every interface, both directions together (proc(5))."""
    columns = {name: line.split() for name, line in pairs(files.text("counters", "proc/net/dev"))}
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


def interface(files: HostFiles, name: str) -> snapshot.NetworkInterface:
    """Read an interface; empty if there is none of this name."""
    path = f"{_NET}/{name}"
    if "/" in name or name.startswith((".", "-")) or not files.names(path):
        files.miss("link", f"/{path}", "there is no such interface")
        return snapshot.NetworkInterface()
    rate = files.number("link", f"{path}/speed")
    driver = dict(pairs(files.tool("firmware", "ethtool", "-i", name)))
    pause = dict(pairs(files.tool("lossless", "ethtool", "-a", name)))
    node = files.number("numa", f"{path}/device/numa_node")
    return snapshot.NetworkInterface(
        state=_state(files, path),
        mtu=files.number("link", f"{path}/mtu"),
        rate=rate * 1e6 if rate and rate > 0 else None,
        duplex=files.text("link", f"{path}/duplex") or "",
        driver=driver.get("driver", "") or files.link(f"{path}/device/driver"),
        firmware=driver.get("firmware-version", ""),
        node=node if node is not None and node >= 0 else None,
        pcie=_pcie(files, f"{path}/device"),
        counters=files.numbers("counters", f"{path}/statistics"),
        driver_counters=_driver_counters(files.tool("counters", "ethtool", "-S", name)),
        offloads=_offloads(files.tool("offloads", "ethtool", "-k", name)),
        pause_received=_switch(pause.get("RX")),
        pause_sent=_switch(pause.get("TX")),
        fec=_fec(files.tool("fec", "ethtool", "--show-fec", name)),
        pfc=_pfc(files.tool("lossless", "dcb", "pfc", "show", "dev", name)),
        ecn=_ecn(files, f"{path}/ecn"),
        classes=_mapping(files.tool("dcb", "dcb", "ets", "show", "dev", name, "prio-tc")),
        dscp=_mapping(files.tool("dcb", "dcb", "-N", "app", "show", "dev", name, "dscp-prio")),
        qdiscs=_qdiscs(files.tool("qdisc", "tc", "-j", "qdisc", "show", "dev", name)),
    )


def _state(files: HostFiles, path: str) -> str:
    """Read the state; the kernel notes up to a second late that a link which was down has come."""
    state = files.text("link", f"{path}/operstate") or ""
    has_carrier = state == "down" and files.number("link", f"{path}/carrier") == 1
    return "up" if has_carrier else state


def _pcie(files: HostFiles, device: str) -> snapshot.Pcie | None:
    width, most = (files.number("pcie", f"{device}/{end}_link_width") for end in ("current", "max"))
    speeds = [files.text("pcie", f"{device}/{end}_link_speed") for end in ("current", "max")]
    matches = [match for text in speeds if (match := _SPEED.match(text or ""))]
    if not (width and most and len(matches) == 2):
        return None
    return snapshot.Pcie(width, most, float(matches[0][1]), float(matches[1][1]))


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


def _ecn(files: HostFiles, directory: str) -> tuple[int, ...] | None:
    """Read what mlx5's driver of the vendor shows; the kernel's own shows nothing."""
    reacts, reports = (
        files.numbers("dcb", f"{directory}/{side}/enable") for side in ("roce_rp", "roce_np")
    )
    both = [int(name) for name in reacts if name.isdigit() and reacts[name] and reports.get(name)]
    return tuple(both) if reacts else None


def _mapping(text: str | None) -> dict[str, int]:
    return {key: int(value) for key, value in _MAPPING.findall(text or "")}


def _qdiscs(text: str | None) -> tuple[str, ...]:
    try:
        document = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return ()
    kinds = [row for row in document if isinstance(row, dict)] if isinstance(document, list) else []
    kinds.sort(key=lambda kind: "root" not in kind)
    return tuple(str(kind.get("kind", "")) for kind in kinds)


_HOST = re.compile(r"[0-9A-Za-z]([0-9A-Za-z.:_-]{0,252}[0-9A-Za-z])?")
_HEADERS = 28  # IPv4 and ICMP echo without options [bytes].


def path_to(files: HostFiles, host: str) -> snapshot.NetworkPath | None:
    """Send an echo request of the interface's MTU; ``None`` where that is not possible."""
    if not _HOST.fullmatch(host):
        files.miss("path", host[:80], "is neither a host's name nor an address")
        return None
    routes = files.tool("path", "getent", "ahostsv4", host)
    address = (routes or "").split()[:1]
    if not address:
        return None
    interface = _interface(files.tool("path", "ip", "-j", "route", "get", address[0]))
    mtu = files.number("path", f"sys/class/net/{interface}/mtu") if interface else None
    if not interface or not mtu or mtu <= _HEADERS:
        return None
    return _probed(files, address[0], interface, mtu)


def _probed(
    files: HostFiles, address: str, interface: str, mtu: int
) -> snapshot.NetworkPath | None:
    # A loopback carries 64 KiB, but no IPv4 packet is larger than 65,535 bytes.
    sent = min(mtu, 65_535)
    small = ("ping", "-n", "-c", "1", "-W", "1", address)
    large = (*small[:-1], "-M", "do", "-s", str(sent - _HEADERS), address)
    if files.tool("path", *small) is None:
        return None
    gaps = len(files.gaps)
    if files.tool("path", *large) is not None:
        return snapshot.NetworkPath(interface, sent, True, "")
    return snapshot.NetworkPath(interface, sent, False, files.gaps.pop(gaps).reason)


def _interface(text: str | None) -> str:
    try:
        document = json.loads(text or "[]")
        name = document[0]["dev"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) and "/" not in name and name not in (".", "..") else ""


_CLASS = "sys/class/infiniband"
_UNSET = "0000:0000:0000:0000:0000:0000:0000:0000"


def devices(files: HostFiles) -> dict[str, snapshot.RdmaDevice]:
    """Read all RDMA devices."""
    return {name: _device(files, f"{_CLASS}/{name}") for name in files.names(_CLASS)}


def _device(files: HostFiles, path: str) -> snapshot.RdmaDevice:
    ports = {name: _port(files, f"{path}/ports/{name}") for name in files.names(f"{path}/ports")}
    return snapshot.RdmaDevice(files.text("rdma", f"{path}/fw_ver") or "", ports)


def _port(files: HostFiles, path: str) -> snapshot.RdmaPort:
    gids = _gids(files, path)
    interfaces = [files.text("rdma", f"{path}/gid_attrs/ndevs/{index}") for index in gids]
    return snapshot.RdmaPort(
        state=files.text("rdma", f"{path}/state") or "",
        link_layer=files.text("rdma", f"{path}/link_layer") or "",
        interface=next((name for name in interfaces if name), ""),
        gids=gids,
        counters=files.numbers("rdma", f"{path}/counters"),
        hardware_counters=files.numbers("rdma", f"{path}/hw_counters"),
    )


def _gids(files: HostFiles, path: str) -> dict[str, str]:
    indices = sorted((name for name in files.names(f"{path}/gids") if name.isdigit()), key=int)
    return {
        index: files.text("rdma", f"{path}/gid_attrs/types/{index}") or ""
        for index in indices
        if files.text("rdma", f"{path}/gids/{index}") not in (None, _UNSET)
    }


SETTINGS = (
    "core.rmem_max",
    "core.wmem_max",
    "core.netdev_max_backlog",
    "core.default_qdisc",
    "core.busy_poll",
    "ipv4.tcp_rmem",
    "ipv4.tcp_wmem",
    "ipv4.tcp_congestion_control",
    "ipv4.tcp_ecn",
    "ipv4.tcp_window_scaling",
    "ipv4.tcp_timestamps",
    "ipv4.tcp_sack",
    "ipv4.tcp_mtu_probing",
    "ipv4.tcp_slow_start_after_idle",
)


def settings(files: HostFiles) -> dict[str, str]:
    """Read the settings that matter, by their names below ``net``."""
    paths = {name: f"proc/sys/net/{name.replace('.', '/')}" for name in SETTINGS}
    texts = {name: files.text("tcp", path) for name, path in paths.items()}
    return {name: " ".join(text.split()) for name, text in texts.items() if text is not None}


def counters(files: HostFiles) -> dict[str, int]:
    """Read TCP's counters of this network namespace."""
    lines = (files.text("tcp", "proc/net/snmp") or "").splitlines()
    rows = [line.split()[1:] for line in lines if line.startswith("Tcp:")]
    if len(rows) != 2:
        return {}
    values = zip(rows[0], map(whole, rows[1]), strict=False)
    return {name: value for name, value in values if value is not None}
