"""Times of whole calls of which a simulation carries out some rounds (``samples``)."""

import math
from collections.abc import Sequence


def rounds(operation: str, ranks: int) -> int:
    """Return how many rounds a call of a ring or a pairwise exchange has.

    There is a round for each other rank; an all-reduce passes around twice.
    """
    return (ranks - 1) * (2 if operation == "allreduce" else 1)


def time_of_all(times: Sequence[float], count: int) -> float:
    """Return the time of all rounds from those of some, in order, in any unit.

    The first round stands for itself, each other one takes the mean of the others, or the time of
    the first where that is the only one.

    Examples
    --------
    >>> time_of_all([5.0, 2.0, 4.0], 4), time_of_all([5.0], 2)
    (14.0, 10.0)
    """
    if len(times) == count:
        return math.fsum(times)
    others = times[1:] or times[:1]
    return times[0] + (count - 1) * math.fsum(others) / len(others)
