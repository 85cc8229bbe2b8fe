"""Largest sustained throughput of RDMA Writes (training draft, 5.1)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import KIB, MIB
from etherweave.bmwg.throughput import throughput_cases, throughput_table

SIZES = (64, 256, KIB, 4 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)
STREAMS = (1, 4, 16, 32)


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Write messages of each size over each number of QPs, in one direction and in both."""
    sizes, streams = (SIZES, STREAMS) if full else ((4 * KIB, 64 * KIB, MIB), (1, 4))
    return throughput_cases(fabric, full, sizes, streams, {fabric.transport: {}})


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report throughput over size and QPs."""
    return [throughput_table(fabric, trials, "RDMA Write throughput")]
