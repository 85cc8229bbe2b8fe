"""Reads a site's file: TOML; rejects unknown keys, each mistake with its line."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import NoReturn

from etherweave.api.inputs import read_bytes
from etherweave.api.units import rate_of, size_of, time_of
from etherweave.bench.launchers.launcher import COMMON, OptionKind
from etherweave.bench.launchers.registry import LAUNCHERS
from etherweave.bench.site.values import (
    ClusterSite,
    Option,
    SiteError,
    SiteFabric,
    SiteHost,
    SiteSwitch,
)
from etherweave.bench.telemetry.switches import READERS

_SIZE_MAX = 1 << 20  # Largest file of a site [bytes].
_KEYS = ("name", "launcher", "modules", "environment", "hosts", "fabrics", "switches")
_HOST_KEYS = ("address", "interface", "switch")
_FABRIC_KEYS = ("kind", "stack", "rate", "interface", "device", "addresses", "environment")
_SWITCH_KEYS = ("reader", "ask")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_ADDRESS = re.compile(r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,252}[A-Za-z0-9])?")
_INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")
_DEVICE = re.compile(r"[A-Za-z0-9_.-]{1,63}(?::[0-9]{1,3})?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read(file: Path) -> ClusterSite:
    """Read a site's file.

    Raises ``SiteError`` where and what is wrong in it, and what is expected; ``OSError`` when it
    cannot be read.
    """
    data = read_bytes(file, _SIZE_MAX)
    try:
        return site(data.decode(), str(file))
    except UnicodeDecodeError as error:
        raise SiteError(f"{file}: {error.reason}; expected UTF-8") from None


def site(text: str, name: str) -> ClusterSite:
    """Read the text of a site's file, as :func:`read` does; ``name`` is for messages."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SiteError(f"{name}: {error}; expected TOML") from None
    return _site(_Table(name, text, (), data), Path(name).stem)


@dataclass(frozen=True)
class _Table:
    """A table of a document, with the way there."""

    file: str
    text: str
    path: tuple[str, ...]
    values: Mapping[str, object]

    def reject(self, key: str | None, mistake: str) -> NoReturn:
        path = (*self.path, key) if key else self.path
        line = line_of(self.text, path)
        raise SiteError(f"{self.file}:{line}: {'.'.join(path) or 'the file'}: {mistake}")

    def only(self, known: Iterable[str]) -> None:
        names = list(known)
        for key in self.values:
            if key not in names:
                self.reject(key, f"unknown key; expected one of {', '.join(names)}")

    def table(self, key: str) -> "_Table":
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.reject(key, f"{value!r:.60} is no table; expected [{key}] or [{key}.NAME]")
        return _Table(self.file, self.text, (*self.path, key), value)

    def tables(self, key: str) -> dict[str, "_Table"]:
        table = self.table(key)
        return {name: table.table(name) for name in table.values}

    def word(self, key: str, pattern: re.Pattern[str], example: str) -> str | None:
        """Return a text of a certain form; none if it is not given."""
        value = self.values.get(key)
        if value is not None and not (isinstance(value, str) and pattern.fullmatch(value)):
            self.reject(key, f'{value!r:.60}; expected a text such as "{example}"')
        return value if isinstance(value, str) else None

    def one_of(self, key: str, known: Iterable[str]) -> str:
        value = self.values.get(key)
        names = list(known)
        if isinstance(value, str) and value in names:
            return value
        what = "is missing" if value is None else f"{value!r:.60}"
        self.reject(key, f"{what}; expected one of {', '.join(names)}")

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(map(_is_text, value)):
            self.reject(key, f'{value!r:.60}; expected a list of texts such as ["a", "b"]')
        return tuple(value)

    def amount(self, key: str, of: Callable[[str], float], example: str) -> float | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.reject(key, f"{value!r:.60}; expected {example}")
        try:
            return of(value)
        except ValueError as error:
            self.reject(key, str(error))

    def pairs(self, key: str, names: re.Pattern[str]) -> tuple[tuple[str, str], ...]:
        table = self.table(key)
        for name, value in table.values.items():
            if not names.fullmatch(name):
                table.reject(name, "is no name that can be set")
            if not _is_text(value):
                table.reject(name, f'{value!r:.60}; expected a text such as "1"')
        return tuple((name, str(value)) for name, value in table.values.items())


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _site(top: _Table, stem: str) -> ClusterSite:
    top.only(_KEYS)
    kind, options = _launcher(top.table("launcher"))
    hosts = tuple(_host(name, table) for name, table in top.tables("hosts").items())
    if not hosts:
        top.reject("hosts", 'is missing; expected [hosts.n1] with address = "10.0.0.1"')
    links = tuple(_link(name, table, hosts) for name, table in top.tables("fabrics").items())
    return ClusterSite(
        top.word("name", _NAME, "cluster") or stem,
        kind,
        hosts,
        options,
        top.texts("modules"),
        top.pairs("environment", _VARIABLE),
        links,
        tuple(_switch(name, table, hosts) for name, table in top.tables("switches").items()),
    )


def _launcher(table: _Table) -> tuple[str, dict[str, Option]]:
    kind = table.one_of("kind", LAUNCHERS)
    known = {**LAUNCHERS[kind].options, **COMMON}
    table.only(("kind", *known))
    options = {key: _option(table, key, known[key]) for key in known if key in table.values}
    return kind, options


