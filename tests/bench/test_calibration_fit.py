"""The fit of a calibration, on models whose constants are known."""

import numpy as np
import pytest

from etherweave.bench.calibration.fit import PRECISION, Fit, Target, Vector, deviations, fit

SIZES = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0])


def line(values: Vector) -> Vector:
    """Predict a + b n: a latency and a time per byte; a third constant has no effect."""
    return np.asarray(np.log(np.exp(values[0]) + np.exp(values[1]) * SIZES))


def launched(true: Vector, seed: int, noise: float, launches: int = 8) -> list[Target]:
    random = np.random.default_rng(seed)
    return [
        Target([float(np.exp(one + random.normal(0, noise))) for _ in range(launches)])
        for one in line(true)
    ]


LOW, HIGH = np.log([0.01, 0.01, 0.01]), np.log([1e4, 1e4, 1e4])


def width(found: Fit) -> float:
    low, high = np.percentile(found.draws[:, 0], (2.5, 97.5))
    return float(high - low)


def test_constants_are_found_from_far_away_and_one_without_effect_stays() -> None:
    start = np.log([200.0, 0.5, 7.0])
    found = fit(line, launched(np.log([300.0, 2.0]), 1, 0.001), start, LOW, HIGH)
    assert np.exp(found.values[:2]) == pytest.approx([300.0, 2.0], rel=0.05)
    assert found.is_determined.tolist() == [True, True, False]
    assert found.values[2] == start[2]


def held(launches: int, noise: float) -> int:
    """Count the intervals of 95 % that hold the truth, of 60, of the constant with fewer."""
    true = np.log([50.0, 1.0])
    hits = []
    for seed in range(60):
        targets = launched(true, seed, noise, launches)
        found = fit(line, targets, np.log([10.0, 10.0, 1.0]), LOW, HIGH)
        low, high = np.percentile(found.draws[:, :2], (2.5, 97.5), axis=0)
        hits.append((low <= true) & (true <= high))
    return int(np.sum(hits, axis=0).min())


@pytest.mark.parametrize("launches", [2, 3, 6])
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_intervals_cover_the_true_value_with_their_confidence(launches: int, noise: float) -> None:
    # Of 60 intervals of 95 %, fewer than 50 hold with a chance of 1 in 10,000 (binomial).
    assert held(launches, noise) >= 50


def test_the_spread_of_single_launches_is_that_of_the_residuals() -> None:
    # Nothing but what is unexplained says that launches are not known to 2 %: then half would hold.
    assert held(1, 0.2) > 40


def test_a_spread_of_few_launches_is_drawn_towards_that_of_all() -> None:
    wide = Target([1.0, 1.5])
    alike = Target([1.0, 1.0])
    alone = deviations([alike])
    assert alone == pytest.approx([PRECISION])
    both = deviations([alike, wide])
    # Variance of ln 1.5 by two values: 0.411 ** 2 / 2 = 0.0822, 0 of the other, 0.0411 of both.
    # A launch beyond the first of its own, four of all: 4 / 5 of 0.0411, and of two launches half.
    assert both[0] == pytest.approx((0.0411 * 4 / 5 / 2) ** 0.5, rel=0.02)
    assert both[1] == pytest.approx(((0.0822 + 0.0411 * 4) / 5 / 2) ** 0.5, rel=0.02)


def test_equal_targets_and_one_without_any_dependence_are_accepted() -> None:
    targets = launched(np.log([300.0, 2.0]), 1, 0.001)

    def twice(values: Vector) -> Vector:
        return np.concatenate([line(values), line(values)[:1], [0.0]])

    found = fit(twice, [*targets, targets[0], Target([1.0])], np.log([100.0, 1.0, 1.0]), LOW, HIGH)
    assert np.exp(found.values[:2]) == pytest.approx([300.0, 2.0], rel=0.05)
    assert np.isfinite(found.draws).all()


def test_a_constant_that_was_freed_first_is_replaced_by_the_true_one() -> None:
    # Many messages take the time of the slower side, a single one that of both, long ones three
    # times the second's: as send and handling overhead do.
    def sides(values: Vector) -> Vector:
        first, second = np.exp(values)
        times = [first + second, max(first, second), max(first, second), 10 + first + 3 * second]
        return np.asarray(np.log(times))

    targets = [Target([float(value)] * 3) for value in np.exp(sides(np.log([4.0, 1.0])))]
    found = fit(sides, targets, np.log([1.0, 1.0]), np.log([0.1] * 2), np.log([100.0] * 2))
    assert np.exp(found.values) == pytest.approx([4.0, 1.0], rel=0.05)
    assert found.is_determined.tolist() == [True, False]


def test_a_target_that_the_model_cannot_meet_does_not_bend_the_constants() -> None:
    targets = launched(np.log([300.0, 2.0]), 1, 0.001)
    clean = fit(line, targets, np.log([100.0, 1.0, 1.0]), LOW, HIGH)
    targets[1] = Target([value * 3 for value in targets[1].launches])
    found = fit(line, targets, np.log([100.0, 1.0, 1.0]), LOW, HIGH)
    assert np.exp(found.values[:2]) == pytest.approx([300.0, 2.0], rel=0.1)
    assert width(found) > 2 * width(clean), "what the model cannot explain widens the interval"
