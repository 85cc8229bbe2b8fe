"""Quantiles, comparisons and summaries against formulas, published tables and scipy."""

import itertools
import math
import random
from fractions import Fraction

import pytest
from scipy import stats

from etherweave.bench.statistics import quantiles
from etherweave.bench.statistics.comparison import (
    Direction,
    compare,
    coverage,
    critical_rank,
    rank_sums,
)
from etherweave.bench.statistics.launches import (
    StoppingDecision,
    StoppingRule,
    decide,
    relative_half_width,
    shuffled,
)
from etherweave.bench.statistics.settling import SHORTEST, Stability, settling, trend
from etherweave.bench.statistics.summary import outliers, summarise


def counted(count: int) -> list[float]:
    return [float(value) for value in range(1, count + 1)]


def noise(count: int, seed: int = 1, spread: float = 0.02) -> list[float]:
    chance = random.Random(seed)
    return [1 + chance.uniform(-spread, spread) for _ in range(count)]


# One above the published critical values of the sign test (0 0 0 1 1 3 5 7 9, two-sided at 5 %).
@pytest.mark.parametrize(
    ("count", "low", "high", "covered"),
    [
        (6, 1, 6, 0.969),
        (7, 1, 7, 0.984),
        (8, 1, 8, 0.992),
        (9, 2, 8, 0.961),
        (10, 2, 9, 0.979),
        (15, 4, 12, 0.965),
        (20, 6, 15, 0.959),
        (25, 8, 18, 0.957),
        (30, 10, 21, 0.957),
    ],
)
def test_the_median_has_published_ranks(count: int, low: int, high: int, covered: float) -> None:
    interval = quantiles.median_interval(counted(count))
    assert interval is not None
    assert interval[:2] == (low, high)
    assert interval.coverage == pytest.approx(covered, abs=5e-4)


def test_five_values_have_no_interval_of_the_median() -> None:
    assert quantiles.median_interval(counted(5)) is None  # 1 - 2 / 2^5 = 93.75 %


def test_intervals_are_those_of_exact_fractions() -> None:
    for count, probability in itertools.product((6, 13, 40), (Fraction(1, 2), Fraction(9, 10))):
        terms = [
            math.comb(count, yes) * probability**yes * (1 - probability) ** (count - yes)
            for yes in range(count + 1)
        ]
        below = list(itertools.accumulate(terms))
        low = sum(share <= Fraction(1, 40) for share in below)
        high = next(at + 1 for at, share in enumerate(below) if share >= Fraction(39, 40))
        interval = quantiles.quantile_interval(counted(count), float(probability))
        if low == 0 or high > count:
            assert interval is None
            continue
        assert interval is not None and interval[:2] == (low, high)
        assert interval.coverage == pytest.approx(float(below[high - 1] - below[low - 1]))


def test_the_largest_of_299_values_is_the_first_to_bound_the_99th_percentile() -> None:
    assert 0.99**299 < 0.05 < 0.99**298
    assert quantiles.samples_least(0.99) == 299
    assert quantiles.samples_least(0.999) == 2995
    assert quantiles.samples_least(0.5, 0.9375) == 4  # 1 - 1 / 2^4 exactly


def test_quantiles_are_values_that_were_measured() -> None:
    assert quantiles.quantile(counted(100), 0.99) == 99
    assert quantiles.quantile(counted(1000), 0.999) == 999
    assert quantiles.quantile([3.0, 1.0, 2.0], 1.0) == 3.0
    assert quantiles.median([4.0, 1.0, 3.0, 2.0]) == 2.5


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(AssertionError, match="not finite"):
        quantiles.median([1.0, bad])


# Critical values of Mann and Whitney's U, two-sided at 5 %, of any textbook: reject at or below.
@pytest.mark.parametrize(
    ("first", "second", "critical"),
    [(4, 4, 0), (5, 5, 2), (6, 6, 5), (7, 9, 12), (8, 8, 13), (10, 10, 23), (15, 15, 64),
     (20, 20, 127)],
)  # fmt: skip
def test_critical_values_are_the_published_ones(first: int, second: int, critical: int) -> None:
    assert critical_rank(first, second, 0.95) == critical + 1


def test_three_against_three_can_show_nothing_at_95_percent() -> None:
    assert critical_rank(3, 3, 0.95) == 0  # 2 of 20 arrangements are the extreme ones: 10 %
    assert compare([1, 2, 3], [11, 12, 13]).direction is Direction.TOO_FEW


def test_rank_sums_are_those_of_all_arrangements() -> None:
    for first, second in ((1, 1), (2, 5), (4, 3)):
        counts = [0] * (first * second + 1)
        for chosen in itertools.combinations(range(first + second), first):
            others = set(range(first + second)) - set(chosen)
            counts[sum(pair > other for pair in chosen for other in others)] += 1
        assert rank_sums(first, second) == tuple(counts)


