"""Choices of which documents know several: those that a scenario leaves open, and their keys.

A choice is open where a figure of the scenario's interconnect has one of its values, or where the
scenario does not state a key that a site decides.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files as resources
from typing import Any

from etherweave import _core
from etherweave.api.scenario import is_within, literals
from etherweave.api.simulation import Figure, ScenarioError
from etherweave.uncertainty.declared import Declared
from etherweave.uncertainty.distributions import Choice

EVERY = "*"  # Part of a key that stands for each member of a table, or for each of several jobs.


def choices(
    known: Mapping[str, Figure],
    scenario: tuple[str, str],
    changes: Mapping[str, object],
    declared: Declared,
) -> dict[str, dict[str, Choice]]:
    """Find the choices that are open by figures of an interconnect, with the values of their keys.

    ``known`` has the figures that the scenario has from its interconnect, by key; the scenario is
    its text, and what errors call it. Keys of ``changes`` are known.
    """
    open_choices: dict[str, dict[str, Choice]] = {}
    for row in _table():
        figure = known.get(row.get("figure", ""))
        if not figure or figure["profile"] not in row.get("profiles", [figure["profile"]]):
            continue
        keys: Sequence[str] = row.get("keys", [row["figure"]])
        if any(key in known and key != row["figure"] for key in keys):
            continue  # The profile has a figure of its own there.
        if any(changes.get(key) is not None or key in declared.keys for key in keys):
            continue
        columns = _columns(row, keys, scenario, changes)
        if "keys" not in row or _has_row(columns, _resolved(scenario, changes)):
            open_choices[row["name"]] = columns
    return open_choices


def site_choices(
    scenario: tuple[str, str], changes: Mapping[str, object], declared: Declared
) -> dict[str, dict[str, Choice]]:
    """Find the choices of a site that a scenario does not state, as :func:`choices` does."""
    resolved, stated = _resolved(scenario, changes), tomllib.loads(scenario[0])
    taken_out = [key for key, value in changes.items() if value is None]
    others = [*(key for key in changes if key not in taken_out), *declared.keys]
    open_choices: dict[str, dict[str, Choice]] = {}
    for row in _table():
        if "unstated" not in row or not _applies(row, resolved):
            continue
        for key in _keys(resolved, row["unstated"].split(".")):
            is_left = not any(is_within(key, own) for own in taken_out)
            is_stated = is_left and _lookup(stated, key) is not None
            if any(_meet(key, own) for own in others) or is_stated:
                continue
            if _lookup(resolved, key) in row["values"]:
                values = [own for own in row["values"] if _takes(scenario, {**changes, key: own})]
                if len(values) == len(row["values"]):
                    choice = Choice(values, row.get("weights", [1.0] * len(values)))
                    open_choices[f"{row['name']}: {key}"] = {key: choice}
    return open_choices


def _applies(row: Mapping[str, Any], resolved: Mapping[str, Any]) -> bool:
    """Return whether a scenario has all keys of ``with``, and none of ``without``."""
    has = {key: _lookup(resolved, key) is not None for key in (*row["with"], *row["without"])}
    return all(has[key] for key in row["with"]) and not any(has[key] for key in row["without"])


def _keys(table: Any, parts: Sequence[str], before: str = "") -> Iterator[str]:
    if not parts:
        yield before.removesuffix(".")
        return
    first, *rest = parts
    members = _members(table)
    for name in members if first == EVERY else [first] if first in members else []:
        yield from _keys(members[name], rest, f"{before}{name}.")


def _members(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {str(at): element for at, element in enumerate(value)} if isinstance(value, list) else {}


def _meet(key: str, other: str) -> bool:
    """Return whether one of two keys is, or is a part of, the other."""
    return is_within(key, other) or is_within(other, key)


def _takes(scenario: tuple[str, str], changes: Mapping[str, object]) -> bool:
    try:
        _core.resolve(*scenario, literals(changes))
    except ScenarioError:
        return False
    return True


def _columns(
    row: Mapping[str, Any],
    keys: Sequence[str],
    scenario: tuple[str, str],
    changes: Mapping[str, object],
) -> dict[str, Choice]:
    """List the values of keys, which the values of the choice itself decide where it has keys."""
    weights = row.get("weights", [1.0] * len(row["values"]))
    if "keys" not in row:
        return {key: Choice(row["values"], weights) for key in keys}
    tables = [_resolved(scenario, {**changes, row["figure"]: value}) for value in row["values"]]
    return {key: Choice([_lookup(table, key) for table in tables], weights) for key in keys}


def _has_row(columns: Mapping[str, Choice], resolved: Mapping[str, Any]) -> bool:
    """Return whether a scenario has the values of a row of columns as it stands."""
    values = tuple(_lookup(resolved, key) for key in columns)
    return values in zip(*(choice.values for choice in columns.values()), strict=True)


@cache
def _table() -> Sequence[Mapping[str, Any]]:
    text = resources("etherweave.uncertainty").joinpath("choices.toml").read_text("utf-8")
    rows: Sequence[Mapping[str, Any]] = tomllib.loads(text)["choice"]
    return [{"with": [], "without": [], **row} for row in rows]


def _resolved(scenario: tuple[str, str], changes: Mapping[str, object]) -> Mapping[str, Any]:
    return tomllib.loads(_core.resolve(*scenario, literals(changes)))


def _lookup(table: Any, key: str) -> Any:
    """Return the value of a dotted key, in which jobs have numbers; None without one."""
    value = table
    for part in key.split("."):
        value = _members(value).get(part)
    return value
