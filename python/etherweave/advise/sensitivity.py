"""Unknowns that would change the ranking: Morris's method, by SALib, on the lead of the first.

Trajectories move one unknown at a time by two thirds of its range, from random places. The mean
absolute change of the lead, over the part of the range, is mu* of Campolongo et al., Environmental
Modelling & Software 22, 2007.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etherweave.advise.simulated import SEED, Draw
from etherweave.advise.unknowns import Unknown

LEVELS = 4  # Places of an unknown: the ends of its range, and a third from each.


@dataclass(frozen=True)
class Effect:
    """Effect of an unknown on the lead of the first fabric over the second."""

    unknown: str
    basis: str
    span: str  # Range, as text; empty for the seed of placements.
    moves: float  # Mean relative change of the ratio of both scores over its range.
    turns: bool  # Whether a move of it alone has put the second before the first, or back.


def problem(names: Sequence[str]) -> dict[str, object]:
    """Describe unknowns to SALib, each by its place in its range."""
    return {"num_vars": len(names), "names": list(names), "bounds": [[0.0, 1.0]] * len(names)}


def trajectories(names: Sequence[str], count: int, seed: int, first: int) -> list[Draw]:
    """Choose the samples of Morris's method, numbered from ``first``."""
    from SALib.sample import morris

    rows = morris.sample(problem(names), count, num_levels=LEVELS, seed=seed).tolist()
    draws = []
    for number, row in enumerate(rows):
        places = dict(zip(names, row, strict=True))
        run = seed + round(places.pop(SEED) * (LEVELS - 1))
        draws.append(Draw(first + number, run, places))
    return draws


def effects(
    unknowns: Mapping[str, Unknown], rows: Sequence[Draw], leads: Sequence[float], seed: int
) -> list[Effect]:
    """Compute the effect of each unknown, the largest first.

    ``rows`` are as :func:`trajectories` has made them, ``leads`` the logarithm of the ratio of both
    scores in each, ``seed`` that of the runs of the first place of
    :data:`~etherweave.advise.simulated.SEED`.
    """
    import numpy as np
    from SALib.analyze import morris

    names = [SEED, *unknowns]
    places = [_row(row, unknowns, seed) for row in rows]
    indices = morris.analyze(
        problem(names), np.array(places), np.array(leads), num_levels=LEVELS, seed=seed
    )
    turning = _turning(names, places, leads)
    all_ = []
    for name, mean in zip(names, indices["mu_star"].tolist(), strict=True):
        unknown = unknowns.get(name, Unknown(name, "random", ""))
        moves = math.expm1(float(mean or 0.0))
        all_.append(Effect(name, unknown.basis, unknown.span, moves, name in turning))
    return sorted(all_, key=lambda effect: -effect.moves)


def _row(draw: Draw, unknowns: Mapping[str, Unknown], seed: int) -> list[float]:
    return [(draw.seed - seed) / (LEVELS - 1), *(draw.shares[name] for name in unknowns)]


def _turning(
    names: Sequence[str], places: Sequence[Sequence[float]], leads: Sequence[float]
) -> set[str]:
    """Name unknowns that have turned the order when they alone moved."""
    rows, length = set(), len(names) + 1
    for start in range(0, len(places), length):
        for at in range(start, start + length - 1):
            moved = [a != b for a, b in zip(places[at], places[at + 1], strict=True)]
            if leads[at] * leads[at + 1] < 0:
                rows.add(names[moved.index(True)])
    return rows
