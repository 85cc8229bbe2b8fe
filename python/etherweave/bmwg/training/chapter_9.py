"""Bus bandwidth of collectives (training draft, chapter 9)."""

from collections.abc import Sequence

from etherweave.bmwg.collectives import (
    OPERATIONS,
    SIZES,
    collective_cases,
    collective_table,
    degradation,
    iteration_metric,
    means,
    swept,
)
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SETTING, SOFTWARE
from etherweave.bmwg.model import BenchTest, Case, Included, ReportTable
from etherweave.bmwg.settings import strategies


def _cases(fabric: BenchFabric, full: bool, *operations: str) -> Sequence[Case]:
    """Sweep participants and sizes under every strategy."""
    return collective_cases(fabric, operations, strategies(fabric), *swept(fabric, full))


def _alltoall_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth over participants, and every strategy over ECMP."""
    columns = [*SETTING.columns("N", "S [B]", "strategy"), *SOFTWARE.columns("BusBW over ECMP's")]
    title = "All-to-all over that of ECMP"
    own = [iteration_metric(50), iteration_metric(99)]
    return [
        collective_table(fabric, trials, "alltoall", "All-to-all", own),
        ReportTable("alltoall-over-ecmp", title, columns, degradation(trials)),
    ]


def _allgather_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth over participants, and the ratio to the all-reduces of 9.1."""
    axes = ("strategy", "N", "S [B]")
    rows = [
        [*key, of["allgather"] / of["allreduce"]]
        for key, of in means(trials, axes, "collective").items()
        if len(of) == 2
    ]
    columns = [*SETTING.columns(*axes), *SOFTWARE.columns("BusBW of all-gather over all-reduce")]
    gathers = [pair for pair in trials if pair[0].labels["collective"] == "allgather"]
    times = [iteration_metric(50), iteration_metric(99)]
    return [
        collective_table(fabric, gathers, "allgather", "All-gather", times),
        ReportTable("allgather-over-allreduce", "All-gather over all-reduce", columns, rows),
    ]


def _summary_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run every collective at one size; the runs are those of 9.1 to 9.3."""
    counts, sizes, iterations = swept(fabric, full)
    chosen, size = ((128, 512), SIZES[4]) if full else (counts[-1:], sizes[-1])
    return collective_cases(fabric, OPERATIONS, strategies(fabric), chosen, [size], iterations)


def _summary_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth of an accelerator, strategies side by side."""
    axes, names = ("collective", "N", "S [B]"), list(strategies(fabric))
    rows = [
        [*key, *(8 * own[name] if name in own else None for name in names)]
        for key, own in means(trials, axes, "strategy").items()
    ]
    titles = (f"BusBW, {name} [Gb/s]" for name in names)
    columns = [*SETTING.columns(*axes), *SOFTWARE.columns(*titles)]
    return [ReportTable("summary", "Bus bandwidth of an accelerator", columns, rows)]


TESTS = {
    "9.1": BenchTest(
        lambda fabric, full: _cases(fabric, full, "allreduce"),
        lambda fabric, trials: [collective_table(fabric, trials, "allreduce", "All-reduce")],
    ),
    "9.2": BenchTest(lambda fabric, full: _cases(fabric, full, "alltoall"), _alltoall_tables),
    "9.3": BenchTest(
        lambda fabric, full: _cases(fabric, full, "allgather", "allreduce"), _allgather_tables
    ),
    "9.4": BenchTest(_summary_cases, _summary_tables),
}
