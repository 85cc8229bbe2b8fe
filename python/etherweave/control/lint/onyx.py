"""Commands of NVIDIA (Mellanox) Onyx: ``show running-config``, or what is pasted into a switch.

Forms are those of the user manual's chapters on quality of service, priority flow control and RoCE,
and of the vendor's guide "Lossless RoCE Configuration for MLNX-OS Switches in DSCP-Based QoS Mode
(advanced mode)". Where ``advanced buffer management`` is off, the switch computes lossless groups.
"""

import re
from collections.abc import Iterator

from etherweave.control.lint.dialects import BEGIN, Dialect
from etherweave.control.lint.port_settings import (
    ACCESS_VLAN,
    EIGHT,
    PORTS_MAX,
    Settings,
    SwitchSettings,
    mapped,
    names,
    priority,
    put,
    whole,
)
from etherweave.control.lint.systems import System

LOSSY = "what the switch gives by default"
"""The profile of groups and queues that no command configures."""
LIMITED = "a limited share of its pool"
"""The profile of queues that drop packets when their share is used up."""
IGNORED = ("description", "switchport", "load-interval", "lacp", "spanning-tree")
"""First words of commands for ports that do not concern lossless traffic."""
_PROMPT = re.compile(r"^\S*(?: \[[^\]]*\])* ?\(config[^)]*\) ?# ?")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
ROCE: Settings = {
    ("trust",): "dscp",
    **{("queue", number): number if number in "36" else "0" for number in EIGHT},
    ("share", "0"): "wrr 50",
    ("share", "3"): "wrr 50",
    ("share", "6"): "strict",
    ("ecn", "3", "green_min_threshold"): "150000",
    ("ecn", "3", "green_max_threshold"): "1500000",
    ("ecn", "3", "ecn"): "ecn_all",
    ("lossless", "3"): "on",
    ("pause",): "on",
}
"""Settings of ``roce lossless``: "show roce" in the manual's page on RoCE commands."""


def read(text: str) -> SwitchSettings:
    """Read commands; those that are not known are counted."""
    reader = _OnyxReader()
    lines = [_PROMPT.sub("", line.strip()).split() for line in text.splitlines()]
    for numbered in enumerate(lines, start=1):
        reader.line(*numbered)
    return reader.finish()


