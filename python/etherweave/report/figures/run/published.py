"""Published figures of the same workloads, with the ratio."""

from collections.abc import Iterator

from etherweave.bench.amounts import amount
from etherweave.report.against import published
from etherweave.report.figures.run.beside import Beside
from etherweave.report.quantities import fabric, quantities
from etherweave.report.section import Section, Table

HEAD = (
    *("job", "result", "number", "size [bytes]", "ours", "published", "ratio"),
    *("fabric", "conditions", "source"),
)
CAPTION = (
    "Means over iterations and processes, the median of launches; the ratio is ours over the "
    "published. Listed is what has the same workload, size, number of ranks, transport and rate of "
    "links; the conditions tell what may differ. Applications count only as published and alone."
)
_BOUNDS = {"eq": "", "approx": "≈ ", "gt": "> ", "lt": "< "}


def section(beside: Beside) -> Section | None:
    """Show each number of a job beside what was published of it."""
    rows = list(_rows(beside))
    if not rows:
        return None
    return Section("published", "Published figures", CAPTION, tables=[Table(HEAD, rows)])


def _rows(beside: Beside) -> Iterator[list[str]]:
    for result, label in zip(beside.results, beside.labels, strict=True):
        found = quantities(result)
        where = fabric(result) if found else None
        for one in found:
            assert where is not None, "a result with jobs has a fabric"
            unit = one.metric.unit.value
            name = " ".join(filter(None, (one.program, one.test, one.metric.name)))
            for figure in published(one, where):
                yield [
                    *(one.job, label, name),
                    "" if one.size_bytes is None else f"{one.size_bytes:,}",
                    amount(one.median, unit),
                    f"{_BOUNDS.get(figure.bound, '')}{amount(figure.value, unit)}",
                    f"{one.median / figure.value:.3g}",
                    *(figure.fabric, figure.conditions, f"{figure.source}, {figure.place}"),
                ]
