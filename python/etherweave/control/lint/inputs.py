"""Configurations that are checked together, and the form of rules and findings."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

import pydantic_core

from etherweave.api.inputs import decoded
from etherweave.control.lint import (
    config_db,
    eos,
    host_script,
    nvue,
    onyx,
    port_settings,
    state_texts,
    texts,
)
from etherweave.control.lint.config_db import ConfigError, ConfiguredSwitch
from etherweave.control.lint.dialects import Dialect
from etherweave.control.lint.host_script import ConfiguredHost
from etherweave.control.qos.nos import FABRIC, PATCH, PORT_NAMES, PORTS
from etherweave.control.qos.policy import Policy, PortPolicy
from etherweave.control.qos.sonic import LOOKUP

BESIDE = (LOOKUP, PATCH, PORTS)  # Files of ``control export`` that repeat others.
FORMS = 8  # Forms of switches, the last ones, with which the next is compared.


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file, or commands in it, that the linter does not know."""

    file: str
    commands: tuple[str, ...]
    """Commands, the first of each kind with its place; none: the whole file."""
    shown_by: str = ""  # The command whose output the file is, in place of a configuration.
    system: str = ""  # The system that the configuration is for, which is not read.


@dataclass(frozen=True, slots=True)
class Configurations:
    """Switches, hosts, and their fabric, if it is known."""

    switches: tuple[ConfiguredSwitch, ...]
    hosts: tuple[ConfiguredHost, ...]
    fabric_file: str
    fabric: Policy | None
    unread: tuple[UnreadFile, ...]


def read(
    files: Mapping[str, str] | Iterable[tuple[str, str]], broken: list[str] | None = None
) -> Configurations:
    """Read files of switches and hosts, by their names and contents; no content is kept.

    ``broken`` gets the mistake of each file that is not of its type, and the others are read.
    Raises ``ConfigError`` for the first of them where it is not given.
    """
    reader = _SiteReader()
    for path, content in sorted(files.items()) if isinstance(files, Mapping) else files:
        try:
            reader.take(path, content)
        except ConfigError as error:
            if broken is None:
                raise
            broken.append(str(error))
    every = tuple(port for switch in reader.switches.values() for port in switch)
    policy, unread = reader.policy, tuple(reader.unread)
    return Configurations(every, tuple(reader.hosts), reader.fabric_file, policy, unread)


class _SiteReader:
    """Reads files one by one."""

    def __init__(self) -> None:
        self.switches: dict[tuple[str, str], list[ConfiguredSwitch]] = {}
        self.hosts: list[ConfiguredHost] = []
        self.unread: list[UnreadFile] = []
        self.policy: Policy | None = None
        self.fabric_file = ""
        self._known: deque[ConfiguredSwitch] = deque(maxlen=FORMS)

    def take(self, path: str, content: str) -> None:
        """Read a file.

        Raises ``ConfigError`` when it is not of its type.
        """
        text = texts.plain(content)
        name = PurePosixPath(path).name
        kind = _kind(name, text) if name not in BESIDE else "beside"
        if kind == "fabric":
            self.fabric_file, self.policy = path, read_fabric(path, text)
        elif kind == "sonic":
            own = self.switches[path, ""] = config_db.read(path, text, self._known)
            fields = dict.fromkeys(field for node in own for field in node.unknown)
            self.unread += [UnreadFile(path, tuple(fields))] if fields else []
        elif kind == "host":
            host = host_script.read(path, name.removesuffix(".sh"), text)
            self.hosts += [host] if host.is_understood() else []
            self.unread += [] if host.is_understood() else [_unread(path, text)]
        elif kind in DIALECTS:
            self._take_commands(path, text, kind)
        elif kind != "beside":
            self.unread.append(_unread(path, text))

    def _take_commands(self, path: str, text: str, kind: str) -> None:
        switch, unknown = _of_commands(path, text, kind)
        if switch is None:
            self.unread.append(_unread(path, text))
            return
        # The commands and the YAML of a switch that say the same are one configuration.
        folder = path.removesuffix(PurePosixPath(path).name)
        same = self.switches.setdefault((folder, switch.name), [])
        if all(port.tables != switch.tables for port in same):
            same.append(switch)
        self.unread += [UnreadFile(path, unknown)] if unknown else []


