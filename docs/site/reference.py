"""The pages of the reference, from the code: commands, keys of a scenario, the Python package."""

import sys
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import keys

import etherweave
from etherweave.api.columns import described_columns
from etherweave.cli import manual
from etherweave.study import load_study
from etherweave.study.declared import read_declaration

STUDIES = Path(__file__).parents[2] / "studies"

_STATEMENT = "| {number} | {statement} | {mark} | {shown_by} |"
_EXTENDED = ("CongestionControl", "LoadBalancing", "PortChoice", "Driver", "FlowArrivals")
"""Classes that callers extend."""


def pages() -> dict[str, str]:
    """Give the text of every page by its place on the site."""
    return {
        "reference/commands.md": _commands(),
        "reference/scenario.md": keys.page(etherweave.schema()),
        "reference/columns.md": _columns(),
        "reference/studies.md": _studies(),
        "reference/python.md": _python(),
    } | {
        f"models/sources/{path.parent.name}.md": _statements(path.parent.name)
        for path in sorted(STUDIES.glob("*/statements.csv"))
    }


def _commands() -> str:
    head = "# Commands\n\nEvery command prints this help with `--help`.\n"
    return "\n".join([head, *map(manual.markdown, manual.pages())])


def _columns() -> str:
    """Write a section for each table of a result."""
    parts = ["# Columns\n\nColumns of the [tables of a result](../guide/results.md)."]
    for table, rows in groupby(described_columns(), key=lambda row: row.table):
        cells = [
            f"| `{row.columns.replace(', ', '`, `')}` | {row.unit} | {row.meaning} |"
            for row in rows
        ]
        parts.append(
            "\n".join([f"## `{table}`\n\n| Column | Unit | Meaning |\n|---|---|---|", *cells])
        )
    return "\n\n".join(parts) + "\n"


def _studies() -> str:
    """Write what the experiments and rows of each study are."""
    parts = ["# What studies run\n\n`etherweave study NAME --about` prints a section of this page."]
    for path in sorted(STUDIES.glob("*/study.toml")):
        declared = read_declaration(path)
        parts.append(f"## {path.parent.name}\n\n*{declared.title}*\n\n{declared.about.strip()}")
    return "\n\n".join(parts) + "\n"


def _statements(name: str) -> str:
    """Write the statements of a study's source, a section of it after the other."""
    study = load_study(name)
    head = f"{study.declared.authors}, *{study.declared.title}*, {study.declared.venue}."
    parts = [f"# {name}\n\n{head}\nThe marks are those of [the overview](README.md)."]
    for section, rows in groupby(study.statements(), key=lambda row: row["section"]):
        lines = [
            f"## {section}\n",
            "| # | the source says | mark | shown by |",
            "|---|---|---|---|",
        ]
        parts.append("\n".join([*lines, *map(_STATEMENT.format_map, rows)]))
    return "\n\n".join(parts) + "\n"


def _python() -> str:
    """Let mkdocstrings write what the package exports: functions first, then their values."""
    names = sorted(etherweave.__all__, key=lambda name: (name != "run", name[0].isupper()))
    parts = [f"# Python\n\n{(etherweave.__doc__ or '').partition(chr(10))[0]}"]
    parts += [f"::: etherweave.{name}" for name in names if name != "__version__"]
    parts += [f"::: etherweave.extend.{name}" for name in _EXTENDED]
    return "\n\n".join(parts) + "\n"
