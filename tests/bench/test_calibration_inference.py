"""The inference of a calibration, on models whose unknowns are known."""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom, t

from etherweave.bench.calibration.emulator import Emulator
from etherweave.bench.calibration.identifiability import KNOWN, directions, partners, scores
from etherweave.bench.calibration.inference import (
    DEGREES,
    MISFITS,
    Posterior,
    Target,
    deviations,
    infer,
)
from etherweave.bench.calibration.population import ENOUGH, population
from etherweave.bench.calibration.prior import Array

SIZES = np.array([8.0, 1024.0, 8192.0, 65536.0, 262144.0])
LOW, HIGH = np.log([0.1, 0.1, 5e-5]), np.log([10.0, 10.0, 5e-3])
"""Ends of the priors: overheads of both sides [us], and a time per byte [us]."""
LEVELS = (0.5, 0.9)


def ping_pong(shares: Array) -> Array:
    """Predict latency by size, which has the sum of both overheads, and time per message of a rate.

    The rate is that of the receiving side, whose overhead is there without the other.
    """
    first, second, per_byte = np.exp(LOW + (HIGH - LOW) * shares).T[:, :, np.newaxis]
    latency = first + second + SIZES * per_byte
    rate = second + per_byte * np.array([1024.0, 131072.0])
    return np.asarray(np.log(np.hstack([latency, rate])), dtype=np.float64)


def halves(shares: Array) -> Array:
    """Predict latency where a sum is divided: both sides are near their middle."""
    both = np.exp(0.5 * shares[:, 0] + 0.5 * shares[:, 1])
    sizes = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
    times = [both + size * np.exp(shares[:, 2]) for size in sizes]
    return np.asarray(np.log(np.column_stack(times)), dtype=np.float64)


def launched(times: Array, noise: float, random: np.random.Generator) -> list[Target]:
    """Play six launches of each workload."""
    return [
        Target([float(np.exp(time + random.normal(0, noise))) for _ in range(6)]) for time in times
    ]


def widths(posterior: Posterior) -> Array:
    """Compute the deviations of the unknowns over those of their priors."""
    return np.asarray(scores(posterior.shares).std(axis=0), dtype=np.float64)


THREADS = """
from threadpoolctl import threadpool_info
from etherweave.bench.calibration import inference

def emulator(points, times):
    pools = {(pool["user_api"], pool["num_threads"]) for pool in threadpool_info()}
    raise SystemExit(str(sorted(pools)))

inference.Emulator = emulator
inference.infer(lambda shares: shares, [inference.Target([1.0])], 1)
"""


def test_all_libraries_that_infer_have_one_thread() -> None:
    """Threads add the same numbers in another order."""
    several = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    done = subprocess.run([sys.executable, "-c", THREADS], env=several, stderr=subprocess.PIPE)
    assert done.stderr == b"[('blas', 1), ('openmp', 1)]\n"


class Repetition(NamedTuple):
    """Unknowns that were drawn, and what was inferred from data that they gave."""

    shares: Array
    misfit: float
    posterior: Posterior


def repetition(seed: int) -> Repetition:
    """Draw unknowns and the misfit of the model from their priors, simulate data, and infer."""
    random = np.random.default_rng(seed)
    shares = random.random(3)
    misfit = float(MISFITS[0] * (MISFITS[1] / MISFITS[0]) ** random.random())
    true = ping_pong(shares[np.newaxis])[0]
    missed = true + misfit * t.rvs(DEGREES, size=len(true), random_state=random)
    return Repetition(shares, misfit, infer(ping_pong, launched(missed, 0.02, random), 3, seed))


def covered(seeds: Sequence[int]) -> dict[float, Array]:
    """Count how many intervals of each level have each unknown, and the misfit."""
    counts = {level: np.zeros(4) for level in LEVELS}
    for seed in seeds:
        times = repetition(seed)
        draws = np.column_stack([times.posterior.shares, times.posterior.misfits])
        for level in LEVELS:
            low, high = np.quantile(draws, (0.5 - level / 2, 0.5 + level / 2), axis=0)
            true = np.append(times.shares, times.misfit)
            counts[level] += (low <= true) & (true <= high)
    return counts


@pytest.mark.parametrize(
    "repetitions",
    [4, pytest.param(200, marks=pytest.mark.long)],
    ids=lambda count: f"{count}-times",
)
def test_posteriors_cover_what_was_drawn_from_the_prior_at_their_level(repetitions: int) -> None:
    for level, counts in covered(range(repetitions)).items():
        print(f"intervals of {level:.0%} cover", counts / repetitions)
        # Of eight counts, one lies outside with a chance of 1 in 100.
        low, high = binom.interval(1 - 0.01 / 8, repetitions, level)
        assert (low <= counts).all() and (counts <= high).all(), counts


