"""Calls without iterations; as a program, how many of them are taken for iterations.

``PYTHONPATH=tests python -m support.random_calls`` prints a line for each kind.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from etherweave.report.periods import period

Floats = npt.NDArray[np.float64]
Random = np.random.Generator

SERIES = 60  # Number of each kind.


def exponential(random: Random, count: int) -> tuple[Floats, Floats]:
    """Wait for exponential times, and communicate for exponential times of a fifth [ns]."""
    starts = np.cumsum(random.exponential(1e6, count))
    return starts, starts + random.exponential(2e5, count)


def uniform(random: Random, count: int, length_ns: float) -> tuple[Floats, Floats]:
    """Begin at any time of a second [ns]."""
    starts = random.uniform(0, 1e9, count)
    return starts, starts + random.exponential(length_ns, count)


def clusters(random: Random) -> tuple[Floats, Floats]:
    """Make 12 bursts of 30 short calls in a second [ns]."""
    starts = (random.uniform(0, 1e9, (12, 1)) + random.exponential(2e6, (12, 30))).ravel()
    return starts, starts + 1e4


def after(gaps: Floats) -> tuple[Floats, Floats]:
    """Communicate for a fifth of a millisecond after each gap [ms]; gives ns."""
    starts = np.cumsum(gaps) * 1e6
    return starts, starts + 2e5


KINDS: dict[str, Callable[[Random], tuple[Floats, Floats]]] = {
    "30 gaps, exponential": lambda random: after(random.exponential(1, 30)),
    "30 exponential": lambda random: exponential(random, 30),
    "300 exponential": lambda random: exponential(random, 300),
    "20 uniform": lambda random: uniform(random, 20, 2e7),
    "1000 uniform": lambda random: uniform(random, 1000, 1e5),
    "12 clusters": clusters,
    "200 gaps of a heavy tail": lambda random: after(random.pareto(1.2, 200)),
    "100 uneven gaps": lambda random: after(random.uniform(0.5, 1.5, 100)),
}
"""Durations of calls, in nanoseconds."""


def mistaken(kind: str, series: int) -> int:
    """Count the series of a kind in which a period is found."""
    draws = (KINDS[kind](np.random.default_rng(seed)) for seed in range(series))
    return sum(period(*calls) is not None for calls in draws)


if __name__ == "__main__":
    for kind in KINDS:
        print(f"{kind}: {mistaken(kind, SERIES)} of {SERIES}", flush=True)
