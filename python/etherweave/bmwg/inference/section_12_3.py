"""Failure of links and switches beside KV transfers (inference draft, 12.3)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.failures import AT_US, AXES, RESENT_NOTE, failure_cases, loss_metrics
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import BOUNDARY, stream_times_us
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, table
from etherweave.bmwg.settings import KIB, MIB
from etherweave.bmwg.traffic import uniform

LOAD = 80  # Load of all hosts by KV transfers [%].


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Fail an uplink and a switch beside KV transfers at 80 % of the line rate."""
    size, span_us = (16 * MIB, 100_000) if full else (256 * KIB, 1_000)
    return failure_cases(fabric, uniform(fabric.hosts, LOAD, size, span_us))


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report loss, recovery and the time of transfers."""
    metrics = [
        *loss_metrics(),
        *(
            (
                Column(f"KV transfer P{percent} [us]", BOUNDARY),
                lambda _, run, percent=percent: percentile(stream_times_us(run), percent),
            )
            for percent in (50, 99)
        ),
        (Column("slowest transfer [us]", BOUNDARY), lambda _, run: max(stream_times_us(run))),
    ]
    note = (
        f"The failure comes after {AT_US} us and stays; tables follow after the convergence input. "
        "Loss duration and recovery count from the failure. " + RESENT_NOTE
    )
    plot = Plot(0, 7, (1,), is_bars=True)
    return [table("failures", "KV transfers", AXES, metrics, trials, note=note, plot=plot)]
