"""Slow-path localisation, where a defect is planted."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from etherweave.pages.benchmarks.data import Place, in_order
from etherweave.pages.benchmarks.slow_paths import PairMatrix, pair_classes, suspects

Defect = Callable[[int, int], float]  # Times that a pair is slower, by its hosts' numbers.

NEAR, FAR = 10.0, 14.0
LEAVES, PER_LEAF = 4, 4
HOSTS = [f"n{number}" for number in range(LEAVES * PER_LEAF)]
PLACES = {host: Place(f"leaf{number // PER_LEAF}") for number, host in enumerate(HOSTS)}


def leaf(host: int) -> int:
    return host // PER_LEAF


def matrix(defect: Defect, noise: float = 0.02, is_bandwidth: bool = False) -> PairMatrix:
    """Four hosts on each of four leaves; other leaves are farther. Times, or rates: 100 / time."""
    chance = random.Random(5)
    values = np.full((len(HOSTS), len(HOSTS)), np.nan)
    for host in range(len(HOSTS)):
        for other in range(len(HOSTS)):
            if host != other:
                time = NEAR if leaf(host) == leaf(other) else FAR
                time *= defect(host, other) * chance.uniform(1 - noise, 1 + noise)
                values[host, other] = 100 / time if is_bandwidth else time
    return PairMatrix(HOSTS, values, is_bandwidth, PLACES)


def host_7(first: int, other: int) -> float:
    return 1.5 if 7 in (first, other) else 1.0


def uplinks_of_leaf_0(first: int, other: int) -> float:
    return 1.5 if leaf(first) != leaf(other) and 0 in (leaf(first), leaf(other)) else 1.0


def between_leaves_0_and_3(first: int, other: int) -> float:
    return 1.5 if {leaf(first), leaf(other)} == {0, 3} else 1.0


def pair_1_and_6(first: int, other: int) -> float:
    return 1.5 if {first, other} == {1, 6} else 1.0


def sent_by_7(first: int, other: int) -> float:
    return 1.5 if first == 7 else 1.0


@pytest.mark.parametrize("is_bandwidth", [False, True])
@pytest.mark.parametrize(
    ("defect", "who", "words"),
    [
        (host_7, "n7", "all its pairs"),
        (sent_by_7, "n7", "all pairs that it sends to"),
        (uplinks_of_leaf_0, "leaf0", "all pairs that leave it"),
        (between_leaves_0_and_3, "leaf0 – leaf3", "pairs between them"),
        (pair_1_and_6, "n1 – n6", "only this pair"),
    ],
)
def test_only_a_defect_is_named(defect: Defect, who: str, words: str, is_bandwidth: bool) -> None:
    (suspect,) = suspects(matrix(defect, is_bandwidth=is_bandwidth))
    assert suspect.who == who
    assert suspect.words.startswith(words)
    assert suspect.factor == pytest.approx(1.5, rel=0.05)


def test_usual_is_what_good_pairs_take_though_half_of_them_are_bad() -> None:
    """One of three leaves is bad: so are half of the other hosts' pairs with other leaves."""
    whole, three = matrix(uplinks_of_leaf_0), 3 * PER_LEAF
    (suspect,) = suspects(PairMatrix(HOSTS[:three], whole.values[:three, :three], False, PLACES))
    assert suspect.who == "leaf0"
    assert suspect.factor == pytest.approx(1.5, rel=0.05)


def test_two_defects_are_distinguished() -> None:
    both = suspects(
        matrix(lambda first, other: host_7(first, other) * between_leaves_0_and_3(first, other))
    )
    assert [suspect.who for suspect in both] == ["n7", "leaf0 – leaf3"]


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
def test_chance_is_nobodys_fault(noise: float) -> None:
    assert suspects(matrix(lambda first, other: 1.0, noise)) == []


def test_a_host_is_named_without_a_topology_where_all_pairs_are_alike() -> None:
    alike = matrix(
        lambda first, other: host_7(first, other) / (NEAR if leaf(first) == leaf(other) else FAR)
    )
    (suspect,) = suspects(PairMatrix(HOSTS, alike.values, False, {}))
    assert suspect.who == "n7"


def test_with_three_hosts_the_slow_end_is_unknown() -> None:
    values = np.array([[np.nan, 1, 2], [1, np.nan, 2], [2, 2, np.nan]])
    assert suspects(PairMatrix(HOSTS[:3], values, False, {})) == []


def test_a_pair_that_moved_nothing_is_the_worst_and_no_crash() -> None:
    rates = matrix(lambda first, other: 1.0, is_bandwidth=True)
    rates.values[1, 6] = rates.values[6, 1] = 0.0
    (suspect,) = suspects(rates)
    assert (suspect.who, suspect.factor) == ("n1 – n6", np.inf)


@pytest.mark.parametrize("value", [np.nan, 0.0])
def test_a_matrix_of_nothing_has_no_suspect(value: float) -> None:
    assert suspects(PairMatrix(HOSTS[:4], np.full((4, 4), value), False, PLACES)) == []


def test_pairs_are_summarised_by_how_far_they_are() -> None:
    """Four leaves with 4 · 3 / 2 pairs each; the other 16 · 15 / 2 - 24 cross."""
    near, far = pair_classes(matrix(lambda first, other: 1.0, noise=0.0))
    assert near == ("on one switch", 24, NEAR)
    assert far == ("between", 96, FAR)
    groups = {
        host: Place(place.switch, f"g{leaf(at) // 2}")
        for at, (host, place) in enumerate(PLACES.items())
    }
    grouped = PairMatrix(HOSTS, matrix(lambda first, other: 1.0).values, False, groups)
    assert [(pair_class.name, pair_class.pairs) for pair_class in pair_classes(grouped)] == [
        ("on one switch", 24),
        ("in one group", 32),  # two groups of two leaves with 4 · 4 pairs
        ("between", 64),
    ]


def test_hosts_of_a_switch_and_of_a_group_stand_together() -> None:
    """Switches come in the order of their first host; hosts of unknown place come last."""
    places = {
        "a": Place("s0", "g0"),
        "b": Place("s1", "g1"),
        "c": Place("s0", "g0"),
        "d": Place("s2", "g0"),
    }
    assert in_order(["x", "a", "b", "c", "d", "y"], places) == ["a", "c", "d", "b", "x", "y"]
    assert in_order(["b", "a"], {}) == ["b", "a"]
