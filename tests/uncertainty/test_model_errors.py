"""The error of the model: prediction intervals of drawn systems, and the rows that are kept."""

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from etherweave import _core
from etherweave.api.scenario import ScenarioText
from etherweave.study import StudyCheck, load_study
from etherweave.study.records import read_record
from etherweave.study.results import CALIBRATION, REPEATS
from etherweave.sweeps import executor
from etherweave.uncertainty import run_samples
from etherweave.uncertainty.check_rows import (
    COLUMNS,
    FITS,
    KINDS,
    LINK,
    RATIO,
    SIZES,
    CheckRow,
    Conditions,
    check_rows,
    conditions_of,
    kind_of,
    row_of,
    write,
)
from etherweave.uncertainty.model_errors import (
    FORM,
    FORMS,
    Estimate,
    errors_at,
    form_score,
    model_errors,
)
from etherweave.uncertainty.together import columns, conditions_in
from support.command_line import run_here

LATENCY, COLLECTIVE = Conditions("latency"), Conditions("collective")


def row(
    system: str, error: float, conditions: Conditions = LATENCY, unit: str = "us", spread: float = 0
) -> CheckRow:
    ratio = math.exp(error if unit == "us" else -error)
    return CheckRow("study", f"{system}.{error}", conditions, system, unit, ratio, 1.0, spread)


def drawn(
    draw: np.random.Generator, systems: int, scale: float, conditions: Conditions = LATENCY
) -> list[CheckRow]:
    """Make a row of each of a number of systems, with an error of this scale."""
    errors = scale * draw.standard_t(4, systems)
    return [row(str(number), float(error), conditions) for number, error in enumerate(errors)]


def width(estimate: Estimate, conditions: Conditions) -> float:
    low, high = estimate.further(conditions).interval(0.9)
    return math.log(high / low)


def test_many_rows_give_the_interval_of_the_distribution_that_they_are_drawn_from() -> None:
    rows = drawn(np.random.default_rng(1), 60, 0.05)
    # Student's t of four degrees has 90 % within 2.132 scales, and scales of systems differ.
    assert width(Estimate(rows), LATENCY) == pytest.approx(2 * 2.132 * 0.05, rel=0.3)


def test_nine_of_ten_rows_of_further_systems_lie_in_the_interval_of_drawn_ones() -> None:
    draw = np.random.default_rng(1)
    inside = []
    for _ in range(100):
        scale = 0.1 * math.exp(draw.normal(0, math.log(2) / 2))
        low, high = Estimate(drawn(draw, 6, scale)).further(LATENCY).interval(0.9)
        inside += [low <= math.exp(error.error) <= high for error in drawn(draw, 10, scale)]
    # The rows of a repetition lie inside or outside together: one deviation is about 0.015.
    assert statistics.fmean(inside) == pytest.approx(0.9, abs=0.06)


def test_a_row_with_a_gross_error_widens_other_intervals_by_less_than_a_quarter() -> None:
    rows = drawn(np.random.default_rng(2), 20, 0.05)
    wrong = row("wrong", math.log(5))
    assert width(Estimate([*rows, wrong]), LATENCY) < 1.25 * width(Estimate(rows), LATENCY)


def test_what_is_extrapolated_widens_its_own_interval_and_hardly_the_others() -> None:
    draw = np.random.default_rng(3)
    fitted, other = (Conditions("latency", fit=fit) for fit in FITS)
    estimate = Estimate([*drawn(draw, 12, 0.03, fitted), *drawn(draw, 12, 0.3, other)])
    assert width(estimate, other) > 4 * width(estimate, fitted)
    factors = {effect.condition: effect.factor for effect in estimate.effects()}
    assert factors[FITS[1]] > 1 > factors[FITS[0]]


def test_a_size_without_rows_has_what_all_have_and_a_wider_interval() -> None:
    small, large = (Conditions("latency", size) for size in ("to 64 B", "above 64 KiB"))
    estimate = Estimate(drawn(np.random.default_rng(4), 12, 0.05, small))
    assert width(estimate, large) > width(estimate, small)
    (error,) = errors_at([COLLECTIVE], estimate.rows)
    assert (error.rows, error.systems, error.covered) == (0, [], None)


