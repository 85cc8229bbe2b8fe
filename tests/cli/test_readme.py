"""What README and the guide to runs show is what a user gets."""

import re
from pathlib import Path

import pytest

import etherweave
from support import command_line

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs/guide/run.md").read_text()


def fenced(text: str, language: str) -> str:
    """The first block of a language."""
    return text.split(f"```{language}\n")[1].split("```")[0]


def apart_from_wall_time(text: str) -> str:
    return re.sub(r"in [\d.]+ s \([\d.]+ M/s\)", "in … s (… M/s)", text)


@pytest.mark.parametrize("page", [README, GUIDE], ids=["README", "guide"])
def test_the_scenario_that_is_shown_has_the_output_that_is_shown(page: str, tmp_path: Path) -> None:
    scenario = tmp_path / "incast.toml"
    scenario.write_text(fenced(page, "toml"))
    done = command_line.run("run", scenario)
    assert done.returncode == 0, done.stderr
    assert apart_from_wall_time(done.stdout) == apart_from_wall_time(fenced(page, "text"))


def test_a_command_of_the_guide_has_the_output_that_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    command, shown = fenced(GUIDE, "console").split("\n", 1)
    done = command_line.run_here(*command.removeprefix("$ etherweave ").split())
    assert apart_from_wall_time(done.stdout) == apart_from_wall_time(shown)


def test_the_scenario_of_readme_has_ten_lines() -> None:
    assert len([line for line in fenced(README, "toml").splitlines() if line]) == 10


def named(page: str) -> dict[str, set[str]]:
    """Columns on the page, each with its unit beside it, by the table of its heading."""
    parts = re.split(r"^### (.*)$", page, flags=re.MULTILINE)[1:]
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
    text = GUIDE.split("### `summary.json`")[1].split("\n## ")[0]
    assert set(result.summary) <= set(re.findall(r"`(\w+)`", text))
