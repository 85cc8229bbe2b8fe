"""The page of samples of a scenario: intervals of its figures, and their distributions."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from etherweave.measurements.benchmark_lines import main_columns
from etherweave.report.page import Front, Page
from etherweave.report.section import Section, Table
from etherweave.report.style import ASIDE, SERIES, literal
from etherweave.report.sweep import with_unit
from etherweave.uncertainty.intervals import Distribution, Interval, distribution
from etherweave.uncertainty.sampling import figures_of
from etherweave.uncertainty.together import SAMPLE, errors_in, together_of

WHOLE_MIN = 10_000  # Least figure that is written as a whole number.
DRAWN_MAX = 6  # Figures that are drawn; the table has all.
TIMES = (".mean_us", ".call_us", "streams.goodput_gbps")
"""Ends of names of figures that have a sentence."""
DRAWN = (*TIMES, "pauses.frames", "packets_dropped", "slowdown_p99")
CAPTION = "Share of samples up to each value."


def write_samples(
    table: pl.DataFrame, axes: Sequence[str], title: str, progress: str, out: Path
) -> Path:
    """Write the page of samples into a directory; returns the page's path.

    ``table`` has a row of the scenario as it stands, whose sample is -1, and one of each sample.
    """
    rows = table.filter(pl.col("ended") == "complete")
    samples = rows.filter(pl.col(SAMPLE) >= 0)
    figures = _distributions(rows.filter(pl.col(SAMPLE) < 0), samples, axes)
    varying = [figure for figure in figures if figure.varies or figure.together]
    page = Page(out)
    page.show([_intervals], varying)
    main = main_columns(table.columns)
    drawn = [row for row in figures if row.varies and row.name.endswith((*main, *DRAWN))]
    for figure in drawn[:DRAWN_MAX]:
        page.show([partial(_drawn, values=samples[figure.name].to_list())], figure)
    sentences = [_sentence(row) for row in varying if row.name.endswith((*main, *TIMES))]
    count = f"{len(samples):,} samples of what is not known, and of seeds."
    texts = [*sentences, count, progress]
    return page.write(Front(title, texts[0], texts[1:]), [])


def _distributions(
    stands: pl.DataFrame, samples: pl.DataFrame, axes: Sequence[str]
) -> list[Distribution]:
    """Describe each figure that all samples have."""
    if samples.is_empty():
        return []
    row = samples.row(0, named=True)
    point = stands.row(0, named=True) if len(stands) else {}
    errors, none = errors_in(samples.to_dicts()), [()] * len(samples)
    figures = []
    for name in figures_of(row, axes):
        values = samples[name].to_list()
        if all(value is not None for value in values):
            own = distribution(name, point.get(name), values, none, ())
            figures.append(replace(own, together=together_of(name, values, errors)))
    return figures


def _sentence(figure: Distribution) -> str:
    wide = f"; with the model's error {_ends(figure.together)}" if figure.together else ""
    middle = f"median {_text(figure.median)}; 90 %: {_ends(figure.most)}"
    return f"{with_unit(figure.name)}: {middle}{wide}."


def _intervals(figures: Sequence[Distribution]) -> Section:
    intervals = ("50 %", "90 %", "90 % with the model's error")
    rows = [
        (
            with_unit(figure.name),
            "–" if figure.point is None else _text(figure.point),
            _text(figure.median),
            *map(_ends, (figure.half, figure.most)),
            _ends(figure.together) if figure.together else "–",
        )
        for figure in figures
    ]
    table = Table(("figure", "as it stands", "median", *intervals), rows)
    caption = "`etherweave run --samples` prints what widens them."
    return Section("intervals", "Intervals", caption, tables=[table])


def _drawn(figure: Distribution, values: Sequence[float]) -> Section:
    picture = Figure(figsize=(8.5, 2.6))
    axes = picture.subplots()
    bands = [(figure.most, 0.3, "90 % of samples")]
    if figure.together:
        bands.append((figure.together, 0.15, "90 % with the\nmodel's error"))
    for ends, alpha, label in bands:
        axes.fill_between([*ends], 0, 1, color=SERIES[0], alpha=alpha, lw=0, label=label)
    shares = [(at + 0.5) / len(values) for at in range(len(values))]
    axes.plot(sorted(values), shares, color=SERIES[0], marker=".", label="samples")
    if figure.point is not None:
        axes.plot([figure.point] * 2, [0, 1], color=SERIES[1], ls="--", label="as it stands")
    axes.set_ylim(0, 1)
    axes.set_xlabel(literal(with_unit(figure.name)))
    axes.set_ylabel("share of samples")
    axes.legend(**ASIDE)
    name = figure.name.replace(".", "_")
    return Section(name, with_unit(figure.name), CAPTION, picture)


def _ends(ends: Interval) -> str:
    return f"{_text(ends.low)} to {_text(ends.high)}"


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= WHOLE_MIN else f"{value:,.4g}"