def test_many_launches_are_compared_by_the_normal_law() -> None:
    middle, deviation = 60 * 60 / 2, math.sqrt(60 * 60 * 121 / 12)
    rank = critical_rank(60, 60, 0.95)
    assert stats.norm.cdf((rank - 0.5 - middle) / deviation) <= 0.025
    assert stats.norm.cdf((rank + 0.5 - middle) / deviation) > 0.025
    assert coverage(60, 60, rank) == pytest.approx(0.95, abs=1e-3)


def test_the_shift_of_the_textbook() -> None:
    # Permeability of membranes, Hollander and Wolfe, table 4.1: shift 0.305; R's wilcox.test gives
    # the same shift, and -0.15 to 0.76 at 95 %.
    term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    result = compare([1.15, 0.88, 0.90, 0.74, 1.21], term)
    assert result.shift == pytest.approx(0.305)
    assert result.interval is not None
    assert result.interval[:2] == pytest.approx((-0.15, 0.76))
    assert result.direction is Direction.NO_DIFFERENCE_SEEN


def test_distinct_launches_differ() -> None:
    # U of 0 to 5 has 1 + 1 + 2 + 3 + 5 + 7 arrangements (partitions): the sixth difference bounds.
    result = compare([1, 2, 3, 4, 5, 6], [11, 12, 13, 14, 15, 16])
    assert (result.shift, result.baseline, result.relative) == (10, 3.5, 10 / 3.5)
    assert result.interval is not None and result.interval[:2] == (7, 13)
    assert result.interval.coverage == pytest.approx(1 - 2 * 19 / math.comb(12, 6))
    assert result.direction is Direction.MORE
    assert compare([11, 12, 13, 14], [1, 2, 3, 4]).direction is Direction.LESS
    assert compare([5.0] * 6, [5.0] * 6).direction is Direction.NO_DIFFERENCE_SEEN


def test_one_outlier_does_not_make_a_difference() -> None:
    base = noise(10, seed=2)
    assert compare(base, [*noise(9, seed=3), 1000.0]).direction is Direction.NO_DIFFERENCE_SEEN


def test_a_comparison_covers_a_true_shift_as_often_as_it_says() -> None:
    chance, trials, shift = random.Random(5), 1500, 0.7
    held = 0
    for _ in range(trials):
        base = [chance.lognormvariate(0, 1) for _ in range(7)]
        interval = compare(base, [chance.lognormvariate(0, 1) + shift for _ in range(8)]).interval
        assert interval is not None
        held += interval.low <= shift <= interval.high
    exact = coverage(7, 8, critical_rank(7, 8, 0.95))
    assert abs(held / trials - exact) < 4 * math.sqrt(exact * (1 - exact) / trials)


def test_a_trend_of_few_values_is_counted_out() -> None:
    assert trend([1, 2, 3, 4, 5]) == pytest.approx(2 / math.factorial(5))
    assert trend([5, 4, 3, 2, 1]) == pytest.approx(2 / math.factorial(5))
    assert trend([1, 3, 2]) == 1.0  # four of six orders rise or fall by at least one
    assert trend([7.0]) == trend([2, 2, 2]) == 1.0


def test_a_ramp_is_warm_up_and_what_only_rises_never_settles() -> None:
    steady = noise(200)
    ramp = [10.0 - step for step in range(9)]
    result = settling([*ramp, *steady])
    assert result.stability is Stability.SETTLED and 9 <= result.warm_up <= 40
    assert (
        settling([value + step / 50 for step, value in enumerate(steady)]).stability
        is Stability.UNSETTLED
    )


def test_a_late_step_is_not_settled() -> None:
    steps = [*noise(160), *(value * 1.5 for value in noise(40, seed=2))]
    assert settling(steps).stability is Stability.UNSETTLED


def test_noise_settles_at_once_whatever_its_outliers() -> None:
    for seed in range(50):
        series = noise(400, seed)
        series[seed * 7] = 1000.0
        assert settling(series).stability is Stability.SETTLED
    assert settling([20.6] * 100) == (0, Stability.SETTLED)


def test_a_difference_too_small_to_matter_is_settled() -> None:
    halves = [*noise(200, spread=0.001), *(value + 0.02 for value in noise(200, 2))]
    assert settling(halves).stability is Stability.SETTLED


def test_a_short_series_is_not_judged() -> None:
    assert settling(noise(SHORTEST - 1)) == (0, Stability.TOO_SHORT)
    assert settling([1.0]) == (0, Stability.TOO_SHORT)


