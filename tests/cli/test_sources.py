"""Every row, file, test and command that the statements of sources cite exists."""

import json
import re
import shlex
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from etherweave.cli.manual import commands
from etherweave.study import load_study
from support.command_line import invoke

ROOT = Path(__file__).parents[2]
STUDIES = [path.parent.name for path in sorted(ROOT.glob("studies/*/statements.csv"))]
"""Studies whose sources have been gone through, statement by statement."""


def statements(study: str, mark: str = "") -> list[dict[str, str]]:
    rows = load_study(study).statements()
    return [row for row in rows if mark in ("", row["mark"])]


def cited(row: dict[str, str]) -> list[str]:
    """Quotations of what shows a statement."""
    return re.findall(r"`([^`]+)`", row["shown_by"])


def wrong(quote: str, ids: list[str]) -> str | None:
    """Why a quote cites nothing; None when it cites what exists."""
    if quote.startswith("row "):
        result = [name for name in ids if fnmatchcase(name, quote.removeprefix("row "))]
        return None if result else f"no {quote}"
    if quote.startswith("etherweave "):
        return wrong_command(shlex.split(quote)[1:])
    if "/" in quote:
        return None if (ROOT / quote).is_file() else f"no file {quote}"
    return None


@cache
def options() -> dict[str, set[str]]:
    """Return the options of each verb."""
    return {
        verb.removeprefix("etherweave").strip(): {
            name for parameter in command.params for name in parameter.opts
        }
        for verb, command in commands()
    }


def wrong_command(words: list[str]) -> str | None:
    names = [" ".join(words[:count]) for count in (3, 2, 1)]
    verb = next((name for name in names if name in options()), None)
    words = words[: words.index("--")] if "--" in words else words
    if verb is None:
        return f"no verb {words[0]}"
    unknown = [word for word in words if word.startswith("-") and word not in options()[verb]]
    if unknown:
        return f"no option {unknown[0]} of {verb}"
    files = [word for word in words if word.endswith(".toml")]
    missing = [file for file in files if not list(ROOT.glob(file))]
    return f"no file {missing[0]}" if missing else None


@pytest.mark.parametrize("study", STUDIES)
def test_what_a_source_is_shown_by_exists(study: str) -> None:
    rows = statements(study)
    ids = [row["id"] for row in load_study(study).expected()]
    quotes = [quote for row in rows for quote in cited(row)]
    assert len(quotes) > len(rows) / 2
    assert [why for quote in quotes if (why := wrong(quote, ids))] == []
    assert [row["number"] for row in rows] == [str(count) for count in range(1, len(rows) + 1)]
    assert {row["mark"] for row in rows} <= set("WPDAN")


def test_every_study_is_listed_with_its_number_of_statements() -> None:
    overview = (ROOT / "docs/models/sources/README.md").read_text(encoding="utf-8")
    listed = re.findall(r"studies/(\S+)/statements\.csv\).* \| (\d+) \|$", overview, flags=re.M)
    assert listed == [(study, str(len(statements(study)))) for study, _ in listed]
    assert sorted(study for study, _ in listed) == STUDIES


@pytest.mark.parametrize("study", STUDIES)
def test_a_statement_that_works_is_shown_by_something(study: str) -> None:
    for row in statements(study, "W"):
        assert cited(row), row


def failing(study: str) -> dict[str, str]:
    """Rows whose recorded figure is outside its bounds, each with what was tried."""
    folder = ROOT / "studies" / study
    computed = json.loads((folder / "record.json").read_text(encoding="utf-8"))["computed"]
    rows = {
        row["id"]: row
        for row in load_study(study).expected()
        if computed.get(row["id"]) is not None
    }
    return {
        name: row["tried"]
        for name, row in rows.items()
        if not float(row["low"] or "-inf") <= computed[name] <= float(row["high"] or "inf")
    }


@pytest.mark.parametrize("study", STUDIES)
def test_a_statement_works_only_where_its_rows_pass(study: str) -> None:
    ids = failing(study)
    for row in statements(study, "W"):
        for pattern in re.findall(r"`row ([^`]+)`", row["shown_by"]):
            assert not [name for name in ids if fnmatchcase(name, pattern)], row


@pytest.mark.parametrize("study", STUDIES)
def test_a_row_that_fails_says_what_was_tried(study: str) -> None:
    assert [name for name, tried in failing(study).items() if not tried] == []


@pytest.mark.parametrize("study", STUDIES)
def test_no_row_of_an_order_passes_by_equality(study: str) -> None:
    record = json.loads((ROOT / "studies" / study / "record.json").read_text(encoding="utf-8"))
    equal = [
        row["id"]
        for row in load_study(study).expected()
        if row["unit"] == "ratio"
        and record["computed"].get(row["id"]) == 1
        and "1" in {f"{float(bound):g}" for bound in (row["low"], row["high"]) if bound}
    ]
    assert equal == [], "expected a bound beside 1"


QUICK = (
    "bench info",
    "bench list",
    "bench plan",
    "bench telemetry dashboard",
    "control export",
    "control plan scenarios/lab",
    "design scenarios/lab",
    "design studies",
    "reference",
    "run",
    "show",
)
"""Beginnings of commands that need neither minutes nor switches nor root."""


def quick_commands() -> list[str]:
    """Cited commands that take seconds."""
    rows = [row for study in STUDIES for row in statements(study)]
    quotes = dict.fromkeys(quote for row in rows for quote in cited(row))
    starts = tuple(f"etherweave {verb}" for verb in QUICK)
    return [quote for quote in quotes if quote.startswith(starts)]


@pytest.mark.parametrize("quote", quick_commands())
def test_a_cited_command_of_seconds_succeeds(quote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    invoke(*shlex.split(quote)[1:], code=0)


@pytest.mark.parametrize(
    ("quote", "reason"),
    [
        ("row figure_99.*", "no row figure_99.*"),
        ("docs/models/nothing.md", "no file docs/models/nothing.md"),
        ("etherweave fly x.toml", "no verb fly"),
        ("etherweave design --wings 2", "no option --wings of design"),
        ("etherweave run scenarios/nothing.toml", "no file scenarios/nothing.toml"),
    ],
)
def test_what_does_not_exist_is_found(quote: str, reason: str) -> None:
    assert wrong(quote, ["figure_12.uniform.conditional"]) == reason


def test_what_exists_is_accepted() -> None:
    assert wrong("row figure_12.*", ["figure_12.uniform.conditional"]) is None
    assert wrong("etherweave run scenarios/first.toml -s seed=1", []) is None
