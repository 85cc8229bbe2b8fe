"""Bandwidth against message size."""

from collections.abc import Iterator

import numpy as np

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.bounds import Floats
from etherweave.report.exhibit import Exhibit
from etherweave.report.figures.benchmarks.sweeps import CAPTION, Setting, Sweep, sweeps
from etherweave.report.figures.sizes import Bound

_BOUND = "No payload passes the dashed line, and none in full frames the dotted one."
_LINKS = {"bandwidth": 1, "bandwidth_both": 2, "bandwidth_rank": 1, "bandwidth_bus": 1}
"""How often a metric counts a host's link; others are not bound by one."""


def exhibit(found: Benchmarks) -> Exhibit | None:
    """Show bandwidths below the rate of the link, and what frames leave of it."""
    figure = sweeps(found, SWEEP)
    return (
        Exhibit("bandwidth", "Bandwidth against size", CAPTION + _BOUND, figure) if figure else None
    )


def _limits(setting: Setting, sizes: Floats) -> Iterator[Bound]:
    times = _LINKS.get(setting.rows["metric"][0])
    if times is None:
        return
    medium, ways = setting.medium, " both ways" * (times == 2)
    rate = f"line rate{ways}, {medium.rate * 8 / 1e9:g} Gb/s"
    yield Bound(rate, sizes, np.full_like(sizes, times * medium.rate))
    if medium.wire:
        goodput = f"payload of full frames{ways}\n({medium.note})"
        yield Bound(goodput, sizes, np.full_like(sizes, times * medium.goodput), 1)


SWEEP = Sweep("B/s", 8e-9, "payload [Gb/s]", _limits)
