"""Latency and throughput under synthetic traffic, as their user meets them."""

import json
import math
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import etherweave
from etherweave.report.curves import curves_figure
from support import command_line

SLOW = {f"{links}_rate": "40Gb/s" for links in ("host", "local", "global")}
"""Rates of a dragonfly at which a packet takes 200 ns."""

SMALL: dict[str, object] = {
    "topology": {"dragonfly": SLOW},
    "open_loop": {
        "routings": ["minimal", "valiant_group"],
        "patterns": ["uniform", {"adversarial": {"offset": 1}}],
        "loads": [0.1, 1.0],
        "warm_up": "20us",
        "measured": "20us",
    },
}
"""72 hosts: 9 groups of 4 switches with 2 hosts and 2 global links each."""


run = partial(command_line.run_here, "curve")
here = partial(command_line.run_here, "curve")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(
        "[topology.dragonfly]\nhost_rate = '40Gb/s'\nlocal_rate = '40Gb/s'\n"
        "global_rate = '40Gb/s'\n[open_loop]\nloads = [0.1, 1.0]\n"
        'patterns = ["uniform", { adversarial = { offset = 1 } }]\n'
    )
    return file


def test_minimal_paths_carry_uniform_traffic_and_valiant_paths_adversarial() -> None:
    points = pl.DataFrame(etherweave.curve(SMALL))
    accepted = {
        (row["routing"], row["pattern"], row["load"]): row["load_accepted"]
        for row in points.iter_rows(named=True)
    }
    assert len(accepted) == 8
    # One global link carries what the 8 hosts of a group send to the next: 1/8 of their links.
    assert accepted["minimal", "adversarial+1", 1.0] == pytest.approx(1 / 8, abs=0.01)
    assert accepted["valiant_group", "adversarial+1", 1.0] > 0.3
    assert accepted["minimal", "uniform", 1.0] > accepted["valiant_group", "uniform", 1.0]
    assert accepted["minimal", "uniform", 0.1] == pytest.approx(0.1, abs=0.01)
    made = points["packets_made"]
    assert (made == points["packets_delivered"] + points["packets_in_flight"]).all()


def test_a_controller_reacts_after_its_time_and_minimal_routing_never() -> None:
    spec = {
        "routings": ["controller", "minimal"],
        "patterns": [{"switching": {"at": "30us"}}],
        "loads": [0.25],
        "controller": {"reaction": "300us"},
        "batch": "30us",
        "warm_up": "30us",
        "measured": "1200us",
    }
    late, never = etherweave.curve({**SMALL, "open_loop": spec}).to_pylist()
    # From then on what has queued up drains: 100 packets of 200 ns at most wait at a host and about
    # as many on their way, and at least a tenth of its link is free for them.
    assert 300_000 <= late["reaction_ns"] <= 300_000 + 2 * 100 * 200 / 0.1
    assert math.isnan(never["reaction_ns"])


def test_a_run_without_given_times_warms_up_until_steady_and_measures_to_the_precision() -> None:
    spec = {"loads": [0.2], "precision": 0.01}
    (row,) = etherweave.curve({**SMALL, "open_loop": spec}).to_pylist()
    assert row["is_steady"] == 1
    # At least 20 batches of 2 us each.
    assert row["warm_up_ns"] >= 40_000
    assert row["measured_ns"] >= 40_000
    assert 0 < row["latency_ns_half_width"] <= 0.01 * row["latency_ns_mean"]
    assert 0 < row["load_accepted_half_width"] <= 0.01 * row["load_accepted"]
    assert abs(row["load_accepted"] - row["load"]) < 2 * row["load_accepted_half_width"]


def test_bounds_of_oblivious_routings_stand_beside_what_is_measured() -> None:
    routings = ["minimal", "valiant_group", "ugal_local"]
    settings = {"open_loop.routings": routings, "open_loop.loads": [0.1]}
    points = pl.DataFrame(etherweave.curve(SMALL, settings))
    bounds = {
        (row["routing"], row["pattern"]): (row["load_bound"], row["load_bound_channel"])
        for row in points.iter_rows(named=True)
    }
    # One global link carries what the 8 hosts of a group send to the next; by random groups every
    # link but that one is used twice as much as a host's.
    bound, channel = bounds["minimal", "adversarial+1"]
    assert bound == pytest.approx(1 / 8)
    assert channel == "group8.switch3 port 5 to group0.switch0"
    assert bounds["minimal", "uniform"][0] == pytest.approx(1)
    assert bounds["valiant_group", "adversarial+1"][0] == pytest.approx(1 / 2)
    assert math.isnan(bounds["ugal_local", "uniform"][0])
    assert bounds["ugal_local", "uniform"][1] == ""


