"""Checks of section VI-B on points written by hand, and how its curves are kept."""

import math
import tomllib
from itertools import product
from pathlib import Path

import polars as pl
import pytest

import etherweave
from etherweave.study import load_study, run_study
from etherweave.study.experiments import CurveExperiment, CurveResult
from etherweave.study.results import load_result

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workers_of_this_process")]

STUDY = load_study("exascale-2017")
METRICS, CODE = STUDY.metrics, STUDY.module("experiments")
PATTERNS, ROUTINGS = CODE.PATTERNS, CODE.ROUTINGS

Row = tuple[float, float, float]  # Offered load, accepted load, latency [ns].


def curve(*rows: Row, bound: float = 1.0) -> CurveResult:
    columns = ("load", "load_accepted", "latency_ns_mean")
    points = pl.DataFrame(rows, columns, orient="row").with_columns(load_bound=pl.lit(bound))
    return CurveResult(points, "", {})


def test_latencies_are_compared_with_minimal_paths_below_the_saturation_of_those() -> None:
    result = {
        "figure_12.uniform.conditional": curve((0.5, 0.5, 1040), (0.8, 0.8, 2160), (1, 0.7, 9000)),
        # Carries 0.9; what is measured at 1 says nothing.
        "figure_12.uniform.minimal": curve((0.5, 0.5, 1000), (0.8, 0.8, 2000), (1, 0.9, 5000)),
        "figure_12.uniform.piggyback": curve((0.5, 0.5, 990), (0.8, 0.8, 3000), (1, 0.85, 1000)),
    }
    # The most of 40 in 1000 and 160 in 2000.
    assert METRICS["figure_12.uniform.conditional"](result) == pytest.approx(8)
    # The least of 990 / 1000 and 3000 / 2000.
    assert METRICS["figure_12.uniform.piggyback"](result) == pytest.approx(0.99)


def test_latencies_that_are_lower_are_off_as_well() -> None:
    result = {
        "exascale.uniform.conditional": curve((0.5, 0.5, 800), (0.9, 0.8, 1000)),
        "exascale.uniform.minimal": curve((0.5, 0.5, 1000), (0.9, 0.8, 1000)),
    }
    assert METRICS["exascale.uniform.conditional"](result) == pytest.approx(20)


def test_without_a_load_below_saturation_there_is_no_figure() -> None:
    result = dict.fromkeys((f"exascale.uniform.{key}" for key in ROUTINGS), curve((0.9, 0.7, 5000)))
    assert math.isnan(METRICS["exascale.uniform.conditional"](result))
    assert math.isnan(METRICS["exascale.uniform.piggyback"](result))


REACTED = {
    "routing": ["conditional", "piggyback"],
    "load": [0.3, 0.3],
    "reaction_ns": [9600.0, 3600.0],
}


def test_small_loads_are_those_below_half_of_what_valiant_paths_accept() -> None:
    result = {
        "figure_12.adversarial.valiant_group": curve(
            (0.1, 0.1, 2000), (0.3, 0.3, 3000), (1, 0.48, 9)
        ),
        "figure_12.adversarial.conditional": curve((0.1, 0.1, 5000), (0.3, 0.3, 1000), (1, 0.4, 9)),
        "figure_12.adversarial.piggyback": curve((1, 0.5, 9)),
    }
    assert METRICS["figure_12.adversarial.small"](result) == pytest.approx(2.5)
    assert METRICS["figure_12.adversarial.conditional"](result) == pytest.approx(0.8)
    assert METRICS["figure_12.adversarial.valiant"](result) == pytest.approx(0.48)


def test_latencies_are_competitive_at_loads_beyond_small_ones_that_valiant_paths_accept() -> None:
    result = {
        "figure_12_pauses.adversarial.valiant_group": curve((0.1, 0.1, 2000), (1, 0.48, 9)),
        # Small at 0.2, below half of 0.48; at 0.5 VAL does not carry the load either.
        "figure_12_pauses.adversarial.conditional": curve(
            (0.2, 0.2, 9000), (0.25, 0.25, 3300), (0.3, 0.29, 3900), (0.5, 0.4, 8000)
        ),
        "figure_12_pauses.adversarial.piggyback": curve(
            (0.2, 0.2, 1000), (0.25, 0.25, 3000), (0.3, 0.3, 3000), (0.5, 0.37, 5000)
        ),
    }
    assert METRICS["figure_12_pauses.adversarial.latency"](result) == pytest.approx(1.3)


