"""Iteration times that are known, found again."""

import numpy as np
import pytest

from etherweave.report.periods import autocorrelation, period, share


def test_intervals_cover_what_lies_between_edges() -> None:
    starts, ends = np.array([0.0, 15.0, 5.0]), np.array([10.0, 25.0, 25.0])
    # 0-10: all of the first and half of 10 of the last; 10-20: half of the second, all of the last.
    assert share(starts, ends, np.array([0.0, 10.0, 20.0, 30.0])).tolist() == [15, 15, 10]


def test_a_sine_correlates_with_itself_a_period_later_and_opposes_itself_half_of_it_later() -> None:
    values = np.sin(np.arange(4000) * 2 * np.pi / 100)
    correlated = autocorrelation(values)
    assert correlated[[0, 50, 100]] == pytest.approx([1, -1, 1], abs=1e-3)


def iterations(
    lengths_ns: np.ndarray, phases: list[tuple[float, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """Communicate in the same shares of each iteration."""
    starts = np.concatenate([[0.0], np.cumsum(lengths_ns)[:-1]])
    parts = [(starts + a * lengths_ns, starts + b * lengths_ns) for a, b in phases]
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


@pytest.mark.parametrize("count", [4, 25, 75, 400])
def test_equal_iterations_are_found_whatever_their_number(count: int) -> None:
    lengths = np.full(count, 1.7e6)
    starts, ends = iterations(lengths, [(0.1, 0.3), (0.7, 0.72)])
    found = period(starts, ends)
    assert found is not None
    assert found.ns == pytest.approx(1.7e6, rel=0.01)
    assert found.correlation > 0.9


def test_iterations_that_differ_by_a_tenth_have_their_mean() -> None:
    lengths = 1e6 * np.random.default_rng(1).uniform(0.9, 1.1, 50)
    starts, ends = iterations(lengths, [(0.5, 0.8)])
    found = period(starts, ends)
    assert found is not None
    assert found.ns == pytest.approx(lengths.mean(), rel=0.05)


def test_phases_that_look_alike_are_no_iteration_when_their_lengths_alternate() -> None:
    starts, ends = iterations(np.full(40, 1e6), [(0.0, 0.05), (0.4, 0.75)])
    found = period(starts, ends)
    assert found is not None
    assert found.ns == pytest.approx(1e6, rel=0.01)


def test_what_does_not_repeat_has_no_period() -> None:
    starts = np.sort(np.random.default_rng(2).uniform(0, 1e9, 300))
    assert period(starts, starts + 1e6) is None
    assert period(np.array([]), np.array([])) is None
    assert period(np.array([0.0]), np.array([1e9])) is None
