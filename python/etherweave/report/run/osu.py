"""OSU's tests among the jobs of results: latency, bandwidth and calls against message size."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from etherweave.api.units import Unit
from etherweave.measurements.metrics import BANDWIDTH_BOTH, CALL_TIME, LATENCY, Metric
from etherweave.measurements.quantities import Quantity, quantities
from etherweave.report.against import published
from etherweave.report.bounds import Floats, Party, collective
from etherweave.report.result_fabric import Fabric, fabric
from etherweave.report.run.comparison import ComparedResults
from etherweave.report.section import Section
from etherweave.report.sizes import (
    PublishedMarks,
    SizeBound,
    SizeCurve,
    SizePanel,
    draw,
    message_bounds,
    rate_bounds,
)

CAPTION = (
    "As the OSU Micro-Benchmarks count: half a round trip, window · size over time, the mean of a "
    "call. Several launches: their median, and a band from the least to the largest; crosses are "
    "simulated; diamonds are published, of the same test, size, rate and kind of fabric. The other "
    "lines are what the links allow: all of their rate, what frames leave of it, and the smallest "
    "message's time with it; of a collective its least time (Chan et al. 2007)."
)


class _TestLine(NamedTuple):
    """A test in one result, over all sizes that its jobs have."""

    label: str  # Label of the result.
    is_simulated: bool
    fabric: Fabric
    alpha: float  # Time of the result's smallest ping-pong; 0 without one [s].
    points: Sequence[Quantity]  # Points by size.

    @property
    def first(self) -> Quantity:
        return self.points[0]

    @property
    def sizes(self) -> Floats:
        return np.array([point.size_bytes for point in self.points], dtype=np.float64)


def times(beside: ComparedResults) -> Section | None:
    """Show latencies and the calls of collectives."""
    return _section(beside, "test_times", "Times of OSU's tests", Unit.SECONDS, 1e6, "time [us]")


def rates(beside: ComparedResults) -> Section | None:
    """Show bandwidths."""
    unit, label = Unit.BYTES_PER_SECOND, "payload [Gb/s]"
    return _section(beside, "test_rates", "Bandwidth of OSU's tests", unit, 8e-9, label)


sections = (rates, times)


def _section(
    beside: ComparedResults, name: str, title: str, unit: Unit, scale: float, label: str
) -> Section | None:
    lines = [line for line in _lines(beside) if line.first.metric.unit == unit]
    # A call of one collective says nothing about another; the tests of a metric do.
    keys = [_panel_of(line.first.metric, line.first.program) for line in lines]
    panels = [
        _panel(key, [line for line, own in zip(lines, keys, strict=True) if own == key])
        for key in dict.fromkeys(keys)
    ]
    return Section(name, title, CAPTION, draw(panels, scale, label)) if panels else None


def _panel_of(metric: Metric, program: str) -> str:
    name = metric.name.replace("_", " ")
    return f"{name}: {program}" if metric is CALL_TIME else name


def _lines(beside: ComparedResults) -> Iterator[_TestLine]:
    for place, result in enumerate(beside.results):
        rows: dict[tuple[str, int, str], list[Quantity]] = {}
        for quantity in quantities(result):
            if quantity.size_bytes is not None and not quantity.test:
                label = beside.labels_of(quantity.job)[place]
                rows.setdefault((quantity.program, quantity.ranks, label), []).append(quantity)
        where = fabric(result) if rows else None
        for points in rows.values():
            points.sort(key=lambda point: point.size_bytes or 0)
        pings = [points[0] for points in rows.values() if points[0].metric is LATENCY]
        alpha = pings[0].median if pings else 0.0
        for (_, _, label), points in rows.items():
            assert where is not None, "a result with jobs has a fabric"
            yield _TestLine(label, "measured" not in result.summary, where, alpha, points)


def _panel(title: str, lines: Sequence[_TestLine]) -> SizePanel:
    programs = {(line.first.program, line.first.ranks) for line in lines}
    names = [_name(line, len(programs) > 1) for line in lines]
    curves = [_curve(name, line) for name, line in zip(names, lines, strict=True)]
    bounds = {bound.name: bound for line in lines for bound in _bounds(line)}
    return SizePanel(title, curves, list(bounds.values()), [_marks(line) for line in lines])


def _name(line: _TestLine, has_several: bool) -> str:
    ranks = f", {line.first.ranks} ranks" * (line.first.ranks > 2)
    test = f" {line.first.program}{ranks}" * has_several
    return f"{line.label}{test}, {line.fabric.words}"


def _curve(name: str, line: _TestLine) -> SizeCurve:
    def over(pick: Callable[[Sequence[float]], float]) -> Floats:
        return np.array([pick(point.values) for point in line.points])

    medians = np.array([point.median for point in line.points])
    return SizeCurve(
        name, line.sizes, medians, over(min), over(max), is_simulated=line.is_simulated
    )


def _marks(line: _TestLine) -> PublishedMarks:
    points = [(point, figure) for point in line.points for figure in published(point, line.fabric)]
    sizes = np.array([point.size_bytes for point, _ in points], dtype=np.float64)
    values = np.array([figure.value for _, figure in points])
    return PublishedMarks(
        sizes, values, values, np.array([point.median / fig.value for point, fig in points])
    )


def _bounds(line: _TestLine) -> Iterator[SizeBound]:
    metric, medium = line.first.metric, line.fabric.medium
    if metric is CALL_TIME:
        return _of_calls(line)
    if metric.unit is Unit.SECONDS:
        alpha = line.alpha if metric is LATENCY else None
        return message_bounds(medium, line.sizes, line.label, alpha)
    return rate_bounds(medium, line.sizes, 2 if metric is BANDWIDTH_BOTH else 1)


def _of_calls(line: _TestLine) -> Iterator[SizeBound]:
    operation, ranks = line.first.program.removeprefix("osu_"), line.first.ranks
    goodput = line.fabric.medium.goodput
    least = collective(operation, line.sizes, Party(ranks, ranks), goodput, line.alpha)
    if least is not None:
        message = f"{line.label}: {line.alpha * 1e6:.3g} us + " * (line.alpha > 0)
        yield SizeBound(f"{message}bytes / goodput,\n{ranks} ranks at least", line.sizes, least, 2)
