"""README is short, and a page names all that a result has."""

import re
from pathlib import Path

import pytest

import etherweave

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


def named(page: str) -> dict[str, set[str]]:
    """Columns on the page, each with its unit beside it, by the table of its heading."""
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)[1:]
    rows = r"^\|(?: `\w+`)? ?\|? ?(`[^|]*`) \|[^|]*\|[^|]+\|$"
    return {
        heading: set(re.findall(r"`(\w+)`", " ".join(re.findall(rows, body, re.MULTILINE))))
        for heading, body in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.parametrize("name", ["incast_observed", "failing_link"])
def test_every_column_of_a_result_is_on_the_page(name: str) -> None:
    result = etherweave.run(ROOT / f"scenarios/{name}.toml", {"run.end": "50us"})
    page = named(GUIDE)
    for name in result.tables:
        assert set(result.columns(name)) == page[f"`{name}`"]


def test_every_column_of_an_observation_is_on_the_page() -> None:
    scenario = {
        "topology": {"dragonfly": {}},
        "open_loop": {"loads": [0.1], "warm_up": "1us", "measured": "20us"},
    }
    observation = etherweave.observe(scenario)
    page = named(GUIDE)
    assert set(observation.points.column_names) == page["`points`"]
    others = page["`patterns`, `channels`, `steps`, `series`"]
    for name in ("patterns", "channels", "steps", "series"):
        assert set(getattr(observation, name).column_names) <= others


def test_every_key_of_a_summary_is_on_the_page() -> None:
    result = etherweave.run(ROOT / "scenarios/first.toml")
    text = GUIDE.split("## `summary.json`")[1].split("\n## ")[0]
    assert set(result.summary) <= set(re.findall(r"`(\w+)`", text))
