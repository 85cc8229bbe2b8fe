"""The time left of work, against schedules whose ends are known."""

import heapq
import json
import random
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from etherweave.advise.stages import ANSWER_S
from etherweave.api.work import Work
from etherweave.study.records import CHECK_S, page_s
from etherweave.sweeps.cost import DATASET_S

RECORDED = Path(__file__).parent / "recorded_work.json"
FACTOR = 1.5  # Largest factor by which a time left may be wrong, from a tenth of all work on.


def finishes(taken_s: dict[str, float], workers: int) -> list[tuple[float, str]]:
    """Compute the end of each item that takes so long, as workers take them in order."""
    free, ends = [0.0] * workers, []
    for name, own_s in taken_s.items():
        end_s = free[0] + own_s
        heapq.heapreplace(free, end_s)
        ends.append((end_s, name))
    return sorted(ends)


def worst_factor(
    expected: dict[str, float], taken_s: dict[str, float], workers: int, *, in_seconds: bool
) -> float:
    """The largest error of the time left from a tenth of all time on, until little is left."""
    now_s = 0.0
    work = Work(
        list(expected), lambda: expected, workers, in_seconds=in_seconds, clock=lambda: now_s
    )
    left = finishes(taken_s, workers)
    all_s, worst = left[-1][0], 1.0
    for step in range(1, 91):
        until_s = all_s * step / 100
        while left[0][0] <= until_s:
            now_s, name = left.pop(0)
            work.end(name)
        now_s = until_s
        if step >= 10:
            said_s = work.left_s() or 1e-9
            worst = max(worst, said_s / (all_s - now_s), (all_s - now_s) / said_s)
    return worst


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("slower", [0.25, 1.0, 6.0])
def test_time_left_holds_on_machines_of_other_speed(workers: int, slower: float) -> None:
    numbers = random.Random(5)
    # Experiments of a study: many short ones, and some that take a hundred times as long.
    expected = {str(item): 0.5 * 10 ** numbers.uniform(0, 2) for item in range(80)}
    taken_s = {name: slower * own * numbers.uniform(0.8, 1.25) for name, own in expected.items()}
    assert worst_factor(expected, taken_s, workers, in_seconds=True) <= FACTOR


def test_counting_would_fail_where_the_longest_come_last() -> None:
    taken_s = {str(item): 1.0 for item in range(50)} | {f"long{item}": 50.0 for item in range(4)}
    assert worst_factor(taken_s, taken_s, 2, in_seconds=True) < 1.1
    assert worst_factor(dict.fromkeys(taken_s, 1.0), taken_s, 2, in_seconds=False) > 3


def test_kept_results_take_no_time() -> None:
    now_s = 0.0
    work = Work(["a", "b", "c", "d"], clock=lambda: now_s)
    work.end("a", is_kept=True)
    work.end("b", is_kept=True)
    assert work.left_s() is None  # Nothing says how long the others take.
    now_s = 10.0
    work.end("c")
    assert (work.done, work.count, work.last, work.left_s()) == (3, 4, "c", 10.0)
    now_s = 25.0
    assert work.left_s() is None  # Later than expected.
    work.end("d")
    assert work.left_s() == 0.0


def test_items_without_an_expected_time_take_the_mean_of_others() -> None:
    work = Work(["a", "b", "c"], lambda: {"a": 2.0, "b": 4.0}, in_seconds=True, clock=lambda: 0.0)
    assert work.left_s() == pytest.approx(9.0)


def test_steps_keep_their_seconds_where_no_item_has_an_expected_time() -> None:
    now_s = 0.0
    work = Work(["a", "b"], dict, in_seconds=True, start_s=0.6, clock=lambda: now_s)
    work.expect_step("page", 5.0)
    assert work.left_s() is None  # Nothing says how long the items take.
    now_s = 0.1
    work.end("a")
    assert work.left_s() == pytest.approx(0.1 + 5.0)


def test_many_items_that_wait_keep_all_workers_busy() -> None:
    names = [str(item) for item in range(10_000)]
    work = Work(names, lambda: dict.fromkeys(names, 3.0), 4, in_seconds=True, clock=lambda: 0.0)
    assert work.left_s() == pytest.approx(7_500.0)


def test_an_item_that_ends_while_the_time_left_is_computed_counts_afterwards() -> None:
    def expected() -> dict[str, float]:
        ending.start()
        ending.join(0.1)
        return {"a": 5.0, "b": 1.0}

    work = Work(["a", "b"], expected, in_seconds=True, clock=lambda: 0.0)
    ending = Thread(target=lambda: work.end("a", is_kept=True))
    assert work.left_s() == pytest.approx(6.0)
    ending.join()
    assert work.left_s() == pytest.approx(1.0)


def test_expected_times_are_read_once() -> None:
    names, reads = [str(item) for item in range(50)], iter([{"0": 1.0}])
    work = Work(names, lambda: next(reads), in_seconds=True)
    for name in names:
        work.end(name, is_kept=True)
        work.left_s()
    assert work.left_s() == 0.0


def test_replaced_times_are_those_of_items_that_wait_at_the_pace_so_far() -> None:
    now_s = 0.0
    times = dict.fromkeys("abcd", 2.0)
    work = Work(list(times), lambda: times, in_seconds=True, clock=lambda: now_s)
    assert work.left_s() == pytest.approx(8.0)
    now_s = 4.0
    work.end("a")
    assert work.left_s() == pytest.approx(12.0, rel=0.01)
    work.expect({**times, "b": 1.0, "c": 1.0, "d": 1.0})
    assert work.left_s() == pytest.approx(6.0, rel=0.01)


