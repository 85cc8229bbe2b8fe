"""Benchmarks of many ranks among the jobs of results, in the figures that each prints."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import compress

from etherweave.api.results import Result
from etherweave.api.units import amount, size_text
from etherweave.measurements.benchmark_lines import statistic
from etherweave.measurements.quantities import Quantity, quantities
from etherweave.measurements.references import Reference
from etherweave.report.against import published
from etherweave.report.result_fabric import fabric
from etherweave.report.run.comparison import ComparedResults
from etherweave.report.section import Builder, Section, Table

_HEAD = ("job", "result", "test", "size", "ranks", "figure", "sampling error", "published")
_TITLES = {
    "hpcc": "HPC Challenge",
    "npb": "NAS Parallel Benchmarks",
    "training": "Training steps",
    "openfoam": "OpenFOAM",
    "nccl_tests": "NCCL tests",
    "deepep": "Experts",
    "inference": "Inference",
    "checkpoint": "Checkpoints",
    "request_response": "Requests and answers",
}
_SAMPLED = (
    "The time of all {0}, as the mean over ranks. Where {0} are sampled, the error is the "
    "difference that the first half of the samples makes."
)
_CAPTIONS = {
    "hpcc": "As HPCC counts: of rings the slowest rank of each, the fastest measurement and the "
    "geometric mean; of PTRANS the slowest transpose; of MPIRandomAccess all updates; of "
    "transforms 5 n log2 n operations, of StarFFT as the mean over ranks, of HPL 2/3 n^3 + "
    "3/2 n^2. Where panels of HPL are sampled, the error is the difference that every other "
    "sample makes.",
    "npb": _SAMPLED.format("iterations"),
    "openfoam": _SAMPLED.format("steps"),
    "training": "A step by its slowest accelerator, and the operations of the model by that time "
    "for each accelerator. Stages that have the embedding or the output layer take longer than "
    "others, and all wait for the slowest: imbalance. What a step takes beyond its computation, "
    "the bubble of its pipeline and that imbalance is exposed communication; of it, collectives "
    "within nodes that the computation waits for count as if they were alone on the links of the "
    "node.",
    "nccl_tests": "The size of a collective over its time, by what of it each rank must move, so "
    "that it compares to the rate of a rank's network (PERFORMANCE.md of nccl-tests). Published is "
    "what its maintainers expect of each network interface at that rate from 256 MiB on.",
    "deepep": "Dispatch and combine of a layer, from the last start of a rank to the last end. The "
    "logical bandwidth counts a token for each destination node, the own one included, or for each "
    "expert with low latency, as DeepEP's tests do: the network carries less.",
    "inference": "Requests to a language model: mean and percentiles of the time to first token "
    "and of its parts, and of the mean time between tokens of a request. The fabric share is that "
    "of transfers and of a step's exchange of experts in the time to first token, the token fabric "
    "share that of dispatch and combine in the time between tokens. Goodput counts requests within "
    "first_token_max and between_tokens_max.",
    "checkpoint": "From the first start of a writer to the last end, and all bytes by it.",
    "request_response": "Measured requests of all clients, each until the last of its answers: "
    "mean, percentiles (the least time that so many do not exceed), and requests answered in a "
    "second from the first that was asked on.",
}


def _name(figure: Reference, quantity: Quantity) -> str:
    times = f"{quantity.interfaces} × " if quantity.interfaces > 1 else ""
    return f"{times}{figure.printed}, {figure.fabric} ({figure.source.partition(',')[0]})"


def _row(figure: Quantity, label: str, result: Result) -> list[str]:
    return [
        *(figure.job, label, f"{figure.test} {figure.metric.name}".replace("_", " ")),
        *(size_text(figure.size_bytes), f"{figure.ranks:,}"),
        amount(figure.median, figure.metric.unit.value)
        + (f" ({figure.note})" if figure.note else ""),
        "" if figure.error is None else f"{figure.error:.2%}",
        "; ".join(_name(known, figure) for known in published(figure, fabric(result))),
    ]


def _statistics(named: Iterable[tuple[Quantity, str]]) -> Table:
    """Make a row of each time, with its mean and percentiles as columns."""
    rows = dict[tuple[str, str, str], dict[str, str]]()
    for figure, label in named:
        subject, name = statistic(figure) or ("", "")
        own = rows.setdefault((figure.job, label, subject), {})
        own[name] = amount(figure.median, figure.metric.unit.value)
    names = list(dict.fromkeys(name for own in rows.values() for name in own))
    cells = [[*key, *(own.get(name, "") for name in names)] for key, own in rows.items()]
    return Table(("job", "result", "time", *names), cells)


def _filled(table: Table) -> Table:
    """Leave out the columns that no row has a text in."""
    kept = [any(cells) for cells in zip(*table.rows, strict=True)]
    return replace(
        table,
        head=list(compress(table.head, kept)),
        rows=[list(compress(row, kept)) for row in table.rows],
    )


def _figures(beside: ComparedResults, program: str) -> Section | None:
    named = [
        (figure, beside.labels_of(figure.job)[place], result)
        for place, result in enumerate(beside.results)
        for figure in quantities(result)
        if figure.program == program
    ]
    others = [_row(*entry) for entry in named if not statistic(entry[0])]
    tables = [
        Table(_HEAD, others),
        _statistics((figure, label) for figure, label, _ in named if statistic(figure)),
    ]
    filled = [_filled(table) for table in tables if table.rows]
    return Section(program, _TITLES[program], _CAPTIONS[program], tables=filled) if filled else None


sections: list[Builder[ComparedResults]] = [partial(_figures, program=name) for name in _TITLES]
"""One for each suite; each returns nothing where no job is of it."""
