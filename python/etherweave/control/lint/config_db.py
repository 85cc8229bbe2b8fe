"""A switch as any ``config_db.json`` configures it, port by port.

Both forms are read: references as names or as ``[TABLE|name]``, and keys of several ports
(``Ethernet0,Ethernet4|3-4``). Values that cannot be read are kept for the linter to report.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, MutableSequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from itertools import product
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeAlias

import pydantic_core

from etherweave.control.lint.systems import SONIC, System

RawTables: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
NumberMap: TypeAlias = Mapping[int, int]

MAPS = {
    "dscp_to_tc_map": "DSCP_TO_TC_MAP",
    "dot1p_to_tc_map": "DOT1P_TO_TC_MAP",
    "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
    "tc_to_queue_map": "TC_TO_QUEUE_MAP",
    "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
}
"""Fields of PORT_QOS_MAP and the tables that they refer to."""
OTHER_MAPS = {
    "scheduler": "SCHEDULER",
    "tc_to_dscp_map": "TC_TO_DSCP_MAP",
    "tc_to_dot1p_map": "TC_TO_DOT1P_MAP",
    "dscp_to_fc_map": "DSCP_TO_FC_TABLE",
    "exp_to_fc_map": "EXP_TO_FC_TABLE",
    "mpls_tc_to_tc_map": "MPLS_TC_TO_TC_MAP",
}
"""The same, of tables that no rule reads."""
_TABLES = tomllib.loads(
    files("etherweave.control.lint").joinpath("sonic_tables.toml").read_text(encoding="utf-8")
)
REFERENCES: Mapping[str, Mapping[str, str]] = {
    "PORT_QOS_MAP": MAPS | OTHER_MAPS,
    **{name: table["refers"] for name, table in _TABLES.items() if "refers" in table},
}
"""Table that is referred to, by table and field."""
_OF_MAPS = {"fields": [*MAPS, *OTHER_MAPS, "pfc_enable", "pfcwd_sw_enable"]}
FIELDS: Mapping[str, frozenset[str]] = {
    name: frozenset(table["fields"])
    for name, table in sorted({"PORT_QOS_MAP": _OF_MAPS, **_TABLES}.items())
    if "fields" in table
}
"""Fields of tables for lossless traffic."""
MAPPED = "mapped dscps"
"""Field of PORT_QOS_MAP that only readers of commands write: code points that commands map."""
PORTS = frozenset({"PORT", "PORT_QOS_MAP"})
"""Tables that name ports: a configuration that is loaded into a running one has no PORT."""
EXPORTED = ("config_db.json", "onyx.cfg", "eos.cfg", "nvue.sh", "nvue.yaml")
"""Files that ``control export`` writes into a directory with the switch's name."""
READ = (
    "PORT",
    "PORTCHANNEL",
    "PORTCHANNEL_MEMBER",
    *MAPS.values(),
    *OTHER_MAPS.values(),
    *REFERENCES,
    "BUFFER_POOL",
    "CABLE_LENGTH",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "LOSSLESS_TRAFFIC_PATTERN",
    "PFC_WD",
    "SWITCH_TRIMMING",
    "WRED_PROFILE",
)
"""Tables that rules read; switches that have the same are alike."""
PORT_FIELDS = ("admin_status", "mtu", "pfc_asym", "role", "speed")
"""Fields of PORT that rules read."""
OF_PORTS = frozenset(
    {"PORT", "PORTCHANNEL_MEMBER", "PFC_WD", *(REFERENCES.keys() - {"BUFFER_PROFILE"})}
)
"""Tables whose keys name a port."""
SAMPLES = 4
"""Ports of a kind that stand for all of it: more than the few that rules allow to differ."""
_BRACKETS = re.compile(r"\[[^|\]]*\|(.*)\]")
_CHIP = re.compile(r"localhost|asic\d+")
"""Parts of the configuration of a switch with several chips."""
IDENTITY: NumberMap = {number: number for number in range(8)}
"""Default of switches for maps of PFC priorities."""


class ConfigError(ValueError):
    """A file that is not a configuration: what, where, and what is expected."""


class MissingName(NamedTuple):
    """A reference of a command to what no command configures."""

    place: str
    reference: str
    name: str
    known: tuple[str, ...]  # Names of that kind that are configured.


@dataclass(frozen=True, slots=True)
class BufferProfile:
    """A buffer profile of a priority group."""

    name: str
    xoff_bytes: int  # 0: lossy.


@dataclass(frozen=True, slots=True)
class ConfiguredQueue:
    """A queue's scheduler and marking."""

    kind: str  # DWRR, WRR, STRICT, or nothing.
    weight: int | None
    wred: str