def test_a_bound_is_drawn_as_a_dashed_line() -> None:
    from etherweave.report.curves import curves_figure

    settings = {"open_loop.routings": ["minimal", "ugal_local"], "open_loop.loads": [0.1]}
    accepted = curves_figure(pl.DataFrame(etherweave.curve(SMALL, settings))).axes[3]
    dashed = [line for line in accepted.lines if line.get_linestyle() == "--"]
    heights = [float(np.asarray(line.get_ydata())[0]) for line in dashed]
    assert heights == [pytest.approx(1 / 8)]


def test_saturation_is_found_between_loads_that_are_carried_and_not() -> None:
    spec = {"patterns": ["adversarial"], **{"precision": 0.01, "saturation": True, "loads": [0.2]}}
    points = pl.DataFrame(etherweave.curve({**SMALL, "open_loop": spec}))
    # 1/8 of what hosts send is carried; less than 95 % of what is offered is saturation.
    expected = pytest.approx(1 / 8 / 0.95, abs=0.01)
    assert points["load_saturation"].to_list() == [expected] * len(points)
    assert 5 < len(points) <= 8


def test_links_that_are_down_lose_packets_that_are_counted() -> None:
    down = {"switch": "group0.switch1", "from": "10us", "until": "30us"}
    points = pl.DataFrame(etherweave.curve({**SMALL, "faults": {"down": [down]}}))
    assert (points["packets_lost"] > 0).all()
    known = points["packets_delivered"] + points["packets_in_flight"] + points["packets_lost"]
    assert (points["packets_made"] == known).all()


def test_pauses_and_too_few_priorities_are_reported() -> None:
    channel = {"priorities": [0], "buffer": "2kB"}
    small = {"flow_control": {"credits": channel}, "switch": {"output_queue": "1kB"}}
    spec = {"loads": [1.0], "warm_up": "50us", "measured": "50us"}
    (stopped,) = etherweave.curve({**SMALL, "open_loop": spec, **small}).to_pylist()
    assert stopped["load_accepted"] == 0
    assert stopped["deadlock"].startswith("group")
    pauses: dict[str, object] = {"flow_control": {"pfc": {}}}
    (running,) = etherweave.curve({**SMALL, "open_loop": spec, **pauses}).to_pylist()
    assert (running["load_accepted"] > 0.5, running["deadlock"]) == (True, "")


def test_threads_change_nothing() -> None:
    one, two = (pl.DataFrame(etherweave.curve(SMALL, threads=threads)) for threads in (1, 2))
    assert one.drop("wall_s").equals(two.drop("wall_s"))


def test_a_curve_that_is_stopped_has_the_points_until_then() -> None:
    reports: list[tuple[int, int, str]] = []

    def report(done: int, count: int, coming: str) -> bool:
        reports.append((done, count, coming))
        return done < 1

    assert len(etherweave.curve(SMALL, progress=report)) == 1
    assert reports == [(0, 4 * 2, "minimal, uniform, load 0.1"), (1, 8, "minimal, uniform, load 1")]


@pytest.mark.slow
def test_the_verb_prints_writes_and_draws(small: Path, tmp_path: Path) -> None:
    points, drawing = tmp_path / "points.csv", tmp_path / "curve.svg"
    done = run(small, "-o", points, "--draw", drawing, code=0)
    assert command_line.without_progress(done.stderr) == ""
    assert done.stdout.count("minimal") == 4
    assert pl.read_csv(points)["pattern"].to_list() == ["uniform"] * 2 + ["adversarial+1"] * 2
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")
    assert [row["load"] for row in json.loads(here(small, "--json").stdout)] == [0.1, 1.0, 0.1, 1.0]


