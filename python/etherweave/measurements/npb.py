"""Iterations that the NAS Parallel Benchmarks time, by benchmark and class."""

_CLASSES = "SWABCDEF"
CG_INNER = 25  # Inner iterations of conjugate gradient in each outer one (``cgitmax`` of cg.f).
_ITERATIONS = {
    "cg": (15, 15, 15, 75, 75, 100, 100, 100),
    "bt": (60, 200, 200, 200, 200, 250, 250),
    "ft": (6, 6, 6, 20, 20, 25, 25),
    "lu": (50, 300, 250, 250, 250, 300, 300),
    "mg": (4, 4, 4, 20, 20, 50, 50),
    "sp": (100, 400, 400, 400, 400, 500, 500),
    "ep": (1,) * 7,
    "is": (10,) * 7,
    "dt": (1,) * 7,
}
"""Counts by benchmark and class, as ``docs/models/workload/npb.md`` lists them; only CG has F."""


def benchmark_iterations(benchmark: str, kind: str) -> int:
    """Return how many iterations a benchmark times in a class; zones do not change them.

    >>> benchmark_iterations("mg", "A"), benchmark_iterations("dt_bh", "S")
    (4, 1)
    """
    return _ITERATIONS[benchmark.partition("_")[0]][_CLASSES.index(kind)]


def iterations_note(benchmark: str, kind: str, iterations: int) -> str:
    """Write of how many iterations a time is, beside those of the benchmark.

    >>> iterations_note("mg", "A", 20)
    '20 iterations; the benchmark has 4'
    >>> iterations_note("ep", "A", 1)
    '1 iteration, as the benchmark has'
    """
    plural = "" if iterations == 1 else "s"
    own = benchmark_iterations(benchmark, kind)
    beside = ", as the benchmark has" if own == iterations else f"; the benchmark has {own}"
    return f"{iterations} iteration{plural}{beside}"