def test_what_is_optimal_under_uniform_traffic_accepts_no_less_than_any_other() -> None:
    accepted = {"valiant_group": 0.5, "piggyback": 0.8, "conditional": 0.9, "minimal": 0.75}
    result = {
        f"figure_12.uniform.{routing}": curve((0.2, 0.2, 9), (1, most, 9))
        for routing, most in accepted.items()
    }
    assert METRICS["figure_12.uniform.optimal"](result) == pytest.approx(0.9 / 0.8)


def test_what_pause_frames_alone_do_is_compared_at_the_same_load() -> None:
    result = {
        "figure_12_frames.adversarial.conditional_tables": curve((0.3, 0.15, 9)),
        "figure_12_pauses.adversarial.piggyback": curve((0.2, 0.2, 9), (0.3, 0.3, 9), (1, 0.4, 9)),
    }
    assert METRICS["figure_12_frames.adversarial"](result) == pytest.approx(0.5)
    near = "figure_12_frames_near.adversarial"
    result[f"{near}.conditional_tables"] = curve((0.3, 0.27, 9), (0.4, 0.3, 9))
    result["figure_12_pauses.adversarial.conditional"] = curve((0.3, 0.3, 9), (0.4, 0.4, 9))
    assert METRICS[near](result) == pytest.approx(0.9)
    assert METRICS[f"{near}.full"](result) == pytest.approx(0.75), "the least of both loads"


def test_figure_12_runs_with_credits_and_with_pauses_at_all_loads_when_all_is_wanted() -> None:
    loads = tomllib.loads((STUDY.home / "figure_12.toml").read_text())["open_loop"]["loads"]
    assert len(loads) == 11
    for full in (False, True):
        curves = {own.name: own for own in CODE.curves(full)}
        for fabric, control in (("figure_12", "credits"), ("figure_12_pauses", "pauses")):
            for pattern, routing in product(PATTERNS, ROUTINGS):
                overrides = curves[f"{fabric}.{pattern}.{routing}"].overrides
                assert CODE.SWITCHES[control].items() <= overrides.items()
                assert ("flow_control" in overrides) == (control == "pauses")
                few = overrides.get("open_loop.loads", loads)
                assert (few == loads) == full and set(few) <= set(loads)


def test_the_share_of_one_global_link_is_that_of_the_hosts_of_a_group() -> None:
    rows = {row["id"]: row for row in STUDY.expected()}
    # 8 hosts on each of 16 switches.
    assert float(rows["figure_12.adversarial.minimal.bound"]["reference"]) == 1 / (8 * 16)
    result = {"figure_12.adversarial.minimal": curve((1, 0.0079, 9), bound=1 / 128)}
    assert METRICS["figure_12.adversarial.minimal.bound"](result) == 1 / 128


def test_every_figure_of_the_paper_s_simulator_has_the_bounds_of_the_cross_check() -> None:
    rows = [row for row in STUDY.expected() if row["id"].startswith("fogsim.")]
    for row in rows[:-2]:
        measured, low, high = (float(row[key]) for key in ("reference", "low", "high"))
        off = 0.1 * measured if row["id"].endswith("latency") else 0.03
        assert (low, high) == pytest.approx((measured - off, measured + off), abs=0.05)
    counts = [sum(map(len, of.values())) for of in (CODE.FOGSIM_LATENCIES, CODE.FOGSIM_ACCEPTED)]
    assert counts == [10, 9]
    assert len(rows) == sum(counts) + 2


def test_one_differing_point_of_tables_is_one_too_many() -> None:
    result = {}
    for pattern in PATTERNS:
        own = curve((0.3, 0.3, 7000), (1.0, 0.5, 9000))
        same = own.points.with_columns(fingerprint=pl.Series([7, 8]))
        result[f"fogsim.{pattern}.conditional"] = CurveResult(same, "", {})
        result[f"fogsim.{pattern}.conditional_tables"] = CurveResult(same, "", {})
    assert METRICS["fogsim.tables"](result) == 0
    other = result["fogsim.uniform.conditional"].points.with_columns(fingerprint=pl.Series([7, 9]))
    result["fogsim.uniform.conditional_tables"] = CurveResult(other, "", {})
    assert METRICS["fogsim.tables"](result) == 1


