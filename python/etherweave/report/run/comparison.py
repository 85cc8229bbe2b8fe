"""Results of the same jobs side by side, and beside what was published of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.api.fidelity import MODES, fidelities
from etherweave.api.results import Result
from etherweave.api.units import amount
from etherweave.measurements.metrics import ITERATION_TIME
from etherweave.measurements.quantities import quantities
from etherweave.measurements.references import Reference
from etherweave.report.against import published
from etherweave.report.result_fabric import Fabric, fabric
from etherweave.report.section import Section, Table
from etherweave.report.style import ASIDE, DASHES, GIGABITS, INK, SERIES, finish_rows, mark_link

POINTS = 400  # Points of a curve.
ITERATIONS_HEAD = (
    *("job", "result", "iterations", "5 % [us]", "median [us]", "95 % [us]"),
    *("medians of launches [us]", "ratio"),
)
ITERATIONS_CAPTION = (
    "Share of the iterations up to each time, over all ranks. The table's ratio is that "
    "of medians, to the first result. Iterations of one launch have much in common: what differs "
    "between launches is the measure of chance. Upright lines are published means of the "
    "same workload."
)


@dataclass(frozen=True)
class ComparedResults:
    """A result, and others of the same jobs."""

    results: Sequence[Result]  # The first is what the others are compared with.

    @property
    def labels(self) -> list[str]:
        """Labels of the results: their origin, with a name where that is not enough.

        Names are those of their scenarios, or numbers where two of these are alike.
        """
        named = [(kind(result), result.summary["name"]) for result in self.results]
        kinds = [label for label, _ in named]
        if len(set(named)) < len(named):
            named = [(label, str(kinds[:at].count(label) + 1)) for at, label in enumerate(kinds)]
        return [f"{label} {name}" if kinds.count(label) > 1 else label for label, name in named]

    def labels_of(self, job: str) -> list[str]:
        """Name them beside a job: with how it was simulated, where not all jobs are alike."""
        if len({mode for own in self._modes for mode in own.values()}) < 2:
            return self.labels
        return [
            f"{label}, {own[job]}" if job in own else label
            for label, own in zip(self.labels, self._modes, strict=True)
        ]

    @cached_property
    def _modes(self) -> list[dict[str, str]]:
        return [_modes(result) for result in self.results]

    @property
    def warnings(self) -> list[str]:
        """List the warnings of all results; of several, each with the label of its result."""
        return [
            f"{label}: {warning}" if len(self.results) > 1 else warning
            for result, label in zip(self.results, self.labels, strict=True)
            for warning in result.summary["warnings"]
        ]

    @property
    def differences(self) -> list[str]:
        """Name the jobs whose workloads differ between results, which cannot be compared."""
        first, *others = [_workloads(result) for result in self.results]
        return [
            f"{label}: job {job} has another workload than in the first result"
            for label, workloads in zip(self.labels[1:], others, strict=True)
            for job in workloads
            if job in first and workloads[job] != first[job]
        ]


def _modes(result: Result) -> dict[str, str]:
    """Say of each simulated job how it was simulated."""
    by_job = fidelities(result.resolved) if kind(result) == "simulated" else {}
    hybrid = " (hybrid)" if len(set(by_job.values())) > 1 else ""
    return {job: f"{MODES[fidelity]}{hybrid}" for job, fidelity in by_job.items()}


def kind(result: Result) -> str:
    """Say how a result came about: simulated or measured."""
    return "measured" if "measured" in result.summary else "simulated"


def iteration_times(beside: ComparedResults) -> Section | None:
    """Show the distribution of each job's iteration times in all results."""
    tables = [result.to_polars("iterations") for result in beside.results]
    jobs = in_several(tables)
    if not jobs:
        return None
    figure = Figure(figsize=(9, 2.8 * len(jobs)))
    panels = figure.subplots(len(jobs), 1, squeeze=False)[:, 0]
    known = _published_times(beside)
    rows = []
    for axes, job in zip(panels, jobs, strict=True):
        parts = [table.filter(pl.col("job") == job) for table in tables]
        labels = beside.labels_of(job)
        _draw_shares(axes, job, [part["duration_ns"] / 1e3 for part in parts], labels)
        _draw_published(axes, known.get(job, []))
        axes.legend(**ASIDE)
        rows += _iteration_rows(job, parts, labels)
    return Section(
        "beside",
        "Simulated and measured",
        ITERATIONS_CAPTION,
        figure,
        [Table(ITERATIONS_HEAD, rows)],
    )


def sentences(beside: ComparedResults) -> list[str]:
    """Say how many times as long iterations of each job take as in the first result."""
    tables = [result.to_polars("iterations") for result in beside.results]
    return [
        sentence
        for job in in_several(tables)
        for sentence in _sentences(
            job,
            [table.filter(pl.col("job") == job)["duration_ns"] / 1e3 for table in tables],
            beside.labels_of(job),
        )
    ]