def _unread(path: str, text: str) -> UnreadFile:
    """Return a file of which nothing is understood."""
    head = text[:HEAD]
    return UnreadFile(path, (), state_texts.command_of(head), texts.system_of(head))


DIALECTS: Mapping[str, Dialect] = {
    "nvue": nvue.DIALECT,
    "nvue yaml": nvue.YAML,
    "onyx": onyx.DIALECT,
    "eos": eos.DIALECT,
}
"""Dialects by the kind of a file; of two whose sign it has, the first."""
SIGNS = {kind: dialect.sign for kind, dialect in DIALECTS.items()} | {
    "host": re.compile(
        r"(?<!\w)(?:mlnx_qos|cma_roce_tos|lldptool|dcb (?:pfc|ets|app) (?:set|add|replace)"
        r"|ethtool (?:-A|--pause)|/ecn/roce_[nr]p/|tc/1/traffic_class)(?!\w)"
    )
}
"""Lines that only files of a kind have."""
LINES_MAX = 200_000  # Lines of the commands of a switch.
HEAD = 1 << 20  # Length of the beginning in which they are looked for.


_NVUE_JSON = re.compile(r'\s*\[\s*\{\s*"(?:header|set)"\s*:')
"""The beginning of ``nv config show -o json``, which is YAML, too."""

DESCRIPTION = re.compile(r"^ +description .*$", re.MULTILINE)


def _of_commands(
    path: str, text: str, kind: str
) -> tuple[ConfiguredSwitch | None, tuple[str, ...]]:
    """Return the switch, nothing if no command is known, and first words of those that are not."""
    if text.count("\n") > LINES_MAX:
        raise ConfigError(f"{path}: more than {LINES_MAX:,} lines; expected one switch")
    hostname = DIALECTS[kind].hostname
    matches = hostname.findall(text)
    nameless = hostname.sub("x", text) if len(matches) == 1 else text
    try:
        name, switch, unknown = _form(kind, DESCRIPTION.sub("", nameless))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if switch is None:
        return None, unknown
    own = matches[0].strip("'\"") if len(matches) == 1 else name
    return config_db.named(switch, path, own), unknown


@lru_cache(maxsize=FORMS)
def _form(kind: str, text: str) -> tuple[str, ConfiguredSwitch | None, tuple[str, ...]]:
    """Read commands; switches that are alike but for names and descriptions share what is read."""
    dialect = DIALECTS[kind]
    settings = dialect.read(text)
    if not settings.is_understood():
        return settings.name, None, ()
    switch = config_db.switch_of(
        port_settings.tables(settings), dialect.system, settings.unreadable, settings.missing()
    )
    return settings.name, switch, tuple(settings.unread.values())


def _kind(name: str, text: str) -> str:
    """Return the type of a file: by its name, otherwise by its content."""
    if name == FABRIC:
        return "fabric"
    if _NVUE_JSON.match(text):
        return "nvue yaml"
    if name.endswith(".json") or text.lstrip()[:1] == "{":
        return "sonic"
    head = text[:HEAD]
    if name.endswith(".sh") and SIGNS["host"].search(head):
        return "host"
    if texts.system_of(head):
        return ""
    signs = (kind for kind, sign in SIGNS.items() if sign.search(head))
    return next(signs, "host" if name.endswith(".sh") else "")


