"""Times against message size."""

from typing import Any

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.exhibit import Exhibit
from etherweave.report.figures.benchmarks.sweeps import CAPTION, Floats, Sweep, sweeps

_BOUND = "Below the dashed line nothing arrives: a message takes as long as its bytes on the link."


def exhibit(found: Benchmarks) -> Exhibit | None:
    """Show times above what the bytes alone take on the link."""
    figure = sweeps(found, SWEEP)
    return Exhibit("latency", "Time against size", CAPTION + _BOUND, figure) if figure else None


def _serialized(sizes: Floats, network: dict[str, Any]) -> Floats:
    return sizes / float(network["rate"])


def _believed(sizes: Floats, network: dict[str, Any]) -> Floats:
    return float(network["latency"]) + sizes / float(network["rate"])


SWEEP = Sweep("s", 1e6, "time [us]", _serialized, "size / rate", _believed)