def _sentences(job: str, times: Sequence[pl.Series], labels: Sequence[str]) -> Iterator[str]:
    first, *others = [_quantiles(values)[1] for values in times]
    for label, median in zip(labels[1:], others, strict=True):
        if first > 0 and np.isfinite(median):
            yield (
                f"{job}: {label} takes {median / first:.3g} times as long as {labels[0]}, by "
                f"medians of iterations of {median:,.5g} us and {first:,.5g} us."
            )


def in_several(tables: Sequence[pl.DataFrame]) -> list[str]:
    """Name the jobs that the first result and another have rows of."""
    first, *others = [table["job"].unique(maintain_order=True).to_list() for table in tables]
    return [job for job in first if any(job in other for other in others)]


def _draw_shares(axes: Axes, job: str, times: Sequence[pl.Series], labels: Sequence[str]) -> None:
    shares = np.linspace(0, 1, POINTS)
    for number, (values, label) in enumerate(zip(times, labels, strict=True)):
        if not values.is_empty():
            colour = SERIES[number % len(SERIES)]
            axes.plot(np.quantile(values.to_numpy(), shares), shares, color=colour, label=label)
            median = float(np.median(values.to_numpy()))
            axes.plot(median, 0.5, "o", color=colour, markersize=5)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.4g}")
    axes.xaxis.set_minor_formatter("{x:,.4g}")
    axes.set_ylim(0, 1)
    axes.set_title(job)
    axes.set_xlabel("iteration time [us]")
    axes.set_ylabel("share of iterations")


def _published_times(beside: ComparedResults) -> dict[str, list[Reference]]:
    """Find what was published of the time of an iteration, by jobs."""
    references: dict[str, list[Reference]] = {}
    for result in beside.results:
        own = [quantity for quantity in quantities(result) if quantity.metric is ITERATION_TIME]
        where = fabric(result) if own else None
        for entry in own:
            assert where is not None, "a result with jobs has a fabric"
            known = references.setdefault(entry.job, [])
            known += [figure for figure in published(entry, where) if figure not in known]
    return references


def _draw_published(axes: Axes, figures: Sequence[Reference]) -> None:
    """Mark each published mean, named by its source and fabric."""
    for figure, dash in zip(figures, cycle(DASHES), strict=False):
        source = figure.source.partition(",")[0]
        name = f"published mean, {figure.fabric}\n({source})"
        look: dict[str, Any] = {"color": INK, "linewidth": 1.1, "linestyle": dash}
        axes.axvline(figure.value * 1e6, label=name, **look)


def _iteration_rows(
    job: str, parts: Sequence[pl.DataFrame], labels: Sequence[str]
) -> list[list[str]]:
    rows = []
    first = _quantiles(parts[0]["duration_ns"] / 1e3)[1]
    for part, label in zip(parts, labels, strict=True):
        low, median, high = _quantiles(part["duration_ns"] / 1e3)
        times = [f"{time:,.5g}" if np.isfinite(time) else "–" for time in (low, median, high)]
        rows.append([job, label, f"{len(part):,}", *times, _launches(part), ratio(median, first)])
    return rows


def _launches(rows: pl.DataFrame) -> str:
    """Return the least and the largest median of launches; nothing when there is only one."""
    if "launch" not in rows.columns or rows["launch"].n_unique() < 2:
        return "–"
    medians = rows.group_by("launch", maintain_order=True).agg(pl.col("duration_ns").median())[
        "duration_ns"
    ]
    low, *_, high = (median / 1e3 for median in sorted(medians))
    return f"{low:,.5g} to {high:,.5g}"


def _quantiles(values: pl.Series) -> tuple[float, float, float]:
    if values.is_empty():
        return (np.nan, np.nan, np.nan)
    low, median, high = np.quantile(values.to_numpy(), [0.05, 0.5, 0.95])
    return float(low), float(median), float(high)


def ratio(value: float, to: float) -> str:
    """Write a value over another; a dash where there is none."""
    return f"{value / to:.3f}" if to > 0 and np.isfinite(value) else "–"


def _workloads(result: Result) -> dict[str, Any]:
    return {job["name"]: job["workload"] for job in result.scenario.get("job", [])}


GOODPUT_CAPTION = "Sum over the streams of a job, the mean over launches."
_GOODPUT_HEAD = ("job", "result", "goodput [Gb/s]", "ratio")


class _GoodputBar(NamedTuple):
    job: str
    result: int  # Its place among the results.
    label: str  # Label of the result.
    rate: float  # [Gb/s].
    ratio: str  # Ratio to the first result.
    fabric: Fabric | None  # Fabric of an incast, whose streams share a link.
    figures: Sequence[Reference]


