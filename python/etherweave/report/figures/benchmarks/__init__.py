"""The exhibits of benchmarks on a real cluster: one file and one line each."""

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.exhibit import Maker
from etherweave.report.figures.benchmarks import (
    bandwidth,
    distributions,
    latency,
    pairs,
    points,
    rates,
    stability,
)

BENCHMARKS: list[Maker[Benchmarks]] = [
    bandwidth.exhibit,
    latency.exhibit,
    rates.exhibit,
    *pairs.exhibits,
    distributions.exhibit,
    stability.exhibit,
    points.exhibit,
]
"""In the order of the page; those without anything to show stay away."""
