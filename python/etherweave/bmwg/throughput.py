"""RDMA Writes between pairs of hosts, which several tests measure."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import write_payload_share
from etherweave.bmwg.kpis import BOUNDARY, health, stream_rates, uplinks_max
from etherweave.bmwg.model import BenchTest, Case, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.search import LOAD
from etherweave.bmwg.settings import Changes, window
from etherweave.bmwg.traffic import Job, named, write

SIMPLEX, DUPLEX = "unidirectional", "bidirectional"
Variants: TypeAlias = Callable[[BenchFabric], Mapping[str, Changes]]
"""Names variants of a fabric with their changes."""
Sweep: TypeAlias = tuple[Sequence[int], Sequence[int]]  # Sizes of messages [B], and QPs of a pair.
AXES = ("variant", "message [B]", "QPs a pair", "direction")


def pair_jobs(
    fabric: BenchFabric, message: int, streams: int = 1, direction: str = SIMPLEX
) -> Sequence[Job]:
    """Write from each host of the first half of the leaves to one of the second half."""
    pairs = [*fabric.pairs()]
    if direction == DUPLEX:
        pairs += [(sink, source) for source, sink in pairs]
    return named([write(source, sink, message, streams) for source, sink in pairs])


def throughput_test(title: str, variants: Variants, short: Sweep, complete: Sweep) -> BenchTest:
    """Test throughput of each variant of a fabric over size and QPs."""
    return BenchTest(
        lambda fabric, full: _cases(fabric, full, variants(fabric), complete if full else short),
        lambda fabric, trials: [_table(fabric, trials, title)],
    )


def _cases(
    fabric: BenchFabric, full: bool, variants: Mapping[str, Changes], sweep: Sweep
) -> list[Case]:
    """Make a case for each variant of the fabric, size, number of QPs and direction.

    Full ones look for the largest load without loss.
    """
    sizes, streams = sweep
    return [
        Case(
            labelled(AXES, variant, size, count, direction),
            {"job": pair_jobs(fabric, size, count, direction), **window(full), **changes},
            is_searched=full,
        )
        for variant, changes in variants.items()
        for size in sizes
        for count in streams
        for direction in (SIMPLEX, DUPLEX)
    ]


def throughput_tbps(result: Result) -> float:
    """Sum the goodput of all streams [Tb/s]."""
    return sum(stream_rates(result)) / 1e3


def _table(fabric: BenchFabric, trials: Included, title: str) -> ReportTable:
    """Make the table of throughput over size and QPs, with its figure."""

    def share(case: Case, result: Result) -> float:
        streams = len(fabric.pairs()) * (2 if case.labels["direction"] == DUPLEX else 1)
        return 1e5 * throughput_tbps(result) / (streams * fabric.rate_gbps)

    def possible(case: Case, result: Result) -> float | None:
        if "transport.roce" not in result.resolved:
            return None
        return share(case, result) / write_payload_share(int(str(case.labels["message [B]"])))

    metrics = [
        BOUNDARY.metric("throughput [Tb/s]", throughput_tbps),
        BOUNDARY.case_metric("payload of line rate [%]", share),
        BOUNDARY.case_metric("of theoretical [%]", possible),
        uplinks_max(fabric),
        *health(fabric),
        BOUNDARY.case_metric(LOAD, lambda case, _: case.labels.get(LOAD, 100)),
    ]
    note = (
        f"{len(fabric.pairs())} pairs of hosts on different leaves. Theoretical: the line rate "
        "times the share of payload in untagged frames of RoCE, the first of which has a RETH."
    )
    plot = Plot(1, 5, (0, 2, 3))
    return table("throughput", title, AXES, metrics, trials, note=note, plot=plot)