def test_the_emulator_says_how_unsure_it_is() -> None:
    random = np.random.default_rng(1)
    points, others = random.random((48, 3)), random.random((200, 3))
    means, errors = Emulator(points, ping_pong(points)).predict(others)
    scores = (means - ping_pong(others)) / errors
    assert np.abs(means - ping_pong(others)).max() < 0.2
    assert np.sqrt(np.mean(scores**2, axis=0)).max() < 2


def test_draws_follow_a_density_with_a_narrow_bent_ridge() -> None:
    """The sum of the exponentials of two standard normal unknowns is known to 1 %."""

    def ridge(points: Array) -> Array:
        distance = np.log(np.exp(points[:, 0]) + np.exp(points[:, 1])) / 0.01
        return np.asarray(-(distance**2) / 2, dtype=np.float64)

    result = population(ridge, 2, 2000, seed=1)
    assert result.effective >= ENOUGH
    # By symmetry, and by integration along the ridge exp(a) + exp(b) = 1 with the prior's density.
    assert np.mean(result.draws[:, 0]) == pytest.approx(np.mean(result.draws[:, 1]), abs=0.1)
    at = np.linspace(-4, -1e-4, 20_001)
    other = np.log1p(-np.exp(at))
    weights = np.exp(-(at**2 + other**2) / 2) * np.exp(-other)
    exact = np.sum(at * weights) / np.sum(weights)
    assert np.mean(result.draws[:, 0]) == pytest.approx(exact, abs=0.1)


def test_what_data_do_not_distinguish_is_named_and_not_fitted() -> None:
    random = np.random.default_rng(3)
    targets = launched(halves(np.array([[0.4, 0.6, 0.5]]))[0], 0.01, random)
    posterior = infer(halves, targets, 3)
    names = ["sender", "receiver", "per byte"]
    assert (widths(posterior) <= KNOWN).tolist() == [False, False, True]
    assert partners(names, posterior.shares) == {
        "sender": ("receiver",),
        "receiver": ("sender",),
        "per byte": (),
    }
    best, second, worst = directions(names, posterior.shares)
    assert best.width < second.width < 0.3 < worst.width
    assert set(worst.loadings) == {"sender", "receiver"}


def test_another_benchmark_distinguishes_them() -> None:
    targets = launched(ping_pong(np.array([[0.5, 0.5, 0.5]]))[0], 0.01, np.random.default_rng(3))
    posterior = infer(ping_pong, targets, 3)
    assert max(widths(posterior)) <= KNOWN


def test_an_unknown_without_effect_keeps_its_prior() -> None:
    posterior = infer(lambda shares: ping_pong(shares)[:, 4:5], [Target([300.0] * 3)], 3)
    first, _, per_byte = widths(posterior)
    assert first == pytest.approx(1, abs=0.15)
    assert not partners(["a", "b", "per byte"], posterior.shares)["a"]
    assert per_byte <= KNOWN


def test_a_target_that_the_model_cannot_meet_does_not_bend_the_unknowns() -> None:
    targets = launched(ping_pong(np.array([[0.5, 0.5, 0.5]]))[0], 0.005, np.random.default_rng(1))
    targets[1] = Target([value * 3 for value in targets[1].launches])
    posterior = infer(ping_pong, targets, 3)
    assert np.median(posterior.shares, axis=0) == pytest.approx([0.5, 0.5, 0.5], abs=0.1)


def test_equal_seeds_give_equal_draws() -> None:
    targets = [Target([300.0, 310.0])]
    first, other = (infer(lambda shares: ping_pong(shares)[:, 4:5], targets, 3) for _ in range(2))
    assert first.shares.tobytes() == other.shares.tobytes()


def test_a_spread_of_few_launches_is_drawn_towards_that_of_all() -> None:
    wide = Target([1.0, 1.5])
    alike = Target([1.0, 1.0])
    assert deviations([alike]) == pytest.approx([0.0])
    both = deviations([alike, wide])
    # Variance of ln 1.5 by two values: 0.411 ** 2 / 2 = 0.0822, 0 of the other, 0.0411 of both.
    # A launch beyond the first of its own, four of all: 4 / 5 of 0.0411, and of two launches half.
    assert both[0] == pytest.approx((0.0411 * 4 / 5 / 2) ** 0.5, rel=0.02)
    assert both[1] == pytest.approx(((0.0822 + 0.0411 * 4) / 5 / 2) ** 0.5, rel=0.02)