def test_the_rows_of_an_error_share_its_conditions_of_any_kind() -> None:
    fitted, other = FITS
    asked = Conditions("latency", "to 64 B", other)
    rows = [
        row("a", 0.1, asked),
        row("b", 0.1, asked._replace(kind="message rate")),
        row("c", 0.1, asked._replace(fit=fitted)),
        row("d", 0.1, asked._replace(size_class="above 64 KiB")),
        row("e", 0.1, asked._replace(limit=LINK)),
    ]
    (error,) = errors_at([asked], rows)
    assert (error.shared, error.rows, error.systems) == (["to 64 B", other], 2, ["a", "b"])
    kind = next(error for error in model_errors(rows) if error.kind == "latency")
    assert (kind.shared, kind.rows) == (["latency"], 4)


def test_the_error_of_a_kind_is_that_of_the_conditions_of_its_rows() -> None:
    draw = np.random.default_rng(11)
    narrow, wide = (Conditions("latency", fit=fit) for fit in FITS)
    rows = [*drawn(draw, 8, 0.03, narrow), *drawn(draw, 8, 0.3, wide)]
    estimate = Estimate(rows)
    low, high = (width(estimate, conditions) for conditions in (narrow, wide))
    error = model_errors(rows)[0]
    assert low < math.log(error.most.high / error.most.low) < high
    alone = Estimate([entry for entry in rows if entry.conditions == narrow])
    assert alone.further_of_kind("latency").interval(0.9) == pytest.approx(
        alone.further(narrow).interval(0.9), rel=1e-3
    )


def test_sizes_of_one_curve_count_as_one_row() -> None:
    rows = drawn(np.random.default_rng(5), 6, 0.05)
    again = [row(line.system, line.error) for line in rows for _ in range(30)]
    assert width(Estimate(again), LATENCY) == pytest.approx(width(Estimate(rows), LATENCY))


def test_curves_of_two_libraries_count_as_two_rows() -> None:
    rows = drawn(np.random.default_rng(5), 6, 0.05)
    again = [replace(row_, curve=library) for row_ in rows for library in ("a", "b")]
    twice = [replace(row_, curve="a") for row_ in [*rows, *rows]]
    assert width(Estimate(again), LATENCY) < width(Estimate(twice), LATENCY)
    assert width(Estimate(twice), LATENCY) == pytest.approx(width(Estimate(rows), LATENCY))


def test_what_parameters_do_is_no_error_of_the_model() -> None:
    errors = drawn(np.random.default_rng(6), 40, 0.1)
    known = [row(error.system, error.error) for error in errors]
    drawn_rows = [row(error.system, error.error, spread=0.15) for error in errors]
    assert width(Estimate(drawn_rows), LATENCY) < width(Estimate(known), LATENCY) / 1.5
    further = Estimate(known).further(LATENCY, spread=1.0).interval(0.9)
    assert further.high / further.low > 4 * math.exp(width(Estimate(known), LATENCY))


def test_a_system_unlike_the_others_is_not_covered() -> None:
    alike = [row(name, error) for name in "abcd" for error in (-0.01, 0.01)]
    assert model_errors(alike)[0].covered == 1.0
    assert model_errors([*alike, row("e", 3.0)])[0].covered == pytest.approx(4 / 5)


def test_a_rate_that_is_too_high_is_a_time_that_is_too_short() -> None:
    names = ("s", "i", LATENCY, "a")
    assert CheckRow(*names, "MB/s", 90, 100).error == math.log(100 / 90)
    assert CheckRow(*names, "us", 100, 90).error == math.log(100 / 90)
    assert CheckRow(*names, "ratio", 100, 90).error == math.log(100 / 90)


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        ({"osu_latency": {"bytes": "4KiB"}}, "latency"),
        ({"osu_latency": {"bytes": "8KiB"}}, "bandwidth"),
        ({"osu_bw": {"bytes": "8B"}}, "message rate"),
        ({"incast": {"sources": 2}}, "bandwidth"),
        ({"all_to_all": {"ranks": 4}}, "collective"),
        ({"fft": {}}, "iteration"),
        ({"hpl": {}}, "job"),
    ],
)
def test_a_job_is_of_the_kind_of_its_workload(workload: dict[str, object], kind: str) -> None:
    assert kind_of(workload) == kind


