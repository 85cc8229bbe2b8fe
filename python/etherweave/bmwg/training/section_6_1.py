"""Throughput of Ultra Ethernet by service, and of RoCE (training draft, 6.1)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import MIB, roce, uet
from etherweave.bmwg.throughput import throughput_cases, throughput_table


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Write messages over each number of contexts, by RUD, ROD and RC."""
    variants = {
        "RUD": uet(fabric, delivery="rud"),
        "ROD": uet(fabric, delivery="rod"),
        "RC": roce(fabric),
    }
    sizes, streams = ((MIB, 4 * MIB), (1, 4, 16, 32)) if full else ((MIB,), (1, 4))
    return throughput_cases(fabric, full, sizes, streams, variants)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report throughput by service."""
    return [throughput_table(fabric, trials, "Throughput by service")]
