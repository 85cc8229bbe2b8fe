"""The sections of benchmarks on a real cluster: one file and one line each."""

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.figures.benchmarks import (
    bandwidth,
    distributions,
    latency,
    pairs,
    points,
    rates,
    stability,
)
from etherweave.report.section import Builder

BENCHMARKS: list[Builder[Benchmarks]] = [
    bandwidth.section,
    latency.section,
    rates.section,
    *pairs.sections,
    distributions.section,
    stability.section,
    points.section,
]
"""In the order of the page; those without anything to show stay away."""
