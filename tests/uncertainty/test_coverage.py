"""Coverage and scores of intervals: by formula, and of drawn systems."""

import math
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from etherweave.cli.uncertainty import _check_studies
from etherweave.report.reliability import draw
from etherweave.study import StudyCheck
from etherweave.uncertainty.check_rows import FITS, CheckRow, Conditions, has_figure
from etherweave.uncertainty.coverage import check_intervals, coverage, crps, predicted
from etherweave.uncertainty.model_errors import Estimate

ID = "infiniband-edr.latency.{}.8.1"
PAIR = Conditions("latency", "to 64 B", FITS[0])
DRAWN = PAIR._replace(fit=FITS[1])
"""Conditions of figures to which nothing is fitted."""
SYSTEMS = [f"ethernet-{rate}-roce" for rate in (25, 40, 50, 100, 200, 400)]


def check(
    figure: float | None, low: float | None, high: float | None, name: str = "row", unit: str = "us"
) -> StudyCheck:
    return StudyCheck(name, "Table 1", figure, (low, high), unit, 1.0)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((1.0, 0.9, 1.1), True),
        ((42, 42, 42), True),
        ((55, 10, None), True),
        ((97, 97, 98.5), False),
        ((1, 0, 0.99), False),
        ((None, 90, None), False),
    ],
)
def test_a_figure_on_or_beyond_its_bound_is_a_statement(
    bounds: tuple[float | None, float | None, float | None], expected: bool
) -> None:
    assert has_figure(check(*bounds)) == expected


def test_the_score_of_even_values_is_that_of_an_even_distribution() -> None:
    # Of an even distribution between 0 and 1, and its middle: 1/12.
    values = [(at + 0.5) / 1000 for at in range(1000)]
    assert crps(values, 0.5) == pytest.approx(1 / 12, rel=1e-3)
    # At a distance, the mean distance less 1/6.
    assert crps(values, 3.0) == pytest.approx(2.5 - 1 / 6, rel=1e-3)


def test_a_wide_interval_is_inside_and_scores_worse() -> None:
    narrow = predicted(check(1.0, 0.9, 1.1), np.linspace(0.9, 1.1, 99).tolist())
    wide = predicted(check(1.0, 0.9, 1.1), np.linspace(0.1, 1.9, 99).tolist())
    assert narrow.is_inside and wide.is_inside
    assert (narrow.width, wide.width) == pytest.approx((0.18, 1.62), abs=0.03)
    assert narrow.place == 0.5
    assert narrow.score < wide.score


def test_an_interval_meets_the_bounds_of_a_statement_or_not() -> None:
    above = check(97, 97, None, unit="Gb/s")
    assert predicted(above, [90.0, 98.0]).is_inside
    result = predicted(above, [90.0, 91.0])
    assert not result.is_inside
    assert math.isnan(result.score) and math.isnan(result.place)


def rows(spread: float) -> list[CheckRow]:
    """Make rows of four systems, whose measured times are 0 to 30 % longer than simulated."""
    return [
        CheckRow("osu-references", name, PAIR, name, "us", math.exp(error), 1.0, spread)
        for name, error in zip("abcd", (0.0, 0.1, 0.2, 0.3), strict=True)
    ]


def test_the_error_of_the_model_comes_from_other_systems_and_widens_the_interval() -> None:
    own = check(1.2, 1.0, 1.4, ID.format("openmpi"))
    known = [
        *rows(0.0),
        CheckRow("osu-references", "x", PAIR, "infiniband-edr: Table 1", "us", 9, 1),
    ]
    (found,) = check_intervals("osu-references", [own], {own.id: [0.9, 1.0, 1.1]}, known)
    assert found.kind == "latency" and found.model
    low, high = found.model.interval
    error = Estimate(rows(0.0)).further(PAIR)
    assert (low, high) == pytest.approx(error.interval(0.9), rel=0.05), "its own row is left out"
    assert found.together.width > found.model.width > found.parameters.width
    assert found.together.is_inside and not found.parameters.is_inside


def test_nine_of_ten_figures_of_drawn_systems_lie_in_intervals_of_90_percent() -> None:
    """Systems, rows and parameters are drawn; each row is predicted from the other systems."""
    draw_ = np.random.default_rng(1)
    inside, widths = [], []
    for _ in range(40):
        checks, values, known = [], {}, []
        for system in SYSTEMS:
            mean = draw_.normal(0.1, 0.15)
            for size in range(4):
                error = draw_.normal(mean, 0.05)
                samples = np.exp(draw_.normal(0.0, 0.1, 64))
                truth = math.exp(error + draw_.normal(0.0, 0.1))
                name = f"{system}.latency.l.{2**size}.1"
                checks.append(check(truth, truth / 2, truth * 2, name))
                values[name] = samples.tolist()
                spread = statistics.stdev(map(math.log, values[name]))
                system_name = f"{system}: Table 1"
                middle = statistics.median(values[name])
                known.append(
                    CheckRow(
                        "osu-references", name, DRAWN, system_name, "us", truth, middle, spread
                    )
                )
        intervals = check_intervals("osu-references", checks, values, known)
        inside += [row.together.is_inside for row in intervals]
        widths += [row.together.width for row in intervals]
    # 240 systems of four rows that lie inside or outside together: one deviation is about 0.02.
    assert statistics.fmean(inside) == pytest.approx(0.9, abs=0.05)
    assert statistics.median(widths) < 1.2


def test_kinds_are_summed_up_and_statements_apart(tmp_path: Path) -> None:
    checks = [
        check(1.0, 0.9, 1.1, ID.format("a")),
        check(5.0, 4.0, 6.0, ID.format("b")),
        check(2.0, 2.0, None, "above"),
    ]
    values = {own.id: [0.9, 1.0, 1.1] for own in checks}
    intervals = check_intervals("osu-references", checks, values, [])
    sums = {kind.kind: kind for kind in coverage(intervals)}
    assert set(sums) == {"latency", "all of these", "all with a figure", "statement"}
    assert (sums["latency"].rows, sums["latency"].parameters.covered) == (2, 0.5)
    assert sums["latency"].distance == pytest.approx((0 + 0.8) / 2)
    assert (sums["statement"].parameters.covered, sums["all with a figure"].rows) == (0, 2)
    first = draw(intervals, tmp_path / "one.svg").read_bytes()
    assert first == draw(intervals, tmp_path / "two.svg").read_bytes()
    assert len(first) < 60_000, "a page can have it"


def test_a_check_that_repeats_another_counts_once() -> None:
    own = check(1.0, 0.9, 1.1, ID.format("a"))
    again = replace(own, id=ID.format("b"), source="Table 1; prediction, repeats a")
    intervals = check_intervals("osu-references", [own, again], {}, [])
    assert [interval.check.id for interval in intervals] == [own.id, again.id]
    assert [(kind.kind, kind.rows) for kind in coverage(intervals)] == [
        ("latency", 1),
        ("all of these", 1),
        ("all with a figure", 1),
    ]


def test_results_of_a_study_count_once() -> None:
    _check_studies(["osu-references", "pico"])
    with pytest.raises(ValueError, match="pico: results of this study twice; expected each"):
        _check_studies(["pico", "osu-references", "pico"])
