"""Iteration times that are known, found again."""

from collections.abc import Sequence

import numpy as np
import pytest

from etherweave.report.intervals import Intervals
from etherweave.report.periods import Period, autocorrelation, period
from support.random_calls import KINDS, mistaken


def test_intervals_cover_what_lies_between_edges() -> None:
    starts, ends = np.array([0.0, 15.0, 5.0]), np.array([10.0, 25.0, 25.0])
    # 0-10: all of the first and half of 10 of the last; 10-20: half of the second, all of the last.
    assert Intervals(starts, ends).share(0, 30, 3) == pytest.approx([1.5, 1.5, 1])


def test_intervals_that_have_begun_are_counted_before_each_edge() -> None:
    assert list(Intervals(np.array([0.0, 15.0, 5.0]), np.zeros(3)).begun(0, 30, 3)) == [0, 2, 3, 3]


def test_a_sine_correlates_with_itself_a_period_later_and_opposes_itself_half_of_it_later() -> None:
    correlated = autocorrelation(np.sin(np.arange(4000) * 2 * np.pi / 100), 100)
    assert correlated[[0, 50, 100]] == pytest.approx([1, -1, 1], abs=1e-3)


def iterations(
    lengths_ns: np.ndarray, phases: list[tuple[float, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """Communicate in the same shares of each iteration."""
    starts = np.concatenate([[0.0], np.cumsum(lengths_ns)[:-1]])
    parts = [(starts + a * lengths_ns, starts + b * lengths_ns) for a, b in phases]
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def check(calls: Sequence[np.ndarray], expected_ns: float, rel: float = 0.01) -> Period:
    """Find the period of calls, by their starts and ends, and compare it."""
    result = period(*calls)
    assert result is not None
    assert result.ns == pytest.approx(expected_ns, rel=rel)
    return result


@pytest.mark.parametrize("count", [4, 25, 75, 400])
def test_equal_iterations_are_found_whatever_their_number(count: int) -> None:
    result = check(iterations(np.full(count, 1.7e6), [(0.1, 0.3), (0.7, 0.72)]), 1.7e6)
    assert result.correlation > 0.9


def test_iterations_that_differ_by_a_tenth_have_their_mean() -> None:
    lengths = 1e6 * np.random.default_rng(1).uniform(0.9, 1.1, 50)
    check(iterations(lengths, [(0.5, 0.8)]), lengths.mean(), rel=0.05)


def test_phases_that_look_alike_are_no_iteration_when_their_lengths_alternate() -> None:
    check(iterations(np.full(40, 1e6), [(0.0, 0.05), (0.4, 0.75)]), 1e6)


def test_the_correlation_does_not_depend_on_where_cells_begin() -> None:
    # Short calls, 21 1/3 cells apart: the lag of three times as many is a whole number of cells.
    check(iterations(np.full(12, 256 / 12), [(0.0, 0.01), (0.3, 0.31), (0.35, 0.36)]), 256 / 12)


def test_iterations_are_found_beside_a_longer_start_and_end() -> None:
    # A rank waits for long, clocks are compared in bursts before and after; ten iterations take
    # a quarter of the time.
    starts, ends = iterations(np.full(10, 0.6e6), [(0.0, 0.1), (0.6, 0.62)])
    before = 20.8e6 + np.arange(60) * 5e3 + np.random.default_rng(3).uniform(0, 2e3, 60)
    clocks = np.concatenate([before, before + 7.2e6])
    all_starts = np.concatenate([[0.1e6], clocks, 21.6e6 + starts])
    all_ends = np.concatenate([[20.0e6], clocks + 2e3, 21.6e6 + ends])
    result = check((all_starts, all_ends), 0.6e6)
    assert result.correlation > 0.8
    assert 20e6 < result.from_ns < result.until_ns < 29e6
    assert result.iterations == pytest.approx(10, abs=2)


@pytest.mark.parametrize("after_ns", [0, 33e6, 50e6])
@pytest.mark.parametrize("before_ns", [0, 33e6, 50e6])
@pytest.mark.parametrize("phases", [[(0.1, 0.3)], [(0.1, 0.3), (0.7, 0.72)], [(0.05, 0.95)]])
def test_idle_time_before_and_behind_iterations_does_not_count(
    phases: list[tuple[float, float]], before_ns: float, after_ns: float
) -> None:
    starts, ends = iterations(np.full(50, 1e6), phases)
    last = before_ns + 50e6 + after_ns
    outer = np.array([0.0, last - 1e3])  # The program's start and end.
    all_starts = np.concatenate([outer, before_ns + starts])
    result = check((all_starts, np.concatenate([outer + 1e3, before_ns + ends])), 1e6)
    assert result.iterations == pytest.approx(50, abs=1)
    assert result.from_ns == pytest.approx(before_ns, abs=1e6)
    assert result.until_ns == pytest.approx(before_ns + 50e6, abs=1e6)


def test_idle_time_between_iterations_does_not_count() -> None:
    starts, ends = iterations(np.full(50, 1e6), [(0.1, 0.3)])
    result = check([np.concatenate([times, times + 90e6]) for times in (starts, ends)], 1e6)
    assert result.iterations == pytest.approx(100, abs=1)
    assert (result.from_ns, result.until_ns) == (0.1e6, 139.3e6)


def test_all_of_many_iterations_are_counted() -> None:
    lengths = np.random.default_rng(5).normal(1e6, 2e4, 20_000)
    result = check(iterations(lengths, [(0.5, 0.6)]), 1e6)
    assert result.iterations == pytest.approx(20_000, rel=0.002)


@pytest.mark.parametrize("count", [2_000, 4_000, 10_000, 100_000])
def test_many_iterations_are_not_taken_for_their_multiples(count: int) -> None:
    check(iterations(np.full(count, 1e6), [(0.5, 0.7)]), 1e6)


@pytest.mark.parametrize("share", [0.002, 0.005, 0.01, 0.02])
@pytest.mark.parametrize("deviation", [0.01, 0.02])
@pytest.mark.parametrize("count", [100, 400])
def test_iterations_that_communicate_for_a_short_time_are_not_taken_for_their_multiples(
    count: int, deviation: float, share: float
) -> None:
    lengths = np.random.default_rng(1).normal(1e6, deviation * 1e6, count)
    check(iterations(lengths, [(0.5, 0.5 + share)]), lengths.mean())


def test_single_calls_that_wait_long_do_not_hide_the_iterations() -> None:
    # Of 3,000 short calls ten wait for more than all others in sum, as for a processor.
    random = np.random.default_rng(2)
    starts, ends = iterations(random.normal(1e6, 2e3, 3_000), [(0.5, 0.501)])
    waits = random.choice(len(starts), 10, replace=False)
    ends[waits] += random.uniform(0.3e6, 0.4e6, 10)
    check((starts, ends), 1e6)


# Of the first kind, 30 equal calls, one series in twenty repeats by chance.
@pytest.mark.parametrize("kind", list(KINDS)[1:])
def test_random_calls_have_no_period(kind: str) -> None:
    assert mistaken(kind, 5) == 0


def test_few_equal_calls_at_random_times_have_no_period() -> None:
    for seed in range(5):
        starts = np.random.default_rng(seed).uniform(0, 1e9, 20)
        assert period(starts, starts + 2e7) is None


def test_what_happens_once_or_twice_has_no_period() -> None:
    burst = np.random.default_rng(4).uniform(0, 1e6, 40)
    starts = np.concatenate([burst, burst + 5e8])
    assert period(burst, burst + 100) is None
    assert period(starts, starts + 100) is None
    assert period(np.array([]), np.array([])) is None
    assert period(np.array([0.0]), np.array([1e9])) is None
    assert period(np.array([5.0]), np.array([5.0])) is None