@dataclass(frozen=True, slots=True)
class ConfiguredPort:
    """A port."""

    name: str
    is_up: bool
    speed_mbps: int | None
    mtu_bytes: int | None
    length_m: int | None
    channel: str | None
    lossless: frozenset[int]  # Priorities for which PFC is enabled.
    watched: frozenset[int]
    has_watchdog: bool
    maps: Mapping[str, NumberMap]  # Maps of the port, by field of PORT_QOS_MAP.
    groups: Mapping[int, BufferProfile | None]  # Profiles by group; None: the switch computes it.
    queues: Mapping[int, ConfiguredQueue]
    mapped: frozenset[int] = frozenset()
    """Code points that the configuration itself maps to traffic classes."""

    def group_of(self, priority: int) -> int | None:
        """Return the priority group of a priority that PFC pauses."""
        return self.maps.get("pfc_to_pg_map", IDENTITY).get(priority)

    def queue_of(self, priority: int) -> int | None:
        """Return the queue that a pause of a priority stops."""
        return self.maps.get("pfc_to_queue_map", IDENTITY).get(priority)


@dataclass(frozen=True, slots=True)
class ConfiguredSwitch:
    """A switch."""

    file: str
    name: str
    tables: RawTables
    ports: tuple[ConfiguredPort, ...]  # Ports that are not shut down.
    unreadable: tuple[tuple[str, str, str], ...]  # Place, value, and what is expected.
    system: System = SONIC
    unknown: tuple[str, ...] = ()  # Fields that SONiC does not know, with their tables.
    repeated: frozenset[str] = frozenset()
    """Ports that are configured like at least :data:`SAMPLES` others, which are not in here."""
    missing: tuple[MissingName, ...] = ()
    """References of commands; those of tables are in :data:`REFERENCES`."""


def read(
    file: str, text: str, known: MutableSequence[ConfiguredSwitch] | None = None
) -> list[ConfiguredSwitch]:
    """Read a configuration: one switch, or one for each chip of a switch with several.

    A switch like one of ``known`` shares its tables and ports; another one is added to them.

    Raises ``ConfigError`` when the file has no tables.
    """
    document = _document(file, text)
    chips = {name: value for name, value in document.items() if _CHIP.fullmatch(name)}
    if not chips:
        return [_switch(file, _checked(file, document), known)]
    return [
        _switch(f"{file} {name}", _checked(f"{file}: {name}", chip), known)
        for name, chip in chips.items()
        if PORTS & chip.keys()
    ]


def _unknown_fields(tables: RawTables) -> tuple[str, ...]:
    """Return fields that SONiC does not know, with their tables."""
    return tuple(
        f"{table} {field}"
        for table, known in FIELDS.items()
        for field in sorted(set().union(*tables.get(table, {}).values()) - known)
    )


def _switch(
    file: str,
    document: dict[str, dict[str, dict[str, Any]]],
    known: MutableSequence[ConfiguredSwitch] | None,
) -> ConfiguredSwitch:
    meta = document.get("DEVICE_METADATA", {}).get("localhost", {})
    name = str(meta.get("hostname", "")) or _folder(file)
    tables = {name: document[name] for name in READ if name in document}
    if "PORT" in tables:
        tables["PORT"] = {
            port: {field: value[field] for field in PORT_FIELDS if field in value}
            for port, value in tables["PORT"].items()
        }
    for row in known or ():
        if row.tables == tables:
            return replace(row, file=file, name=name)
    unknown = _unknown_fields(tables)
    read = replace(_ConfigReader(tables).switch(), file=file, name=name, unknown=unknown)
    if known is not None:
        known.append(read)
    return read


def switch_of(
    tables: dict[str, dict[str, dict[str, Any]]],
    system: System,
    unreadable: Iterable[tuple[str, str, str]],
    missing: Iterable[MissingName],
) -> ConfiguredSwitch:
    """Return a switch without a name, of tables that a reader of commands wrote."""
    read = _ConfigReader(tables).switch()
    bad = (*unreadable, *read.unreadable)
    return replace(read, system=system, unreadable=bad, missing=tuple(missing))


def named(switch: ConfiguredSwitch, file: str, name: str) -> ConfiguredSwitch:
    """Return a switch with the name that its file says, otherwise that of its directory."""
    return replace(switch, file=file, name=name or _folder(file))


def sample(switch: ConfiguredSwitch) -> ConfiguredSwitch:
    """Return the switch without most ports of each kind; a rule that passes here passes there."""
    dropped = switch.repeated
    tables = {
        name: {key: value for key, value in table.items() if dropped.isdisjoint(key.split("|"))}
        if name in OF_PORTS
        else table
        for name, table in switch.tables.items()
    }
    ports = tuple(port for port in switch.ports if port.name not in dropped)
    return replace(switch, tables=tables, ports=ports)


def tables(file: str, text: str) -> RawTables:
    """Read the tables of a configuration; raises ``ConfigError`` when the file has no tables."""
    return _checked(file, _document(file, text))


