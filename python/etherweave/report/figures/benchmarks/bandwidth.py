"""Bandwidth against message size."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.bounds import Floats
from etherweave.report.figures.benchmarks.sweeps import CAPTION, Setting, Sweep, sweeps
from etherweave.report.figures.sizes import Bound
from etherweave.report.section import Section

_BOUND = "No payload passes the dashed line, and none in full frames the dotted one."
_LINKS = {"bandwidth": 1, "bandwidth_both": 2, "bandwidth_rank": 1, "bandwidth_bus": 1}
"""How often a metric counts a host's link; others are not bound by one."""
_EXCESS = 1.05
"""A shaper's burst may carry a little more than the rate."""


def section(found: Benchmarks) -> Section | None:
    """Show bandwidths below the rate of the link, and what frames leave of it."""
    figure = sweeps(found, SWEEP)
    return (
        Section("bandwidth", "Bandwidth against size", CAPTION + _BOUND, figure) if figure else None
    )


def findings(found: Benchmarks) -> list[str]:
    """Tell of rates that no link of the fabric can have carried, once for a program and fabric."""
    if not found.points.height:
        return []
    told: dict[tuple[str, str], str] = {}
    for row in found.points.filter(pl.col("metric").is_in(list(_LINKS))).iter_rows(named=True):
        program, fabric = row["program"], row["fabric"]
        most = _LINKS[row["metric"]] * found.medium(fabric).rate
        if row["median"] > most * _EXCESS:
            told.setdefault(
                (program, fabric),
                f"{program} on {fabric}: {row['median'] * 8e-9:.3g} Gb/s between {row['hosts']} "
                f"where links carry {most * 8e-9:.3g} Gb/s: the bytes took another way, or the "
                "site's file tells another rate",
            )
    return list(told.values())


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
