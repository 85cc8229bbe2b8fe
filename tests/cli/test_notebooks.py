"""Notebooks of the documents run, and print what they show."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from support.documents import ROOT

sys.path.insert(0, str(ROOT / "docs/site"))

import notebooks

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", notebooks.paths(), ids=lambda path: path.stem)
def test_a_notebook_shows_what_cells_print_and_draws_figures(path: Path, tmp_path: Path) -> None:
    carried_out = notebooks.execute(path, tmp_path)
    now = notebooks.bare(carried_out)
    if os.environ.get("ETHERWEAVE_BLESS"):
        path.write_text(now)
    assert now == path.read_text()
    page, figures = notebooks.page(carried_out, path.stem)
    assert re.findall(r"]\((.*\.svg)\)", page) == list(figures)
    assert len(figures) == sum(cell.source.count("etherweave.plot(") for cell in carried_out.cells)


def test_a_cell_that_fails_is_reported(tmp_path: Path) -> None:
    notebook = json.loads(notebooks.paths()[0].read_text())
    notebook["cells"][1]["source"] = "1 / 0"
    path = tmp_path / "wrong.ipynb"
    path.write_text(json.dumps(notebook))
    with pytest.raises(notebooks.CellExecutionError, match="ZeroDivisionError"):
        notebooks.execute(path, tmp_path)