def test_every_round_holds_every_experiment_in_an_order_of_its_own() -> None:
    names = [f"osu_bw {size}" for size in range(20)]
    launches = shuffled(names, 3, seed=4)
    rounds = [[run.experiment for run in launches if run.round == number] for number in range(3)]
    assert [sorted(order) for order in rounds] == [sorted(names)] * 3
    assert [launch.round for launch in launches] == sorted(launch.round for launch in launches)
    assert rounds[0] != rounds[1] != rounds[2] != rounds[0]
    assert shuffled(reversed(names), 3, seed=4) == launches
    assert shuffled(names, 3, seed=5) != launches


def test_an_order_is_the_same_on_every_machine() -> None:
    # `printf 3/0/a | sha256sum` begins with 9bae, that of b with d719, of c with 60f6.
    assert "".join(launch.experiment for launch in shuffled("abc", 1, seed=3)) == "cab"


def test_launches_end_when_the_median_is_known_well_enough() -> None:
    rule = StoppingRule(launches_min=6, launches_max=8)
    assert decide(noise(5), rule) is StoppingDecision.CONTINUE
    assert decide(noise(6), rule) is StoppingDecision.PRECISE
    wild = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
    assert decide(wild[:7], rule) is StoppingDecision.CONTINUE
    assert decide(wild, rule) is StoppingDecision.CAPPED


def covers(spread: float, rule: StoppingRule, trials: int) -> tuple[float, int]:
    """Simulate launches until they are precise: how often the interval holds the true median, 1."""
    chance, held, precise = random.Random(1), 0, 0
    for _ in range(trials):
        values: list[float] = []
        while (decision := decide(values, rule)) is StoppingDecision.CONTINUE:
            values.append(chance.lognormvariate(0, spread))
        interval = quantiles.median_interval(values)
        assert interval is not None
        if decision is StoppingDecision.PRECISE:
            precise += 1
            held += interval.low <= 1 <= interval.high
    return held / precise, precise


def test_stopping_early_costs_nothing_if_precision_is_easy_and_a_little_if_it_is_hard() -> None:
    easy, count = covers(0.05, StoppingRule(), 400)
    assert count > 390
    assert easy > 0.95 - 3 * math.sqrt(0.95 * 0.05 / count)
    # With twice the spread, less than half of the experiments become precise before the cap.
    hard, count = covers(0.1, StoppingRule(), 400)
    assert count < 220
    assert 0.8 < hard < easy


def test_the_half_width_is_the_longer_arm() -> None:
    assert relative_half_width([1, 10, 11, 19, 100], quantiles.Interval(10, 19, 0.9)) == 8 / 11
    assert relative_half_width([0.0, 0.0], quantiles.Interval(0, 0, 1)) == 0
    assert relative_half_width([-1.0, 1.0], quantiles.Interval(-1, 1, 1)) == math.inf


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"half_width": 5}, "half-width 5; expected a share"),
        ({"confidence": 95}, "confidence 95; expected"),
        ({"launches_min": 9, "launches_max": 8}, "launches from 9 to 8"),
    ],
)
def test_an_invalid_rule_is_rejected(words: dict[str, int], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        StoppingRule(**words)


def test_outliers_are_counted_and_kept() -> None:
    values = [*counted(20), 1000.0]
    assert outliers(values) == [1000.0]
    summary = summarise([[value] for value in values], "s")
    assert summary.outliers == 1 and summary.high == 1000.0 and len(summary.launches) == 21


def test_a_stable_point_has_nothing_against_it() -> None:
    summary = summarise([noise(100, seed) for seed in range(6)], "s")
    assert summary.is_stable
    assert summary.interval is not None
    assert summary.interval.coverage == pytest.approx(1 - 2 / 2**6)
    assert summary.median == pytest.approx(1, abs=0.01)


def test_a_point_that_never_settled_is_unstable_and_says_why() -> None:
    climbing = [[value + at / 20 for at, value in enumerate(noise(80, seed))] for seed in range(6)]
    summary = summarise(climbing, "s")
    assert not summary.is_stable
    assert summary.doubts == ("6 of 6 launches never settled",)


def test_a_point_of_few_or_wild_or_drifting_launches_is_unstable() -> None:
    (few,) = summarise([[1.0]] * 5, "s").doubts
    assert few == "5 launches are too few for an interval of the median"
    (wild,) = summarise([[value] for value in (1.0, 4.0, 2.0, 3.0, 1.0, 5.0)], "s").doubts
    assert "100.0% wide on one side after 6 launches; expected at most 5.0%" in wild
    (drift,) = summarise([[1 + step / 1000] for step in range(8)], "s").doubts
    assert drift.startswith("launches drift")


def test_a_99th_percentile_needs_299_values_of_rest() -> None:
    assert summarise([noise(49, seed) for seed in range(6)], "s").tail is None
    # Nothing is warm-up in a series that never settles.
    assert summarise([counted(300)], "s").tail == 297
    assert summarise([counted(300)], "B/s").tail == 4