def fabric_ports(site: Configurations) -> dict[tuple[str, str], PortPolicy]:
    """Return the fabric's ports by the names of switches, and of ports in their systems."""
    systems = {switch.name: switch.system.name for switch in site.switches}
    return {
        (switch.name, PORT_NAMES[systems[switch.name]](switch, port)): port
        for switch in (site.fabric.switches if site.fabric else ())
        if switch.name in systems
        for port in switch.ports
    }


class Severity(StrEnum):
    """Effect of a violation of a rule, the worst first."""

    LOSES = "loses packets"
    STALLS = "stalls"
    DEGRADES = "degrades"
    STYLE = "style"


class LintFault(NamedTuple):
    """A violation of a rule at one place."""

    file: str
    place: str  # Port, table or entry within the file.
    text: str
    expected: str


class LintPlace(NamedTuple):
    """A place of a finding."""

    file: str
    place: str


@dataclass(frozen=True, slots=True)
class LintRule:
    """A rule: its name, severity and reason, and the function that checks it."""

    name: str
    severity: Severity
    why: str
    check: Callable[[Configurations], Iterator[LintFault]]
    is_within: bool = False
    """Whether it checks each switch by itself, so that one is enough of switches that are alike."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A violation of a rule, with all its places in all files."""

    rule: str
    severity: Severity
    places: tuple[LintPlace, ...]
    found: str
    expected: str
    why: str


def findings(site: Configurations, rules: Iterable[LintRule]) -> list[LintFinding]:
    """Check configurations by rules; equal faults become one finding, the worst come first."""
    violations: list[LintFinding] = []
    # Switches that are alike have the same tables.
    forms = {id(switch.tables): switch for switch in reversed(site.switches)}
    samples = {form: config_db.sample(value) for form, value in forms.items()}
    for rule in rules:
        places: dict[tuple[str, str], dict[LintPlace, None]] = {}
        for fault in _of_each(rule, site, samples) if rule.is_within else rule.check(site):
            where = places.setdefault((fault.text, fault.expected), {})
            where[LintPlace(fault.file, fault.place)] = None
        violations += (
            LintFinding(rule.name, rule.severity, tuple(where), what, expected, rule.why)
            for (what, expected), where in places.items()
        )
    order = list(Severity)
    return sorted(violations, key=lambda finding: order.index(finding.severity))


def _of_each(
    rule: LintRule, site: Configurations, samples: Mapping[int, ConfiguredSwitch]
) -> Iterator[LintFault]:
    """Check one switch of each form, and return its faults for all others.

    Most pass already with a few ports of each kind, and are not checked whole.
    """
    first: dict[int, ConfiguredSwitch] = {}
    for own in site.switches:
        first.setdefault(id(own.tables), own)
    small = replace(site, switches=tuple(samples[switch] for switch in first))
    wrong = {fault.file for fault in rule.check(small)}
    complete = tuple(text for text in first.values() if text.file in wrong)
    faults: dict[str, list[LintFault]] = {}
    for fault in rule.check(replace(site, switches=complete)) if wrong else ():
        faults.setdefault(fault.file, []).append(fault)
    for switch in site.switches:
        like = first[id(switch.tables)]
        for fault in faults.get(like.file, ()):
            place = switch.name if fault.place == like.name else fault.place
            yield fault._replace(file=switch.file, place=place)
    files = {switch.file for switch in site.switches}
    yield from (fault for file, value in faults.items() if file not in files for fault in value)


def read_fabric(file: str, text: str) -> Policy:
    """Read the policy of a ``fabric.json``.

    Raises ``ConfigError`` when ``control export`` did not write the file.
    """
    try:
        document = pydantic_core.from_json(text)
        if isinstance(document, dict):
            document.pop("system")
        policy = decoded(Policy, document, "policy")
    except (ValueError, KeyError) as error:
        expected = "the file that etherweave control export wrote"
        raise ConfigError(f"{file}: {error}; expected {expected}") from None
    if len(policy.priorities) != 8 or len(policy.classes) != 8:
        raise ConfigError(f"{file}: expected eight priorities and eight classes")
    return policy
