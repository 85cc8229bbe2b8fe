"""Rank by time, and the time of an iteration, of schedules whose iterations are known."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import LineCollection

import etherweave
from etherweave.report import write_report
from etherweave.report.run.timeline import RECTANGLES_MAX, Timeline, detail, timelines

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
    starts = rows["start_ns"].to_numpy().reshape(rows["rank"].n_unique(), -1)
    return np.diff(starts, axis=1)


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
    names = rows["activity"].to_list()
    assert names == ["compute", "communication", "compute"]
    starts, ends = rows["start_ns"].to_list(), rows["end_ns"].to_list()
    assert starts[1:] == ends[:-1]
    assert (starts[0], ends[0], ends[2] - starts[2]) == (0, 30_000, 5_000)
    assert ends[1] > 45_000


@pytest.mark.parametrize("benchmark", ["bt", "ft", "is", "lu", "mg", "sp"])
@pytest.mark.parametrize(
    ("class_", "ranks", "count"), [("S", 4, 12), ("S", 4, 6), ("S", 16, 6), ("W", 4, 6)]
)
def test_the_iteration_of_each_npb_kernel_is_found(
    benchmark: str, class_: str, ranks: int, count: int
) -> None:
    keys = {"benchmark": benchmark, "class": class_, "ranks": ranks, "iterations": count}
    result = run({"npb": keys}, ranks)
    found = the_timeline(result).period
    assert found is not None
    assert found.ns == pytest.approx(starts_apart_ns(result).mean(), rel=0.01)
    assert found.iterations == pytest.approx(count, abs=1)


@pytest.mark.parametrize(("class_", "ranks"), [("S", 4), ("S", 16), ("W", 4)])
def test_of_conjugate_gradient_the_inner_iteration_is_found(class_: str, ranks: int) -> None:
    keys = {"class": class_, "ranks": ranks, "iterations": 2, "compute": "20us"}
    result = run({"npb_cg": keys}, ranks)
    found = the_timeline(result).period
    assert found is not None
    # 25 of them in an outer iteration, which computes a norm between them.
    assert found.ns == pytest.approx(np.median(starts_apart_ns(result)), rel=0.02)


def test_the_report_of_a_run_shows_ranks_over_time(tmp_path: Path) -> None:
    result = run({"npb": {"class": "S", "ranks": 4, "iterations": ITERATIONS}}, 4)
    result.save(tmp_path)
    page = write_report(tmp_path, tmp_path).read_text()
    assert "Ranks over time" in page
    assert "Some iterations" in page
    assert (tmp_path / "ranks_kernel.svg").exists()
    assert (tmp_path / "iterations_kernel.svg").exists()


def test_the_detailed_picture_has_every_message_of_its_time() -> None:
    result = run(
        {"osu_collective": {"operation": {"alltoall": {"bytes": "8B"}}, "iterations": 40}}, 16
    )
    timeline = the_timeline(result)
    assert len(timeline.transfers) > RECTANGLES_MAX
    figure = detail(timeline).figure
    assert figure is not None
    (axes,) = figure.axes
    (messages,) = (one for one in axes.collections if isinstance(one, LineCollection))
    low, high = axes.get_xlim()
    within = (pl.col("end_ns") > low * 1e6) & (pl.col("start_ns") < high * 1e6)
    expected = len(timeline.transfers.filter(within))
    assert len(messages.get_segments()) == pytest.approx(expected, abs=2)


def test_ranks_that_are_not_observed_have_no_timeline() -> None:
    scenario = {
        "topology": {"single_switch": {"hosts": 2}},
        "job": [{"name": "a", "workload": {"osu_latency": {}}}],
    }
    assert timelines(etherweave.run(scenario)) == []
