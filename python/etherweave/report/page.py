"""The page: figures drawn into it, text escaped, nothing fetched."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import jinja2
import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "etherweave",
        "svg.fonttype": "none",
        "figure.constrained_layout.use": True,
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

from matplotlib.figure import Figure  # noqa: E402 - the backend comes first

COLOURS = {"roce": "#0072b2", "tcp": "#d55e00", "tcp_pfc": "#e69f00", "published": "#444444"}
"""Of the Okabe and Ito palette, which colour-blind readers can tell apart."""

Rows: TypeAlias = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Plot:
    """A figure with its words."""

    name: str
    """File name without ending."""
    title: str
    """What it shows."""
    caption: str
    """How to read it."""
    figure: Figure
    """As drawn."""


@dataclass(frozen=True)
class Sheet:
    """A table with its words."""

    title: str
    """What it lists."""
    head: Sequence[str]
    """Names of the columns."""
    rows: Rows
    """Text of the cells; a cell that begins with PASS or FAIL is coloured."""


def write_page(
    directory: Path, title: str, intro: str, sheets: list[Sheet], plots: list[Plot], resolved: str
) -> Path:
    """Write the figures and the page; returns the page's path."""
    directory.mkdir(parents=True, exist_ok=True)
    drawn = []
    for plot in plots:
        plot.figure.savefig(
            directory / f"{plot.name}.png", dpi=130, metadata={"Software": "etherweave"}
        )
        text = io.StringIO()
        plot.figure.savefig(text, format="svg", metadata={"Date": None})
        svg = text.getvalue()
        (directory / f"{plot.name}.svg").write_text(svg, encoding="utf-8")
        drawn.append((plot, svg[svg.index("<svg") :]))
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("etherweave.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    page = environment.get_template("page.html.jinja").render(
        title=title, intro=intro, sheets=sheets, plots=drawn, resolved=resolved
    )
    path = directory / "report.html"
    path.write_text(page, encoding="utf-8")
    return path
