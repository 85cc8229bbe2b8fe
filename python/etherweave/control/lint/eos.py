"""Commands of Arista EOS: ``show running-config``, or what is pasted into a switch.

Forms are those of the EOS manual's chapters on quality of service, traffic management and priority
flow control. Unless configured otherwise, DSCP 0 and 802.1p priority 0
belong to traffic class 1, switched ports trust 802.1p, routed ones DSCP, and queues are strict.
"""

import re
from collections.abc import Iterator

from etherweave.control.lint.dialects import BEGIN, Dialect
from etherweave.control.lint.eos_policies import REST, PolicyMaps
from etherweave.control.lint.port_settings import (
    ACCESS_VLAN,
    EIGHT,
    PORTS_MAX,
    Settings,
    SwitchSettings,
    limited,
    listed,
    mapped,
    names,
    priority,
    put,
    whole,
)
from etherweave.control.lint.systems import System
from etherweave.control.qos.policy import EOS_POLLS

IGNORED = ("description", "switchport", "load-interval", "no", "ip", "lldp")
"""First words of commands for ports that do not concern lossless traffic."""
MODES = ("router", "vlan", "management", "class-map", "policy-map", "route-map", "daemon", "vrf")
"""Commands whose modes are left out."""
ROUTED_MTU = "1500"  # MTU of a routed port that no command configures [B].
DEFAULT = "default"  # The trust of a port that no command configures.
_INTERFACE = re.compile(r"(?i)(ethernet|et|port-channel|po)(\d.*)")
_PROMPT = re.compile(r"^\S*\(config[^)]*\) ?# ?")
_UNITS = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}


def read(text: str) -> SwitchSettings:
    """Read commands; those that are not known are counted."""
    reader = _EosReader()
    for number, line in enumerate(text.splitlines(), start=1):
        reader.line(number, _PROMPT.sub("", line))
    reader.finish()
    return reader.switch


