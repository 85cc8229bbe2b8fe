"""Rankings of samples that are made by hand."""

import math

import pytest

from etherweave.advise.reasons import change
from etherweave.advise.scores import Interval, ahead, first, holds, ranked, throughput
from etherweave.advise.unknowns import BLOCK, Unknown, share


def test_throughput_is_the_inverse_of_the_weighted_times_over_those_of_the_baseline() -> None:
    # Half of the time doubles, a quarter halves, a quarter sends nothing: 1 + 1/8 + 1/4.
    times = {"a": [20.0, 10.0], "b": [5.0, 10.0]}
    weights = {"a": 0.5, "b": 0.25, "c": 0.25}
    assert throughput(times, {"a": 10.0, "b": 10.0}, weights) == pytest.approx([1 / 1.375, 1.0])


def test_fabrics_are_ranked_by_the_median_of_their_shares_in_each_sample() -> None:
    # What all samples have in common, as the price of nodes, decides nothing.
    assert ranked({"a": [1.0, 10.0, 100.0], "b": [2.0, 9.0, 200.0]}) == ["b", "a"]
    assert ranked({"a": [1.0, 1.0, 9.0], "b": [2.0, 2.0, 1.0]}) == ["b", "a"]


def test_the_probability_of_an_order_is_the_share_of_paired_samples_in_which_it_holds() -> None:
    scores = {"a": [3.0, 3.0, 1.0, 3.0], "b": [2.0, 2.0, 2.0, 2.0], "c": [1.0, 2.5, 0.0, 2.0]}
    assert ahead(scores["a"], scores["b"]) == 0.75
    assert ahead(scores["b"], scores["c"]) == (1 + 0 + 1 + 0.5) / 4
    assert first(scores) == {"a": 0.75, "b": 0.25, "c": 0.0}
    # In the second sample c is before b, in the third b before a.
    assert holds(["a", "b", "c"], scores) == 0.5


def test_equal_fabrics_share_the_first_place() -> None:
    assert first({"a": [1.0, 1.0], "b": [1.0, 1.0]}) == {"a": 0.5, "b": 0.5}
    assert ahead([1.0], [1.0]) == 0.5


def test_an_interval_has_the_median_and_nine_of_ten_samples() -> None:
    result = Interval.of([float(value) for value in range(101)])
    assert (result.value, result.low, result.high) == (50, 5, 95)
    assert Interval.of([1.0, 1.0]) == Interval(1.0, 1.0, 1.0)
    assert Interval.of([1.0, 3.0], 1.5).value == 1.5


def test_samples_of_an_unknown_divide_its_range_into_equal_parts() -> None:
    places = [share("switch.latency of x", at, 1) for at in range(BLOCK)]
    assert sorted(math.floor(place * BLOCK) for place in places) == list(range(BLOCK))
    assert share("switch.latency of x", 3, 1) == places[3]
    assert places != [share("switch.latency of y", at, 1) for at in range(BLOCK)]


def test_a_price_lies_between_its_value_divided_and_multiplied_by_its_factor() -> None:
    unknown = Unknown("price of a switch", "estimate", "1,000 USD", 1.5)
    assert [unknown.scale(place) for place in (0.0, 0.5, 1.0)] == pytest.approx([1 / 1.5, 1, 1.5])


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.0, "as much"), (1.2, "20% more"), (0.75, "25% less"), (3.0, "200% more")]
)
def test_a_ratio_is_written_as_people_say_it(ratio: float, text: str) -> None:
    assert change(ratio) == text
