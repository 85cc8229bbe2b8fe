"""Scale of all-reduce, and failures during it (training draft, chapter 11)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.collectives import COUNTS, SIZES, collective_cases, collective_table, parts
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.failures import all_reduce_cases, failure_table
from etherweave.bmwg.formulas import algorithm_factor, roofline_s
from etherweave.bmwg.kpis import SOFTWARE, iterations_us
from etherweave.bmwg.model import BenchTest, Case, Included, ReportTable


def _scale_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Double the participants up to the hosts of the fabric, under its own load balancing."""
    counts = COUNTS[3:] if full else [count for count in COUNTS if count <= min(fabric.hosts, 64)]
    size, iterations = (SIZES[4], 100) if full else (SIZES[0], 10)
    return collective_cases(fabric, ["allreduce"], {"of the file": {}}, counts, [size], iterations)


def _scale_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the ratio to the roofline and bus bandwidth over participants."""

    def ratio(case: Case, result: Result) -> float:
        operation, count, size = parts(case)
        times = iterations_us(result)
        factor = algorithm_factor(operation, count)
        ideal_s = roofline_s(len(times), 0.0, size, factor, fabric.rate_gbps * 1e9)
        return sum(times) / 1e6 / ideal_s

    metric = SOFTWARE.case_metric("JCT ratio, C = 0", ratio)
    return [collective_table(fabric, trials, "scale", "All-reduce over participants", [metric])]


TESTS = {
    "11.1": BenchTest(_scale_cases, _scale_tables),
    # Loss and recovery, then the slowest iteration beside steady ones alone.
    "11.2": BenchTest(all_reduce_cases, lambda _, trials: [failure_table(trials)]),
    "11.3": BenchTest(
        all_reduce_cases, lambda _, trials: [failure_table(trials, is_time_alone=True)]
    ),
}