class _OnyxReader:
    """Reads commands line by line."""

    def __init__(self) -> None:
        self.switch = SwitchSettings()
        self.switch.every |= {("trust",): "pcp", ("guaranteed",): "on", ("mtu",): "1500"}
        self.switch.every |= {("share", number): "fair" for number in EIGHT}
        self.is_enabled = False
        """Whether PFC is, which ports need beside their own commands."""
        self.traffic_pools: dict[str, dict[str, str]] = {}
        """Types of pools, and what they are the pool of."""
        self._interface: list[str] = []
        """First words of a command that has a mode of its own."""

    def line(self, number: int, words: list[str]) -> None:
        """Read a line."""
        if not words or words[0][0] in "#!":
            return
        name = words[2] if words[0] == "interface" and words[3:] else words[0]
        self.switch.take(f"line {number}", words, self._line, name)

    def _line(self, words: list[str]) -> bool:
        return self._command(words) or self._within(words)

    def _within(self, words: list[str]) -> bool:
        """Read a command in the mode of an interface."""
        if words == ["exit"]:
            self._interface = []
            return True
        return bool(self._interface) and self._of_ports(self._interface[1:], words)

    def _command(self, words: list[str]) -> bool:
        switch = self.switch
        match [word for word in words if word != "force"]:
            case ["hostname", name]:
                switch.name = name
            case ["interface", "ethernet" | "port-channel" | "mlag-port-channel", _]:
                self._interface = words
                return self._of_ports(words[1:], [])
            case ["interface", kind, places, *rest] if rest:
                return self._of_ports([kind, places], rest)
            case ["no", "interface", kind, places, *rest] if rest:
                return self._of_ports([kind, places], ["no", *rest])
            case ["vlan", vlans] | ["vlan", vlans, "name", _]:
                self._interface = []
                return switch.create_vlans(vlans)
            case ["no", "vlan", vlans]:
                return switch.delete_vlans(vlans)
            case ["dcb", "priority-flow-control", "enable"]:
                self.is_enabled = True
            case ["dcb", "priority-flow-control", "priority", number, "enable"]:
                switch.every["lossless", priority(number)] = "on"
            case ["no", "dcb", "priority-flow-control", "enable"]:
                self.is_enabled = False
            case ["no", "dcb", "priority-flow-control", "priority", number, "enable"]:
                switch.every.pop(("lossless", priority(number)), None)
            case ["advanced", "buffer", "management"]:
                switch.every |= {("group",): "0", ("profile",): LOSSY}
                switch.every |= {("egress", number): LIMITED for number in EIGHT}
                switch.profiles |= {LOSSY: {}, LIMITED: {}}
            case ["pool", name, "size", size, "type", kind]:
                switch.pools[name] = {"size": _bytes(size), "mode": kind, "type": _side(name)}
            case ["traffic", "pool", name, *rest]:
                return self._traffic_pool(self.traffic_pools.setdefault(name, {}), rest)
            case ["roce"] | ["roce", "lossless" | "semi-lossless" | "lossy"]:
                # Semi-lossless: a switch pauses its hosts, and does not heed pauses.
                switch.every |= ROCE
                switch.every |= {("asymmetric",): "on"} if words[-1] == "semi-lossless" else {}
                self.is_enabled |= "lossy" not in words
                switch.every["pause",] = "off" if "lossy" in words else "on"
            case _:
                return False
        return True

    def _traffic_pool(self, pool: dict[str, str], words: list[str]) -> bool:
        match words:
            case ["type", "lossless" | "lossy" | "lossy-mc" as kind, *rest]:
                pool["type"] = kind
                return not rest or self._traffic_pool(pool, rest)
            case ["map", "switch-priority", *numbers] if numbers:
                pool |= {priority(number): "mapped" for number in numbers}
            case ["memory", "percent", _]:
                pass
            case _:
                return False
        return True

    def finish(self) -> SwitchSettings:
        """Return the switch, without PFC where it is off, and with the pools of priorities."""
        switch = self.switch
        if not self.is_enabled:
            for own in (switch.every, *switch.channels.values(), *switch.ports.values()):
                own.pop(("pause",), None)
        pools = self.traffic_pools.values()
        lossless = {number for pool in pools if pool.get("type") == "lossless" for number in pool}
        lossy = {number for pool in pools if pool.get("type") != "lossless" for number in pool}
        without = [key for key in EIGHT if key in lossy or (lossless and key not in lossless)]
        if without:
            switch.profiles[LOSSY] = {}
            switch.every |= {("profile", level): LOSSY for level in without}
        return switch

    def _of_ports(self, interface: list[str], rest: list[str]) -> bool:
        if rest[:1] == ["module-type"]:
            return True  # A cage that is broken out is no port any more.
        places = list(self._places(*interface))
        self.switch.count(len(places))
        command = [text for text in rest if text != "force"]
        return bool(places) and (not command or self._setting(places, command))

    def _places(self, kind: str, text: str) -> Iterator[Settings]:
        if kind in ("port-channel", "mlag-port-channel"):
            first, _, last = text.partition("-")
            for number in names(first, last or first, PORTS_MAX):
                yield self.switch.of(f"{kind} {number}", is_channel=True)
        if kind == "ethernet":
            for name in _ports(text):
                yield self.switch.of(f"ethernet {name}")

    def _setting(self, places: list[Settings], words: list[str]) -> bool:
        """Read a command for ports."""
        match words:
            case ["ingress-buffer", group, *rest] if group.startswith("iPort.pg"):
                return self._group(places, priority(group.removeprefix("iPort.pg")), rest)
            case ["egress-buffer", queue, "map", "pool", pool, *rest] if "." in queue:
                share = " ".join(rest[rest.index("shared") :]) if "shared" in rest else ""
                profile = f"{pool} {share}" if share == "shared alpha inf" else LIMITED
                self.switch.profiles[profile] = {"pool": pool}
                return _put(places, {("egress", priority(queue.partition(".tc")[2])): profile})
            case ["switchport", "access", "vlan", vlan]:
                self.switch.refer(ACCESS_VLAN, vlan)
        settings = _settings(words)
        if settings is None:
            return words[0] in IGNORED
        return _put(places, settings)

    def _group(self, places: list[Settings], group: str, words: list[str]) -> bool:
        match words:
            case ["bind", "switch-priority", *numbers] if numbers:
                return _put(places, {("group", priority(number)): group for number in numbers})
            case ["map", "pool", pool, "type", kind, *rest]:
                sizes = dict(zip(rest[::2], rest[1::2], strict=False))
                name = " ".join([f"iPort.pg{group}", pool, kind, *rest])
                self.switch.profiles[name] = _profile(pool, kind, sizes, rest)
                return _put(places, {("profile", group): name})
        return False


