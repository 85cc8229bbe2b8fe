"""Collectives over Ultra Ethernet and over RoCE (training draft, 6.6)."""

from collections.abc import Sequence

from etherweave.bmwg.collectives import SIZES, collective_cases, collective_table, swept
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import roce, uet
from etherweave.bmwg.training.section_9_4 import OPERATIONS


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run every collective by RUD with spraying, by ROD and by RC with ECMP."""
    variants = {
        "RUD, spray": uet(fabric, delivery="rud", load_balancing="oblivious"),
        "ROD, ECMP": uet(fabric, delivery="rod"),
        "RC, ECMP": {**roce(fabric), "routing": "ecmp"},
    }
    counts, sizes, iterations = swept(fabric, full)
    chosen, size = ((128, 512), SIZES[4]) if full else (counts[-1:], sizes[0])
    return collective_cases(fabric, OPERATIONS, variants, chosen, [size], iterations)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth by service; no packet is encrypted."""
    return [collective_table(fabric, trials, "services", "Collectives by service")]