def test_a_drawing_has_bands_where_intervals_are_known_and_hollow_points_unless_steady() -> None:
    points = pl.DataFrame(
        {
            "routing": "minimal",
            "pattern": "uniform",
            "load": [0.1, 0.5, 0.9, 1.0],
            "load_accepted": [0.1, 0.5, 0.8, 0.8],
            "load_bound": float("nan"),
            "load_accepted_half_width": [0.01, 0.02, 0.03, float("nan")],
            "latency_ns_mean": [1e3, 2e3, 8e3, 9e3],
            "latency_ns_half_width": [100.0, 100.0, 9e3, float("nan")],
            "is_steady": [1, 1, 0, 1],
        }
    )
    latency, accepted = curves_figure(points).axes
    (band,) = accepted.collections
    corners = np.asarray(band.get_paths()[0].vertices).round(3)
    assert set(map(tuple, corners)) == {
        (0.1, 0.09),
        (0.1, 0.11),
        (0.5, 0.48),
        (0.5, 0.52),
        (0.9, 0.77),
        (0.9, 0.83),
    }
    # A logarithmic axis shows what is above a tenth of the mean, where an interval reaches 0.
    (band,) = latency.collections
    assert np.asarray(band.get_paths()[0].vertices)[:, 1].min() == pytest.approx(0.8)
    for axes in (latency, accepted):
        (hollow,) = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
        assert np.asarray(hollow.get_xdata()).tolist() == [0.9]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("open_loop.loads=[2.0]", "open_loop.loads.0: 2; expected 0.000001 to 1"),
        ("open_loop.routings=['best']", "open_loop.routings.0: unknown name `best`"),
        ("open_loop.routings=['up_down']", "up_down, which gives every flow one path"),
        ("switch.speed_up=0", "switch.speed_up: 0; expected 1 to 16"),
        ("switch.buffer='1MB'", 'switch.buffer: "1MB"; expected none: open loops use model,'),
        ("open_loop.switch.speed_up=4", "open_loop.switch: unknown key"),
        ("open_loop.measured=0ns", "open_loop.measured: 0; expected 1 to"),
        ("open_loop.reroute_after='10us'", "open_loop.reroute_after: 10us; expected none, without"),
        ("open_loop.precision=0.0", "open_loop.precision: 0; expected 0.000001 to 1"),
        ("faults={down=[{link='a - b'}]}", "faults.down.0.link: no cable"),
        ("faults={down=[{switch='core9'}]}", "faults.down.0.switch: no switch"),
        (
            "topology={torus={}}",
            "one of dimension_order, valiant, shortest_path, disjoint_trees on this fabric",
        ),
    ],
)
def test_mistakes_are_one_line_that_names_the_key(small: Path, setting: str, message: str) -> None:
    done = here(small, "--set", setting)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


NOTIFIED = {"notification": {"hold": "60us", "set_point": "5kB"}}
"""Rules that snooped notifications deactivate for two samples of a link of 40 Gb/s."""


def test_rules_depend_on_notifications_in_curves_and_not_in_runs(small: Path) -> None:
    trigger = "open_loop.tables.conditional.trigger"
    keys = {
        "open_loop.routings": ["minimal_tables", "conditional_tables"],
        "open_loop.patterns": ["adversarial"],
        "open_loop.loads": [0.4],
        "open_loop.warm_up": "60us",
        "open_loop.measured": "40us",
        "switch.output_queue": "10kB",
    }
    points = pl.DataFrame(etherweave.curve(small, keys | {trigger: NOTIFIED}))
    minimal, notified = points["load_accepted"]
    # Minimal paths carry 1 of a * p = 8.
    assert minimal == pytest.approx(1 / 8, rel=0.02)
    assert notified > 2 * minimal
    table = {"notification": NOTIFIED["notification"] | {"set_point": "10kB"}}
    with pytest.raises(etherweave.ScenarioError, match="set_point: 10kB; expected 1 B to less"):
        etherweave.curve(small, keys | {trigger: table})
    jobs = {"routing": "conditional_tables", "job": [{"name": "a", "workload": {"all_to_all": {}}}]}
    with pytest.raises(etherweave.ScenarioError, match=f"{trigger}: notification; expected full"):
        etherweave.run(small, jobs | {trigger: NOTIFIED})
