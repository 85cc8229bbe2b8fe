"""Configurations that are checked together, and the form of rules and findings."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import NamedTuple

from etherweave.control.lint import config_db, host_script
from etherweave.control.lint.config_db import ConfigError, ConfiguredSwitch
from etherweave.control.lint.host_script import ConfiguredHost
from etherweave.control.qos.nos import FABRIC, PATCH
from etherweave.control.qos.policy import Policy
from etherweave.control.qos.sonic import LOOKUP
from etherweave.inputs import decoded

BESIDE = (LOOKUP, PATCH, "nvue.yaml")
"""Files of ``control export`` that repeat others."""


@dataclass(frozen=True, slots=True)
class Configurations:
    """Switches, hosts, and their fabric, if it is known."""

    switches: tuple[ConfiguredSwitch, ...]
    hosts: tuple[ConfiguredHost, ...]
    fabric_file: str
    fabric: Policy | None
    unread: tuple[str, ...]
    """Files that the linter does not support."""


def read(files: Mapping[str, str]) -> Configurations:
    """Read files by their names: ``fabric.json``, ``*.json`` of SONiC, ``*.sh`` of hosts.

    Raises
    ------
    ConfigError
        When a file is not of its type.
    """
    switches, hosts, unread = [], [], []
    policy, fabric_file = None, ""
    for path, text in sorted(files.items()):
        name = PurePosixPath(path).name
        if name in BESIDE:
            continue
        match _kind(name, text):
            case "fabric":
                fabric_file, policy = path, read_fabric(path, text)
            case "switch":
                switches += config_db.read(path, text)
            case "host":
                hosts.append(host_script.read(path, name.removesuffix(".sh"), text))
            case _:
                unread.append(path)
    return Configurations(tuple(switches), tuple(hosts), fabric_file, policy, tuple(unread))


def _kind(name: str, text: str) -> str:
    """Return the type of a file: by its name, otherwise by its content."""
    if name == FABRIC:
        return "fabric"
    if name.endswith(".json") or text.lstrip()[:1] == "{":
        return "switch"
    is_host = name.endswith(".sh") or any(tool in text for tool in ("mlnx_qos", "dcb pfc"))
    return "host" if is_host and name != "nvue.sh" and "nv set " not in text else ""


class Severity(StrEnum):
    """What a violation of a rule leads to, the worst first."""

    LOSES = "loses packets"
    STALLS = "stalls"
    DEGRADES = "degrades"
    STYLE = "style"


class LintFault(NamedTuple):
    """A violation of a rule at one place."""

    file: str
    place: str
    """Port, table or entry within the file."""
    found: str
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
    found: list[LintFinding] = []
    for rule in rules:
        places: dict[tuple[str, str], dict[LintPlace, None]] = {}
        for fault in rule.check(site):
            where = places.setdefault((fault.found, fault.expected), {})
            where[LintPlace(fault.file, fault.place)] = None
        found += (
            LintFinding(rule.name, rule.severity, tuple(where), what, expected, rule.why)
            for (what, expected), where in places.items()
        )
    order = list(Severity)
    return sorted(found, key=lambda one: order.index(one.severity))


def read_fabric(file: str, text: str) -> Policy:
    """Read the policy of a ``fabric.json``.

    Raises
    ------
    ConfigError
        When ``control export`` did not write the file.
    """
    try:
        document = json.loads(text)
        if isinstance(document, dict):
            document.pop("system")
        policy = decoded(Policy, document, "policy")
    except (ValueError, KeyError, RecursionError) as error:
        expected = "the file that etherweave control export wrote"
        raise ConfigError(f"{file}: {error}; expected {expected}") from None
    if len(policy.priorities) != 8 or len(policy.classes) != 8:
        raise ConfigError(f"{file}: expected eight priorities and eight classes")
    return policy
