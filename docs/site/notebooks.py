"""Notebooks as pages: executed, with what their cells print and draw.

A notebook is kept with the text that its cells print, and without figures, which are drawn again
whenever it is executed.
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError as CellExecutionError

Notebook: TypeAlias = Any
"""Notebook of nbformat, which has no type for its parts."""
FOLDER = Path(__file__).parents[1] / "notebooks"
TIMEOUT_S = 300
"""Limit of one cell [s]."""


def paths() -> list[Path]:
    """List the notebooks of the documents."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    """Read a notebook as it is kept."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def execute(path: Path, home: Path) -> Notebook:
    """Carry out the cells of a notebook in a directory; gives it with what they print and draw."""
    notebook = copy.deepcopy(read(path))
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        kernel_name="python3",
        extra_arguments=["--log-level=40"],  # Errors only: its ports are of the loopback interface.
        resources={"metadata": {"path": str(home)}},
    )
    return client.execute()


def bare(notebook: Notebook) -> str:
    """Write a notebook as it is kept: numbered cells, texts that they print, no figures."""
    kept = copy.deepcopy(notebook)
    for cell in kept.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = {"text/plain": output.data["text/plain"]}
                output.metadata = {}
    kept.metadata = {"kernelspec": dict(notebook.metadata.kernelspec)}
    text: str = nbformat.writes(kept)  # type: ignore[no-untyped-call]
    return text + "\n"


def page(notebook: Notebook, name: str) -> tuple[str, dict[str, str]]:
    """Write a notebook as Markdown, with its figures as SVG by their names."""
    figures: dict[str, str] = {}
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts += [_block(cell.source, "python"), *_outputs(cell, name, figures)]
    # After the title, which is the first line of the first cell.
    title, _, rest = parts[0].partition("\n")
    download = f"[Download this notebook]({name}.ipynb){{ download }}"
    return "\n\n".join([title, download, rest, *parts[1:]]) + "\n", figures


def _outputs(cell: Notebook, name: str, figures: dict[str, str]) -> Iterator[str]:
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            file = f"{name}-{len(figures) + 1}.svg"
            figures[file] = data["image/svg+xml"]
            yield f"![Figure of the cell above]({file})"
        else:
            yield _block(output.get("text") or data["text/plain"], "text")


def _block(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
