"""Rank by time, and the time of an iteration, of schedules whose iterations are known."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

import etherweave
from etherweave.pages import write_report
from etherweave.report.run.rank_detail import RECTANGLES_MAX, WindowRequest, detail
from etherweave.report.run.timeline import Timeline, timelines
from etherweave.report.section import Section

ITERATIONS = 12


def run(workload: dict[str, Any], ranks: int) -> etherweave.Result:
    return etherweave.run(
        {
            "topology": {"single_switch": {"hosts": ranks}},
            "observe": {"ranks": True},
            "job": [{"name": "kernel", "workload": workload}],
        }
    )


def the_timeline(result: etherweave.Result) -> Timeline:
    (timeline,) = timelines(result)
    return timeline


def starts_apart_ns(result: etherweave.Result) -> np.ndarray:
    """Measure the time from the start of each iteration to that of the next."""
    rows = result.to_polars("iterations").sort("rank", "iteration")
    return np.diff(rows["start_ns"].to_numpy().reshape(rows["rank"].n_unique(), -1), axis=1)


GRAPH = """num_ranks 2
rank 0 {
one: calc 10000 cpu 0
two: calc 20000 cpu 0
two requires one
wait: recv 8b from 1 cpu 1
last: calc 5000 cpu 0
last requires wait
}
rank 1 {
first: calc 45000
result: send 8b to 0
result requires first
}
"""


def test_a_rank_computes_while_one_of_its_streams_does() -> None:
    rows = the_timeline(run({"goal": {"text": GRAPH}}, 2)).activities.filter(pl.col("rank") == 0)
    # Its other stream waits from the start until the message of rank 1 arrives.
    assert rows["activity"].to_list() == ["compute", "communication", "compute"]
    starts, ends = rows["start_ns"].to_list(), rows["end_ns"].to_list()
    assert starts[1:] == ends[:-1]
    assert (starts[0], ends[0], ends[2] - starts[2]) == (0, 30_000, 5_000)
    assert ends[1] > 45_000


@pytest.mark.parametrize("benchmark", ["bt", "ft", "is", "lu", "mg", "sp"])
@pytest.mark.parametrize(
    ("class_", "ranks", "count"), [("S", 4, 12), ("S", 4, 6), ("S", 16, 6), ("W", 4, 6)]
)
def test_iterations_of_npb_are_found(benchmark: str, class_: str, ranks: int, count: int) -> None:
    keys = {"benchmark": benchmark, "class": class_, "ranks": ranks, "iterations": count}
    result = run({"npb": keys}, ranks)
    period = the_timeline(result).period
    assert period is not None
    assert period.ns == pytest.approx(starts_apart_ns(result).mean(), rel=0.01)
    assert period.iterations == pytest.approx(count, abs=1)


@pytest.mark.parametrize(("class_", "ranks"), [("S", 4), ("S", 16), ("W", 4)])
def test_of_conjugate_gradient_the_inner_iteration_is_found(class_: str, ranks: int) -> None:
    keys = {"class": class_, "ranks": ranks, "iterations": 2, "compute": "20us"}
    result = run({"npb_cg": keys}, ranks)
    period = the_timeline(result).period
    assert period is not None
    # 25 of them in an outer iteration, which computes a norm between them.
    assert period.ns == pytest.approx(np.median(starts_apart_ns(result)), rel=0.02)


@pytest.mark.usefixtures("quick_figures")
def test_the_report_of_a_run_shows_ranks_over_time(tmp_path: Path) -> None:
    run({"npb": {"class": "S", "ranks": 4, "iterations": ITERATIONS}}, 4).save(tmp_path)
    page = write_report(tmp_path, tmp_path).read_text()
    assert "Ranks over time" in page
    assert "Some iterations" in page
    assert (tmp_path / "ranks_kernel.svg").exists()
    assert (tmp_path / "iterations_kernel.svg").exists()


def drawn(timeline: Timeline, request: WindowRequest | None = None) -> tuple[Section, Axes]:
    """Draw some of the time in detail."""
    section = detail(timeline, request)
    assert section is not None
    assert section.figure is not None
    (axes,) = section.figure.axes
    return section, axes


ALLTOALL = {"osu_collective": {"operation": {"alltoall": {"bytes": "8B"}}, "iterations": 100}}


@pytest.fixture(scope="module")
def alltoall() -> Timeline:
    """Has more messages than can be drawn."""
    timeline = the_timeline(run(ALLTOALL, 16))
    assert len(timeline.transfers) > RECTANGLES_MAX
    return timeline


def test_the_detailed_picture_has_every_message_of_its_time(alltoall: Timeline) -> None:
    _, axes = drawn(alltoall)
    (messages,) = (part for part in axes.collections if isinstance(part, LineCollection))
    low, high = axes.get_xlim()
    within = (pl.col("end_ns") > low * 1e6) & (pl.col("start_ns") < high * 1e6)
    expected = len(alltoall.transfers.filter(within))
    assert len(messages.get_segments()) == pytest.approx(expected, abs=2)
    assert expected <= RECTANGLES_MAX


def made(iterations: int, calls: int) -> Timeline:
    """Two ranks compute for 800 us and communicate for 200 us, in a number of calls."""
    times = 1e6 * np.arange(iterations)
    starts = (times[:, None] + 0.8e6 + 0.2e6 / calls * np.arange(calls)).ravel()
    frames = [
        {"activity": "compute", "start_ns": times, "end_ns": times + 0.8e6},
        {"activity": "allreduce", "start_ns": starts, "end_ns": starts + 0.2e6 / calls},
    ]
    rows = [pl.DataFrame(frame | {"rank": rank}) for frame in frames for rank in (0, 1)]
    names = ("source", "destination", "start_ns", "end_ns")
    none = pl.DataFrame({name: np.array([], float) for name in names})
    return Timeline("made", "made", pl.concat(rows), none)


@pytest.mark.parametrize(
    # An iteration has two computations, and twice the calls.
    ("calls", "expected"),
    [(1, 4), (1_000, 4), (1_500, 3), (2_000, 2), (3_000, 1)],
)
def test_four_iterations_are_drawn_or_as_many_as_fit(calls: int, expected: int) -> None:
    section, axes = drawn(made(12, calls))
    low, high = axes.get_xlim()
    assert high - low == pytest.approx(expected, rel=0.01)
    assert section.title == "Some iterations"


def test_a_part_of_an_iteration_is_drawn_where_there_is_no_room_for_one() -> None:
    _, axes = drawn(made(12, 10_000))
    low, high = axes.get_xlim()
    # Calls lie close to each other for 200 us.
    assert 0.09 < high - low < 1


def test_a_window_that_is_asked_for_is_drawn() -> None:
    section, axes = drawn(made(12, 1), WindowRequest(2.5e6, 7e6))
    assert axes.get_xlim() == (2.5, 7)
    assert section.title == "Some of the time"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (WindowRequest(from_ns=10e6), (10, 12)),
        (WindowRequest(until_ns=2e6), (0, 2)),
        (WindowRequest(10e6, 99e6), (10, 12)),
    ],
)
def test_a_window_reaches_the_ends(request_: WindowRequest, expected: tuple[float, float]) -> None:
    _, axes = drawn(made(12, 1), request_)
    assert axes.get_xlim() == pytest.approx(expected)


def test_a_window_with_too_much_in_it_is_shortened_and_the_caption_says_so() -> None:
    section, axes = drawn(made(12, 1_000), WindowRequest(from_ns=1.8e6))
    assert axes.get_xlim()[0] == 1.8
    # The fifth 2,000 calls, and five computations of each rank, are more than 10,000.
    assert 5.9 < axes.get_xlim()[1] < 6
    assert "Drawn is the time until" in section.caption


def test_what_does_not_repeat_is_not_headed_iterations() -> None:
    section, axes = drawn(made(1, 1))
    assert section.title == "Some of the time"
    assert axes.get_xlim() == (0, 1)


def test_a_window_outside_of_the_time_is_an_error_with_the_time() -> None:
    with pytest.raises(ValueError, match=r"from 13 ms until 14 ms: .* some of 0 ms to 12 ms"):
        WindowRequest(13e6, 14e6).check([made(12, 1)])


def test_a_window_that_ends_before_it_begins_is_an_error() -> None:
    with pytest.raises(ValueError, match="from 7 ms until 5 ms: expected the earlier time first"):
        WindowRequest(7e6, 5e6)


def test_ranks_that_are_not_observed_have_neither_timeline_nor_window(tmp_path: Path) -> None:
    scenario = {
        "topology": {"single_switch": {"hosts": 2}},
        "job": [{"name": "a", "workload": {"osu_latency": {}}}],
    }
    result = etherweave.run(scenario)
    assert timelines(result) == []
    result.save(tmp_path)
    with pytest.raises(ValueError, match=r"expected a recording, or a run with observe\.ranks"):
        write_report(tmp_path, tmp_path, window=WindowRequest(0, 1e6))
