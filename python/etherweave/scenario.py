"""Scenarios on their way to the core.

A scenario is a file, or a dictionary of the same shape; overrides are dotted keys with values,
applied before the scenario is checked.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from etherweave import _core, toml

Scenario: TypeAlias = str | Path | Mapping[str, object]
Overrides: TypeAlias = Mapping[str, object]


def read(scenario: Scenario) -> tuple[str, str]:
    """Give a scenario's text, and what errors call it.

    Raises
    ------
    ScenarioError
        When a file is no text.
    OSError
        When it cannot be read.
    """
    if isinstance(scenario, Mapping):
        return toml.document(scenario), "<scenario>"
    try:
        return Path(scenario).read_text(encoding="utf-8"), str(scenario)
    except UnicodeDecodeError as error:
        mistake = f"{scenario}: byte {error.start}: expected UTF-8 text"
        raise _core.ScenarioError(mistake) from None


def literals(overrides: Overrides | None) -> list[tuple[str, str]]:
    """Write the values of overrides as TOML."""
    return [(key, _literal(value)) for key, value in (overrides or {}).items()]


def _literal(value: object) -> str:
    return value.text if isinstance(value, Literal) else toml.literal(value)


class Literal:
    """An override whose value is TOML text already, as the command line has it.

    Parameters
    ----------
    text
        What stands right of the equals sign.
    """

    def __init__(self, text: str) -> None:
        self.text = text