def goodput(beside: ComparedResults) -> Section | None:
    """Show what the streams of each job delivered in all results."""
    bars = list(_goodput_bars(beside))
    if not bars:
        return None
    rows = [(bar.job, bar.label, f"{bar.rate:,.4g}", bar.ratio) for bar in bars]
    figure = Figure(figsize=(9, 1.1 + 0.3 * len(bars)))
    _draw_goodput(figure.subplots(), bars)
    title = "Goodput, simulated and measured"
    return Section(
        "goodput_beside", title, goodput_caption(bars), figure, [Table(_GOODPUT_HEAD, rows)]
    )


def goodput_caption(bars: "Sequence[_GoodputBar]") -> str:
    """Describe the bars, and the lines and diamonds that are drawn beside them."""
    incasts = [bar.fabric for bar in bars if bar.fabric]
    if not incasts:
        return GOODPUT_CAPTION
    drawn = ["dashed is its rate"]
    if any(fabric.medium.wire for fabric in incasts):
        drawn.append("dotted what full frames leave of it")
    if any(bar.figures for bar in bars):
        drawn.append("diamonds are published")
    link = "At an incast all streams share the link of one host"
    return f"{GOODPUT_CAPTION} {link}: {', '.join(drawn)}."


def _goodput_bars(beside: ComparedResults) -> Iterator[_GoodputBar]:
    tables = [result.to_polars("streams") for result in beside.results]
    incasts = [
        {quantity.job: quantity for quantity in quantities(result) if quantity.test == "incast"}
        for result in beside.results
    ]
    for job in in_several(tables):
        rates = [_rate(table.filter(pl.col("job") == job)) for table in tables]
        for place, (result, label, rate, known) in enumerate(
            zip(beside.results, beside.labels_of(job), rates, incasts, strict=True)
        ):
            where = fabric(result) if job in known else None
            figures = published(known[job], where) if where else []
            yield _GoodputBar(job, place, label, rate, ratio(rate, rates[0]), where, figures)


def _rate(rows: pl.DataFrame) -> float:
    launches = rows["launch"].n_unique() if "launch" in rows.columns else 1
    return float(rows["goodput_gbps"].sum()) / max(launches, 1)


def _draw_goodput(axes: Axes, bars: Sequence[_GoodputBar]) -> None:
    for place, bar in enumerate(bars):
        colour = SERIES[bar.result % len(SERIES)]
        axes.barh(place, bar.rate, 0.7, color=colour, label=bar.label)
        for figure in bar.figures:
            look: dict[str, Any] = {"color": INK, "markersize": 6, "mec": "white"}
            axes.plot(figure.value * GIGABITS, place, "D", label="published", **look)
        if bar.fabric:
            mark_link(axes, place, bar.fabric.medium)
    finish_rows(axes, [bar.job for bar in bars], "goodput [Gb/s]")


PUBLISHED_HEAD = (
    *("job", "result", "number", "size [bytes]", "computed", "published", "ratio"),
    *("fabric", "conditions", "source"),
)
PUBLISHED_CAPTION = (
    "Means over iterations and processes, the median of launches; the ratio is computed over "
    "published. Listed is what has the same workload, size, number of ranks, transport and rate of "
    "links; the conditions say what may differ. Applications count only as published and alone."
)
_BOUNDS = {"eq": "", "approx": "≈ ", "gt": "> ", "lt": "< "}


def published_figures(beside: ComparedResults) -> Section | None:
    """Show each number of a job beside what was published of it."""
    rows = list(_published_rows(beside))
    if not rows:
        return None
    return Section(
        "published", "Published figures", PUBLISHED_CAPTION, tables=[Table(PUBLISHED_HEAD, rows)]
    )


def _published_rows(beside: ComparedResults) -> Iterator[list[str]]:
    for place, result in enumerate(beside.results):
        own = quantities(result)
        where = fabric(result) if own else None
        for quantity in own:
            label = beside.labels_of(quantity.job)[place]
            assert where is not None, "a result with jobs has a fabric"
            unit = quantity.metric.unit.value
            name = " ".join(filter(None, (quantity.program, quantity.test, quantity.metric.name)))
            for figure in published(quantity, where):
                yield [
                    *(quantity.job, label, name),
                    "" if quantity.size_bytes is None else f"{quantity.size_bytes:,}",
                    amount(quantity.median, unit),
                    f"{_BOUNDS.get(figure.bound, '')}{amount(figure.value, unit)}",
                    f"{quantity.median / figure.value:.3g}",
                    *(figure.fabric, figure.conditions, f"{figure.source}, {figure.place}"),
                ]
