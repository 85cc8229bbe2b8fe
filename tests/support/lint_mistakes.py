"""Mistakes in configurations, and what the linter must find: ``tests/data/lint_mistakes.csv``.

A row changes a leaf of :data:`~support.linted.SCENARIO`, whose scenario is known, or a switch alone
(``scenario`` is none), or is refused by YANG models (``model``). Changes of SONiC's tables are
steps with ``;`` between them: ``A > b > c = value``, where the value may be another entry of the
table A, and ``- A > b``, which removes; ``*`` stands for every key. Those of a host and of a leaf's
commands are texts and their replacements, ``old => new ;; old => new``; those of a switch alone are
lines behind its commands.
"""

import csv
import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache, reduce
from pathlib import Path
from typing import Any, NamedTuple

from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from support.linted import MARKED, WHOLE, Tables

FILES = {"onyx": "onyx.cfg", "eos": "eos.cfg", "cumulus": "nvue.sh"}
"""File of a switch of each system with commands."""
ALONE: dict[str, object] = {
    "topology": {"single_switch": {"hosts": 4}},
    "switch": {"ecn": MARKED},
    "flow_control": {"pfc": {"priorities": [3]}},
    "transport": {"roce": {"dcqcn": {}}},
}


@cache
def exported(system: str) -> str:
    """Return the configuration of a switch with four ports, priority 3 lossless."""
    options = WHOLE if system == "sonic" else ExportOptions(system=system)
    file = FILES.get(system, "config_db.json")
    return files(policy(ALONE, options=options), system)[f"switch0/{file}"]


class Mistake(NamedTuple):
    system: str
    scenario: str
    mistake: str
    rule: str
    place: str
    text: str
    expected: str
    change: str

    @property
    def lines(self) -> str:
        return self.change.replace("\\n", "\n")

    def replaced(self, text: str, count: int = -1) -> str:
        for pair in self.lines.split(" ;; "):
            old, new = pair.split(" => ")
            assert old in text
            text = text.replace(old, new, count)
        return text

    def spoil(self, tables: Tables) -> None:
        for step in self.change.split("; "):
            place, is_set, value = step.removeprefix("- ").partition(" = ")
            table, *path, last = place.split(" > ")
            for entry in _entries(tables.setdefault(table, {}), path):
                if is_set:
                    entry[last] = _value(tables, value)
                else:
                    entry.pop(last, None)


def _entries(table: Any, path: list[str]) -> Iterator[Any]:
    if path == ["*"]:
        yield from table.values()
    else:
        yield reduce(lambda entry, key: entry.setdefault(key, {}), path, table)


def _value(tables: Tables, text: str) -> object:
    table, is_entry, key = text.partition(" > ")
    if is_entry:
        return deepcopy(tables[table][key])
    return json.loads(text) if text in ("false", "{}") else text


def _rows() -> Iterator[Mistake]:
    file = Path(__file__).parents[1] / "data" / "lint_mistakes.csv"
    with file.open(newline="") as lines:
        rows = csv.reader(line for line in lines if not line.startswith("#"))
        assert tuple(next(rows)) == Mistake._fields
        yield from (Mistake(*row) for row in rows)


MISTAKES = tuple(_rows())


def mistakes(*systems: str, scenario: str = "known") -> list[Mistake]:
    """Return the mistakes in files of these systems."""
    return [row for row in MISTAKES if row.system in systems and row.scenario == scenario]