def _document(file: str, text: str) -> dict[str, Any]:
    try:
        document = pydantic_core.from_json(text)
    except ValueError as error:
        raise ConfigError(f"{file}: {error}; expected JSON") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: expected an object of tables, as config_db.json is")
    return document


def _checked(file: str, document: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Leave out what is no table: a running configuration has texts of other programs, too."""
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: expected an object of tables, as config_db.json is")
    tables = {name: table for name, table in document.items() if not isinstance(table, str)}
    for name, table in tables.items():
        if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
            raise ConfigError(f"{file}: {name}: expected a table, an object of objects")
    if not PORTS & tables.keys():
        raise ConfigError(f"{file}: no table PORT; expected a config_db.json of SONiC")
    return tables


def reference(value: object) -> str:
    """Return the name of a reference: ``NAME`` or ``[TABLE|NAME]``."""
    text = str(value)
    old = _BRACKETS.fullmatch(text) if text[:1] == "[" else None
    return old[1] if old else text


@lru_cache(1 << 16)
def spans(key: str) -> tuple[tuple[str, int], ...]:
    """Return the ports and numbers of a key: ``Ethernet0,Ethernet4|3-4``."""
    ports, _, numbers = key.partition("|")
    first, dash, last = numbers.partition("-")
    if not (first.isdecimal() and (last.isdecimal() or not dash)) or len(numbers) > 5:
        return ()
    return tuple(product(ports.split(","), range(int(first), int(last or first) + 1)))


def _split(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Give each port of a key of several an entry of its own; ``global`` is for all."""
    return {port: row for key, row in table.items() if key != "global" for port in key.split(",")}


def _folder(file: str) -> str:
    """Return the name of a switch whose configuration has none: that of the file's directory."""
    path = PurePosixPath(file)
    return path.parent.name if path.name in EXPORTED and path.parent.name else file


class _ConfigReader:
    """Reads tables and collects values that cannot be read."""

    def __init__(self, tables: dict[str, dict[str, dict[str, Any]]]) -> None:
        self._tables = tables
        self._unreadable: list[tuple[str, str, str]] = []
        self._groups = self._by_port("BUFFER_PG")
        self._queues = self._by_port("QUEUE")
        self._queue_buffers = self._by_port("BUFFER_QUEUE")
        self._kinds: dict[Hashable, ConfiguredPort] = {}
        self._counts: Counter[Hashable] = Counter()
        self._repeated: set[str] = set()
        self._lengths = self._cables()
        members = (key.partition("|") for key in tables.get("PORTCHANNEL_MEMBER", {}))
        self._channels = {port: channel for channel, _, port in members}
        self._maps = {
            (table, name): self._map(table, name, pairs)
            for table in MAPS.values()
            for name, pairs in tables.get(table, {}).items()
        }
        self._qos = _split(tables.get("PORT_QOS_MAP", {}))
        self._profiles = {name: self._profile(name) for name in tables.get("BUFFER_PROFILE", {})}

    def switch(self) -> ConfiguredSwitch:
        """Return the switch, without a name."""
        ports = tuple(self._like(name) for name in self._tables.get("PORT", self._qos))
        shown = tuple(port for port in ports if port.is_up)
        unreadable, repeated = tuple(self._unreadable), frozenset(self._repeated)
        return ConfiguredSwitch("", "", self._tables, shown, unreadable, repeated=repeated)

    def _number(self, place: str, value: object) -> int | None:
        text = str(value)
        if text.isascii() and text.isdecimal() and len(text) <= 15:
            return int(text)
        self._unreadable.append((place, text[:40], "a whole number"))
        return None

    def _map(self, table: str, name: str, pairs: Mapping[str, Any]) -> NumberMap:
        place = f"{table}|{name}"
        read = ((self._number(place, key), self._number(place, two)) for key, two in pairs.items())
        return {left: two for left, two in read if left is not None and two is not None}

    def _priorities(self, place: str, value: object) -> frozenset[int]:
        text = str(value)
        if re.fullmatch(r"([0-7](,[0-7])*)?", text):
            return frozenset(int(part) for part in text.split(",") if part)
        self._unreadable.append((place, text[:40], "priorities 0 to 7 with commas between"))
        return frozenset()

    def _by_port(self, table: str) -> dict[str, dict[int, Mapping[str, Any]]]:
        rows: dict[str, dict[int, Mapping[str, Any]]] = {}
        for key, entry in self._tables.get(table, {}).items():
            pairs = spans(key)
            if not pairs and key.count("|") == 1:
                self._unreadable.append((f"{table}|{key}", key[:40], "PORT|NUMBER or PORT|FROM-TO"))
            for port, number in pairs:
                rows.setdefault(port, {})[number] = entry
        return rows

    def _cables(self) -> dict[str, int]:
        lengths = {}
        for name, cables in self._tables.get("CABLE_LENGTH", {}).items():
            for port, text in cables.items():
                match = re.fullmatch(r"(\d{1,6})m", str(text))
                if match:
                    lengths[port] = int(match[1])
                elif text != "None":
                    place = f"CABLE_LENGTH|{name}|{port}"
                    self._unreadable.append((place, str(text)[:40], "a length in metres, as 5m"))
        return lengths

    def _profile(self, name: str) -> BufferProfile:
        entry = self._tables["BUFFER_PROFILE"][name]
        xoff = self._number(f"BUFFER_PROFILE|{name}|xoff", entry.get("xoff", "0"))
        return BufferProfile(name, xoff or 0)

    def _queue(self, entry: Mapping[str, Any]) -> ConfiguredQueue:
        name = reference(entry.get("scheduler", ""))
        scheduler = self._tables.get("SCHEDULER", {}).get(name, {})
        kind = str(scheduler.get("type", "WRR" if scheduler else ""))
        weight = self._number(f"SCHEDULER|{name}|weight", scheduler.get("weight", "1"))
        return ConfiguredQueue(kind, weight, reference(entry.get("wred_profile", "")))

    def _group(self, entry: Mapping[str, Any]) -> BufferProfile | None:
        name = reference(entry.get("profile", ""))
        return self._profiles.get(name, None if name == "NULL" else BufferProfile(name, 0))

    def _like(self, name: str) -> ConfiguredPort:
        """Return a port, which shares what it has with one that is configured alike."""
        kind = self._kind(name)
        try:
            known = self._kinds.get(kind)
        except TypeError:  # A list or an object where a text belongs.
            return self._port(name)
        if known is not None:
            self._counts[kind] += 1
            if self._counts[kind] >= SAMPLES:
                self._repeated.add(name)
            return replace(known, name=name)
        count = len(self._unreadable)
        port = self._port(name)
        if len(self._unreadable) == count:
            self._kinds[kind] = port
        return port

    def _kind(self, name: str) -> Hashable:
        """Return all that tables have of a port."""
        entries = (
            self._tables.get("PORT", {}).get(name, {}),
            self._qos.get(name, {}),
            self._tables.get("PFC_WD", {}).get(name, {}),
        )
        numbered = (self._groups, self._queues, self._queue_buffers)
        return (
            name in self._tables.get("PFC_WD", {}),
            self._lengths.get(name),
            self._channels.get(name),
            *(tuple(entry.items()) for entry in entries),
            *(
                tuple((key, *entry.items()) for key, entry in table.get(name, {}).items())
                for table in numbered
            ),
        )

    def _port(self, name: str) -> ConfiguredPort:
        document = self._tables.get("PORT", {}).get(name, {"admin_status": "up"})
        qos = self._qos.get(name, {})
        maps = self._tables.get("PORT_QOS_MAP", {}).get("global", {})
        bound = {field: reference(text) for field, text in {**maps, **qos}.items() if field in MAPS}
        channel = self._channels.get(name)
        own = document.get("mtu")
        mtu = self._tables.get("PORTCHANNEL", {}).get(channel or "", {}).get("mtu", own)
        place = f"PORT_QOS_MAP|{name}"
        return ConfiguredPort(
            name=name,
            # sonic-port.yang: the default is down.
            is_up=document.get("admin_status", "down") == "up",
            speed_mbps=self._number(f"PORT|{name}|speed", document["speed"])
            if "speed" in document
            else None,
            mtu_bytes=None if mtu is None else self._number(f"PORT|{name}|mtu", mtu),
            length_m=self._lengths.get(name),
            channel=channel,
            lossless=self._priorities(f"{place}|pfc_enable", qos.get("pfc_enable", "")),
            watched=self._priorities(f"{place}|pfcwd_sw_enable", qos.get("pfcwd_sw_enable", "")),
            has_watchdog=name in self._tables.get("PFC_WD", {}),
            maps={
                field: self._maps[MAPS[field], value]
                for field, value in bound.items()
                if (MAPS[field], value) in self._maps
            },
            groups={number: self._group(row) for number, row in self._groups.get(name, {}).items()},
            queues={number: self._queue(row) for number, row in self._queues.get(name, {}).items()},
            mapped=self._mapped(qos, bound),
        )

    def _mapped(self, qos: Mapping[str, Any], bound: Mapping[str, str]) -> frozenset[int]:
        """Return the code points of the map, or those of commands, which have defaults beside."""
        if MAPPED in qos:
            return frozenset(int(part) for part in qos[MAPPED].split(",") if part)
        name = bound.get("dscp_to_tc_map", "")
        return frozenset(self._maps.get(("DSCP_TO_TC_MAP", name), {}))
