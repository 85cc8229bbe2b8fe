"""README is short, and a page names all that a result has."""

import re
from pathlib import Path

import pytest

import etherweave
from etherweave.api.columns import described_columns

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs/guide/results.md").read_text()


def test_the_scenario_of_readme_has_ten_lines() -> None:
    scenario = README.split('```toml title="incast.toml"\n')[1].split("```")[0]
    assert len([line for line in scenario.splitlines() if line]) == 10


def test_readme_is_read_in_a_minute() -> None:
    assert len(README.splitlines()) <= 80


def test_every_model_has_a_line_with_what_it_leaves_out() -> None:
    models = ROOT / "docs/models"
    rows = re.findall(
        r"^\| \[[^]]+\]\((.*\.md)\) \|.+\|.+\|$", (models / "README.md").read_text(), re.M
    )
    assert sorted(rows) == sorted(
        file.relative_to(models).as_posix()
        for file in models.rglob("*.md")
        if (file.parent == models) != (file.name == "README.md")
    )


def named(table: str) -> set[str]:
    """Names of the columns of a table that are described."""
    rows = [row for row in described_columns() if row.table == table]
    return {name for row in rows for name in row.columns.split(", ")}


@pytest.mark.parametrize(
    ("scenario", "change"),
    [
        ("incast_observed", {"run.end": "50us"}),
        ("failing_link", {"run.end": "50us"}),
        ("first", {"run.fast_forward": {}}),
    ],
)
def test_every_column_of_a_result_is_described(scenario: str, change: dict[str, object]) -> None:
    result = etherweave.run(ROOT / f"scenarios/{scenario}.toml", change)
    for name in result.tables:
        assert set(result.columns(name)) == named(name)
        assert f"| `{name}` |" in GUIDE


def test_every_column_of_an_observation_is_described() -> None:
    scenario = {
        "topology": {"dragonfly": {}},
        "open_loop": {"loads": [0.1], "warm_up": "1us", "measured": "20us"},
    }
    observation = etherweave.observe(scenario)
    assert set(observation.points.column_names) == named("points")
    for name in ("patterns", "channels", "steps", "series"):
        assert set(getattr(observation, name).column_names) == named(name)


def test_every_key_of_a_summary_is_on_the_page() -> None:
    result = etherweave.run(ROOT / "scenarios/first.toml")
    text = GUIDE.split("## `summary.json`")[1].split("\n## ")[0]
    assert set(result.summary) <= set(re.findall(r"`(\w+)`", text))