def _settings(words: list[str]) -> Settings | None:
    """Return what a command configures at a port; nothing if it is not known."""
    match words:
        case ["mtu", size]:
            return {("mtu",): str(whole(size))}
        case ["speed", rate, *_]:
            return _speed(rate)
        case ["flowcontrol", "send" | "receive" as side, state, *_]:
            return {(side,): state}
        case ["shutdown"]:
            return {("shutdown",): "on"}
        case ["no", "shutdown" | "switchport"]:
            return {}
        case ["channel-group" | "mlag-channel-group" as kind, number, "mode", _]:
            prefix = kind.removesuffix("channel-group") + "port-channel"
            return {("channel",): f"{prefix} {whole(number)}"}
        case ["qos", "trust", level]:
            modes = {"l2": "pcp", "l3": "dscp", "both": "both", "port": "port"}
            return {("trust",): modes[level.lower()]}
        case ["qos", "map", "dscp", *dscps, "to", "switch-priority", number] if dscps:
            return mapped((str(whole(dscp, 63)) for dscp in dscps), priority(number))
        case ["qos", "map", "pcp", pcp, *_, "to", "switch-priority", number]:
            return {("pcp", priority(pcp)): priority(number)}
        case ["qos", "default", "switch-priority", number]:
            return {("default",): priority(number)}
        case ["pfc-wd", *_]:
            return {("watchdog",): "on"}
        case ["no", "pfc-wd", *_]:
            return {("watchdog",): "off"}
        case ["dcb", "priority-flow-control", "mode", mode]:
            return {("pause",): {"on": "on", "auto": "on", "off": "off"}[mode]}
        case ["no", "dcb", "priority-flow-control", *_]:
            return {("pause",): "off"}
        case ["no", "traffic-class", queue, "congestion-control", *_]:
            return {("marking", priority(queue)): "off"}
        case ["traffic-class", queue, *rest]:
            return _queue(priority(queue), rest)
    return None


def _queue(queue: str, words: list[str]) -> Settings | None:
    match words:
        case ["bind", "switch-priority", *numbers] if numbers:
            return {("queue", priority(number)): queue for number in numbers}
        case ["dcb", "ets", "strict"]:
            return {("share", queue): "strict"}
        case ["dcb", "ets", "wrr", weight, *_]:
            return {("share", queue): f"wrr {whole(weight, 100)}"}
        case ["congestion-control", "ecn" | "red" | "both" as kind, *rest]:
            limits = dict(zip(rest[::2], rest[1::2], strict=False))
            fields = {"ecn": "ecn_none" if kind == "red" else "ecn_all"}
            if kind != "ecn":
                fields["wred_green_enable"] = "true"
            for side in ("minimum", "maximum"):
                if f"{side}-absolute" in limits:
                    limit = limits[f"{side}-absolute"]
                    size = _bytes(limit) if limit[-1:].isalpha() else str(whole(limit) * 1000)
                    fields[f"green_{side[:3]}_threshold"] = size
            return {("marking", queue): "on"} | {
                ("ecn", queue, key): field for key, field in fields.items()
            }
        case ["no", "congestion-control", *_]:
            return {("marking", queue): "off"}
    return None


def _put(places: list[Settings], settings: Settings) -> bool:
    for place in places:
        put(place, settings)
    return True


def _ports(text: str) -> Iterator[str]:
    """Split ``1/1-1/16`` into names; modules and split ports have further numbers."""
    first, _, last = text.partition("-")
    if not re.fullmatch(r"\d{1,3}(/\d{1,3}){1,2}", first):
        raise ValueError(text)
    prefix, _, low = first.rpartition("/")
    for number in names(low, (last or first).rpartition("/")[2], PORTS_MAX):
        yield f"{prefix}/{number}"


def _speed(text: str) -> Settings:
    match = re.fullmatch(r"(\d{1,3})G(x\d)?", text)
    return {("speed",): str(int(match[1]) * 1000)} if match else {}


def _bytes(text: str) -> str:
    """Read a size, in bytes or with K, M or G."""
    unit = _UNITS.get(text[-1:].upper(), 1)
    number = text[:-1] if text[-1:].upper() in _UNITS else text
    if not re.fullmatch(r"\d{1,12}(\.\d{1,6})?", number):
        raise ValueError(text)
    return str(int(float(number) * unit))


def _side(pool: str) -> str:
    return "ingress" if pool.startswith("i") else "egress"


def _profile(pool: str, kind: str, sizes: dict[str, str], words: list[str]) -> dict[str, str]:
    """Return a group's profile: it pauses above ``xoff``, and has the rest as its headroom."""
    reserved = int(_bytes(sizes.get("reserved", "0")))
    entry = {"pool": pool, "size": str(reserved), "xoff": "0"}
    if kind == "lossless" and "xoff" in sizes:
        above = int(_bytes(sizes["xoff"]))
        headroom = str(max(0, reserved - above))
        entry |= {"xoff": headroom, "xon": _bytes(sizes.get("xon", "0")), "pause": str(above)}
    if "alpha" in words:
        entry["dynamic_th"] = words[words.index("alpha") + 1]
    return entry


ONYX = System(
    "onyx",
    {
        "pfc": "dcb priority-flow-control priority N enable",
        "group": "ingress-buffer iPort.pg",
        "lossless": "type lossless, with reserved beyond xoff: the headroom",
        "xoff": "reserved less xoff",
        "watchdog": "pfc-wd",
        "watched": "pfc-wd",
        "marking": "congestion-control ecn",
        "threshold": "shared alpha",
        "BUFFER_POOL": "the switch",
        "asymmetric": "roce semi-lossless, where pauses go one way",
    },
    inactive="0",
)
DIALECT = Dialect(
    ONYX,
    read,
    re.compile(
        BEGIN + r"(?:interface (?:ethernet|(?:mlag-)?port-channel) \d|dcb priority-flow-control)",
        re.MULTILINE,
    ),
)