def test_items_that_are_added_go_on_at_the_pace_so_far_and_more_may_follow() -> None:
    now_s = 0.0
    work = Work([], None, in_seconds=True, clock=lambda: now_s)
    work.extend(["a", "b"], lambda: {"a": 2.0, "b": 2.0}, more=4)
    work.expect_step("dataset", 0.0)
    assert work.left() == pytest.approx((4.0, 12.0))
    now_s = 4.0
    work.end("a")
    assert work.left() == pytest.approx((4.0, 20.0), rel=0.01)
    now_s = 8.0
    work.end("b")
    work.end("dataset")
    assert work.left_s() == 0.0
    work.extend(["a", "b", "c", "d"], lambda: {"c": 3.0, "d": 3.0}, more=2)
    assert (work.done, work.count, work.step) == (2, 4, "")
    assert work.left() == pytest.approx((12.0, 22.0), rel=0.01)
    now_s = 20.0
    for name in ("c", "d", "dataset"):
        work.end(name)
    work.extend([], dict)
    assert (work.done, work.count) == (4, 4)


def test_steps_keep_their_seconds_where_all_results_are_kept() -> None:
    work = Work(["a", "b"], dict, in_seconds=True, clock=lambda: 0.0)
    work.expect_step("page", 5.0)
    for name in ("a", "b"):
        work.end(name, is_kept=True)
    assert work.left_s() == pytest.approx(5.0)
    work.expect_step("trajectories", 0.0, 3.0)
    assert work.left_s() is None  # Nothing says how long an item takes.


def step_of(name: str, items: float, experiments: int) -> tuple[str, float, float]:
    """A step of recorded work, as long as commands expect it now; ``items`` are worth more."""
    seconds = {
        "checks": CHECK_S * experiments,
        "page": page_s(experiments),
        "dataset": DATASET_S,
        "trajectories": 0.0,
        "answer": ANSWER_S,
    }
    return name, seconds[name], items


def recorded() -> list[dict[str, Any]]:
    """Works of commands, with the time of each end as of a machine that has nothing else to do."""
    records: list[dict[str, Any]] = json.loads(RECORDED.read_text())
    return records


@pytest.mark.parametrize("long_s", [30.0, 100.0, 300.0, 1_000.0])
@pytest.mark.parametrize("workers", [1, 2, 8, 16])
def test_time_left_holds_where_a_long_item_is_among_many(workers: int, long_s: float) -> None:
    before = {f"before{item}": 1.0 for item in range(1_500)}
    after = {f"after{item}": 1.0 for item in range(64 * workers + 10)}
    expected = before | {"long": long_s} | after
    assert worst_factor(expected, expected, workers, in_seconds=True) <= FACTOR


@pytest.mark.parametrize("record", recorded(), ids=lambda record: record["name"])
def test_time_left_of_commands_is_within_a_factor_of_1_5(record: dict[str, Any]) -> None:
    now_s = 0.0
    names = [str(item) for item in range(len(record["expected_s"]))]
    work = Work(
        names,
        lambda: dict(zip(names, record["expected_s"], strict=True)),
        record["workers"],
        in_seconds=True,
        start_s=record["start_s"],
        clock=lambda: now_s,
    )
    for name, items in record["steps"]:
        work.expect_step(*step_of(name, items, len(names)))
    for item in record["kept"]:
        work.end(str(item), is_kept=True)
    ends = record["ends"] + record["step_ends"]
    for percent in range(10, int(100 * record["until_s"] / record["end_s"])):
        until_s = record["end_s"] * percent / 100
        while ends and ends[0][0] <= until_s:
            now_s, name = ends.pop(0)
            work.end(str(name))
        now_s = until_s
        said_s, true_s = work.left_s() or 1e-9, record["end_s"] - now_s
        ratio = said_s / true_s
        assert 1 / FACTOR <= ratio <= FACTOR, f"{percent} %: {said_s:.2f} s of {true_s:.2f} s"


def test_items_of_a_later_batch_begin_when_they_are_known() -> None:
    now_s = 0.0
    work = Work([], None, 4, in_seconds=True, clock=lambda: now_s)
    work.extend(["first"], lambda: {"first": 10.0})
    now_s = 10.0
    work.end("first")
    names = [f"later{number}" for number in range(4)]
    work.extend(names, lambda: dict.fromkeys(names, 10.0))
    assert work.left_s() == pytest.approx(10)
    now_s = 20.0
    for name in names:
        work.end(name)
    assert work.left_s() == 0


def test_an_item_that_is_repeated_has_not_ended_and_waits_for_a_worker() -> None:
    now_s = 0.0
    work = Work([], None, 1, in_seconds=True, clock=lambda: now_s)
    times = dict.fromkeys("abc", 10.0)
    work.extend(["a", "b"], lambda: times)
    for name in ("a", "b"):
        now_s += 10.0
        work.end(name)
    work.extend(["a", "b", "c"], lambda: times)
    work.repeat("a")
    assert (work.done, work.count, work.has_ended("a")) == (1, 3, False)
    assert work.left_s() == pytest.approx(20)  # c and a.
    for name in ("c", "a"):
        now_s += 10.0
        work.end(name)
    assert (work.done, work.count, work.left_s()) == (3, 3, 0)
