"""Effects of unknowns on leads that are known by formula."""

import math
from itertools import pairwise

from etherweave.advise.sensitivity import LEVELS, effects, trajectories
from etherweave.advise.simulated import SEED, Draw
from etherweave.advise.unknowns import Unknown

NAMES = ("strong", "weak", "without effect")
UNKNOWNS = {name: Unknown(name, "estimate", "0.7us to 1.5us") for name in NAMES}
FIRST = 100


def rows() -> list[Draw]:
    return trajectories([SEED, *NAMES], 4, 1, FIRST)


def test_each_row_moves_one_unknown_or_begins_a_trajectory() -> None:
    result = rows()
    assert [draw.sample for draw in result] == list(range(FIRST, FIRST + 4 * (len(NAMES) + 2)))
    assert {draw.seed for draw in result} <= set(range(1, 1 + LEVELS))
    for begin in range(0, len(result), len(NAMES) + 2):
        for first, other in pairwise(result[begin : begin + len(NAMES) + 2]):
            moved = [name for name in NAMES if first.shares[name] != other.shares[name]]
            assert len(moved) + (first.seed != other.seed) == 1


def test_a_lead_that_is_a_sum_has_the_effects_of_its_parts() -> None:
    draws = rows()
    leads = [0.3 + 0.2 * draw.shares["strong"] - 0.1 * draw.shares["weak"] for draw in draws]
    moved = {effect.unknown: effect for effect in effects(UNKNOWNS, draws, leads, 1)}
    assert list(moved)[:2] == ["strong", "weak"]
    assert math.isclose(moved["strong"].moves, math.expm1(0.2))
    assert math.isclose(moved["weak"].moves, math.expm1(0.1))
    assert math.isclose(moved["without effect"].moves, 0, abs_tol=1e-12)
    assert math.isclose(moved[SEED].moves, 0, abs_tol=1e-12)
    assert not any(share.turns for share in moved.values())


def test_an_unknown_that_turns_the_order_is_named() -> None:
    result = rows()
    leads = [draw.shares["strong"] - 0.5 for draw in result]
    turning = [effect.unknown for effect in effects(UNKNOWNS, result, leads, 1) if effect.turns]
    assert turning == ["strong"]