def test_reactions_are_measured_in_microseconds_beside_an_iteration() -> None:
    result = {"table_2.reaction": CurveResult(pl.DataFrame(REACTED), "", {})}
    assert METRICS["table_2.reaction.conditional"](result) == pytest.approx(9.6)
    rows = {row["id"]: row for row in STUDY.expected()}
    # Four iterations of CG take 6.48 ms.
    assert float(rows["table_2.reaction.conditional"]["high"]) == 6480 / 4


def test_one_rule_decides_how_long_every_point_runs() -> None:
    # Those of Table II last as long as their traffic takes to change.
    every = [*STUDY.experiments(False), *STUDY.experiments(True)]
    curves = [curve for curve in every if isinstance(curve, CurveExperiment)]
    for experiment in (point for point in curves if not point.name.startswith("table_2.")):
        is_notified = experiment.name.startswith(CODE.NOTIFIED)
        longest = CODE.NOTIFIED_LONGEST if is_notified else CODE.LONGEST
        assert experiment.overrides["open_loop.longest"] == longest
        keys = {"open_loop.routings", "open_loop.patterns", "open_loop.longest", "open_loop.loads"}
        if experiment.name.startswith("fogsim_transit."):
            keys.add("open_loop.transit_first")
        if experiment.name.startswith("figure_12"):
            keys |= {"flow_control", "switch.xon_offset"}
        if experiment.name.startswith((CODE.FRAMES, CODE.NOTIFIED)):
            keys.add("open_loop.tables.conditional.trigger")
        assert set(experiment.overrides) <= keys
        text = experiment.file(STUDY.home).read_text(encoding="utf-8")
        assert not any(f"{key} =" in text for key in ("warm_up", "measured", "precision", "batch"))


def test_rows_of_what_runs_only_when_all_does_are_marked_and_no_others() -> None:
    needed = {"exascale", "butterfly", "clos"}
    for row in STUDY.expected():
        assert (row["only"] == "full") == (row["id"].split(".")[0] in needed)
    assert len(STUDY.expected(full=False)) == len(STUDY.expected()) - 15


def test_the_network_of_the_paper_s_simulator_is_a_scenario() -> None:
    file = STUDY.home / f"{CODE.FOGSIM}.toml"
    (row,) = etherweave.curve(
        file,
        {
            "open_loop.routings": ["minimal"],
            "open_loop.patterns": ["uniform"],
            "open_loop.loads": [0.2],
        },
    ).to_pylist()
    # FOGSim, public version 5: 1,531 ns.
    assert abs(row["latency_ns_mean"] / 1531 - 1) < 0.1


SMALL: dict[str, object] = {
    "topology": {"dragonfly": {"p": 2, "a": 4, "h": 2}},
    "open_loop.loads": [0.1, 1.0],
    "open_loop.warm_up": "10us",
    "open_loop.measured": "10us",
}
"""72 hosts instead of 16,512."""


def test_a_curve_is_kept_with_its_scenario_and_its_time(tmp_path: Path) -> None:
    CurveExperiment("x", "figure_12", {**SMALL, "open_loop.patterns": ["uniform"]}).carry_out(
        STUDY.home, tmp_path
    )
    design_result = load_result(tmp_path)
    assert isinstance(design_result, CurveResult)
    assert design_result.points["routing"].unique().sort().to_list() == sorted(ROUTINGS)
    assert design_result.points.height == 2 * len(ROUTINGS)
    assert "[topology.dragonfly]" in design_result.resolved
    assert design_result.facts["wall_s"] > 0


def test_a_part_of_the_study_checks_the_paper_s_simulator_alone(tmp_path: Path) -> None:
    part = run_study(STUDY.name, tmp_path, only="fogsim.adversarial.minimal", processes=1)
    (check,) = part.checks
    assert check.id == "fogsim.adversarial.minimal.1.accepted"
    assert check.is_passed


def test_points_that_are_not_kept_up_with_are_drawn_open() -> None:
    line = curve((0.2, 0.2, 1000), (1.0, 0.5, 9000)).points
    figure = STUDY.module("report_traffic").draw({(kind, "minimal"): line for kind in PATTERNS})
    late = [
        drawn.get_xdata().tolist()
        for drawn in figure.axes[0].lines
        if drawn.get_markerfacecolor() == "white"
    ]
    assert late == [[1.0]]
