"""Texts of configurations as people keep them, and systems whose configurations are not read."""

import re

_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_SHELL = re.compile(
    r"^\[?[\w.-]+@[\w.-]+[^\n#$]{0,80}[#$] ?(?=(?:sudo )?(?:nv (?:set|unset)|mlnx_qos -i \S+ -"
    r"|dcb \w+ (?:set|add|replace)|lldptool -T|ethtool -A|cma_roce_tos) )",
    re.MULTILINE,
)
"""The prompt of a shell before a command that configures."""
_SYSTEMS = {
    "Dell OS10": r"^(?:! Version 10\.| *trust-map (?:dscp|dot1p) |trust (?:dscp|dot1p)-map )",
    "Cisco NX-OS": (
        r"^(?: *priority-flow-control mode |(?:class|policy)-map type network-qos |system qos$)"
    ),
    "Junos": (
        r"^(?:set (?:system|interfaces|class-of-service|chassis) "
        r"|(?:system|interfaces|class-of-service|chassis) \{)"
    ),
    "Comware or VRP": (
        r"^ *(?:sysname \S|priority-flow-control no-drop dot1p|dcb pfc (?:enable|\w+-profile))"
    ),
    "FRR": r"^frr (?:version|defaults) ",
}
_SIGNS = {system: re.compile(sign, re.MULTILINE) for system, sign in _SYSTEMS.items()}


def plain(text: str) -> str:
    """Take off the mark of the byte order, colours of a terminal and prompts of a shell."""
    bare = _COLOUR.sub("", text.removeprefix("\ufeff"))
    return _SHELL.sub("", bare) if "@" in bare else bare


def system_of(text: str) -> str:
    """Return the system that a configuration is for, if it is one that is not read."""
    return next((system for system, sign in _SIGNS.items() if sign.search(text)), "")