class _EosReader:
    """Reads commands line by line."""

    def __init__(self) -> None:
        self.switch = SwitchSettings()
        every = self.switch.every
        for number in range(8):
            every["dscp", str(number)], every["dscp", str(8 + number)] = "1", "0"
        every |= {("pcp", "0"): "1", ("pcp", "1"): "0", ("trust",): "pcp"}
        every |= {("share", number): "strict" for number in EIGHT}
        every["share", "7"] = "fixed"
        self._profiles: dict[str, Settings] = {}
        self._services: dict[str, str] = {}
        """Names of quality-of-service profiles, by port."""
        self._within: list[Settings] = []
        """Settings that the mode configures."""
        self._names: list[str] = []
        self._queue = ""
        """The queue whose mode it is; ``-``: of multicast."""
        self._policies = PolicyMaps()
        self.switch.define("class", REST)
        self._served: dict[str, str] = {}
        """Names of policy maps, by port."""
        self._access: dict[str, tuple[str, str]] = {}
        """Place of a command that gives a port an access VLAN, and the VLAN, by port."""
        self._trunks: set[str] = set()
        """Ports that have no access VLAN, whatever is configured."""
        self._is_inner = False
        self._is_indented = False
        self._is_off = False
        """Whether PFC is, at all ports."""

    def line(self, number: int, line: str) -> None:
        """Read a line."""
        words = line.split()
        if not words or words[0][0] == "!":
            return
        self._is_inner = line[0].isspace()
        self._is_indented |= self._is_inner
        if not self._is_inner and (self._is_indented or words[0] in MODES):
            self._leave()
        self.switch.take(f"line {number}", words, self._line, words[0])

    def _line(self, words: list[str]) -> bool:
        if self._global(words) or (self._within and self._inner(words)):
            return True
        return self._policies.line(words, self.switch)

    def finish(self) -> None:
        """Apply profiles, and the class of frames without a tag."""
        every = self.switch.every
        every["default",] = every["pcp", "0"]
        used = (own for name, own in self._access.items() if name not in self._trunks)
        self.switch.references += [
            (place, ACCESS_VLAN, vlan) for place, vlan in dict.fromkeys(used)
        ]
        for name, profile in self._services.items():
            own = self.switch.of(name, name.startswith("Port-Channel"))
            own |= {**self._profiles.get(profile, {}), **own}
        named = set(self._services.values())
        self.switch.unused += [f"qos profile {key}" for key in self._profiles if key not in named]
        for name, policy in self._served.items():
            self._apply(name, policy)
        for own in (*self.switch.channels.values(), *self.switch.ports.values()):
            if self._is_off:
                own.pop(("pause",), None)
            if own.get(("trust",)) == DEFAULT:
                del own["trust",]
            if own.get(("routed",)) == "on":
                own.setdefault(("trust",), "dscp")
                if ("channel",) not in own:
                    own.setdefault(("mtu",), ROUTED_MTU)
            if cos := own.get(("cos",)):
                own["default",] = every["pcp", cos]

    def _apply(self, name: str, policy: str) -> None:
        settings, left = self._policies.of(policy)
        self.switch.count(1 + len(settings) // 64)
        own = self.switch.of(name, name.startswith("Port-Channel"))
        own |= settings
        for class_name in left:
            self.switch.leave(f"class {class_name}")

    def _leave(self) -> None:
        self._policies.leave()
        self._within, self._names, self._queue = [], [], ""

    def _global(self, words: list[str]) -> bool:
        switch = self.switch
        match words:
            case ["hostname", name] if not self._is_inner:
                switch.name = name
            case ["end"] | ["exit"]:
                self._leave()
            case ["interface", text]:
                self._leave()
                self._names = limited(_interfaces(text))
                self._within = [
                    switch.of(name, name.startswith("Port-Channel")) for name in self._names
                ]
            case ["qos", "profile", name]:
                self._leave()
                self._within = [self._profiles.setdefault(name, {})]
                switch.define("service-profile", name)
            case [
                "qos",
                "map",
                "dscp",
                *dscps,
                "to",
                "traffic-class",
                number,
                "drop-precedence",
                _,
            ]:
                switch.every |= mapped(listed(",".join(dscps), 63), priority(number))
            case ["qos", "map", "dscp", *dscps, "to", "traffic-class", number] if dscps:
                switch.every |= mapped(listed(",".join(dscps), 63), priority(number))
            case ["qos", "map", "cos", *cos, "to", "traffic-class", number] if cos:
                switch.every |= {("pcp", pcp): priority(number) for pcp in listed(",".join(cos), 7)}
            case ["qos", "map", "traffic-class", *classes, "to", "tx-queue", queue] if classes:
                switch.every |= {
                    ("queue", level): priority(queue) for level in listed(",".join(classes), 7)
                }
            case ["vlan", vlans] if vlans[0].isdecimal() and not self._is_inner:
                return switch.create_vlans(vlans)
            case ["no", "vlan", vlans] if vlans[0].isdecimal() and not self._is_inner:
                return switch.delete_vlans(vlans)
            case ["priority-flow-control", "pause", "watchdog", *rest] if rest:
                return self._watchdog(rest)
            case ["qos", "random-detect", "ecn", "global-buffer", *rest]:
                for queue in EIGHT:
                    switch.every |= _marking(queue, "ecn", rest)
            case ["priority-flow-control", "all", "off"]:
                self._is_off = True
            case _:
                return False
        return True

    def _watchdog(self, words: list[str]) -> bool:
        """Read times and action, of all ports or those of the mode."""
        times = self.switch.watchdog
        match words:
            case ["default", "timeout", time]:
                times["detection_time"] = _milliseconds(time)
            case ["default", "recovery-time", time, *_]:
                times["restoration_time"] = _milliseconds(time)
            case ["default", "polling-interval", time]:
                times["POLL_INTERVAL"] = _milliseconds(time)
            case ["action", action] | ["override", "action", action]:
                times["action"] = action
            case ["port", "action", action]:
                return self._put({("watchdog", "action"): action})
            case ["port", "timer", *rest]:
                pairs = dict(zip(rest[::2], rest[1::2], strict=False))
                known = {"timeout": "detection_time", "recovery-time": "restoration_time"}
                return self._put(
                    {
                        ("watchdog", known[key]): _milliseconds(time)
                        for key, time in pairs.items()
                        if key in known
                    }
                )
            case _:
                return False
        return True

    def _inner(self, words: list[str]) -> bool:
        """Read a command in the mode of an interface, a profile or one of their queues."""
        match words:
            case ["uc-tx-queue" | "tx-queue", number]:
                self._queue = priority(number)
                return True
            case ["mc-tx-queue", _]:
                self._queue = "-"
                return True
            case ["service-profile", name]:
                self._services |= dict.fromkeys(self._names, name)
                self.switch.refer("service-profile", name)
                return True
            case ["switchport", "access", "vlan", vlan]:
                self._access |= dict.fromkeys(self._names, (self.switch.place, vlan))
                return True
            case ["switchport", "mode", mode]:
                is_access = mode in ("access", "dot1q-tunnel")
                change = self._trunks.difference_update if is_access else self._trunks.update
                change(self._names)
                return True
            case ["service-policy", *kind, "input", name] if kind and self._names:
                self._served |= dict.fromkeys(self._names, name)
                self.switch.refer("service-policy", name)
                return True
        if self._queue and (settings := _of_queue(self._queue, words)) is not None:
            return self._put({} if self._queue == "-" else settings)
        settings = _of_port(words)
        if settings is None:
            return words[0] in IGNORED
        self._queue = ""
        return self._put(settings)

    def _put(self, settings: Settings) -> bool:
        self.switch.count(len(self._within))
        for own in self._within:
            put(own, settings)
        return bool(self._within)


def _of_port(words: list[str]) -> Settings | None:
    """Return what a command configures at a port; nothing if it is not known."""
    match words:
        case ["mtu", size]:
            return {("mtu",): str(whole(size))}
        case ["speed", *rest] if rest:
            match = re.match(r"(\d{1,3})g", rest[-1])
            return {("speed",): str(int(match[1]) * 1000)} if match else {}
        case ["flowcontrol", "send" | "receive" as side, state]:
            return {(side,): "off" if state == "off" else "on"}
        case ["shutdown"]:
            return {("shutdown",): "on"}
        case ["no", "switchport"]:
            return {("routed",): "on"}
        case ["switchport"]:
            return {("routed",): "off"}
        case ["channel-group", number, "mode", _]:
            return {("channel",): f"Port-Channel{whole(number)}"}
        case ["qos", "trust", mode]:
            return {("trust",): {"dscp": "dscp", "cos": "pcp"}[mode]}
        case ["qos", "cos", number]:
            return {("cos",): priority(number)}
        case ["no", "qos", "trust"]:
            return {("trust",): "port"}
        case ["default", "qos", "trust"] | ["no", "qos", "trust", _]:
            return {("trust",): DEFAULT}
        case ["priority-flow-control", "on"] | ["priority-flow-control", "mode", "on"]:
            return {("pause",): "on"}
        case ["priority-flow-control", "off"] | ["no", "priority-flow-control"]:
            return {("pause",): "off"}
        case ["priority-flow-control", "priority", number, "no-drop"]:
            return {("lossless", priority(number)): "on"}
        case ["priority-flow-control", "priority", number, "drop"]:
            return {("lossless", priority(number)): "off"}
        case ["no", "priority-flow-control", "priority", number, *_]:
            return {("lossless", priority(number)): "off"}
        case ["priority-flow-control", "pause", "watchdog"]:
            return {("watchdog",): "on"}
        case ["no", "priority-flow-control", "pause", "watchdog"]:
            return {("watchdog",): "off"}
    return None


def _of_queue(queue: str, words: list[str]) -> Settings | None:
    """Return what a command configures at a queue; nothing if it is not known."""
    match words:
        case ["no", "priority"]:
            return {("share", queue): "fair"}
        case ["priority", "strict"]:
            return {("share", queue): "strict"}
        case ["bandwidth", "percent", weight]:
            return {("share", queue): f"wrr {whole(weight, 100)}"}
        case ["bandwidth", "guaranteed", "percent", weight]:
            return {("share", queue): f"wrr {whole(weight, 100)}", ("guaranteed", queue): "on"}
        case ["bandwidth", "guaranteed", *_]:
            return {("guaranteed", queue): "on"}
        case ["random-detect", "ecn", "count"]:
            return {}
        case ["random-detect", "ecn" | "drop" as kind, *rest]:
            return _marking(queue, kind, rest)
        case ["no" | "default", "random-detect", *_]:
            return {("marking", queue): "off"}
    return None


def _marking(queue: str, kind: str, words: list[str]) -> Settings:
    fields = {"ecn": "ecn_all"} if kind == "ecn" else {"ecn": "ecn_none"}
    if kind == "drop":
        fields["wred_green_enable"] = "true"
    for at, word in enumerate(words):
        side = word.removesuffix("-threshold")[:3]
        if side in ("min", "max") and word.endswith("-threshold"):
            size, unit = whole(words[at + 1]), words[at + 2]
            if unit in _UNITS:
                fields[f"green_{side}_threshold"] = str(size * _UNITS[unit])
        if word in ("max-mark-probability", "drop-probability"):
            fields["green_drop_probability"] = str(whole(words[at + 1], 100))
    return {("marking", queue): "on"} | {("ecn", queue, key): text for key, text in fields.items()}


def _interfaces(text: str) -> Iterator[str]:
    """Split ``Ethernet1/1-4/1,7/1`` into names; no name where it is no port."""
    match = _INTERFACE.fullmatch(text)
    if match is None:
        return
    kind = "Ethernet" if match[1].lower().startswith("e") else "Port-Channel"
    for part in match[2].split(","):
        first, _, last = part.partition("-")
        low, high = first.split("/"), (last or first).split("/")
        low, high = low, low[: len(low) - len(high)] + high
        apart = [at for at, pair in enumerate(zip(low, high, strict=True)) if pair[0] != pair[1]]
        if len(apart) > 1:
            raise ValueError(part)
        at = apart[0] if apart else 0
        if "." in part:
            continue  # A subinterface has the queues of its port.
        for number in names(low[at], high[at], PORTS_MAX):
            yield kind + "/".join([*low[:at], str(number), *low[at + 1 :]])


def _milliseconds(text: str) -> str:
    """Return a time in seconds as milliseconds; what is no time stays as it is."""
    return str(round(float(text) * 1000)) if re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) else text


EOS = System(
    "eos",
    {
        "pfc": "priority-flow-control priority N no-drop",
        "group": "priority group",
        "lossless": "a lossless priority group",
        "watchdog": "priority-flow-control pause watchdog",
        "watched": "bandwidth guaranteed",
        "detection_time": "timeout",
        "restoration_time": "recovery-time",
        "marking": "random-detect ecn",
    },
    # The ranges of the command, in seconds there; a poll takes at most half of the shorter time.
    times_ms={"detection_time": (10, 60_000), "restoration_time": (10, 60_000)},
    polls=EOS_POLLS,
)
DIALECT = Dialect(
    EOS,
    read,
    re.compile(
        BEGIN + r"(?:interface (?:ethernet|et|port-channel|po)\d|qos map |qos profile )",
        re.MULTILINE | re.IGNORECASE,
    ),
)
