"""Lines of each system that configure one setting, side by side for one scenario.

The lines are those that :mod:`~etherweave.control.qos.nos` writes for the first switch, of which
the first that matches stands for all ports.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

from etherweave.control.qos.nos import SYSTEMS
from etherweave.control.qos.policy import Policy, WatchdogError

SETTINGS = {
    row.pop("setting"): row
    for row in csv.DictReader(
        files("etherweave.control.qos").joinpath("settings.csv").read_text("utf-8").splitlines()
    )
}
"""Patterns of the lines of each setting, by system; an empty one is not written."""
REASONS = {
    ("headroom", "eos"): "not written: the platform computes it",
    ("MTU", "sonic"): "not written without --whole: PORT stays as it is",
    ("port channel", "sonic"): "not written without --whole: PORTCHANNEL stays as it is",
}
"""Reasons why a system has no line."""
NONE = "none in this scenario"


@dataclass(frozen=True)
class SettingLine:
    """A setting as a system has it."""

    setting: str
    system: str
    line: str


def compared(
    policies: Mapping[str, Policy], unwatched: Mapping[str, WatchdogError] | None = None
) -> Iterator[SettingLine]:
    """Find the line of each setting in the configuration of each system, from its policy.

    Systems that are ``unwatched`` have a policy without the scenario's watchdog.
    """
    watchdogs = {
        ("watchdog", system): f"not written: {error}" for system, error in (unwatched or {}).items()
    }
    reasons = REASONS | watchdogs
    written = {system: list(_lines(policy, system)) for system, policy in policies.items()}
    for setting, patterns in SETTINGS.items():
        for system, policy in policies.items():
            pattern = patterns[system].replace("{lossless}", _lossless(policy))
            matching = (line for line in written[system] if pattern and re.search(pattern, line))
            line = reasons.get((setting, system)) or next(matching, NONE)
            yield SettingLine(setting, system, line)
    for system, policy in policies.items():
        if policy.trimming is not None:
            pattern = r"SWITCH_TRIMMING GLOBAL size"
            matching = (line for line in written[system] if re.search(pattern, line))
            line = next(matching, "not written by control export")
            yield SettingLine("packet trimming", system, line)


def _lossless(policy: Policy) -> str:
    return str(policy.lossless[0].traffic_class) if policy.lossless else r"\d"


def _lines(policy: Policy, system: str) -> Iterator[str]:
    """Return commands of the first switch; of tables an entry and a field a line."""
    for name, text in SYSTEMS[system](policy, policy.switches[0]).items():
        if name.endswith(".json"):
            for table, entries in json.loads(text).items():
                for entry, values in entries.items():
                    yield from (f"{table} {entry} {key} = {value}" for key, value in values.items())
        else:
            lines = map(str.strip, text.splitlines())
            yield from (line for line in lines if not line.startswith(("#", "!")))
