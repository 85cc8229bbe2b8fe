"""Figures of experiments with flows as one value: shown by a notebook, or written as files."""

import io
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from etherweave.report.page import Front, Page
from etherweave.report.run.flow_figures import FIGURES, Labelled
from etherweave.report.section import Section
from etherweave.report.style import house


class FlowPlots:
    """Figures of results with flows, which a notebook shows one below the other.

    Parameters
    ----------
    results
        By the labels that they have in figures; of each label one, or those of several seeds.

    Raises
    ------
    ValueError
        When there is nothing to draw.
    """

    def __init__(self, results: Labelled) -> None:
        self._results = dict(results)
        self._sections: dict[str, Section] = {}
        with house():
            for make in FIGURES:
                if section := make(self._results):
                    self._sections[section.name] = section
        if not self._sections:
            raise ValueError("no flows, samples or ports; expected results of simulated runs")

    def __repr__(self) -> str:
        return f"<Figures {', '.join(self._sections)}>"

    @property
    def figures(self) -> Mapping[str, Figure]:
        """Figures by name."""
        return {name: section.figure for name, section in self._sections.items() if section.figure}

    @property
    def data(self) -> Mapping[str, pl.DataFrame]:
        """Tables that figures are drawn from, by name."""
        return {name: part.data for name, part in self._sections.items() if part.data is not None}

    def _repr_html_(self) -> str:
        parts = []
        for section in self._sections.values():
            text = io.StringIO()
            with house():
                assert section.figure, "all of these sections have a figure"
                section.figure.savefig(text, format="svg", metadata={"Date": None})
            svg = text.getvalue()
            parts.append(f"<h3>{section.title}</h3>{svg[svg.index('<svg') :]}")
        return "\n".join(parts)

    def save(self, directory: str | Path) -> Path:
        """Write a page, and each figure as SVG, PNG, PDF and CSV of its data; returns the page."""
        page = Page(Path(directory))
        page.show(FIGURES, self._results)
        runs = [(label, seeds[0].resolved) for label, seeds in self._results.items()]
        warnings = [
            f"{label}: {warning}"
            for label, seeds in self._results.items()
            for warning in dict.fromkeys(text for own in seeds for text in own.summary["warnings"])
        ]
        names = ", ".join(self._results)
        title = "Experiments with flows"
        return page.write(Front(title, f"Results: {names}.", warnings=warnings), runs)
