"""Parts of a page: sections, each a figure, tables or both, with words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import polars as pl
from matplotlib.figure import Figure

Source = TypeVar("Source")


FOLDED_FROM = 40  # Rows of a list from which on it is shown on demand only.


@dataclass(frozen=True)
class Table:
    """A table."""

    head: Sequence[str]  # Names of the columns, with units.
    rows: Sequence[Sequence[str]]
    """Text of the cells. ``pass`` and ``FAIL`` are coloured, numbers stand on the right."""
    caption: str = ""  # How to read it.
    is_folded: bool = False  # Whether it is shown on demand only.


@dataclass(frozen=True)
class Section:
    """Something to show, and its words."""

    name: str  # Name of its files, and of its place in the page.
    title: str  # Subject of the section.
    caption: str = ""  # How to read it.
    figure: Figure | None = None  # Figure as drawn.
    tables: Sequence[Table] = ()  # Tables below the figure.
    checks: Sequence[str] = ()
    """Ids of the checks of a study that it illustrates; a ``*`` stands for anything."""
    has_time: bool = False
    """Whether all panels of the figure share an axis of time, along which a slider moves."""
    data: pl.DataFrame | None = None
    """Table that the figure is drawn from; such a figure is written as PDF too, its data as CSV."""


Builder: TypeAlias = Callable[[Source], Section | None]
"""Makes a section of a source; None when the source has nothing of its kind."""
