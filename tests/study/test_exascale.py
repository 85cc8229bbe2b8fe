"""The study of exascale fabrics: its bookkeeping, its metrics on small figures, its page."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from etherweave import _core
from etherweave.control import experiments as deployed
from etherweave.control.experiments import LearningExperiment, RulesExperiment
from etherweave.pages import write_report
from etherweave.report import write_study
from etherweave.report.study.questions import answers
from etherweave.study import StudyCheck, StudyResult, load_study, run_study
from etherweave.study.experiments import (
    BalancedFabricExperiment,
    CurveExperiment,
    DesignExperiment,
    DesignResult,
    RunExperiment,
    by_formula,
)
from etherweave.study.results import load_result
from etherweave.study.running import check
from support import figures

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workers_of_this_process")]

STUDY = load_study("exascale-2017")
METRICS, CODE = STUDY.metrics, STUDY.module("study")
FABRICS, RADICES, TABLE_1 = CODE.FABRICS, CODE.RADICES, CODE.TABLE_1
(QUESTIONS,) = STUDY.declared.questions
TABLES = (*CODE.GROUPINGS, *CODE.RADICES_SHARED)


def test_every_published_figure_has_a_metric_and_none_is_left_over() -> None:
    assert sorted(row["id"] for row in STUDY.expected()) == sorted(METRICS)


def test_every_open_point_of_the_publication_has_a_reading() -> None:
    rows = STUDY.assumptions()
    assert len(rows) >= 10
    assert all(row["subject"] and row["open"] and row["reading"] for row in rows)


def test_the_fitted_figure_is_marked_as_fitted_and_no_other() -> None:
    marked = [row["id"] for row in STUDY.expected() if "FITTED" in row["source"]]
    assert marked == ["figure_11.saving.compaction"]


def test_experiments_have_one_name_each_and_only_the_largest_are_not_built() -> None:
    own = STUDY.experiments(False)
    on_paper = [row for row in own if isinstance(row, DesignExperiment | BalancedFabricExperiment)]
    assert len({check.name for check in own}) == len(own)
    assert len(on_paper) == len(FABRICS) + len(TABLES) + 6 * len(RADICES)
    by_formula_only = {
        row.name for row in own if isinstance(row, BalancedFabricExperiment) and not row.is_built
    }
    # 20⁵ and 16⁶ hosts.
    assert by_formula_only == {"largest.butterfly_4d.96", "largest.butterfly_5d.96"}


def test_a_radix_without_such_fabrics_is_rejected_with_the_range() -> None:
    with pytest.raises(ValueError, match=r"radix.*8 to 128"):
        _core.largest(7)


def test_formulas_know_fabrics_that_are_too_large_to_be_built(tmp_path: Path) -> None:
    BalancedFabricExperiment("x", "butterfly_5d", 96, is_built=False).carry_out(
        STUDY.home, tmp_path
    )
    document = DesignResult.load(tmp_path)
    # T = (96 + 5) / 6 = 16 hosts; 16⁶ in all; 16 + 5 · 15 ports.
    assert (document.formula["hosts"], document.formula["rules_most"]) == (16**6, 91)
    assert not document.design


def test_a_built_fabric_keeps_its_figures_beside_its_formulas(tmp_path: Path) -> None:
    BalancedFabricExperiment("x", "butterfly_2d", 8, is_built=True).carry_out(STUDY.home, tmp_path)
    document = DesignResult.load(tmp_path)
    assert document.design["fabric"]["hosts"] == document.formula["hosts"] == 27
    assert "flattened_butterfly" in document.resolved


def results(**changed: Any) -> dict[str, DesignResult]:
    """Fabrics by formula; with the formulas of ``family_radix`` changed."""
    result = {}
    for family in TABLE_1:
        for radix in RADICES:
            formula = by_formula(radix)[family] | changed.get(f"{family}_{radix}", {})
            result[f"largest.{family}.{radix}"] = DesignResult({}, formula, "", {})
    return result


def test_table_1_s_rounding_is_at_most_a_host() -> None:
    result = results()
    # (48 + 2) / 3 is 16; (16 + 4) / 5 is 4, for 16 / 5 = 3.2.
    assert METRICS["table_1.butterfly_4d.access"](result) == pytest.approx(0.8)
    assert all(METRICS[f"table_1.{family}.scalability"](result) == 5 for family in TABLE_1)


def test_a_host_too_many_in_a_clos_is_not_table_1_s() -> None:
    result = results(clos_3_24={"hosts": 24**3 // 4 + 1})
    assert METRICS["table_1.clos_3.scalability"](result) == 4


def test_only_fewer_than_4096_entries_count() -> None:
    hosts = METRICS["figure_4.dragonfly.per_group"]
    assert hosts(results()) > 1_300_000
    # From 48 ports: 12 hosts, 24 switches, 24 · 12 + 1 groups.
    assert hosts(results(dragonfly_96={"entries_per_group": 4_096})) == 12 * 24 * 289
    assert hosts(results(dragonfly_96={"entries_per_group": 4_095})) > 1_300_000


def test_only_figures_of_the_text_are_published() -> None:
    # The publication runs no FOGSim on 1,056 hosts, no application, and no traffic that changes.
    for row in STUDY.expected():
        stem, kind = row["id"].split(".")[:2]
        is_own = stem in {"fogsim", "fogsim_transit", "applications", "exascale", "butterfly"}
        if is_own or stem == "clos" or (stem, kind) in {("table_2", "cg"), ("table_2", "steady")}:
            assert row["basis"], row["id"]
            assert not row["published"], row["id"]
    named = [row for row in STUDY.expected() if row["id"].startswith(("fogsim", "applications"))]
    assert not any("Section" in row["source"] for row in named)


def test_bisection_and_tables_are_measured_as_the_text_states_them() -> None:
    organisations = [
        {"table": "cam", "plan": "flat", "is_compacted": False, "fabric": {"total_w": 200.0}},
        {
            "table": "tcam",
            "plan": "flat",
            "is_compacted": False,
            "entries": 8_192,
            "fabric": {"total_w": 900.0},
            "switch": {"tables_w": 26.0},
        },
        {
            "table": "tcam",
            "plan": "per_switch",
            "is_compacted": False,
            "fabric": {"total_w": 250.0},
        },
    ]
    design = {"fabric": {"bisection_share": 0.538}, "power": {"organisations": organisations}}
    result = {"figure_11.clos": DesignResult(design, {}, "", {})}
    assert METRICS["counts.clos.bisection"](result) == pytest.approx(53.8)
    # 26 W of 8,192 entries: half of it of 4,096, four times of 32,768.
    assert METRICS["tables.smallest"](result) == pytest.approx(13)
    assert METRICS["tables.largest"](result) == pytest.approx(104)
    # 250 W against 200.
    assert METRICS["figure_11.clos.cam"](result) == pytest.approx(25)


def test_nothing_built_proves_nothing() -> None:
    assert CODE.exceptions([True, False, False]) == 2
    assert math.isnan(CODE.exceptions([]))


def drawn(name: str, cam: float, compact: float) -> DesignResult:
    def one(table: str, plan: str, is_compacted: bool, watts: float) -> dict[str, Any]:
        kind = {"table": table, "plan": plan, "is_compacted": is_compacted}
        return {**kind, "fabric": {"total_w": watts}}

    organisations = [one("cam", "flat", False, cam), one("tcam", "coordinates", True, compact)]
    return DesignResult({"name": name, "power": {"organisations": organisations}}, {}, "", {})


def test_savings_are_shares_of_the_clos_with_flat_cam_tables() -> None:
    watts = {"clos": (200.0, 150.0), "butterfly": (190.0, 120.0), "dragonfly": (180.0, 90.0)}
    result = {f"figure_11.{name}": drawn(name, *pair) for name, pair in watts.items()}
    savings = [
        METRICS[f"figure_11.saving.{what}"](result) for what in ("compaction", "topology", "both")
    ]
    assert savings == pytest.approx([25, 30, 55])
    assert METRICS["figure_11.best"](result) == pytest.approx(90 / 120)


def test_the_study_runs_a_part_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    part = run_study(STUDY.name, tmp_path, only="largest.*.8", processes=1)
    assert not part.checks
    assert part.verdict == "No figure has all experiments that it needs"
    assert list(part.not_run) == [row["id"] for row in STUDY.expected(full=False)]
    both = run_study(STUDY.name, tmp_path, only="largest.*.8, figure_6.*", processes=1)
    assert {"figure_6.clos_3.destination"} <= {check.id for check in both.checks}
    written = (tmp_path / "largest.dragonfly.8" / "design.json").stat().st_mtime_ns
    run_study(STUDY.name, tmp_path, only="largest.*.8", processes=1)
    assert (tmp_path / "largest.dragonfly.8" / "design.json").stat().st_mtime_ns == written
    assert not (tmp_path / "checks.json").exists()


class Absent(DesignExperiment):
    """An experiment that this machine cannot carry out."""

    def missing(self) -> str:
        return "no such hardware"


def test_what_this_machine_cannot_do_is_reported_and_the_rest_stands(tmp_path: Path) -> None:
    lacking = replace(STUDY, experiments=lambda full: [Absent("figure_11.clos", "clos")])
    done = run_study(lacking, tmp_path)
    assert done.unavailable["counts.clos.hosts"] == "no such hardware"
    assert "counts.dragonfly.hosts" in done.not_run
    assert not set(done.not_run) & set(done.unavailable)
    assert not list(tmp_path.iterdir()), "nothing was carried out"


SMALL: dict[str, dict[str, object]] = {
    "clos": {"topology.folded_clos.hosts": 500, "topology.folded_clos.radix": 12},
    "butterfly": {
        "topology.hyperx.hosts_per_switch": 2,
        **{f"topology.hyperx.dimensions.{number}.size": 3 for number in range(4)},
    },
    "dragonfly": {
        **{f"topology.dragonfly.{key}": size for key, size in zip("pah", (2, 4, 2), strict=True)},
        "topology.dragonfly.groups": 9,
    },
}
"""Stand-ins for the fabrics of figure 11."""

DRAGONFLY: dict[str, object] = {"topology": {"dragonfly": {"p": 2, "a": 4, "h": 2}}}
SHORT: dict[str, object] = {"open_loop.warm_up": "15us", "open_loop.measured": "10us"}
SMALL_TRAFFIC: dict[str, dict[str, object]] = {
    "figure_12": {**DRAGONFLY, **SHORT, "open_loop.loads": [0.05, 0.3, 1.0]},
    "figure_12_pauses": {**DRAGONFLY, **SHORT, "open_loop.loads": [0.05, 0.3, 1.0]},
    "figure_12_frames": {**DRAGONFLY, **SHORT},
    "figure_12_frames_near": {**DRAGONFLY, **SHORT},
    "figure_12_notified": {**DRAGONFLY, **SHORT},
    "exascale": {**DRAGONFLY, **SHORT, "design": {}},
    "butterfly": {
        **SHORT,
        "topology.hyperx.hosts_per_switch": 2,
        **{f"topology.hyperx.dimensions.{number}.size": 3 for number in range(3)},
        "open_loop.loads": [0.3, 1.0],
    },
    "butterfly_2d": {
        **SHORT,
        "topology.flattened_butterfly": {"hosts_per_switch": 3, "sizes": [3, 3]},
        "open_loop.loads": [0.3, 1.0],
    },
    "clos": {
        **SHORT,
        "topology.folded_clos.radix": 8,
        "topology.folded_clos.hosts": 128,
        "open_loop.loads": [0.3, 1.0],
    },
    "fogsim": {**DRAGONFLY, **SHORT},
    "fogsim_transit": {**DRAGONFLY, **SHORT},
    "table_2": {**DRAGONFLY, **SHORT},
}
"""Stand-ins for fabrics under traffic, at fewer loads, for a short time."""


SMALL_WORKLOADS: dict[str, object] = {
    "halo3d": {"pex": 4, "pey": 4, "pez": 4, "iterations": 1},
    "permutation": {"ranks": 72, "partner": {"shift": 8}},
    "npb_cg": {"ranks": 64, "class": "S", "inner": 1},
}
"""Applications of 64 ranks and more in place of 1,024."""
SMALL_RULES: dict[str, object] = {"topology.dragonfly.a": 2, "topology.dragonfly.h": 1}
"""3 groups of 2 switches in place of a deployed fabric."""


def small_application(run_experiment: RunExperiment) -> RunExperiment:
    """Put an application on the small dragonfly, and let a kernel be of class A."""
    if run_experiment.scenario == "kernels":
        kernel = "npb_cg" if "job.0.workload" in run_experiment.overrides else "npb"
        return replace(
            run_experiment,
            overrides={**run_experiment.overrides, f"job.0.workload.{kernel}.class": "A"},
        )
    workload = run_experiment.overrides.get("job.0.workload", {"halo3d": {}})
    assert isinstance(workload, dict)
    (kind,) = workload
    small = {"job.0.workload": {kind: SMALL_WORKLOADS[kind]}, "job.0.placement": {"linear": {}}}
    return replace(run_experiment, overrides={**run_experiment.overrides, **DRAGONFLY, **small})


@pytest.fixture(scope="module")
def one_trial() -> Iterator[None]:
    """Measure how fast pauses act once, which takes half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployed, "TRIALS", 1)
        yield


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, one_trial: None) -> StudyResult:
    output = tmp_path_factory.mktemp("exascale")
    possible = [experiment for experiment in STUDY.experiments(True) if not experiment.missing()]
    for experiment in possible:
        if isinstance(experiment, BalancedFabricExperiment):
            experiment = replace(experiment, is_built=experiment.radix == 8)
        elif isinstance(experiment, RulesExperiment | LearningExperiment):
            experiment = replace(experiment, overrides=experiment.overrides | SMALL_RULES)
        elif isinstance(experiment, DesignExperiment):
            experiment = replace(experiment, overrides=SMALL[experiment.scenario])
        elif isinstance(experiment, CurveExperiment):
            experiment = replace(
                experiment,
                overrides=experiment.overrides | SMALL_TRAFFIC[experiment.name.split(".")[0]],
            )
        elif isinstance(experiment, RunExperiment):
            experiment = small_application(experiment)
        experiment.carry_out(STUDY.home, output / experiment.name)
    experiments = {row.name: load_result(output / row.name) for row in possible}
    return StudyResult(STUDY, check(STUDY, experiments, full=True)[0], output, full=True)


