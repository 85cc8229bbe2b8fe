"""Stability of KV transfers beside a link that flaps (inference draft, chapter 13)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.failures import (
    AT_US,
    FLAP_AXES,
    RESENT_NOTE,
    flap_cases,
    loss_metrics,
    transfers,
)
from etherweave.bmwg.kpis import REPORTED, counters, health
from etherweave.bmwg.model import BenchTest, Case, Included, Plot, ReportTable, table
from etherweave.bmwg.settings import KIB, MIB
from etherweave.bmwg.traffic import uniform

LOAD = 80  # Load of all hosts by KV transfers [%].


def _cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Take an uplink away for a while beside KV transfers at 80 % of the line rate."""
    size, span_us = (16 * MIB, 100_000) if full else (256 * KIB, 1_500)
    lengths_us = (100, 1_000, 10_000) if full else (100, 500)
    return flap_cases(fabric, uniform(fabric.hosts, LOAD, size, span_us), lengths_us)


def _tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report loss, recovery, buffers and the time of transfers."""
    metrics = [
        *loss_metrics(),
        REPORTED.metric("fullest queue [B]", lambda run: counters(fabric, run).occupancy_max),
        *transfers(),
        *health(fabric),
    ]
    note = (
        f"The uplink goes after {AT_US} us and comes back; tables follow each time after the "
        "convergence input. Loss duration and recovery count from its going. States of QPs and "
        "adjacencies of routing protocols are not in it. " + RESENT_NOTE
    )
    plot = Plot(0, 8, is_bars=True)
    return [table("flap", "A link that flaps", FLAP_AXES, metrics, trials, note=note, plot=plot)]


TESTS = {"13.3": BenchTest(_cases, _tables)}
