"""Scenarios as the core reads them: text and overrides.

A scenario is a file, its text, or a dictionary of the same shape; overrides are dotted keys with
values, applied before the scenario is checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from etherweave.api import toml
from etherweave.api.flow_lists import insert_lists
from etherweave.api.inputs import InputError, read_text


@dataclass(frozen=True)
class ScenarioText:
    """A scenario whose text is not, or not yet, in its file, such as that of an editor."""

    text: str  # TOML.
    origin: str = "<scenario>"
    """Path of the file, which errors name, and from whose directory the scenario names others."""


ScenarioSource: TypeAlias = str | Path | ScenarioText | Mapping[str, object]
Overrides: TypeAlias = Mapping[str, object]

TRACES = (".goal", ".bin", ".et", ".ewr", ".otf2")
"""How names of files end that are traces, or parts of recordings."""


def read(scenario: ScenarioSource) -> tuple[str, str]:
    """Return a scenario's text, with the rows of tables that it names, and its name in errors.

    Raises ``OSError`` when a file cannot be read: :class:`etherweave.api.inputs.InputError` when it
    is no text, or a trace.
    """
    if isinstance(scenario, ScenarioText):
        return insert_lists(scenario.text, scenario.origin), scenario.origin
    if isinstance(scenario, Mapping):
        return insert_lists(toml.document(scenario), "<scenario>"), "<scenario>"
    if Path(scenario).suffix in TRACES and Path(scenario).is_file():
        reason = "a trace; expected a scenario, on which `etherweave replay` simulates the trace"
        raise InputError(scenario, reason)
    return insert_lists(file_text(scenario), str(scenario)), str(scenario)


def file_text(path: str | Path) -> str:
    """Read the text of a scenario's file; an empty one is a mistake, not a scenario of defaults."""
    text = read_text(path)
    if not text.strip():
        raise InputError(path, "empty; expected keys of a scenario, which `etherweave schema` has")
    return text


def literals(overrides: Overrides | None) -> list[tuple[str, str]]:
    """Write the values of overrides as TOML; nothing for None, which takes the key out."""
    return [
        (key, "" if value is None else _literal(value)) for key, value in (overrides or {}).items()
    ]


def stated_by(table: Mapping[str, object], changes: Overrides) -> dict[str, object]:
    """Return what a scenario with changes states, by dotted keys: not what a None takes out.

    Examples
    --------
    >>> stated_by({"nic": {"mtu": 1, "latency": "1us"}, "seed": 2}, {"nic": None, "seed": 3})
    {'seed': 3}
    """
    values = dotted(table)
    for change, value in changes.items():
        values = {key: own for key, own in values.items() if not is_within(key, change)}
        if value is not None:
            values[change] = value
    return values


def is_within(key: str, table: str) -> bool:
    """Return whether a dotted key is a table's, or a key within it.

    Examples
    --------
    >>> is_within("nic.mtu", "nic"), is_within("nic", "nic"), is_within("nics", "nic")
    (True, True, False)
    """
    return f"{key}.".startswith(f"{table}.")


def dotted(table: Mapping[str, object], before: str = "") -> dict[str, object]:
    """Name the values of nested tables by dotted keys, as overrides have them.

    Examples
    --------
    >>> dotted({"switch": {"latency": "1us"}, "flow_control": {"pfc": {}}})
    {'switch.latency': '1us', 'flow_control.pfc': {}}
    """
    values: dict[str, object] = {}
    for key, value in table.items():
        is_table = isinstance(value, Mapping) and value
        values |= dotted(value, f"{before}{key}.") if is_table else {f"{before}{key}": value}  # type: ignore[arg-type]
    return values


def _literal(value: object) -> str:
    return value.text if isinstance(value, Literal) else toml.literal(value)


class Literal:
    """An override whose value is TOML text already, as it stands right of the equals sign."""

    def __init__(self, text: str) -> None:
        self.text = text
