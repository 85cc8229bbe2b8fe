"""Convergence when KV transfers and experts meet (inference draft, 8.3)."""

from collections.abc import Sequence

from etherweave.bmwg.convergence import Kind, convergence_cases, convergence_table
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import KIB, MIB

ONSET_US = 1_000
KV, EP = Kind(16 * MIB, 128), Kind(64 * KIB, 1)


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Let small messages of experts come beside KV transfers to a host, and the reverse."""
    counts, end_us = ((2, 4, 8, 16), 20_000) if full else ((2, 4), 4_000)
    made = []
    for name, kinds in (("KV first, then EP", (KV, EP)), ("EP first, then KV", (EP, KV))):
        made += convergence_cases(fabric, counts, {name: {}}, ONSET_US, end_us, kinds)
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the time to within 5 % of steady rates."""
    title = "Convergence of mixed traffic"
    return [convergence_table(fabric, trials, ONSET_US, 0.05, title, is_steady=True)]
