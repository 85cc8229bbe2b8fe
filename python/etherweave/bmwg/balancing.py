"""Load balancing over the uplinks, which several tests measure."""

from collections.abc import Callable, Mapping, Sequence

from etherweave.api.results import Result
from etherweave.bmwg import model
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, balance, health, stream_rates
from etherweave.bmwg.settings import MIB, Changes, window
from etherweave.bmwg.throughput import DUPLEX, pair_jobs

AXES = ("strategy", "QPs a pair")
Variants = Callable[[BenchFabric, bool], Mapping[str, Changes]]
"""Names variants of a fabric, for a short or a full sweep."""


def balance_cases(
    fabric: BenchFabric, full: bool, strategies: Mapping[str, Changes], streams: Sequence[int]
) -> list[model.Case]:
    """Make a case for each strategy and number of QPs: all hosts write across the fabric."""
    return [
        model.Case(
            model.labelled(AXES, name, count),
            {"job": pair_jobs(fabric, MIB, count, DUPLEX), **window(full), **changes},
        )
        for name, changes in strategies.items()
        for count in streams
    ]


def goodput_metric(fabric: BenchFabric) -> model.Metric:
    """Return the goodput of all flows as a share of the hosts' line rate."""

    def share(result: Result) -> float:
        return 100 * sum(stream_rates(result)) / (2 * len(fabric.pairs()) * fabric.rate_gbps)

    return BOUNDARY.metric("goodput of line rate [%]", share)


NOTE = (
    "Every host writes to one of the other half of the leaves and receives. MMR by bytes over all "
    "uplinks of leaves, idle ones included. The hash of a flow differs between QPs of a pair; one "
    "QP a pair is what a hash without QPs does with any number."
)


def balance_test(
    title: str,
    variants: Variants,
    streams: Sequence[int],
    streams_full: Sequence[int] = (),
    note: str = "",
) -> model.BenchTest:
    """Test variants of a fabric: utilisation and fairness of uplinks, order and losses.

    ``note`` goes on from that of all such tests.
    """

    def tables(fabric: BenchFabric, trials: model.Included) -> list[model.ReportTable]:
        metrics, plot = (
            [goodput_metric(fabric), *balance(fabric), *health(fabric)],
            model.Plot(1, 5, (0,)),
        )
        return [model.table("balance", title, AXES, metrics, trials, note=NOTE + note, plot=plot)]

    return model.BenchTest(
        lambda fabric, full: balance_cases(
            *(fabric, full, variants(fabric, full)),
            streams_full if full and streams_full else streams,
        ),
        tables,
    )
