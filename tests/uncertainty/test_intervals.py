"""Intervals and contributions of figures whose distribution is known by formula."""

import math

import numpy as np
import pytest

from etherweave.uncertainty.intervals import distribution
from etherweave.uncertainty.sampling import sobol

SAMPLES = 256
NAMES = ("strong", "weak", "without effect")
SHARES = sobol(len(NAMES), SAMPLES, 1)


def test_a_figure_that_is_linear_in_an_unknown_has_the_intervals_of_the_unknown() -> None:
    result = distribution("time", 15.0, [10 + 10 * row[0] for row in SHARES], SHARES, NAMES)
    ends = [*result.most, *result.half, result.median]
    assert ends == pytest.approx([10.5, 19.5, 12.5, 17.5, 15.0], abs=10 / SAMPLES)


def test_contributions_to_a_sum_are_the_squares_of_its_factors() -> None:
    result = distribution("time", None, [4 * row[0] - 2 * row[1] for row in SHARES], SHARES, NAMES)
    contributions = result.contributions or ()
    shares = {contribution.unknown: contribution.share for contribution in contributions}
    assert list(shares) == ["strong", "weak"], "the third is not named"
    assert math.isclose(shares["strong"], 16 / 20, abs_tol=0.01)
    assert math.isclose(shares["weak"], 4 / 20, abs_tol=0.01)
    # Without the strong one, -2 x lies within 0.9 of 2 about the middle of the other.
    known = contributions[0].known
    assert known and math.isclose(known.width, 0.9 * 2, abs_tol=0.05)


@pytest.mark.parametrize(("count", "unknowns"), [(32, 7), (64, 15)])
def test_at_most_one_figure_of_twenty_names_an_unknown_without_effect(
    count: int, unknowns: int
) -> None:
    names = [str(at) for at in range(unknowns)]
    named = 0
    for seed in range(100):
        shares = sobol(unknowns, count, seed)
        noise = np.random.default_rng(seed).normal(size=count)
        values = [10 * row[0] + own for row, own in zip(shares, noise, strict=True)]
        result = distribution("time", None, values, shares, names)
        first, *others = result.contributions or ()
        assert first.unknown == "0", "10 of a deviation of 1 is no chance"
        named += bool(others)
    # Of 100 figures, 5 are expected; 10 are two deviations of a binomial distribution above.
    assert named <= 10


def test_what_an_unknown_leaves_is_never_wider_than_the_interval() -> None:
    names = [str(at) for at in range(4)]
    for seed in range(100):
        shares = sobol(len(names), 32, seed)
        noise = np.random.default_rng(seed).normal(size=32)
        values = [row[0] + 0.3 * own for row, own in zip(shares, noise, strict=True)]
        result = distribution("time", None, values, shares, names)
        for each in result.contributions or ():
            assert each.known is None or each.known.width < result.most.width


def test_a_product_of_unknowns_belongs_to_neither_alone() -> None:
    # The variance of (2 x - 1) (2 y - 1) is all interaction.
    values = [(2 * row[0] - 1) * (2 * row[1] - 1) for row in SHARES]
    assert distribution("time", None, values, SHARES, NAMES).rest > 0.98


def test_the_error_of_an_end_shrinks_with_samples_as_their_root() -> None:
    values = [1 + row[0] for row in sobol(1, 1024, 1)]
    few, many = (distribution("x", None, values[:n], [[0.0]] * n, ()).error for n in (64, 1024))
    # Of evenly distributed values: sqrt(0.05 * 0.95 / n), over the median of 1.5.
    for error, count in ((few, 64), (many, 1024)):
        assert error == pytest.approx(math.sqrt(0.05 * 0.95 / count) / 1.5, rel=0.15)


def test_equal_values_are_known_exactly_and_have_no_contributions() -> None:
    result = distribution("drops", 0.0, [0.0] * SAMPLES, SHARES, NAMES)
    assert (result.error, result.contributions, result.varies) == (0.0, [], False)


@pytest.mark.parametrize("count", [1, 7, 29])
def test_few_samples_know_no_error_and_name_no_contributions(count: int) -> None:
    rows = SHARES[:count]
    result = distribution("x", None, [row[0] + count for row in rows], rows, NAMES)
    assert result.error == (math.inf if count > 1 else 0.0)
    assert bool(result.contributions) == (count >= 8)
