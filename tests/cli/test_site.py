"""The site of the documents has every command, key and function, and needs no network."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import etherweave
from etherweave.cli import manual

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def build(out: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    """Build the site, but for figures of notebooks; broken links are mistakes."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*words, "--config-file", config, "--site-dir", out],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "ETHERWEAVE_QUICK_SITE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = build(out)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    return out


def test_a_broken_link_is_reported(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("[a](b.md)\n")
    config = tmp_path / "mkdocs.yml"
    text = (ROOT / "mkdocs.yml").read_text()
    kept = text[text.index("validation:") : text.index("hooks:")]
    config.write_text(f"site_name: x\nstrict: true\n{kept}")
    done = build(tmp_path / "site", config)
    assert done.returncode == 1
    assert "'b.md', but the target is not found" in done.stderr


def test_the_reference_has_every_command_key_and_function(site: Path) -> None:
    pages = {name: (site / f"reference/{name}.html").read_text() for name in ("commands", "python")}
    assert not [
        page.name for page in manual.pages() if f'id="{page.name}"' not in pages["commands"]
    ]
    names = [name for name in etherweave.__all__ if name != "__version__"]
    assert not [name for name in names if f'id="etherweave.{name}"' not in pages["python"]]


def test_the_reference_has_every_key_of_a_scenario_with_its_unit_and_default(site: Path) -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", (site / "reference/scenario.html").read_text(), re.DOTALL)
    plain = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]
    document = json.loads(etherweave.schema())
    tables = [document, *document["$defs"].values()]
    keys = {key for table in tables for key in table.get("properties", ())}
    assert not {key for key in keys if not any(row.startswith(key) for row in plain)}
    assert any(row.startswith('buffer size "16MiB" Whole packet memory') for row in plain)


def test_steps_between_blocks_of_code_go_on_with_their_numbers(site: Path) -> None:
    lists = re.findall(r"<ol(?: start=\"([0-9]+)\")?>", (site / "guide/operator.html").read_text())
    assert lists == ["", *map(str, range(2, 9))]


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|iframe)[^>]* src=\"?http|<link[^>]*stylesheet[^>]*http")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    assert not [page for page in pages if loaded.search(page.read_text())]


@pytest.mark.needs("chromium")
def test_search_finds_a_word_in_pages_that_are_opened_from_disk(site: Path, tmp_path: Path) -> None:
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    options = [f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000"]
    shown = subprocess.check_output(
        [*words, *options, f"file://{site}/index.html?q=headroom"],
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert "matching documents" in shown
    assert "models/flow-control.html" in shown
