"""Every row, file, test and command that the page of sources cites exists."""

import re
import shlex
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from etherweave.cli.manual import commands
from etherweave.study import load_study

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/models/sources.md"
STUDIES = {"Benito, Vallejo and Beivide 2015": ("exascale-2017", 105)}
"""The study and the number of statements of each source, by its heading."""


def chapters() -> dict[str, str]:
    """Texts of the sources, by heading."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def cited(text: str) -> list[str]:
    """Quotations of the last column of the tables."""
    cells = [line.rstrip(" |").rpartition("|")[2] for line in text.splitlines() if "|" in line]
    return [quote for cell in cells for quote in re.findall(r"`([^`]+)`", cell)]


def wrong(quote: str, ids: list[str]) -> str | None:
    """Why a quote cites nothing; None when it cites what exists."""
    if quote.startswith("row "):
        found = [name for name in ids if fnmatchcase(name, quote.removeprefix("row "))]
        return None if found else f"no {quote}"
    if quote.startswith("etherweave "):
        return wrong_command(shlex.split(quote)[1:])
    if "/" in quote:
        return None if (ROOT / quote).is_file() else f"no file {quote}"
    return None


def wrong_command(words: list[str]) -> str | None:
    verbs = {verb.removeprefix("etherweave").strip(): command for verb, command in commands()}
    names = [" ".join(words[:count]) for count in (3, 2, 1)]
    verb = next((name for name in names if name in verbs), None)
    if verb is None:
        return f"no verb {words[0]}"
    known = {name for parameter in verbs[verb].params for name in parameter.opts}
    if unknown := [word for word in words if word.startswith("-") and word not in known]:
        return f"no option {unknown[0]} of {verb}"
    files = [word for word in words if word.endswith(".toml")]
    missing = [file for file in files if not list(ROOT.glob(file))]
    return f"no file {missing[0]}" if missing else None


@pytest.mark.parametrize(("heading", "study", "count"), [(h, *s) for h, s in STUDIES.items()])
def test_what_a_source_is_shown_by_exists(heading: str, study: str, count: int) -> None:
    text = chapters()[heading]
    ids = [row["id"] for row in load_study(study).expected()]
    quotes = cited(text)
    assert len(quotes) > count / 2
    assert [why for quote in quotes if (why := wrong(quote, ids))] == []
    statements = re.findall(r"^\| (\d+) \| [^|]+ \| ([WPDA]) \|", text, flags=re.M)
    assert sorted(int(number) for number, _ in statements) == list(range(1, count + 1))


def test_a_statement_that_works_is_shown_by_something() -> None:
    for text in chapters().values():
        for line in re.findall(r"^\| \d+ \|.*\| W \|.*$", text, flags=re.M):
            assert cited(line), line


def small_commands() -> list[str]:
    """Cited commands on small fabrics that need neither switches nor root."""
    verbs = ("design scenarios/lab", "design studies", "control plan scenarios/lab", "run", "show")
    quotes = dict.fromkeys(quote for text in chapters().values() for quote in cited(text))
    starts = tuple(f"etherweave {verb}" for verb in verbs)
    return [quote for quote in quotes if quote.startswith(starts)]


@pytest.mark.parametrize("quote", small_commands())
def test_a_cited_command_on_a_small_fabric_runs(quote: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(quote)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


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
