"""Settings of ports as commands make them, and the tables that follow from them.

A reader of commands keeps a text under a key for each port, each port channel and for all ports;
:func:`tables` joins them, and writes the tables of SONiC's ``config_db.json``, which the rules
read. The keys, where ``P`` is a priority (the traffic class of a packet), ``Q`` a queue and ``G`` a
priority group:

``mtu`` [B], ``speed`` [Mb/s], ``shutdown``, ``channel``, ``cable`` [m]; ``trust`` (``dscp``,
``pcp``, ``both``, ``port``), ``dscp N``, ``pcp N`` and ``default``, a priority; ``mapped N``, a
code point that a command maps; ``queue P``;
``lossless P`` and ``pause`` (``on``, ``off``), ``asymmetric``; ``send`` and ``receive`` of 802.3x
pauses; ``class dscp N``, ``remark dscp N`` and ``police dscp N`` of a policy, and the same of
``pcp``; ``watchdog``, ``watchdog FIELD``, ``guaranteed Q``; ``share Q`` (``strict``,
``wrr WEIGHT``, ``fair``, ``fixed``); ``ecn Q FIELD`` and ``marking Q``, ``off`` where a command
takes it away; ``group P``;
``profile G`` and ``egress Q``, the name of a profile. ``guaranteed`` and ``profile`` alone are for
all queues and groups that have none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from textwrap import shorten
from typing import Any, TypeAlias

from etherweave.control.lint.config_db import MAPPED, MAPS, ConfigError, MissingName

Key: TypeAlias = tuple[str, ...]
Settings: TypeAlias = dict[Key, str]
Tables: TypeAlias = dict[str, dict[str, dict[str, Any]]]

EIGHT = tuple(str(number) for number in range(8))
NAMED = {
    "default": 0,
    "ef": 46,
    **{f"cs{number}": 8 * number for number in range(8)},
    **{f"af{number}{two}": 8 * number + 2 * two for number in range(1, 5) for two in range(1, 4)},
}
"""Code points by name: RFC 2474, RFC 2597, RFC 3246."""
PORTS_MAX = 4096  # Ports of a command.
WORK_MAX = 2_000_000  # Ports and VLANs of all commands of a switch together.
COMMAND_MAX = 60  # Length of a command that is not known, in a note [characters].
ACCESS_VLAN = "access VLAN"  # Words of a port's reference to a VLAN; VLAN 1 always exists.
VLAN_MAX = 4094  # IEEE 802.1Q, 9.6.
PAUSES = "send receive"  # Both directions of 802.3x pauses.
COMPUTED = "NULL"  # The profile of a group that the switch computes.
DEFAULTS: Settings = {
    **{("dscp", str(dscp)): str(dscp // 8) for dscp in range(64)},
    **{(key, number): number for key in ("pcp", "queue") for number in EIGHT},
    ("default",): "0",
    ("profile",): COMPUTED,
}
"""Class selectors (RFC 2474), 802.1p as it is, and a queue for each class."""


@dataclass(slots=True)
class SwitchSettings:
    """Configuration of a file, and what could not be read of it."""

    name: str = ""
    every: Settings = field(default_factory=DEFAULTS.copy)  # Settings of all ports.
    channels: dict[str, Settings] = field(default_factory=dict)
    ports: dict[str, Settings] = field(default_factory=dict)
    profiles: dict[str, dict[str, str]] = field(default_factory=dict)  # Rows of BUFFER_PROFILE.
    pools: dict[str, dict[str, str]] = field(default_factory=dict)
    watchdog: dict[str, str] = field(default_factory=dict)
    """Fields of PFC_WD for all ports, and POLL_INTERVAL."""
    unreadable: list[tuple[str, str, str]] = field(default_factory=list)
    """Place, value, and what is expected."""
    unread: dict[str, str] = field(default_factory=dict)
    """First command of each kind that is not known, with its place, by its first words."""
    unused: list[str] = field(default_factory=list)  # Profiles that no port has.
    defined: dict[str, dict[str, None]] = field(default_factory=lambda: {ACCESS_VLAN: {"1": None}})
    """Names that commands configure or that always exist, by the words of a reference."""
    references: list[tuple[str, str, str]] = field(default_factory=list)  # Place, words and name.
    place: str = ""  # Place of the command that is read.
    work: int = 0  # Ports and VLANs of all commands.
    known: int = 0  # Commands that are known.

    def of(self, name: str, is_channel: bool = False) -> Settings:
        """Return the settings of a port or a port channel."""
        return (self.channels if is_channel else self.ports).setdefault(name, {})

    def count(self, ports: int) -> None:
        """Count the ports or VLANs of a command.

        Raises ``ConfigError`` when all commands together have far more than those of a switch.
        """
        self.work += ports
        if self.work > WORK_MAX:
            raise ConfigError(
                f"commands for more than {WORK_MAX:,} ports or VLANs; expected one switch"
            )

    def is_understood(self) -> bool:
        """Whether any command is known, or would be if its value could be read."""
        return bool(self.known or self.unreadable)

    def define(self, words: str, *names: str) -> None:
        """Keep names that references with these words may have."""
        self.defined.setdefault(words, {}).update(dict.fromkeys(names))

    def refer(self, words: str, name: str) -> None:
        """Keep a reference of the command that is read."""
        self.references.append((self.place, words, name))

    def create_vlans(self, text: str) -> bool:
        """Keep VLANs that a command creates.

        Raises ``ValueError`` when the text is no list of numbers up to :data:`VLAN_MAX`.
        """
        numbers = listed(text, VLAN_MAX)
        self.count(len(numbers))
        if "0" in numbers:
            raise ValueError(text)
        self.define(ACCESS_VLAN, *numbers)
        return True

    def delete_vlans(self, text: str) -> bool:
        """Forget VLANs that a command deletes."""
        for number in listed(text, VLAN_MAX):
            self.defined[ACCESS_VLAN].pop(number, None)
        return True

    def missing(self) -> Iterator[MissingName]:
        """Return the references to what no command configures."""
        for place, words, name in self.references:
            known = self.defined.get(words, {})
            if name not in known:
                yield MissingName(place, words, name, tuple(known))

    def leave(self, name: str, command: str = "") -> None:
        """Keep the first command of a name that is not known."""
        self.unread.setdefault(name, command or name)

    def take(
        self, place: str, words: list[str], read: Callable[[list[str]], bool], name: str
    ) -> None:
        """Read a command; keep it if it is malformed, count it by a name if it is not known."""
        self.place = place
        try:
            is_known = read(words)
        except ConfigError:
            raise
        except (ValueError, KeyError, IndexError):
            shown = " ".join(words)[:60]
            self.unreadable.append((place, shown, "a command as documented"))
            return
        if is_known:
            self.known += 1
        else:
            command = shorten(" ".join(words), COMMAND_MAX, placeholder=" …")
            self.leave(name, f"{command} ({place})")


def tables(switch: SwitchSettings) -> Tables:
    """Write the tables of a switch."""
    writer = _TableWriter(switch)
    for name, own in switch.ports.items():
        channel = switch.channels.get(own.get(("channel",), ""), {})
        writer.port(name, {**switch.every, **channel, **own})
    return writer.tables


class _TableWriter:
    """Writes tables port by port; ports with equal settings share their entries."""

    def __init__(self, switch: SwitchSettings) -> None:
        poll = switch.watchdog.get("POLL_INTERVAL")
        self._watchdog = {key: value for key, value in switch.watchdog.items() if key.islower()}
        self._layouts: dict[tuple[tuple[Key, str], ...], Tables] = {}
        self.tables: Tables = {
            "BUFFER_POOL": dict(switch.pools),
            "BUFFER_PROFILE": dict(switch.profiles),
            "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": poll}} if poll else {},
            "PORT": {},
            "PORT_QOS_MAP": {},
            "UNUSED": {name: {} for name in switch.unused},
        }

    def port(self, name: str, merged: Settings) -> None:
        """Write a port."""
        state = "down" if ("shutdown",) in merged else "up"
        asymmetric = {"pfc_asym": "on"} if ("asymmetric",) in merged else {}
        own = {key: merged[key,] for key in ("mtu", "speed") if (key,) in merged}
        pauses = " ".join(part for part in PAUSES.split() if merged.get((part,)) == "on")
        own |= {"pause": pauses} if pauses else {}
        self._put("PORT", name, {"admin_status": state, **own, **asymmetric})
        if channel := merged.get(("channel",)):
            self._put("PORTCHANNEL", channel, {})
            self._put("PORTCHANNEL_MEMBER", f"{channel}|{name}", {})
        if length := merged.get(("cable",)):
            self.tables.setdefault("CABLE_LENGTH", {}).setdefault("AZURE", {})[name] = f"{length}m"
        if merged.get(("watchdog",)) == "on":
            times = {key[1]: of for key, of in merged.items() if key[0] == "watchdog" and key[1:]}
            self._put("PFC_WD", name, {**self._watchdog, **times})
        shared = tuple(sorted(item for item in merged.items() if item[0][0] not in _OF_PORTS))
        if shared not in self._layouts:
            self._layouts[shared] = self._layout(merged)
        for table, entries in self._layouts[shared].items():
            for number, entry in entries.items():
                self._put(table, f"{name}|{number}" if number else name, entry)

    def _put(self, table: str, key: str, entry: dict[str, Any]) -> None:
        self.tables.setdefault(table, {})[key] = entry

    def _layout(self, merged: Settings) -> Tables:
        """Return what ports with these settings have: entries by table and number."""
        is_on = merged.get(("pause",)) == "on"
        lossless = [level for level in EIGHT if is_on and merged.get(("lossless", level)) == "on"]
        queues = {number: merged["queue", number] for number in EIGHT}
        groups = _groups(merged, lossless)
        named = {
            "dscp_to_tc_map": _code_points(merged),
            "dot1p_to_tc_map": _pcp(merged),
            "tc_to_pg_map": groups,
            "tc_to_queue_map": queues,
            "pfc_to_pg_map": groups,
            "pfc_to_queue_map": queues,
        }
        qos = {name: self._named(MAPS[name], "map", pairs) for name, pairs in named.items()}
        watched = [number for number in lossless if _is_watched(merged, queues[number])]
        qos |= {"pfc_enable": ",".join(lossless), "pfcwd_sw_enable": ",".join(watched)}
        mapped = {key[1] for key in merged if key[0] in ("mapped", "class dscp")}
        qos[MAPPED] = ",".join(sorted(mapped, key=int))
        used = {key[1] for key in merged if key[0] == "profile" and key[1:]}
        # A group that only commands make has no memory without one.
        used |= {
            group
            for key, group in groups.items()
            if key in lossless or group == "0" or ("group", key) not in merged
        }
        lossy = {groups[number] for number in EIGHT} - {groups[number] for number in lossless}
        usual = dict.fromkeys(EIGHT, merged["profile",]) | dict.fromkeys(lossy, COMPUTED)
        return {
            "PORT_QOS_MAP": {"": qos},
            "QUEUE": {number: self._queue(merged, number) for number in EIGHT},
            "BUFFER_PG": {
                group: {"profile": merged.get(("profile", group), usual[group])}
                for group in sorted(used)
            },
            "BUFFER_QUEUE": {
                key[1]: {"profile": value} for key, value in merged.items() if key[0] == "egress"
            },
            "POLICY": {
                key[1]: {what: merged[f"{what} dscp", key[1]]}
                for what in ("police", "remark")
                for key in merged
                if key[0] == f"{what} dscp"
            },
        }

    def _named(self, table: str, name: str, entry: dict[str, Any]) -> str:
        """Return the name of an entry, which it gets when it is new."""
        known = self.tables.setdefault(table, {})
        while name in known and known[name] != entry:
            name += "'"
        known[name] = entry
        return name

    def _queue(self, merged: Settings, number: str) -> dict[str, str]:
        entry = {}
        if share := merged.get(("share", number)):
            kind, _, weight = share.partition(" ")
            scheduler = {"type": _KINDS[kind]} | ({"weight": weight} if weight else {})
            entry["scheduler"] = self._named("SCHEDULER", share, scheduler)
        fields = {key[2]: value for key, value in merged.items() if key[:2] == ("ecn", number)}
        if fields and merged.get(("marking", number)) != "off":
            entry["wred_profile"] = self._named("WRED_PROFILE", _marking(fields), fields)
        return entry


_OF_PORTS = frozenset(
    {"mtu", "speed", "shutdown", "channel", "cable", "watchdog", "asymmetric", *PAUSES.split()}
)
"""Settings that maps, queues and groups do not depend on."""
_KINDS = {"strict": "STRICT", "wrr": "DWRR", "fair": "FAIR", "fixed": "FIXED"}


def _code_points(merged: Settings) -> dict[str, str]:
    """Return the priority of every code point in a frame without a VLAN tag."""
    is_trusted = merged.get(("trust",)) in ("dscp", "both")
    usual = merged["default",]
    own = {str(dscp): merged["dscp", str(dscp)] if is_trusted else usual for dscp in range(64)}
    return own | {key[1]: value for key, value in merged.items() if key[0] == "class dscp"}


def _pcp(merged: Settings) -> dict[str, str]:
    is_trusted = merged.get(("trust",)) in ("pcp", "both")
    own = {number: merged["pcp", number] if is_trusted else merged["default",] for number in EIGHT}
    return own | {key[1]: value for key, value in merged.items() if key[0] == "class pcp"}


def _groups(merged: Settings, lossless: list[str]) -> dict[str, str]:
    """Return the group of every priority: its own if it is lossless, unless it is configured."""
    lossy = next((number for number in EIGHT if number not in lossless), None)
    own = {number: number if number in lossless or lossy is None else lossy for number in EIGHT}
    return {at: merged.get(("group", at), merged.get(("group",), own[at])) for at in EIGHT}


def _is_watched(merged: Settings, queue: str) -> bool:
    return merged.get(("guaranteed", queue), merged.get(("guaranteed",), "")) == "on"


def _marking(fields: Mapping[str, str]) -> str:
    least, most = (fields.get(f"green_{side}_threshold", "?") for side in ("min", "max"))
    share = fields.get("green_drop_probability")
    return f"ECN from {least} to {most} B" + (f" at {share} %" if share else "")


def mapped(dscps: Iterable[str], number: str) -> Settings:
    """Return the settings of a command that maps code points to a priority."""
    return {
        key: value
        for dscp in dscps
        for key, value in ((("dscp", dscp), number), (("mapped", dscp), "on"))
    }


def put(own: Settings, settings: Settings) -> None:
    """Add settings; that a queue has a share does not take its weight away.

    A command for the marking of a queue replaces what an earlier one said.
    """
    marked = {key[1] for key in settings if key[0] == "marking"}
    for key in [setting for setting in own if setting[0] == "ecn" and setting[1] in marked]:
        del own[key]
    for key, setting in settings.items():
        if setting != "fair" or not own.get(key, "").startswith("wrr"):
            own[key] = setting


def names(first: str, last: str, span_max: int) -> range:
    """Return the numbers of a range.

    Raises ``ValueError`` when a number is none, or the range is longer than ``span_max``.
    """
    low, high = whole(first), whole(last)
    if not low <= high < low + span_max:
        raise ValueError(f"{first}-{last}")
    return range(low, high + 1)


def listed(text: str, most: int, named: Mapping[str, int] | None = None) -> list[str]:
    """Return the numbers of a list with ranges, each once: ``0,2-4``; some may have names.

    Raises ``ValueError`` when one is larger than ``most``, or the list has more than twice as many.
    """
    numbers: dict[str, None] = {}
    left = 2 * (most + 1)
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = (str((named or {}).get(end, end)) for end in (first, last if dash else first))
        whole(high, most)
        span = names(low, high, most + 1)
        left -= len(span)
        if left < 0:
            raise ValueError(text)
        numbers |= dict.fromkeys(map(str, span))
    return list(numbers)


def limited(texts: Iterable[str]) -> list[str]:
    """Return names of ports, each once.

    Raises ``ValueError`` when there are more than :data:`PORTS_MAX`.
    """
    known = list(dict.fromkeys(islice(texts, PORTS_MAX + 1)))
    if len(known) > PORTS_MAX:
        raise ValueError("ports")
    return known


def whole(text: str, most: int = 10**15) -> int:
    """Read a whole number; raises ``ValueError`` when it is none, or larger than ``most``."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 15) or int(text) > most:
        raise ValueError(text)
    return int(text)


def priority(text: str) -> str:
    """Read a priority, class, queue or group: 0 to 7; raises ``ValueError`` when it is another."""
    return str(whole(text, 7))
