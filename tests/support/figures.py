"""Pages whose figures take less time, for tests that read the text of a page."""

import io
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from matplotlib.figure import Figure

from etherweave.report.page import Page


@contextmanager
def quick() -> Iterator[None]:
    """Draw each figure once, as SVG and without a layout; other tests write whole pages."""

    def save(page: Page, name: str, figure: Figure) -> bytes:
        figure.set_layout_engine("none")
        text = io.BytesIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        (page.directory / f"{name}.svg").write_bytes(text.getvalue())
        return text.getvalue()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Page, "_save", save)
        yield


@contextmanager
def undrawn() -> Iterator[None]:
    """Make figures, and leave them empty in the page; what else draws them finds no layout."""

    def save(page: Page, name: str, figure: Figure) -> bytes:
        figure.set_layout_engine("none")
        return b"<svg/>"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Page, "_save", save)
        yield
