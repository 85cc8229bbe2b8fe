"""Lines of each system that configure one setting, side by side for one scenario.

The lines are those that :mod:`~etherweave.control.qos.nos` writes for the first switch, of which
the first that matches stands for all ports.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from etherweave.control.qos.nos import SYSTEMS
from etherweave.control.qos.policy import Policy, WatchdogError

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "PFC of the lossless priority": {
        "sonic": r"PORT_QOS_MAP \S+ pfc_enable",
        "onyx": r"dcb priority-flow-control priority",
        "cumulus": r"qos pfc \S+ switch-priority",
        "eos": r"priority-flow-control priority",
    },
    "code points decide": {
        "sonic": r"PORT_QOS_MAP \S+ dscp_to_tc_map",
        "onyx": r"qos trust",
        "cumulus": r"trust",
        "eos": r"qos trust",
    },
    "share of the lossless class": {
        "sonic": r"SCHEDULER scheduler\.{lossless} weight",
        "onyx": r"traffic-class {lossless} dcb ets",
        "cumulus": r"traffic-class {lossless} bw-percent",
        "eos": r"bandwidth guaranteed",
    },
    "congestion notifications first": {
        "sonic": r"SCHEDULER scheduler\.\d type = STRICT",
        "onyx": r"dcb ets strict",
        "cumulus": r"mode strict",
        "eos": r"priority strict",
    },
    "ECN": {
        "sonic": r"WRED_PROFILE \S+ green_min_threshold",
        "onyx": r"congestion-control ecn",
        "cumulus": r"min-threshold",
        "eos": r"random-detect ecn",
    },
    "headroom": {
        "sonic": r"BUFFER_PROFILE pg_lossless\S+ xoff",
        "onyx": r"type lossless reserved",
        "cumulus": r"cable-length",
        "eos": "",
    },
    "watchdog": {
        "sonic": r"PFC_WD Eth\S+ detection_time",
        "onyx": r"pfc-wd",
        "cumulus": r"pfc-watchdog robustness",
        "eos": r"watchdog default timeout",
    },
    "MTU": {"sonic": "", "onyx": r" mtu ", "cumulus": r"link mtu", "eos": r"mtu "},
    "port channel": {
        "sonic": "",
        "onyx": r"channel-group",
        "cumulus": r"bond member",
        "eos": r"channel-group",
    },
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