def test_conditions_of_a_job_are_those_of_check_rows() -> None:
    latency = {"workload": {"osu_latency": {"bytes": "8B"}}}
    assert conditions_of(latency) == ("latency", "to 64 B", FITS[1], "")
    assert conditions_of({"workload": {"fft": {}}}) == ("iteration", "", FITS[1], "")


BANDWIDTH = """\
topology.single_switch.hosts = 4
job = [{ name = "bw", workload.osu_bw = { bytes = "1MiB", window = 4 } }]
"""


def test_a_link_limits_a_job_whose_time_is_little_more_than_that_of_the_link() -> None:
    of_bandwidth = columns(_core.resolve(BANDWIDTH, "x", []))
    # 4 messages of 1 MiB at 100 Gb/s take 335.5 us, which are 90 % of 372.8 us.
    for time_us, limit in ((372, LINK), (374, "")):
        rows = [of_bandwidth | {"jobs.bw.median_us": time_us}]
        assert conditions_in(rows)["bw"].limit == limit
    assert conditions_in([of_bandwidth])["bw"].limit == "", "it has not ended"


@pytest.mark.usefixtures("workers_of_this_process")
def test_samples_of_a_bandwidth_have_the_error_of_what_a_link_limits(tmp_path: Path) -> None:
    result = run_samples(ScenarioText(BANDWIDTH, "bw"), 8, tmp_path, executor=executor("local", 1))
    assert result.model_errors["bw"].conditions.limit == LINK


def test_kept_rows_are_those_of_the_studies_and_nothing_is_fitted_to_them() -> None:
    rows = check_rows()
    assert write(rows).splitlines()[0] == ",".join(COLUMNS)
    for study in {entry.study for entry in rows}:
        expected = {check_row["id"]: check_row for check_row in load_study(study).expected()}
        for line in rows:
            if line.study == study:
                known = expected[line.id]
                assert line.published == pytest.approx(float(known["published"]), rel=1e-5)
                assert CALIBRATION not in known["source"], line.id
                assert REPEATS not in known["source"], line.id
                assert line.unit == known["unit"]
                assert line.conditions.kind in KINDS
                assert line.conditions.size_class in ("", *SIZES)


@pytest.mark.parametrize("study", sorted({row_.study for row_ in check_rows()}))
def test_kept_rows_have_the_figures_that_studies_record(study: str) -> None:
    record = read_record(load_study(study).home)
    assert record is not None
    recorded = {check.id: check.value for check in record.result.checks}
    for line in check_rows():
        if line.study == study:
            # A row has six digits of a figure that no unknown moves, or the median of samples.
            error = abs(math.log(recorded[line.id] / line.simulated))
            assert error <= 3 * line.spread + 2e-5, line.id


def benchmark(check: str) -> str:
    """Return the beginning of an id that names system and benchmark."""
    parts = check.split(".")
    if parts[0] == "table1":
        return check  # The system is named last: each has a profile of its own.
    return parts[0] if parts[0] == "openfoam" else ".".join(parts[:2])


def test_the_benchmark_of_a_row_is_fitted_where_another_of_its_rows_is() -> None:
    rows = check_rows()
    fitted = {
        (study, benchmark(str(known["id"])))
        for study in {row_.study for row_ in rows}
        for known in load_study(study).expected()
        if CALIBRATION in str(known["source"])
    }
    for row_ in rows:
        is_fitted = (row_.study, benchmark(row_.id)) in fitted
        assert row_.conditions.fit == FITS[0 if is_fitted else 1], row_.id


