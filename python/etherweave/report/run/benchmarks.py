"""Benchmarks of many ranks among the jobs of results, in the figures that each prints."""

from functools import partial

from etherweave.api.units import amount, size_text
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
    "within nodes that the computation waits for take the time of a formula.",
    "nccl_tests": "The size of a collective over its time, by what of it each rank must move, so "
    "that it compares to the rate of a rank's network (PERFORMANCE.md of nccl-tests). Published is "
    "what its maintainers expect of each network interface at that rate from 256 MiB on.",
    "deepep": "Dispatch and combine of a layer, from the last start of a rank to the last end. The "
    "logical bandwidth counts a token for each destination node, the own one included, or for each "
    "expert with low latency, as DeepEP's tests do: the network carries less.",
    "inference": "Requests to a language model: mean and percentiles of the time to first token "
    "and of its parts, and of the mean time between tokens of a request. The fabric share is that "
    "of transfers in the time to first token, the token fabric share that of dispatch and combine "
    "in the time between tokens. Goodput counts requests within first_token_max and "
    "between_tokens_max.",
    "checkpoint": "From the first start of a writer to the last end, and all bytes by it.",
    "request_response": "Measured requests of all clients, each until the last of its answers: "
    "mean, percentiles (the least time that so many do not exceed), and requests answered in a "
    "second from the first that was asked on.",
}


def _name(figure: Reference, quantity: Quantity) -> str:
    times = f"{quantity.interfaces} × " if quantity.interfaces > 1 else ""
    return f"{times}{figure.printed}, {figure.fabric} ({figure.source.partition(',')[0]})"


def _figures(beside: ComparedResults, program: str) -> Section | None:
    rows = [
        [
            *(
                row.job,
                beside.labels_of(row.job)[place],
                f"{row.test} {row.metric.name}".replace("_", " "),
            ),
            *(size_text(row.size_bytes), f"{row.ranks:,}"),
            amount(row.median, row.metric.unit.value) + (f" ({row.note})" if row.note else ""),
            "" if row.error is None else f"{row.error:.2%}",
            "; ".join(_name(figure, row) for figure in published(row, fabric(result))),
        ]
        for place, result in enumerate(beside.results)
        for row in quantities(result)
        if row.program == program
    ]
    tables = [Table(_HEAD, rows)]
    return Section(program, _TITLES[program], _CAPTIONS[program], tables=tables) if rows else None


sections: list[Builder[ComparedResults]] = [partial(_figures, program=name) for name in _TITLES]
"""One for each suite; each returns nothing where no job is of it."""
