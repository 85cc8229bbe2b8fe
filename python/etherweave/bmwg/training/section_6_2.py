"""Latency of Ultra Ethernet by service, and of RoCE (training draft, 6.2)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.latency import latency_cases, latency_tables
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import KIB, MIB, roce, uet


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send messages to and fro by RUD, ROD and RC, alone and beside all other pairs."""
    variants = {
        "RUD": uet(fabric, delivery="rud"),
        "ROD": uet(fabric, delivery="rod"),
        "RC": roce(fabric),
    }
    if full:
        return latency_cases(fabric, (64, 4 * KIB, 64 * KIB, MIB), 10_000, variants, seeds=20)
    return latency_cases(fabric, (64, 64 * KIB), 100, variants)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report pooled percentiles by service."""
    return latency_tables(trials)
