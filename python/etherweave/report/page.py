"""The page: sections drawn into it, text escaped, nothing fetched."""

import base64
import html
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import jinja2
from matplotlib.figure import Figure

from etherweave.api.outputs import below, write_bytes, write_text
from etherweave.report.interactive import BYTES_MAX, Values, figure_values, licence, scripts
from etherweave.report.section import Builder, Section, Source, Table
from etherweave.report.style import house
from etherweave.study import MissingResultError

PAGE = "report.html"
DOTS_PER_INCH = 144  # Resolution of the PNG files: two dots for each of the page's.

_CODE = re.compile(r"`([^`]+)`")
_NUMBER = re.compile(r"[<>±−+-]?\s?[\d,]+(\.\d+)?(e[+-]?\d+)?(\s?(%|x|s|ms|us|ns|Gb/s))?|–|")


@dataclass(frozen=True)
class Front:
    """Head of the page, above the sections."""

    title: str  # Title of the page.
    lead: str  # The result in a sentence.
    answers: Sequence[str] = ()  # Answers to a reader's first questions, a sentence each.
    facts: Sequence[tuple[str, str]] = ()
    """Names and values of how the results were made, shown last."""
    warnings: Sequence[str] = ()  # Warnings, shown above everything else.
    trouble: str = ""  # Why a run did not end as it should.


@dataclass(frozen=True)
class DrawnSection:
    """A section whose figure is drawn."""

    section: Section  # Section as made.
    image: str | None  # Its figure as a data URL; None without one.
    width: int  # Width of the figure in the page [px].
    values: Values | None = None
    """Values of the figure, for the script of the page; None where it stays a picture."""


@dataclass
class Page:
    """Collects sections, one after another: only one figure is in memory at a time."""

    directory: Path  # Directory for the page and the files of its figures.
    sections: list[DrawnSection] = field(default_factory=list)  # Sections in their order.
    missing: list[str] = field(default_factory=list)  # Sections that could not be shown, and why.

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)

    def show(self, builders: Iterable[Builder[Source]], source: Source) -> list[DrawnSection]:
        """Make sections and draw them, noting which have no results; returns the new ones."""
        before = len(self.sections)
        with house():
            for builder in builders:
                self._show(builder, source)
        return self.sections[before:]

    def write(self, front: Front, appendix: Sequence[tuple[str, str]]) -> Path:
        """Write the page.

        ``front`` stands above the sections; ``appendix`` has titles and texts, folded away at the
        end.
        """
        environment = templates()
        environment.filters["numeric_columns"] = numeric_columns
        environment.filters["prose"] = prose
        template = environment.get_template("page.html.jinja")
        sections = _within(self.sections, BYTES_MAX - sum(len(script.text) for script in scripts()))
        is_interactive = any(drawn.values for drawn in sections)
        licences = [("Licence of plotly.js, which draws the figures", licence())]
        text = template.render(
            front=front,
            sections=sections,
            missing=self.missing,
            appendix=[*appendix, *(licences if is_interactive else [])],
            scripts=scripts() if is_interactive else [],
        )
        path = below(self.directory, PAGE)
        write_text(path, text)
        return path

    def _show(self, builder: Builder[Source], source: Source) -> None:
        try:
            section = builder(source)
        except MissingResultError as error:
            self.missing.append(str(error))
            return
        if section is not None:
            self.sections.append(self._draw(section))

    def _draw(self, section: Section) -> DrawnSection:
        if section.figure is None:
            return DrawnSection(section, None, 0)
        svg = self._save(section.name, section.figure)
        if section.data is not None:
            pdf = io.BytesIO()
            section.figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
            write_bytes(below(self.directory, f"{section.name}.pdf"), pdf.getvalue())
            text = section.data.write_csv(float_precision=6)
            write_text(below(self.directory, f"{section.name}.csv"), text)
        url = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
        values = figure_values(section.figure)
        if values is not None:
            values["has_time"] = section.has_time
        return DrawnSection(section, url, round(section.figure.get_figwidth() * 100), values)

    def _save(self, name: str, figure: Figure) -> bytes:
        """Write the figure's files; returns its SVG. Neither holds a date or a version."""
        text = io.BytesIO()
        figure.savefig(text, format="svg", dpi=DOTS_PER_INCH, metadata={"Date": None})
        write_bytes(below(self.directory, f"{name}.svg"), text.getvalue())
        # The layout stands; to find it takes most of the time of drawing.
        figure.set_layout_engine("none")
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
        write_bytes(below(self.directory, f"{name}.png"), png.getvalue())
        return text.getvalue()


def _within(sections: Sequence[DrawnSection], most: int) -> list[DrawnSection]:
    """Leave out values of figures, which stay pictures, where the page would be larger."""
    size = sum(len(drawn.image or "") for drawn in sections)
    kept = []
    for drawn in sections:
        size += len(json.dumps(drawn.values))
        kept.append(drawn if size <= most else replace(drawn, values=None))
    return kept


def templates() -> jinja2.Environment:
    """Find the templates of pages; text is escaped, and a name that is not given is a mistake."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("etherweave.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def prose(text: str) -> str:
    """Escape a text and set what stands between backticks as code.

    >>> prose("`a < b` holds")
    '<code>a &lt; b</code> holds'
    """
    return _CODE.sub(r"<code>\1</code>", html.escape(text))


def numeric_columns(table: Table) -> set[int]:
    """Find the columns in which every cell is a number, with or without its unit."""
    columns = enumerate(zip(*table.rows, strict=True))
    return {place for place, cells in columns if all(map(_NUMBER.fullmatch, cells))}
