"""Times against message size."""

from collections.abc import Iterator

import polars as pl

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.bounds import Floats, Party, alpha_beta, collective, transfer
from etherweave.report.figures.benchmarks.sweeps import CAPTION, Setting, Sweep, sweeps
from etherweave.report.figures.sizes import Bound
from etherweave.report.section import Section

_BOUND = (
    "Below the dashed line nothing arrives: a message takes as long as its bytes on the link. The "
    "dotted line adds what the smallest message took, and counts frames. A collective takes at "
    "least such a message and the bytes that must pass a host's link (Chan et al. 2007, Thakur et "
    "al. 2005), unless switches take part in it."
)
_ONE_WAY = ("latency", "round_trip", "call_time")
"""Metrics of messages that pass a host's link."""


def section(found: Benchmarks) -> Section | None:
    """Show times above what the bytes alone take on the link."""
    figure = sweeps(found, SWEEP)
    return Section("latency", "Time against size", CAPTION + _BOUND, figure) if figure else None


def _limits(setting: Setting, sizes: Floats) -> Iterator[Bound]:
    metric, program = setting.rows.select("metric", "program").row(0)
    operation = program.removeprefix("osu_")
    if metric == "call_time" and (bounds := list(_collective(setting, operation, sizes))):
        yield from bounds
    elif metric in _ONE_WAY:
        yield from _messages(setting, metric, sizes)


def _messages(setting: Setting, metric: str, sizes: Floats) -> Iterator[Bound]:
    medium, alpha = setting.medium, setting.alpha
    yield Bound(
        f"size / line rate, {medium.rate * 8 / 1e9:g} Gb/s", sizes, transfer(sizes, medium.rate)
    )
    if metric == "latency" and alpha is not None:
        name = f"{setting.fabric}: {alpha * 1e6:.3g} us + size / goodput"
        note = f"\n({medium.note})" if medium.note else ""
        yield Bound(name + note, sizes, alpha_beta(sizes, alpha, medium.goodput), 1)


def _collective(setting: Setting, operation: str, sizes: Floats) -> Iterator[Bound]:
    alpha = setting.alpha or 0.0
    for party in _parties(setting.rows):
        times = collective(operation, sizes, party, setting.medium.goodput, alpha)
        if times is not None:
            who = f"{setting.fabric}: least time of {party.ranks} ranks on {party.hosts} hosts"
            yield Bound(who, sizes, times, 2)


def _parties(rows: pl.DataFrame) -> Iterator[Party]:
    for hosts, ranks in rows.select("hosts", "ranks_per_node").unique(maintain_order=True).rows():
        names = hosts.split(",")
        yield Party(len(names) * ranks, len(set(names)))


SWEEP = Sweep("s", 1e6, "time [us]", _limits)