def test_small_fabrics_pass_what_does_not_depend_on_size(small: StudyResult) -> None:
    held = {check.id for check in small.checks if check.is_passed}
    assert held >= {row["id"] for row in STUDY.expected() if row["id"].startswith("table_1")}
    assert held >= {"figure_4.formula", "figure_6.clos_3", "figure_6.butterfly_5d"}
    counts = {f"counts.{name}.{what}" for name in FABRICS for what in ("switches", "hosts")}
    assert not held & counts


def test_the_verdict_is_yes_where_all_checks_of_a_question_pass(tmp_path: Path) -> None:
    def half(name: str, value: float) -> StudyCheck:
        return StudyCheck(name, "", None, (0.5, None), "ratio", value)

    checks = [
        half("figure_6.dragonfly", 0.9),
        half("figure_12_pauses.adversarial.latency", 0.7),
        half("figure_12_pauses.uniform.optimal", 0.2),
        half("figure_12_frames.adversarial", 0.1),
    ]
    (table,) = answers(QUESTIONS, StudyResult(STUDY, checks, tmp_path)).tables
    answered = {row[0]: row[1:4] for row in table.rows}
    tables, power, bisection, pauses, frames, *others = answered.values()
    assert tables == ("yes", "1 of 1", "")
    assert pauses[:2] == ("in part", "1 of 2")
    assert pauses[2] == (
        "adversarial: latency 0.70 times that of PB, a custom routing; "
        "figure_12_pauses.uniform.optimal fails"
    )
    assert frames[:2] == ("no", "0 of 1")
    assert frames[2].endswith("0.10 times what PB accepts at load 0.3 (fails)")
    assert [answer[0] for answer in (power, bisection, *others)] == ["not run"] * 5


