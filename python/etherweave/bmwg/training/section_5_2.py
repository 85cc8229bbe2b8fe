"""Latency of RDMA, without load and at full load (training draft, 5.2)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.latency import latency_cases, latency_tables
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import KIB, MIB

SIZES = (64, 256, KIB, 4 * KIB, 64 * KIB, 256 * KIB, MIB)


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send messages of each size to and fro, alone and beside all other pairs."""
    if full:
        return latency_cases(fabric, SIZES, 10_000, {fabric.transport: {}}, seeds=20)
    return latency_cases(fabric, (64, 4 * KIB, 64 * KIB), 200, {fabric.transport: {}})


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report pooled percentiles."""
    return latency_tables(trials)
