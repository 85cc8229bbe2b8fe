"""A host as its script configures it: the commands that concern lossless traffic.

These are ``ip link set … mtu``, ``mlnx_qos``, ``dcb pfc|ets|app``, ``ethtool -A``, ``cma_roce_tos``
and what is written into the files of RoCE's traffic class and congestion control, one to a line;
all other commands are ignored.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

EVERY = range(8)
_COMMENTS = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


@dataclass(slots=True)
class NicSettings:
    """Settings of a NIC by one tool."""

    tool: str
    lossless: frozenset[int] | None = None
    class_of_priority: dict[int, int] = field(default_factory=dict)
    weights: dict[int, int] = field(default_factory=dict)
    """By traffic class [%]; 0 where it is strict."""
    priority_of_dscp: dict[int, int] = field(default_factory=dict)
    trust: str = "dscp"


@dataclass(frozen=True, slots=True)
class ConfiguredHost:
    """A host."""

    file: str
    name: str
    mtu_bytes: int | None
    pauses: bool
    """Whether 802.3x is enabled."""
    nics: tuple[NicSettings, ...]
    """One for each tool that the script calls."""
    unreadable: tuple[tuple[str, str, str], ...]
    octets: tuple[int, ...] = ()
    """Traffic class octets that RoCE's packets carry: the code point in the upper six bits."""
    cnp_dscp: int | None = None
    ecn_off: frozenset[int] = frozenset()
    """Priorities for which congestion control is off."""


def read(file: str, name: str, text: str) -> ConfiguredHost:
    """Read a script; other commands are ignored."""
    return replace(_form(_COMMENTS.sub("", text)), file=file, name=name)


@lru_cache(maxsize=8)
def _form(text: str) -> ConfiguredHost:
    """Read commands; hosts that are alike but for comments share what is read."""
    reader = _ScriptReader()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            reader.line(list(_words(line)))
        except (ValueError, IndexError):
            reader.unreadable.append(
                (f"line {number}", line.strip()[:60], "a command as documented")
            )
    nics = tuple(nic for nic in (reader.nvidia, reader.dcb) if nic.lossless is not None)
    unreadable = tuple(reader.unreadable)
    return ConfiguredHost(
        "",
        "",
        reader.mtu_bytes,
        reader.pauses,
        nics,
        unreadable,
        tuple(reader.octets),
        reader.cnp_dscp,
        frozenset(reader.ecn_off),
    )


@lru_cache(4096)
def _words(line: str) -> tuple[str, ...]:
    """Split a line as a shell does; scripts of a fabric have the same lines."""
    return tuple(shlex.split(line, comments=True))


class _ScriptReader:
    """Reads commands line by line."""

    def __init__(self) -> None:
        self.mtu_bytes: int | None = None
        self.pauses = False
        self.nvidia = NicSettings("mlnx_qos")
        self.dcb = NicSettings("dcb")
        self.unreadable: list[tuple[str, str, str]] = []
        self.octets: list[int] = []
        self.cnp_dscp: int | None = None
        self.ecn_off: set[int] = set()

    def line(self, words: list[str]) -> None:
        """Read a line."""
        match words:
            case ["ip", "link", "set", *rest] if "mtu" in rest:
                self.mtu_bytes = int(rest[rest.index("mtu") + 1])
            case ["ethtool", "-A", *rest]:
                options = dict(zip(rest[1::2], rest[2::2], strict=False))
                self.pauses = "on" in (options.get("rx"), options.get("tx"))
            case ["cma_roce_tos", *rest] if "-t" in rest:
                self.octets.append(int(rest[rest.index("-t") + 1]))
            case ["echo", value, ">", path] | ["put", value, path]:
                self._file(value, path)
            case ["mlnx_qos", *rest]:
                self._nvidia(dict(_options(rest)))
            case ["dcb", "pfc", "set", *rest]:
                document = _pairs(_after(rest, "prio-pfc"))
                states = {one: document.get("all", "off") for one in EVERY}
                states |= {int(key): state for key, state in document.items() if key != "all"}
                self.dcb.lossless = frozenset(one for one, state in states.items() if state == "on")
            case ["dcb", "ets", "set", *rest]:
                self._ets(rest)
            case ["dcb", "app", "add" | "replace", *rest]:
                pairs = _pairs(_after(rest, "dscp-prio"))
                self.dcb.priority_of_dscp |= {int(one): int(two) for one, two in pairs.items()}

    def _file(self, value: str, path: str) -> None:
        name = path.rpartition("/")[2]
        if name == "traffic_class":
            self.octets.append(int(value))
        elif name == "cnp_dscp":
            self.cnp_dscp = int(value)
        elif "/roce_" in path and path.rpartition("/")[0].endswith("/enable") and value == "0":
            self.ecn_off.add(int(name))

    def _ets(self, rest: list[str]) -> None:
        shares = _numbers(_pairs(_after(rest, "tc-bw")))
        kinds = {int(one): kind for one, kind in _pairs(_after(rest, "tc-tsa")).items()}
        self.dcb.weights |= {
            one: share if kinds.get(one, "ets") == "ets" else 0 for one, share in shares.items()
        }
        self.dcb.class_of_priority |= _numbers(_pairs(_after(rest, "prio-tc")))

    def _nvidia(self, options: Mapping[str, str]) -> None:
        nic = self.nvidia
        nic.trust = options.get("--trust", nic.trust)
        if "--pfc" in options:
            states = _list(options["--pfc"])
            nic.lossless = frozenset(one for one in EVERY if int(states[one]))
        if "--prio_tc" in options:
            nic.class_of_priority = dict(enumerate(map(int, _list(options["--prio_tc"]))))
        if "--tcbw" in options:
            kinds = _list(options.get("--tsa", ",".join(["ets"] * 8)))
            shares = enumerate(map(int, _list(options["--tcbw"])))
            nic.weights = {one: share if kinds[one] == "ets" else 0 for one, share in shares}
        if "--dscp2prio" in options:
            _, dscp, priority = options["--dscp2prio"].split(",")
            nic.priority_of_dscp[int(dscp)] = int(priority)


def _options(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Pair options with their values: ``--pfc 0,1`` and ``--pfc=0,1``."""
    waiting = ""
    for word in words:
        name, equals, value = word.partition("=")
        if name.startswith("-"):
            waiting = "" if equals else name
            if equals:
                yield name, value
        elif waiting:
            yield waiting, word
            waiting = ""


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
        one, _, two = word.partition(":")
        pairs[one] = two
    return MappingProxyType(pairs)


def _numbers(pairs: Mapping[str, str]) -> dict[int, int]:
    return {int(one): int(two) for one, two in pairs.items()}
