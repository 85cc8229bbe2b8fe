"""A host as its script configures it: the commands that concern lossless traffic.

These are ``ip link set … mtu``, ``mlnx_qos``, ``dcb pfc|ets|app``, ``lldptool -T``, ``ethtool -A``,
``cma_roce_tos`` and what is written into the files of RoCE's traffic class and congestion control;
all other commands are ignored. NICs trust 802.1p until a command says DSCP.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from etherweave.control.lint.host_options import checked
from etherweave.control.lint.port_settings import NAMED

EVERY = range(8)
DSCP_SELECTOR = "5"  # Selector of code points in applications of DCBX: IEEE 802.1Qcd.
_COMMENTS = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_CONTINUED = re.compile(r"\\\r?\n")
_ASSIGNED = re.compile(r"""^[ \t]*(?:export )?(\w+)=["']?([\w.,:=-]+)["']?[ \t]*$""", re.MULTILINE)
_USED = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_UNKNOWN = "$"  # Signs of values that a shell computes: nothing is known of the setting.
_ENDS = frozenset({";", ";;", "&", "&&", "||", "(", ")", "{", "}"})
_BEFORE = frozenset({"sudo", "then", "do", "else", "if", "!", "command", "exec", "env", "-E", "-n"})
"""Words before a command."""
_TAGS = ("egress-qos-map", "set_egress_map")
"""Commands that give frames a VLAN tag with a priority."""


@dataclass(slots=True)
class NicSettings:
    """Settings of a NIC by one tool."""

    tool: str
    device: str = ""
    lossless: frozenset[int] | None = None
    class_of_priority: dict[int, int] = field(default_factory=dict)
    weights: dict[int, int] = field(default_factory=dict)
    """Weights by traffic class [%]; 0 where it is strict."""
    priority_of_dscp: dict[int, int] = field(default_factory=dict)
    trust: str = ""  # Empty: no command says, and NICs trust 802.1p.


@dataclass(frozen=True, slots=True)
class ConfiguredHost:
    """A host."""

    file: str
    name: str
    mtu_bytes: int | None
    pauses: bool | None  # Whether 802.3x is enabled.
    nics: tuple[NicSettings, ...]  # One for each tool that the script calls and each device.
    unreadable: tuple[tuple[str, str, str], ...]
    octets: tuple[int, ...] = ()
    """Traffic class octets that RoCE's packets carry: the code point in the upper six bits."""
    cnp_dscp: int | None = None
    ecn_off: frozenset[int] = frozenset()  # Priorities for which congestion control is off.
    is_tagged: bool = False  # Whether frames get a VLAN tag with a priority.

    def is_understood(self) -> bool:
        """Whether the script has a command that concerns lossless traffic."""
        said = (self.nics, self.octets, self.ecn_off, self.unreadable)
        return any(said) or (self.mtu_bytes, self.pauses, self.cnp_dscp) != (None, None, None)

    def place(self, nic: NicSettings) -> str:
        """Name a NIC; its device where the tool configures several."""
        several = sum(device.tool == nic.tool for device in self.nics) > 1
        return f"{self.name} {nic.tool}" + (f" {nic.device}" if several else "")


def read(file: str, name: str, text: str) -> ConfiguredHost:
    """Read a script; other commands are ignored."""
    return replace(_form(_COMMENTS.sub("", text)), file=file, name=name)


@lru_cache(maxsize=8)
def _form(text: str) -> ConfiguredHost:
    """Read commands; hosts that are alike but for comments share what is read."""
    reader = _ScriptReader()
    variables = dict(_ASSIGNED.findall(text))
    for at, line in _lines(text):
        try:
            for words in _commands(_substituted(line, variables)):
                reader.unreadable += (
                    (f"line {at}", option, expected) for option, expected in checked(words)
                )
                reader.line(list(words))
        except (ValueError, IndexError):
            reader.unreadable.append((f"line {at}", line.strip()[:60], "a command as documented"))
    return ConfiguredHost(
        "",
        "",
        reader.mtu_bytes,
        reader.pauses,
        tuple(nic for nic in reader.nics.values() if nic.lossless is not None),
        tuple(reader.unreadable),
        tuple(reader.octets),
        reader.cnp_dscp,
        frozenset(reader.ecn_off),
        reader.is_tagged,
    )


def _substituted(line: str, variables: Mapping[str, str]) -> str:
    """Write the values of variables that a script sets to a constant."""
    if "$" not in line or not variables:
        return line
    return _USED.sub(lambda used: variables.get(used[1] or used[2], used[0]), line)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Return lines with their numbers; one that a backslash ends goes on in the next."""
    number = 1
    for line in _CONTINUED.sub("\0", text).splitlines():
        yield number, line.replace("\0", " ")
        number += 1 + line.count("\0")


@lru_cache(4096)
def _commands(line: str) -> tuple[tuple[str, ...], ...]:
    """Split a line into commands as a shell does; scripts of a fabric have the same lines."""
    if not any(tool in line for tool in _TOOLS):
        return ()
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        split = list(lexer)
    except ValueError:
        if not any(tool in line for tool in _TOOLS[:4]):
            return ()  # A text of several lines.
        raise
    commands: list[list[str]] = [[]]
    for word in split:
        if word in _ENDS or (word == "|" and commands[-1][:1] != ["echo"]):
            commands.append([])
        elif commands[-1] or word not in _BEFORE:
            commands[-1].append(word)
    return tuple((words[0].rpartition("/")[2], *words[1:]) for words in commands if words)


_TOOLS = ("mlnx_qos", "dcb", "lldptool", "cma_roce_tos", "ethtool", "ip", "echo", "put", "vconfig")


class _ScriptReader:
    """Reads commands line by line."""

    def __init__(self) -> None:
        self.mtu_bytes: int | None = None
        self.pauses: bool | None = None
        self.nics: dict[tuple[str, str], NicSettings] = {}
        self.unreadable: list[tuple[str, str, str]] = []
        self.octets: list[int] = []
        self.cnp_dscp: int | None = None
        self.ecn_off: set[int] = set()
        self.is_tagged = False

    def line(self, words: list[str]) -> None:
        """Read a command."""
        self.is_tagged |= any(word in _TAGS for word in words)
        match words:
            case ["ip", "link", "set", *rest] if "mtu" in rest:
                size = rest[rest.index("mtu") + 1]
                self.mtu_bytes = self.mtu_bytes if _UNKNOWN in size else int(size)
            case ["ethtool", "-A" | "--pause", *rest]:
                options = dict(zip(rest[1::2], rest[2::2], strict=False))
                self.pauses = "on" in (options.get("rx"), options.get("tx"))
            case ["cma_roce_tos", *rest] if "-t" in rest:
                self._octet(rest[rest.index("-t") + 1])
            case ["echo", value, ">", path] | ["put", value, path]:
                self._file(value, path)
            case ["echo", value, "|", *_, "tee", path]:
                self._file(value, path)
            case ["mlnx_qos", *rest]:
                self._nvidia(rest)
            case ["dcb", *rest]:
                self._dcb([word for word in rest if word[:1] != "-"])
            case ["lldptool", "-T" | "set-tlv", *rest]:
                self._lldp(rest)

    def _nic(self, tool: str, device: str) -> NicSettings:
        return self.nics.setdefault((tool, device), NicSettings(tool, device))

    def _octet(self, value: str) -> None:
        self.octets += [] if _UNKNOWN in value else [int(value, 0)]

    def _file(self, value: str, path: str) -> None:
        name = path.rpartition("/")[2]
        if name in ("traffic_class", "default_roce_tos"):
            self._octet(value.removeprefix("tclass="))
        elif name == "cnp_dscp" and _UNKNOWN not in value:
            self.cnp_dscp = int(value)
        elif "/roce_" in path and path.rpartition("/")[0].endswith("/enable") and value == "0":
            self.ecn_off.add(int(name))

    def _dcb(self, words: list[str]) -> None:
        device = words[words.index("dev") + 1] if "dev" in words else ""
        match words:
            case ["pfc", "set", *rest]:
                self._dcb_pfc(self._nic("dcb", device), rest)
            case ["ets", "set", *rest]:
                self._dcb_ets(self._nic("dcb", device), rest)
            case ["app", "add" | "replace", *rest]:
                self._dcb_app(self._nic("dcb", device), rest)

    def _dcb_pfc(self, nic: NicSettings, rest: list[str]) -> None:
        document = _pairs(_after(rest, "prio-pfc"))
        known = nic.lossless or frozenset()
        states = {level: document.get("all", "on" if level in known else "off") for level in EVERY}
        states |= {int(key): state for key, state in document.items() if key != "all"}
        nic.lossless = frozenset(key for key, state in states.items() if state == "on")

    def _dcb_app(self, nic: NicSettings, rest: list[str]) -> None:
        pairs = _pairs(_after(rest, "dscp-prio"))
        nic.priority_of_dscp |= {_dscp(key): int(two) for key, two in pairs.items()}
        nic.trust = "dscp" if pairs else nic.trust

    def _dcb_ets(self, nic: NicSettings, rest: list[str]) -> None:
        shares = _numbers(_each(_pairs(_after(rest, "tc-bw"))))
        kinds = {int(key): kind for key, kind in _each(_pairs(_after(rest, "tc-tsa"))).items()}
        nic.weights |= {
            key: share if kinds.get(key, "ets") == "ets" else 0 for key, share in shares.items()
        }
        nic.class_of_priority |= _numbers(_each(_pairs(_after(rest, "prio-tc"))))

    def _nvidia(self, words: list[str]) -> None:
        said = dict(_options(words))
        nic = self._nic("mlnx_qos", said.get("--interface", ""))
        nic.trust = said.get("--trust", nic.trust)
        options = {key: value for key, value in said.items() if _UNKNOWN not in value}
        if "--pfc" in options:
            states = _list(options["--pfc"])
            nic.lossless = frozenset(priority for priority in EVERY if int(states[priority]))
        if "--prio_tc" in options:
            nic.class_of_priority = dict(enumerate(map(int, _list(options["--prio_tc"]))))
        if "--tcbw" in options:
            kinds = _list(options.get("--tsa", ",".join(["ets"] * 8)))
            shares = enumerate(map(int, _list(options["--tcbw"])))
            nic.weights = {level: share if kinds[level] == "ets" else 0 for level, share in shares}
        if "--dscp2prio" in options:
            verb, dscp, priority = options["--dscp2prio"].split(",")
            if verb == "set":
                nic.priority_of_dscp[int(dscp)] = int(priority)

    def _lldp(self, words: list[str]) -> None:
        """Read what ``lldptool`` announces and sets: PFC, ETS and priorities of code points."""
        device = words[words.index("-i") + 1] if "-i" in words else ""
        pairs = dict(word.partition("=")[::2] for word in words if "=" in word)
        nic = self._nic("lldptool", device)
        if "PFC" in words and "enabled" in pairs:
            enabled = pairs["enabled"]
            known = enabled.split(",") if enabled not in ("none", "") else []
            nic.lossless = frozenset(map(int, known))
        if "ETS-CFG" in words:
            if "up2tc" in pairs:
                nic.class_of_priority |= _numbers(_pairs(pairs["up2tc"].split(",")))
            if "tcbw" in pairs:
                kinds = _pairs(pairs["tsa"].split(",")) if "tsa" in pairs else {}
                shares = enumerate(map(int, _list(pairs["tcbw"])))
                nic.weights = {
                    at: share if kinds.get(str(at), "ets") == "ets" else 0 for at, share in shares
                }
        if "APP" in words and "app" in pairs:
            priority, selector, protocol = pairs["app"].split(",")
            if selector == DSCP_SELECTOR:
                nic.priority_of_dscp[int(protocol)] = int(priority)
                nic.trust = "dscp"


SHORT = {"-i": "--interface", "-f": "--pfc", "-p": "--prio_tc", "-s": "--tsa", "-t": "--tcbw"} | {
    "-d": "--dscp2prio",
    "-r": "--ratelimit",
}
"""Short options of mlnx_qos."""


def _options(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Pair options of mlnx_qos with their values: ``--pfc 0,1``, ``--pfc=0,1`` and ``-f 0,1``."""
    waiting = ""
    for word in words:
        name, equals, value = word.partition("=")
        if name.startswith("-"):
            waiting = "" if equals else SHORT.get(name, name)
            if equals:
                yield SHORT.get(name, name), value
        elif waiting:
            yield waiting, word
            waiting = ""


def _dscp(text: str) -> int:
    """Read a code point, by number or by name."""
    return NAMED[text.lower()] if text.lower() in NAMED else int(text)


def _list(text: str) -> list[str]:
    values = text.split(",")
    if len(values) != len(EVERY):
        raise ValueError(text)
    return values


def _after(words: list[str], name: str) -> list[str]:
    """Return the pairs after a parameter of ``dcb``."""
    if name not in words:
        return []
    behind = words[words.index(name) + 1 :]
    end = next((at for at, word in enumerate(behind) if ":" not in word), len(behind))
    return behind[:end]


def _pairs(words: list[str]) -> Mapping[str, str]:
    pairs = {}
    for word in words:
        first, _, two = word.partition(":")
        pairs[first] = two
    return MappingProxyType(pairs)


def _numbers(pairs: Mapping[str, str]) -> dict[int, int]:
    return {int(key): int(two) for key, two in pairs.items()}


def _each(pairs: Mapping[str, str]) -> dict[str, str]:
    """Give each class its value where one is for ``all``."""
    every = {str(priority): pairs["all"] for priority in EVERY} if "all" in pairs else {}
    return every | {key: value for key, value in pairs.items() if key != "all"}