def _option(table: _Table, key: str, kind: OptionKind) -> Option:
    amounts: dict[OptionKind, Callable[[str], float]] = {
        OptionKind.RATE: rate_of,
        OptionKind.SIZE: size_of,
        OptionKind.TIME: time_of,
    }
    if kind is OptionKind.TEXTS:
        return table.texts(key)
    if kind is OptionKind.TEXT:
        value = table.values[key]
        if not _is_text(value) or not value:
            table.reject(key, f"{value!r:.60}; expected {kind}")
        return str(value)
    value = table.amount(key, amounts[kind], kind)
    if not value:
        table.reject(key, f"{table.values[key]!r:.60}; expected {kind}, above zero")
    return value


def _host(name: str, table: _Table) -> SiteHost:
    if not _NAME.fullmatch(name):
        table.reject(None, "expected a name of letters, digits, dots and hyphens")
    table.only(_HOST_KEYS)
    address = table.word("address", _ADDRESS, "10.0.0.1")
    interface = table.word("interface", _INTERFACE, "eth0")
    return SiteHost(name, address or name, interface, table.word("switch", _NAME, "leaf0"))


def _link(name: str, table: _Table, hosts: tuple[SiteHost, ...]) -> SiteFabric:
    table.only(_FABRIC_KEYS)
    kind = table.one_of("kind", profiles())
    stack = table.one_of("stack", profiles()[kind])
    rate = table.amount("rate", rate_of, OptionKind.RATE)
    if rate is None:
        table.reject("rate", f"is missing; expected {OptionKind.RATE}")
    interface = table.word("interface", _INTERFACE, "eth0")
    device = table.word("device", _DEVICE, "mlx5_0:1")
    addresses = _addresses(table, [host.name for host in hosts])
    shared = {host.interface for host in hosts}
    common = interface or (shared.pop() if len(shared) == 1 else None)
    try:
        known = dict(environment(kind, stack, common, device))
    except SiteError as error:
        table.reject(None, str(error))
    merged = tuple((known | dict(table.pairs("environment", _VARIABLE))).items())
    return SiteFabric(name, kind, stack, rate, interface, device, addresses, merged)


def _switch(name: str, table: _Table, hosts: tuple[SiteHost, ...]) -> SiteSwitch:
    if not _NAME.fullmatch(name) or any(host.name == name for host in hosts):
        table.reject(None, "expected a name of letters, digits, dots and hyphens that no host has")
    table.only(_SWITCH_KEYS)
    ask = table.texts("ask")
    if not ask:
        table.reject("ask", 'is missing; expected words such as ["ssh", "admin@leaf0"]')
    return SiteSwitch(name, table.one_of("reader", READERS), ask)


def _addresses(table: _Table, hosts: list[str]) -> tuple[tuple[str, str], ...]:
    inner = table.table("addresses")
    inner.only(hosts)
    return tuple((host, inner.word(host, _ADDRESS, "10.1.0.1") or host) for host in inner.values)


_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, path: Sequence[str]) -> int:
    """Return the line of a key, or of what holds it.

    ``text`` is a valid document, ``path`` has the names of the tables, then the key.
    """
    wanted = tuple(path)
    best = (0, 1)
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            table = here = _parts(header[1])
        elif key := _KEY.match(line):
            here = (*table, *_parts(key[1]))
        else:
            continue
        shared = len(here) if here == wanted[: len(here)] else _within(wanted, here)
        best = max(best, (shared, -number), key=lambda pair: pair[0])
    return abs(best[1])


def _within(wanted: tuple[str, ...], here: tuple[str, ...]) -> int:
    """Count the parts of a key that occurs only as a beginning: ``[hosts.n1]`` for ``hosts``."""
    return len(wanted) if here[: len(wanted)] == wanted else 0


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


Profiles = dict[str, dict[str, dict[str, str]]]
"""Variables by name, of stacks, of kinds of fabrics."""


@cache
def profiles() -> Profiles:
    """Read what Etherweave knows."""
    text = files("etherweave.bench.site").joinpath("fabrics.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def environment(
    kind: str, stack: str, interface: str | None, device: str | None
) -> tuple[tuple[str, str], ...]:
    """Return the variables that switch a stack to a fabric.

    ``kind`` and ``stack`` are known; ``interface`` and ``device`` are named as by the site:
    ``p3p2``, ``mlx5_1:1``. Raises ``SiteError`` when one is needed that is not given.
    """
    known = {"interface": interface, "device": device, "nic": device and device.split(":")[0]}
    pairs = []
    for name, text in profiles()[kind][stack].items():
        if _is_of_priorities(text):
            continue
        for _, field, _, _ in Formatter().parse(text):
            if field and known[field] is None:
                wanted = {"interface": 'interface = "eth0"', "device": 'device = "mlx5_0:1"'}
                example = wanted["interface" if field == "interface" else "device"]
                raise SiteError(f"{name} of {kind} by {stack} needs it; expected {example}")
        pairs.append((name, text.format_map(known)))
    return tuple(pairs)


def priority_settings(kind: str, stack: str, priority: int, octet: int) -> dict[str, str]:
    """Return what gives a priority to the packets of a stack; empty where it cannot.

    ``octet`` is the traffic class octet of IP. Names are variables of the stack, but SOCKET_OCTET
    and SOCKET_PRIORITY are settings of each socket.
    """
    values = {"priority": priority, "octet": octet}
    texts = profiles()[kind][stack]
    return {name: t.format_map(values) for name, t in texts.items() if _is_of_priorities(t)}


def stacks_with_priorities() -> str:
    """Name the kinds of fabrics with the stacks that can set priorities."""
    known = {
        kind: [stack for stack in stacks if priority_settings(kind, stack, 0, 0)]
        for kind, stacks in profiles().items()
    }
    return "; ".join(f"{kind} by {' or '.join(stacks)}" for kind, stacks in known.items() if stacks)


def _is_of_priorities(text: str) -> bool:
    return "{priority}" in text or "{octet}" in text
