"""The order of launches: shuffled, so that what drifts strikes all experiments alike."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple


class Launch(NamedTuple):
    """One start of one experiment."""

    round: int
    """From 0."""
    experiment: str


def shuffled(experiments: Iterable[str], rounds: int, seed: int) -> list[Launch]:
    """Order launches in rounds, each with every experiment once in an order of its own.

    Complete blocks in random order (Lilja, *Measuring Computer Performance*, 2000): a
    machine that grows slower slows all, and an experiment that needs no further round can leave
    without spoiling the balance of the others. The order is a function of seed and names on any
    platform, whatever the order of ``experiments``.

    Parameters
    ----------
    experiments
        Names, each once.
    rounds
        How often each is launched.
    seed
        Names the order; stored with the result.
    """
    names = sorted(experiments)
    assert len(set(names)) == len(names), "an experiment is named twice"
    return [
        Launch(number, name)
        for number in range(rounds)
        for name in sorted(names, key=lambda name: _lot(seed, number, name))
    ]


def _lot(seed: int, number: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}/{number}/{name}".encode()).digest()
