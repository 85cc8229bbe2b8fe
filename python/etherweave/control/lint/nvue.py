"""NVUE of NVIDIA Cumulus Linux: commands (``nv config show -o commands``) and YAML.

Forms are those of the NVUE command reference and of the user guide's chapters on quality of service
and RoCE. The switch computes buffers itself unless a PFC profile has a port buffer.
"""

import re
from collections.abc import Iterable

from etherweave.control.lint.dialects import Dialect
from etherweave.control.lint.port_settings import (
    ACCESS_VLAN,
    EIGHT,
    PORTS_MAX,
    Settings,
    SwitchSettings,
    limited,
    listed,
    mapped,
    priority,
    put,
    whole,
)
from etherweave.control.lint.systems import CUMULUS
from etherweave.control.qos.nvue_yaml import names as nvue_names

GLOBAL = "default-global"  # The profile of all ports.
EVERY_PORT = "all ports"  # The port of a configuration that names none.
LOSSLESS, LOSSY = "default-lossless", "default-lossy"
"""Traffic pools: by default, all memory is lossy."""
ROCE_POOL = "roce-lossless"  # The pool of ``qos roce``.
LOSSLESS_POOLS = frozenset({LOSSLESS, ROCE_POOL})
POOLS = {"0": LOSSY, "1": LOSSLESS, "2": "mc-lossy"}
"""Ingress pools of the advanced buffer configuration, and the traffic pools that they are."""
NO_VLAN = ("auto", "none")  # Words in place of an access VLAN that has to exist.
IGNORED = ("bridge", "ip", "router", "vrf", "type", "description", "lldp")
ROCE: Settings = {
    ("trust",): "both",
    **{("queue", number): number if number in "36" else "0" for number in EIGHT},
    ("share", "0"): "wrr 50",
    ("share", "3"): "wrr 50",
    ("share", "6"): "strict",
    ("ecn", "3", "ecn"): "ecn_all",
    ("lossless", "3"): "on",
    ("pause",): "on",
    ("cable",): "100",
}
"""Settings of ``qos roce``: table of the default configuration in the chapter on RoCE."""
SERVICE_POOL = "0"  # The service pool that always exists.
LOSSLESS_ROCE = (("lossless", "3"), ("pause",), ("cable",))
"""Settings that its mode ``lossy`` leaves out."""


def read(text: str) -> SwitchSettings:
    """Read commands, of which those that set something count."""
    lines = [line.split() for line in text.splitlines()]
    switch = read_paths(
        (f"line {number}", words[2:])
        for number, words in enumerate(lines, start=1)
        if words[:2] == ["nv", "set"] and words[2:]
    )
    for number, words in enumerate(lines, start=1):
        if words[:2] == ["nv", "unset"]:
            name = " ".join(words[:4])
            switch.leave(name, f"{name} (line {number})")
    return switch


def read_paths(paths: Iterable[tuple[str, list[str]]]) -> SwitchSettings:
    """Read paths to values, each with its place; those that are not known are counted."""
    reader = _NvueReader()
    for place, words in paths:
        reader.path(place, words)
    reader.finish()
    return reader.switch


