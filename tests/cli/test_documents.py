"""Blocks of README, guides, tutorials and models run, and print what the pages show."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from support import documents, figures

ROOT = documents.ROOT
NEEDS = {"verify": ("ovs",), "lab": ("namespaces", "ovs", "ping", "iperf3")}
"""Needs of a page's commands."""
DRAWN = {"researcher"}  # Pages that list the files of figures of a report.
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/guide").glob("*.md")),
    *sorted((ROOT / "docs/tutorials").iterdir()),
    *sorted(
        page for page in (ROOT / "docs/models").rglob("*.md") if "```console" in page.read_text()
    ),
]


@pytest.mark.slow
@pytest.mark.usefixtures("workers_of_this_process")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=pytest.mark.needs(*NEEDS.get(page.stem, ())))
        for page in PAGES
    ],
)
def test_a_page_shows_what_its_blocks_print(page: Path, tmp_path: Path) -> None:
    with nullcontext() if page.stem in DRAWN else figures.undrawn():
        now = documents.carry_out(page, tmp_path)
    if os.environ.get("ETHERWEAVE_BLESS"):
        page.write_text(now)
        for kept, drawn in documents.pictures(page, tmp_path):
            kept.write_bytes(drawn.read_bytes())
    assert now == page.read_text()
    for kept, drawn in documents.pictures(page, tmp_path):
        assert drawn.read_text() == kept.read_text(), f"{kept.name} is drawn otherwise"


def test_outputs_of_runs_stand_below_their_commands() -> None:
    """A block of another language is only shown, so that its figures would grow old."""
    blocks = [
        (page, block["text"])
        for page in (ROOT / "docs").rglob("*.md")
        for block in documents.BLOCK.finditer(page.read_text())
        if block["language"] != "console"
    ]
    marks = ("$ etherweave", "packets dropped\n")
    assert [page for page, text in blocks if any(mark in text for mark in marks)] == []


@pytest.mark.parametrize("shown", ["a\nb\n", "…\nb\n", "a\n…\n", "a…\nb\n"])
def test_output_that_is_right_but_for_dots_stays(shown: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ echo a; echo b\n{shown}```\n")
    assert documents.carry_out(page, tmp_path) == page.read_text()


@pytest.mark.parametrize("shown", ["a\n", "b\n", "", "b…\nb\n"])
def test_output_that_is_wrong_is_replaced(shown: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ echo a; echo b\n{shown}```\n")
    assert documents.carry_out(page, tmp_path) == "```console\n$ echo a; echo b\na\nb\n```\n"


def test_files_and_python_of_a_page_are_carried_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```toml title="a.toml"\nseed = 2\n```\n```\nexit 1\n```\n'
        "```python\nfrom pathlib import Path\n```\n"
        "```python\n>>> Path('a.toml').read_text()\n'seed = 2\\n'\n```\n"
    )
    assert documents.carry_out(page, tmp_path) == page.read_text()


def test_an_example_in_python_that_is_wrong_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="Expected:"):
        documents.execute(">>> 1 + 1\n3\n", {}, tmp_path)
