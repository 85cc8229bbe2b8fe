"""Load balancing over the uplinks, which several tests measure."""

from collections.abc import Mapping, Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, balance, health, stream_rates
from etherweave.bmwg.model import Case, Column, Included, Metric, Plot, ReportTable, table
from etherweave.bmwg.settings import MIB, Changes, window
from etherweave.bmwg.throughput import DUPLEX, pair_jobs

AXES = ("strategy", "QPs a pair")
JFI = 6  # Place of the fairness of links in :func:`balance_table`.


def balance_cases(
    fabric: BenchFabric, full: bool, strategies: Mapping[str, Changes], streams: Sequence[int]
) -> list[Case]:
    """Make a case for each strategy and number of QPs: all hosts write across the fabric."""
    return [
        Case(
            {"strategy": name, "QPs a pair": count},
            {"job": pair_jobs(fabric, MIB, count, DUPLEX), **window(full), **changes},
        )
        for name, changes in strategies.items()
        for count in streams
    ]


def goodput_metric(fabric: BenchFabric) -> Metric:
    """Return the goodput of all flows as a share of the hosts' line rate."""

    def share(_: Case, result: Result) -> float:
        return 100 * sum(stream_rates(result)) / (2 * len(fabric.pairs()) * fabric.rate_gbps)

    return Column("goodput of line rate [%]", BOUNDARY), share


def balance_table(fabric: BenchFabric, trials: Included, title: str) -> ReportTable:
    """Report utilisation and fairness of uplinks, order and losses."""
    metrics = [goodput_metric(fabric), *balance(fabric), *health(fabric)]
    note = (
        "Every host writes to one of the other half of the leaves and receives. MMR by bytes over "
        "all uplinks of leaves, idle ones included. The hash of a flow differs between QPs of a "
        "pair; one QP a pair is what a hash without QPs does with any number."
    )
    return table("balance", title, AXES, metrics, trials, note=note, plot=Plot(1, 5, (0,)))