class _NvueReader:
    """Reads paths one by one."""

    def __init__(self) -> None:
        self.switch = SwitchSettings()
        self.switch.every |= {("trust",): "pcp", ("guaranteed",): "on", ("mtu",): "9216"}
        self._profiles: dict[tuple[str, str], Settings] = {}
        """Profiles by kind (``pfc``, ``mapping``, ...) and name."""
        self._bound: dict[str, dict[str, str]] = {}
        """Name of the profile, by interface and kind."""
        self._members: dict[str, list[str]] = {}
        self._percents: dict[str, int] = {}
        self._watchdog = {"polling-interval": "100", "robustness": "3"}
        self._roce: dict[str, str] = {}
        """Values below ``qos roce``; none: it is off."""
        for kind in PROFILES:
            self.switch.define(f"qos {kind} profile", GLOBAL)
        for side in ("ingress", "egress"):
            self.switch.define(f"{side} service-pool", SERVICE_POOL)

    def path(self, place: str, words: list[str]) -> None:
        """Read a path."""
        name = " ".join(words[:2] if words[0] != "interface" else words[2:4])
        self.switch.take(place, words, self._path, name)

    def _path(self, words: list[str]) -> bool:
        self._names(words)
        return self._known(words)

    def _names(self, words: list[str]) -> None:
        """Keep what a path defines by a name, and what it refers to."""
        match words:
            case ["qos", "advance-buffer-config", _, buffer, *rest] if rest:
                side = buffer.partition("-")[0]
                if buffer.endswith("-pool"):
                    self.switch.define(f"{side} service-pool", rest[0])
                elif rest[-2:-1] == ["service-pool"]:
                    self.switch.refer(f"{side} service-pool", rest[-1])
            case ["qos", kind, profile, *_] if kind in PROFILES:
                self.switch.define(f"qos {kind} profile", profile)
            case ["bridge", "domain", _, "vlan", vlans, *_]:
                self.switch.create_vlans(vlans)
            case ["interface", _, "bridge", "domain", _, "access", vlan] if vlan not in NO_VLAN:
                self.switch.refer(ACCESS_VLAN, vlan)
            case ["interface", _, "qos", kind, "profile", profile] if kind in PROFILES:
                self.switch.refer(f"qos {kind} profile", profile)

    def finish(self) -> None:
        """Apply profiles, bonds and traffic pools."""
        switch = self.switch
        self._apply_roce()
        self._percents = {LOSSY: 100} | self._percents
        has_pfc = any(kind == "pfc" for kind, _ in self._profiles)
        if has_pfc and not any(self._percents.get(pool) for pool in LOSSLESS_POOLS):
            switch.every["profile",] = LOSSY
            switch.profiles[LOSSY] = {}
        if (whole_percent := sum(self._percents.values())) > 100:
            text = f"memory-percent of {whole_percent} in all traffic pools"
            switch.unreadable.append(("qos traffic-pool", text, "at most 100"))
        for (kind, name), profile in self._profiles.items():
            if kind == "pfc" and ("buffer", "port-buffer") in profile:
                self._size(name, profile)
            if name == GLOBAL:
                switch.every |= profile
        for bond, ports in self._members.items():
            for port in ports:
                switch.of(port)["channel",] = bond
        for interface, kinds in self._bound.items():
            own = switch.of(interface, interface in self._members)
            for kind, name in kinds.items():
                own |= self._profiles.get((kind, name), {})
        if not switch.ports:
            switch.of(EVERY_PORT)
        bound = {(kind, name) for kinds in self._bound.values() for kind, name in kinds.items()}
        switch.unused += [
            f"qos {kind} {name}"
            for kind, name in self._profiles
            if name != GLOBAL and (kind, name) not in bound
        ]
        self._times()

    def _size(self, name: str, profile: Settings) -> None:
        """Give a PFC profile with a buffer of its own its sizes; others the switch computes."""
        size, pause, xon = (
            int(profile.get(("buffer", key), "0"))
            for key in ("port-buffer", "xoff-threshold", "xon-threshold")
        )
        sizes = {"size": size, "xoff": max(0, size - pause), "xon": xon, "pause": pause}
        self.switch.profiles[name] = {key: str(size) for key, size in sizes.items()}
        profile["profile",] = name

    def _times(self) -> None:
        poll, count = self._watchdog["polling-interval"], self._watchdog["robustness"]
        times = poll.isdecimal() and count.isdecimal()
        detect = str(int(poll) * int(count)) if times else f"{poll} by {count}"
        self.switch.watchdog |= {"detection_time": detect[:20], "POLL_INTERVAL": poll}

    def _known(self, words: list[str]) -> bool:
        match words:
            case ["system", "hostname", name]:
                self.switch.name = name
            case ["interface", interfaces, *rest]:
                return self._interface(interfaces, rest)
            case ["qos", "remark", *_]:
                return True
            case ["qos", "roce", *rest]:
                return self._take_roce(rest)
            case ["qos", "traffic-pool", pool, "memory-percent", percent]:
                self._percents[pool] = whole(percent, 100)
            case [
                "qos",
                "advance-buffer-config",
                _,
                "ingress-pool" | "ingress-service-pool",
                pool,
                "memory-percent",
                percent,
            ]:
                self._percents[POOLS.get(pool, pool)] = whole(percent, 100)
            case ["qos", "pfc-watchdog", "polling-interval" | "robustness" as key, value]:
                self._watchdog[key] = value
            case ["qos", kind, profile, *rest] if rest and kind in _KINDS:
                settings = _KINDS[kind](rest)
                if settings is None:
                    return False
                put(self._profiles.setdefault((kind, profile), {}), settings)
            case [first, *_]:
                return first in IGNORED
        return True

    def _take_roce(self, words: list[str]) -> bool:
        match words:
            case []:
                self._roce.setdefault("enable", "on")
            case ["enable" | "state", state]:
                self._roce["enable"] = "on" if state in ("on", "enabled", "true") else "off"
            case ["mode", "lossless" | "lossless-single-ipool" | "lossy" as mode]:
                self._roce["mode"] = mode
            case ["mode", unknown]:
                raise ValueError(unknown)
            case ["cable-length", length]:
                self._roce["cable"] = str(whole(length, 100_000))
            case _:
                return False
        return True

    def _apply_roce(self) -> None:
        """Apply what ``qos roce`` configures, in whatever order its values came."""
        roce = self._roce
        if not roce or roce.get("enable", "on") == "off":
            return
        is_lossy = roce.get("mode") == "lossy"
        self.switch.every |= {
            key: value for key, value in ROCE.items() if not (is_lossy and key in LOSSLESS_ROCE)
        }
        if not is_lossy:
            self.switch.every["cable",] = roce.get("cable", ROCE["cable",])
            own = {} if self._percents.keys() & LOSSLESS_POOLS else {ROCE_POOL: 50}
            self._percents = {**own, LOSSY: 50} | self._percents

    def _interface(self, interfaces: str, words: list[str]) -> bool:
        if words[:2] == ["link", "breakout"]:
            return True  # A cage that is broken out is no port any more.
        names = limited(nvue_names(interfaces, PORTS_MAX))
        self.switch.count(len(names))
        bonds = [name for name in names if name.startswith("bond") or name in self._members]
        if names == [GLOBAL] or not all(name in bonds or name.startswith("swp") for name in names):
            return False
        match words:
            case ["bond", "member", members]:
                for name in names:
                    known = self._members.setdefault(name, [])
                    known += limited(nvue_names(members, PORTS_MAX))
                return True
            case ["qos", kind, "profile", profile] if kind in _KINDS:
                for name in names:
                    self._bound.setdefault(name, {})[kind] = profile
                return True
        is_ignored = words[:2] == ["qos", "remark"]
        settings = _of_port(words)
        for name in names:
            own = self.switch.of(name, name in bonds)
            own |= settings or {}
        return settings is not None or is_ignored or not words or words[0] in IGNORED


