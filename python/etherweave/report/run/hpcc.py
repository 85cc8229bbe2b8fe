"""Tests of the HPC Challenge among the jobs of results, as the benchmark prints them."""

from etherweave.report.quantities import quantities
from etherweave.report.run.comparison import ComparedResults
from etherweave.report.section import Section, Table
from etherweave.units import amount, size_text

CAPTION = (
    "As HPCC counts: of rings the slowest rank of each, the fastest measurement and the geometric "
    "mean; of PTRANS the slowest transpose; of MPIFFT 5 n log2 n operations, of HPL "
    "2/3 n^3 + 3/2 n^2. Where panels of HPL are sampled, the error is the difference that every "
    "other sample makes."
)
HEAD = ("job", "result", "test", "size", "ranks", "figure", "sampling error")


def figures(beside: ComparedResults) -> Section | None:
    """Show each figure of the HPC Challenge."""
    rows = [
        [
            *(one.job, label, f"{one.test} {one.metric.name}".replace("_", " ")),
            *(size_text(one.size_bytes), f"{one.ranks:,}"),
            amount(one.median, one.metric.unit.value),
            "" if one.error is None else f"{one.error:.2%}",
        ]
        for result, label in zip(beside.results, beside.labels, strict=True)
        for one in quantities(result)
        if one.program == "hpcc"
    ]
    return Section("hpcc", "HPC Challenge", CAPTION, tables=[Table(HEAD, rows)]) if rows else None
