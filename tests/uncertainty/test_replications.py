"""Replications: intervals of means that cover the truth, and where the warm-up of runs ends."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from etherweave import run
from etherweave.api.overview import overview
from etherweave.api.warm_up import warm_up_end
from etherweave.report.seeds import over_seeds
from etherweave.sweeps import executor
from etherweave.uncertainty import UncertaintyError, mean_interval, run_replications
from support.command_line import run_here

pytestmark = pytest.mark.usefixtures("workers_of_this_process")

SCENARIO = """\
topology.single_switch.hosts = 8
transport.roce = {}

[[job]]
name = "web"
workload.flows = { ranks = 8, load = 0.4, sizes = "storage", duration = "200us" }
"""
MEAN = "flows.web.slowdown_mean"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "web.toml"
    path.write_text(SCENARIO)
    return path


def waits(draws: np.random.Generator, queues: int, customers: int, load: float) -> Any:
    """Simulate M/M/1 queues that begin empty, by Lindley's recursion, with a service of mean 1."""
    waiting, rows = np.zeros(queues), np.empty((customers, queues))
    for row in rows:
        row[:] = waiting
        service, gap = draws.exponential(1, queues), draws.exponential(1 / load, queues)
        waiting = np.maximum(waiting + service - gap, 0)
    return rows


def test_intervals_cover_the_mean_wait_of_a_queue_as_often_as_they_say() -> None:
    """M/M/1: a mean wait of load / (1 - load) services (Kleinrock, Queueing Systems 1, 5.6)."""
    load, repetitions, replications, warm_up = 0.5, 1_000, 10, 200
    rows = waits(np.random.default_rng(1), repetitions * replications, 1_200, load)
    means = rows[warm_up:].mean(axis=0).reshape(repetitions, replications)
    intervals = [mean_interval([float(mean) for mean in row]) for row in means]
    covers = [low <= load / (1 - load) <= high for low, high in (row.ends for row in intervals)]
    assert sum(covers) / repetitions == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("name", "values", "ends"),
    [
        ("jain", [0.9, 0.99, 1.0], (0, 1)),
        ("streams.a.goodput_gbps", [0.0, 1.0, 80.0], (0, math.inf)),
        (MEAN, [1.0, 1.01, 2.0], (1, math.inf)),
        ("flows.web.slowdown_p50", [0.9, 1.01, 2.0], (0, math.inf)),
        ("difference", [-1.0, 0.0, 9.0], (-math.inf, math.inf)),
    ],
)
def test_intervals_lie_within_what_a_figure_can_be_in_replications_and_in_figures(
    name: str, values: list[float], ends: tuple[float, float]
) -> None:
    """Student's t of three values: 4.303 standard errors (table of any textbook)."""
    mean = sum(values) / 3
    half = 4.303 * np.std(values, ddof=1) / math.sqrt(3)
    expected = (max(mean - half, ends[0]), min(mean + half, ends[1]))
    assert expected != (mean - half, mean + half) or name == "difference"
    assert mean_interval(values, name=name).ends == pytest.approx(expected, rel=1e-3)
    rows = polars.DataFrame({"point": [1] * 3, name: values})
    drawn = over_seeds(rows, ["point"], [name]).row(0, named=True)
    assert (drawn[f"{name}_low"], drawn[f"{name}_high"]) == pytest.approx(expected, rel=1e-3)


def test_the_warm_up_of_a_queue_that_begins_full_is_left_out() -> None:
    """A backlog of 100 services, which shrinks by one with every customer at a load of one half."""
    draws, load, ends = np.random.default_rng(2), 0.5, []
    for _ in range(20):
        waiting, series = 100.0, []
        for _ in range(4_000):
            series.append(waiting)
            waiting = max(waiting + draws.exponential(1) - draws.exponential(1 / load), 0.0)
        end = warm_up_end(series)
        assert end is not None
        ends.append(end)
        assert max(series[end:]) < 50
    # A service of 1 comes with a gap of 1 / load = 2: the backlog is gone after 100 customers.
    assert min(ends) >= 50
    assert np.median(ends) == pytest.approx(100, rel=0.3)


def test_a_series_without_a_steady_state_has_no_end_of_its_warm_up() -> None:
    assert warm_up_end([1.0] * 9) is None
    assert warm_up_end([float(value) for value in range(200)]) is None
    assert warm_up_end([3.0] * 200) == 0


def test_replications_are_runs_of_the_next_seeds(file: Path, tmp_path: Path) -> None:
    result = run_replications(file, 3, tmp_path / "out", executor=executor("local", 1))
    values = [overview(run(file, {"seed": seed}))["flows"]["web"] for seed in (1, 2, 3)]
    means = [value["slowdown_mean"] for value in values]
    assert result.figures[MEAN] == mean_interval(means, name=MEAN)
    small = [value["sizes"]["below_10kB"]["slowdown_p50"] for value in values]
    name = "flows.web.sizes.below_10kB.slowdown_p50"
    assert result.figures[name] == mean_interval(small, name=name)
    assert (result.seeds, result.warm_up, dict(result.ended)) == ((1, 3), "0ps", {"complete": 3})


def test_replications_end_when_the_intervals_are_narrow_enough(file: Path, tmp_path: Path) -> None:
    own: dict[str, Any] = {"executor": executor("local", 1)}
    wide = run_replications(file, 40, tmp_path / "out", half_width=0.9, **own)
    assert (wide.is_known, wide.ended["complete"]) == (True, 10)
    narrow = run_replications(file, 12, tmp_path / "out", half_width=0.001, **own)
    assert (narrow.is_known, narrow.ended["complete"]) == (False, 12)
    with pytest.raises(UncertaintyError, match="1 replications; expected 2 to 65,536"):
        run_replications(file, 1, tmp_path / "out")


def test_the_verb_prints_means_with_intervals_and_as_json(file: Path, tmp_path: Path) -> None:
    words = ("run", file, "--replications", "3", "-o", tmp_path / "out", "--threads", "1")
    text = run_here(*words).stdout
    assert text.startswith("web: 3 replications, seeds 1 to 3, warm-up 0ps; intervals of 95%")
    facts = json.loads(run_here(*words, "--json").stdout)
    low, high = facts["figures"][MEAN]["interval"]
    assert low < facts["figures"][MEAN]["mean"] < high
    equal = ("-s", "job.0.workload.flows.sizes={fixed='10kB'}", "-o", tmp_path / "equal")
    warm = json.loads(run_here(*words, *equal, "--find-warm-up", "--json").stdout)
    assert warm["warm_up"].endswith(("us", "ps"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--half-width", "0.1"], "--half-width: nothing is repeated; expected --replications"),
        (["--find-warm-up"], "--find-warm-up: nothing is repeated; expected --replications"),
        (["--replications", "3", "--half-width", "5"], "--half-width: 5; expected a share"),
        (["--replications", "3", "--slowdown"], "--replications: expected no --slowdown beside it"),
        (["--replications", "1"], "--replications: 1; expected 2 to 65,536"),
    ],
)
def test_mistakes_of_replications_are_named(file: Path, words: list[str], message: str) -> None:
    failed = run_here("run", file, *words, code=2)
    assert message in failed.stderr


def test_hosts_with_several_ports_have_no_slowdowns_to_find_a_warm_up_in(
    file: Path, tmp_path: Path
) -> None:
    own: dict[str, Any] = {"executor": executor("local", 1), "overrides": {"host_ports.planes": 2}}
    with pytest.raises(UncertaintyError, match=r"job web: no slowdowns .* expected run.warm_up"):
        run_replications(file, 2, tmp_path / "out", finds_warm_up=True, **own)
