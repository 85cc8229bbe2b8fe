"""Latency and bandwidth of a calibration against size, measured and predicted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from etherweave.bench.calibration import ComparedWorkload
from etherweave.report.calibration.data import Calibrated
from etherweave.report.section import Section
from etherweave.report.sizes import SizeCurve, SizePanel, draw
from etherweave.report.style import SERIES

CAPTION = (
    "Medians of launches with their interval as a band, all launches as dots, and predictions with "
    "the fitted constants, with the band of their interval. "
)


_Times = tuple[float, float, float]


class _MicroBenchmark(NamedTuple):
    """A micro-benchmark by size."""

    program: str
    title: str
    number: Callable[[ComparedWorkload, float], float]
    """Of a workload and the time of an iteration [s]."""
    scale: float
    label: str


LATENCY = _MicroBenchmark("osu_latency", "latency", lambda one, time: time / 2, 1e6, "time [us]")
BANDWIDTH = _MicroBenchmark(
    "osu_bw",
    "bandwidth",
    lambda one, time: one.window * (one.size_bytes or 0) / time,
    8e-9,
    "rate [Gb/s]",
)


def latencies(calibrated: Calibrated) -> Section | None:
    """Show half of the round trip."""
    return _section(calibrated, LATENCY, "Half of the round trip of osu_latency.")


def bandwidths(calibrated: Calibrated) -> Section | None:
    """Show the bytes of a window over its time."""
    return _section(calibrated, BANDWIDTH, "The bytes of a window of osu_bw over its time.")


def _section(calibrated: Calibrated, test: _MicroBenchmark, words: str) -> Section | None:
    own = [one for one in calibrated.compared if one.test == test.program and one.size_bytes]
    if not own:
        return None
    title = f"{test.title.capitalize()} against size"
    return Section(test.title, title, CAPTION + words, figure(own, test))


def figure(rows: Sequence[ComparedWorkload], test: _MicroBenchmark) -> Figure:
    """Draw one test."""
    ordered = sorted(rows, key=lambda one: one.size_bytes or 0)
    curves = [
        curve("measured", ordered, measured, test),
        replace(curve("predicted", ordered, predicted, test), is_simulated=True),
    ]
    drawn = draw([SizePanel(test.title, curves)], test.scale, test.label)
    dots = [(one, time) for one in ordered for time in one.launches_s]
    places = [one.size_bytes or 0 for one, _ in dots]
    values = [test.number(one, time) * test.scale for one, time in dots]
    drawn.axes[0].plot(places, values, "o", color=SERIES[0], alpha=0.35, mew=0, ms=5, zorder=3)
    return drawn


def measured(one: ComparedWorkload) -> _Times:
    """Give the middle and the ends of what was measured [s]."""
    return one.measured_s, one.measured_low_s, one.measured_high_s


def predicted(one: ComparedWorkload) -> _Times:
    """Give the middle and the ends of what was predicted [s]."""
    return one.predicted_s, one.predicted_low_s, one.predicted_high_s


def curve(
    name: str,
    rows: Sequence[ComparedWorkload],
    times: Callable[[ComparedWorkload], _Times],
    test: _MicroBenchmark,
) -> SizeCurve:
    """Make a curve with a band; the longest time is the least rate."""
    sizes = np.array([float(one.size_bytes or 0) for one in rows])
    numbers = np.array([[test.number(one, time) for time in times(one)] for one in rows])
    ends = np.sort(numbers[:, 1:], axis=1)
    return SizeCurve(name, sizes, numbers[:, 0], ends[:, 0], ends[:, 1])
