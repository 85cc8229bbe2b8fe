"""Commands of operating systems of switches: how a file of them is recognised and read.

A dialect is a module with its system and a reader, and its entry in ``DIALECTS`` of
:mod:`~etherweave.control.lint.inputs`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from etherweave.control.lint.port_settings import SwitchSettings
from etherweave.control.lint.systems import System

BEGIN = r"^(?:\S*(?: \[[^\]\n]*\])* ?\(config[^)\n]*\) ?# ?)?[ \t]*"
"""The beginning of a line, with the prompt of a session or without it."""
HOSTNAME = re.compile(r"(?<=^hostname )\S+$", re.MULTILINE)
"""The name of a switch, as most systems have it."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A form of commands."""

    system: System  # The system that takes them.
    read: Callable[[str], SwitchSettings]  # Read them; what is not known is counted.
    sign: re.Pattern[str]  # Lines that only files of this form have.
    hostname: re.Pattern[str] = HOSTNAME  # The name of the switch.