@pytest.mark.parametrize(
    ("name", "unit", "value", "limit"),
    [
        # 100 Gb/s are 12,500 MB/s: 4 MiB take 335.5 us, 90 % of 372.8 us.
        ("infiniband-edr.latency.mpich.4194304.1", "us", 372.0, LINK),
        ("infiniband-edr.latency.mpich.4194304.1", "us", 374.0, ""),
        ("infiniband-edr.bandwidth.mpich.4194304.1", "MB/s", 11_260.0, LINK),
        ("infiniband-edr.bandwidth.mpich.4194304.1", "MB/s", 11_240.0, ""),
    ],
)
def test_a_link_limits_what_keeps_it_busy_for_nine_tenths_of_the_time(
    name: str, unit: str, value: float, limit: str
) -> None:
    made = row_of("osu-references", StudyCheck(name, "s", value, (1, 1e6), unit, value))
    assert made is not None and made.conditions.limit == limit


def test_a_benchmark_of_both_directions_fills_a_link_twice() -> None:
    name = "infiniband-hdr100.bibw.4194304"
    made = row_of("interconnect-references", StudyCheck(name, "s", 2e4, (1, 1e6), "MB/s", 2e4))
    assert made is not None and made.conditions.limit == ""


def test_a_form_without_the_sides_predicts_skewed_rows_worse() -> None:
    draw = np.random.default_rng(10)
    rows = [row(str(n), abs(float(e))) for n, e in enumerate(0.1 * draw.standard_t(4, 20))]
    assert form_score(FORMS["as it is"], rows) < form_score(FORMS["sides alike"], rows)


def test_times_that_are_longer_than_simulated_widen_an_interval_to_their_side() -> None:
    draw = np.random.default_rng(8)
    errors = [abs(float(error)) for error in 0.1 * draw.standard_t(4, 40)]
    for conditions, is_skewed in ((LATENCY, True), (Conditions(RATIO), False)):
        rows = [row(str(number), error, conditions) for number, error in enumerate(errors)]
        low, high = map(math.log, Estimate(rows).further(conditions).interval(0.9))
        assert (high > -1.3 * low) == is_skewed
        assert (high == pytest.approx(-low, rel=0.02)) != is_skewed


@pytest.mark.parametrize("systems", [4, 16])
def test_small_messages_of_a_fitted_benchmark_leave_longer_ones_of_it_as_they_are(
    systems: int,
) -> None:
    near, far = (Conditions("latency", size_class=size, fit=FITS[0]) for size in [*SIZES][:2])
    other = [entry._replace(fit=FITS[1]) for entry in (near, far)]
    quantiles = t.ppf((np.arange(systems) + 0.5) / systems, FORM.degrees)
    scales = {near: 0.02, far: 0.1, other[0]: 0.1, other[1]: 0.1}
    estimate = Estimate(
        row(str(number), scale * float(quantile), conditions)
        for conditions, scale in scales.items()
        for number, quantile in enumerate(quantiles)
    )
    # The logarithm of a scale of 4 degrees has the information 8/7 of each row. Priors draw the
    # contrast of sizes, of the variance of three effects, and its product with the fit, of one.
    information = systems * 8 / 7 * FORM.effect**2
    contrast, product = (3 * information / (1 + 3 * information), information / (1 + information))
    longer = 5 ** ((contrast + product) / 2)
    assert width(estimate, far) / width(estimate, near) == pytest.approx(longer, rel=0.1)
    unlike = 5 ** ((contrast - product) / 2)
    ratio = width(estimate, other[1]) / width(estimate, other[0])
    assert ratio == pytest.approx(unlike, rel=0.1)


def test_the_verb_prints_errors_and_spreads_with_what_they_rest_on() -> None:
    errors = json.loads(run_here("uncertainty", "errors", "--json").stdout)
    assert [kind["kind"] for kind in errors["kinds"]] == list(KINDS)
    assert all(kind["covered"] >= 0.75 for kind in errors["kinds"])
    assert {effect["condition"] for effect in errors["effects"]} >= {*FITS, *SIZES}
    spreads = json.loads(run_here("uncertainty", "spreads", "--json").stdout)
    assert {"latency", "message rate", "bandwidth", "host", "nic"} <= {
        spread["figure"] for spread in spreads
    }