def test_every_question_of_the_verdict_has_checks() -> None:
    ids = [row["id"] for row in STUDY.expected()]
    for question in QUESTIONS.question:
        for pattern in question.checks:
            assert any(fnmatchcase(name, pattern) for name in ids), pattern
        asked = [name for name in ids for form in question.checks if fnmatchcase(name, form)]
        assert set(question.figures) <= set(asked)


@pytest.mark.usefixtures("quick_figures")
def test_the_page_is_drawn_again_with_every_section(small: StudyResult, tmp_path: Path) -> None:
    page = write_study(small)
    text = page.read_text(encoding="utf-8")
    assert text.index("Does it work") < text.index("checks fail"), "what an architect asks is first"
    for title in ("Table I:", "Figure 4:", "Figure 6:", "Figure 8:", "Table II:", "Figure 11:"):
        assert title in text
    assert "Does it work, and with which settings?" in text
    assert "Assumptions" in text
    assert "Fabrics" in text
    for title in (
        "Figure 12, credits:",
        "Figure 12, pauses:",
        "A flattened butterfly",
        "A folded Clos",
        "FOGSim on 1,056",
    ):
        assert title in text
    assert "Not shown" not in text
    assert "Computed against published" in text
    drawn = ("table_1", "table_1_access", "figure_04", "figure_06", "figure_08", "table_2")
    for name in (*drawn, "figure_11", "figure_12", "figure_12_pauses", "traffic_clos", "fogsim"):
        assert (small.directory / f"{name}.svg").read_bytes().startswith(b"<?xml")
    (small.directory / "checks.json").write_text(small.to_json(), encoding="utf-8")
    with figures.undrawn():
        again = write_report(small.directory, tmp_path)
        assert again.read_bytes() == write_study(small).read_bytes()