def _of_port(words: list[str]) -> Settings | None:
    match words:
        case ["link", "mtu", size]:
            return {("mtu",): str(whole(size))}
        case ["link", "speed", rate]:
            match = re.fullmatch(r"(\d{1,3})G", rate)
            return {("speed",): str(int(match[1]) * 1000)} if match else {}
        case ["link", "state", state, *_]:
            return {("shutdown",): "on"} if state == "down" else {}
        case ["qos", "pfc-watchdog"] | ["qos", "pfc-watchdog", "state", "enable" | "enabled"]:
            return {("watchdog",): "on"}
        case ["qos", "pfc-watchdog", "state", "disable" | "disabled"]:
            return {("watchdog",): "off"}
    return None


def _mapping(words: list[str]) -> Settings | None:
    match words:
        case ["trust", mode]:
            known = {"l2": "pcp", "l3": "dscp", "both": "both", "port": "port"}
            return {("trust",): known[mode]}
        case ["port-default-sp", number]:
            return {("default",): priority(number)}
        case ["pcp", pcps, "switch-priority", number]:
            return {("pcp", pcp): priority(number) for pcp in listed(pcps, 7)}
        case ["dscp", dscps, "switch-priority", number]:
            return mapped(listed(dscps, 63), priority(number))
    return None


