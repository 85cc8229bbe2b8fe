"""The captured texts, and short ways to ask what they say."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from etherweave.bench.texts.document import UnrecognisedError, parse
from etherweave.measurements.benchmark_report import BenchmarkReport, Failure, Measurement

DATA = Path(__file__).parents[1] / "data" / "bench"


def captured(name: str) -> str:
    return (DATA / name).read_text(errors="replace")


def reports(text: str) -> tuple[BenchmarkReport, ...]:
    """Read a text; one that is not recognised has no reports."""
    try:
        return parse(text).reports
    except UnrecognisedError:
        return ()


def names() -> list[str]:
    """Name the captured texts that have reports."""
    files = sorted(path for path in DATA.rglob("*") if path.is_file() and path.suffix != ".md")
    every = [str(path.relative_to(DATA)) for path in files]
    return [name for name in every if reports(captured(name))]


@cache
def report(name: str) -> BenchmarkReport:
    document = parse(captured(name))
    assert not document.failures
    (one,) = document.reports
    return one


def failure(text: str) -> Failure:
    document = parse(text)
    assert not document.reports
    (one,) = document.failures
    return one


def values(
    report: BenchmarkReport,
    metric: str,
    *,
    size: int | None = None,
    statistic: str = "mean",
    **labels: str,
) -> list[float]:
    """All values of a metric at a size, by statistic, with at least these labels."""
    return [row.value for row in report.measurements if _fits(row, metric, size, statistic, labels)]


Number = tuple[object, ...]


def numbers(reports: Iterable[BenchmarkReport]) -> list[Number]:
    """Return the claim of each number; lines may move."""
    return [
        (report.program, row.metric, row.value, row.statistic, row.size_bytes, row.labels)
        for report in reports
        for row in report.measurements
    ]


def without_sizes(numbers: set[Number]) -> set[Number]:
    """Return numbers of which the size alone is lost, which is not wrong."""
    return {(*number[:4], None, number[5]) for number in numbers}


FAMILIES = frozenset({"IMB", "osu", "osu_mbw_mr", "perftest", "nccl-tests"})
"""Name of a table whose title is lost; the metric follows from it."""


def without_titles(result: set[Number], full: set[Number]) -> set[Number]:
    """Numbers that are not in the full text, but for those that only lost the name of their test.

    Numbers begin with program, metric, value and statistic.
    """
    values = {number[2:4] for number in full}
    return {key for key in result - full if key[0] not in FAMILIES or key[2:4] not in values}


def value(
    report: BenchmarkReport,
    metric: str,
    *,
    size: int | None = None,
    statistic: str = "mean",
    **labels: str,
) -> float:
    (one,) = values(report, metric, size=size, statistic=statistic, **labels)
    return one


def _fits(
    measurement: Measurement, metric: str, size: int | None, statistic: str, labels: dict[str, str]
) -> bool:
    same = (measurement.metric.name, measurement.size_bytes, measurement.statistic) == (
        metric,
        size,
        statistic,
    )
    return same and labels.items() <= dict(measurement.labels).items()


def figures_of(text: str) -> list[tuple[str, float]]:
    """Return metric and value of each measurement of the one run of a text."""
    (report,) = parse(text).reports
    return [(measurement.metric.name, measurement.value) for measurement in report.measurements]
