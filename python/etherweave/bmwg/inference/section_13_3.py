"""Stability of KV transfers beside a link that flaps (inference draft, 13.3)."""

from collections.abc import Sequence

from etherweave.bmwg import kpis
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.failures import AT_US, FLAP_AXES, RESENT_NOTE, flap_cases, loss_metrics
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.model import Case, Column, Included, Metric, Plot, ReportTable, table
from etherweave.bmwg.settings import KIB, MIB
from etherweave.bmwg.traffic import uniform

LOAD = 80  # Load of all hosts by KV transfers [%].


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Take an uplink away for a while beside KV transfers at 80 % of the line rate."""
    size, span_us = (16 * MIB, 100_000) if full else (256 * KIB, 1_500)
    lengths_us = (100, 1_000, 10_000) if full else (100, 500)
    return flap_cases(fabric, uniform(fabric.hosts, LOAD, size, span_us), lengths_us)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report loss, recovery, buffers and the time of transfers."""
    metrics: list[Metric] = [
        *loss_metrics(),
        (
            Column("fullest queue [B]", kpis.REPORTED),
            lambda _, run: kpis.counters(fabric, run).occupancy_max,
        ),
        *(
            (
                Column(f"KV transfer P{percent} [us]", kpis.BOUNDARY),
                lambda _, run, percent=percent: percentile(kpis.stream_times_us(run), percent),
            )
            for percent in (50, 99)
        ),
        *kpis.health(fabric),
    ]
    note = (
        f"The uplink goes after {AT_US} us and comes back; tables follow each time after the "
        "convergence input. Loss duration and recovery count from its going. States of QPs and "
        "adjacencies of routing protocols are not in it. " + RESENT_NOTE
    )
    plot = Plot(0, 8, is_bars=True)
    return [table("flap", "A link that flaps", FLAP_AXES, metrics, trials, note=note, plot=plot)]
