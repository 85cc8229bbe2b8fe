"""The end of the warm-up of a series: MSER-5.

Of all truncations, the one is taken that leaves the mean of what remains best known (White,
Simulation 69, 1997), over means of five values each (White, Cobb and Spratt, Proceedings of the
Winter Simulation Conference, 2000). Nothing is imported for tables.
"""

import math
from collections.abc import Sequence

BATCH = 5  # Values of a batch.
LEFT_OUT_MAX = 0.5
"""Largest share of the batches that may be left out; the minimum beyond it says nothing."""


def warm_up_end(values: Sequence[float]) -> int | None:
    """Return how many values of a series, in the order of time, belong to its warm-up.

    It is a multiple of five; ``None`` where more than half would be left out, or the series has
    fewer than two batches: it is too short to have a steady state.

    Examples
    --------
    >>> warm_up_end([9.0] * 10 + [1.0, 2.0, 3.0, 2.0, 1.0] * 8)
    10
    >>> warm_up_end([float(value) for value in range(100)]) is None
    True
    """
    count = len(values) // BATCH
    if count < 2:
        return None
    means = [math.fsum(values[at * BATCH : (at + 1) * BATCH]) / BATCH for at in range(count)]
    best, least = 0, math.inf
    total = squares = 0.0
    middle = math.fsum(means) / count  # Against cancellation: the statistic does not change.
    for cut in range(count - 1, -1, -1):
        total += means[cut] - middle
        squares += (means[cut] - middle) ** 2
        left = count - cut
        if left < BATCH:
            continue  # Few values agree by chance.
        statistic = max(squares - total**2 / left, 0.0) / left**2
        if statistic <= least:
            best, least = cut, statistic
    return best * BATCH if best <= LEFT_OUT_MAX * count else None
