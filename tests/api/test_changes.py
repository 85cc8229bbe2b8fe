"""Files of changes become the next section of the changelog."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = ROOT / "changes"
KINDS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]


def test_every_change_is_in_the_next_section() -> None:
    words = ["towncrier", "build", "--draft", "--version", "next"]
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    section = " ".join(done.stdout.split())
    for file in CHANGES.glob("*"):
        assert file.name == "README.md" or " ".join(file.read_text().split()) in section, file.name


@pytest.mark.parametrize("kind", [kind["directory"] for kind in KINDS])
def test_every_kind_of_change_is_explained(kind: str) -> None:
    assert f"| `{kind}` |" in (CHANGES / "README.md").read_text()