def _queues(words: list[str]) -> Settings | None:
    match words:
        case ["switch-priority", numbers, "traffic-class", queue]:
            return {("queue", number): priority(queue) for number in listed(numbers, 7)}
    return None


def _scheduler(words: list[str]) -> Settings | None:
    match words:
        case ["traffic-class", queues, "mode", "strict" | "dwrr" as mode]:
            shares = {"strict": "strict", "dwrr": "fair"}
            return {("share", number): shares[mode] for number in listed(queues, 7)}
        case ["traffic-class", queues, "bw-percent", weight]:
            return {("share", queue): f"wrr {whole(weight, 100)}" for queue in listed(queues, 7)}
    return None


def _pfc(words: list[str]) -> Settings | None:
    match words:
        case ["switch-priority", numbers]:
            return {("pause",): "on"} | {("lossless", key): "on" for key in listed(numbers, 7)}
        case ["rx" | "tx", "disable" | "disabled"]:
            return {("asymmetric",): "on"}
        case ["rx" | "tx", "enable" | "enabled"]:
            return {}
        case ["xoff-threshold" | "xon-threshold" | "port-buffer" as key, size]:
            return {("buffer", key): str(whole(size))}
        case ["cable-length", length]:
            return {("cable",): str(whole(length, 100_000))}
    return None


def _link_pause(words: list[str]) -> Settings | None:
    match words:
        case ["tx" | "rx" as side, state]:
            known = {"tx": "send", "rx": "receive"}
            return {(known[side],): "on" if state.startswith("enable") else "off"}
    return {}


def _congestion(words: list[str]) -> Settings | None:
    if len(words) != 4 or words[0] != "traffic-class":
        return None
    fields = {
        ("ecn", "enable"): {"ecn": "ecn_all"},
        ("ecn", "disable"): {"ecn": "ecn_none"},
        ("red", "enable"): {"wred_green_enable": "true"},
        ("red", "disable"): {"wred_green_enable": "false"},
    }.get((words[2], words[3].removesuffix("d")))
    sizes = {
        "min-threshold": "green_min_threshold",
        "max-threshold": "green_max_threshold",
        "probability": "green_drop_probability",
    }
    if fields is None and words[2] in sizes:
        fields = {sizes[words[2]]: str(whole(words[3]))}
    if fields is None:
        return None
    queues = listed(words[1], 7)
    return {("ecn", queue, key): value for queue in queues for key, value in fields.items()}


_KINDS = {
    "mapping": _mapping,
    "egress-queue-mapping": _queues,
    "egress-scheduler": _scheduler,
    "pfc": _pfc,
    "link-pause": _link_pause,
    "congestion-control": _congestion,
}
"""Profiles of ports."""
PROFILES = (*_KINDS, "remark", "egress-shaper")  # The same, and those that rules do not read.


def _read_yaml(text: str) -> SwitchSettings:
    from etherweave.control.lint import yaml_paths

    return read_paths(yaml_paths.read(text))


DIALECT = Dialect(
    CUMULUS,
    read,
    re.compile(r"^[ \t]*nv set ", re.MULTILINE),
    re.compile(r"(?<=^nv set system hostname )\S+$", re.MULTILINE),
)
YAML = Dialect(
    CUMULUS,
    _read_yaml,
    re.compile(r"^- set:", re.MULTILINE),
    re.compile(r"(?<=^    system:\n      hostname: )\S+$", re.MULTILINE),
)
