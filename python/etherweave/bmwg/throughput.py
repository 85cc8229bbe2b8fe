"""RDMA Writes between pairs of hosts, which several tests measure."""

from collections.abc import Mapping, Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import write_payload_share
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, health, stream_rates, uplink_shares
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.search import LOAD
from etherweave.bmwg.settings import Changes, window
from etherweave.bmwg.traffic import Job, named, write

SIMPLEX, DUPLEX = "unidirectional", "bidirectional"
AXES = ("variant", "message [B]", "QPs a pair", "direction")


def pair_jobs(
    fabric: BenchFabric, message: int, streams: int = 1, direction: str = SIMPLEX
) -> Sequence[Job]:
    """Write from each host of the first half of the leaves to one of the second half."""
    pairs = [*fabric.pairs()]
    if direction == DUPLEX:
        pairs += [(sink, source) for source, sink in pairs]
    return named([write(source, sink, message, streams) for source, sink in pairs])


def throughput_cases(
    fabric: BenchFabric,
    full: bool,
    sizes: Sequence[int],
    streams: Sequence[int],
    variants: Mapping[str, Changes],
) -> list[Case]:
    """Make a case for each variant of the fabric, size, number of QPs and direction.

    Full ones look for the largest load without loss.
    """
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


def throughput_table(fabric: BenchFabric, trials: Included, title: str) -> ReportTable:
    """Make the table of throughput over size and QPs, with its figure."""

    def aggregate(_: Case, result: Result) -> float:
        return sum(stream_rates(result)) / 1e3

    def share(case: Case, result: Result) -> float:
        streams = len(fabric.pairs()) * (2 if case.labels["direction"] == DUPLEX else 1)
        return 1e5 * aggregate(case, result) / (streams * fabric.rate_gbps)

    def possible(case: Case, result: Result) -> float | None:
        if "transport.roce" not in result.resolved:
            return None
        return share(case, result) / write_payload_share(int(str(case.labels["message [B]"])))

    metrics = [
        (Column("throughput [Tb/s]", BOUNDARY), aggregate),
        (Column("payload of line rate [%]", BOUNDARY), share),
        (Column("of theoretical [%]", BOUNDARY), possible),
        (
            Column("uplinks, most [%]", REPORTED),
            lambda _, run: max(uplink_shares(fabric, run), default=None),
        ),
        *health(fabric),
        (Column(LOAD, BOUNDARY), lambda case, _: case.labels.get(LOAD, 100)),
    ]
    note = (
        f"{len(fabric.pairs())} pairs of hosts on different leaves. Theoretical: the line rate "
        "times the share of payload in untagged frames of RoCE, the first of which has a RETH."
    )
    plot = Plot(1, 5, (0, 2, 3))
    return table("throughput", title, AXES, metrics, trials, note=note, plot=plot)
