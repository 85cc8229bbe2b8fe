"""Bandwidth against message size."""

from typing import Any

import numpy as np

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.exhibit import Exhibit
from etherweave.report.figures.benchmarks.sweeps import CAPTION, Floats, Sweep, sweeps


def exhibit(found: Benchmarks) -> Exhibit | None:
    """Show bandwidths below the rate of the link."""
    figure = sweeps(found, SWEEP)
    return Exhibit("bandwidth", "Bandwidth against size", CAPTION, figure) if figure else None


def _rate(sizes: Floats, network: dict[str, Any]) -> Floats:
    return np.full_like(sizes, network["rate"])


SWEEP = Sweep("B/s", 8e-9, "payload [Gb/s]", _rate, "line rate of a host's link")
