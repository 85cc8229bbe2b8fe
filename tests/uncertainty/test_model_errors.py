"""The error of the model: prediction intervals of drawn systems, and the rows that are kept."""

import json
import math
import statistics

import numpy as np
import pytest

from etherweave.study import load_study
from etherweave.uncertainty.model_errors import (
    COLUMNS,
    KINDS,
    CheckRow,
    check_rows,
    kind_of,
    model_errors,
    write,
)
from support.command_line import run_here

WITHIN, BETWEEN, MEAN = 0.1, 0.2, 0.05
"""Deviations of logarithms within a system and of systems, and their mean."""


def row(system: str, error: float, kind: str = "latency", unit: str = "us") -> CheckRow:
    ratio = math.exp(error if unit == "us" else -error)
    return CheckRow("study", f"{system}.{error}", kind, system, unit, ratio, 1.0)


def latency(rows: list[CheckRow]) -> tuple[float, float]:
    found = model_errors(rows)[KINDS.index("latency")].most
    assert found is not None
    return found


def test_two_systems_make_the_interval_of_a_mean_of_two() -> None:
    low, high = latency([row("a", 0.0), row("a", 0.2), row("b", 0.2), row("b", 0.4)])
    # Means 0.1 and 0.3, variance within 0.01; Student's t of one degree at 95 % is tan(0.45 pi).
    reach = math.tan(0.45 * math.pi) * math.sqrt(0.02 * 1.5 + 0.01)
    assert (math.log(low), math.log(high)) == pytest.approx((0.2 - reach, 0.2 + reach))


def test_nine_of_ten_rows_of_further_systems_lie_in_the_interval_of_drawn_ones() -> None:
    draw = np.random.default_rng(1)

    def system() -> list[float]:
        return list(draw.normal(draw.normal(MEAN, BETWEEN), WITHIN, 12))

    inside = []
    for _ in range(100):
        rows = [row(str(number), error) for number in range(5) for error in system()]
        low, high = latency(rows)
        inside += [low <= math.exp(error) <= high for error in system()]
    # 100 further systems, whose rows lie inside or outside together: one deviation is 0.03.
    assert statistics.fmean(inside) == pytest.approx(0.9, abs=0.06)


def test_a_system_unlike_the_others_is_not_covered() -> None:
    alike = [row(name, error) for name in "abcd" for error in (-0.01, 0.01)]
    assert model_errors(alike)[0].covered == 1.0
    assert model_errors([*alike, row("e", 3.0)])[0].covered == pytest.approx(4 / 5)


def test_one_system_says_nothing_of_others() -> None:
    found = model_errors([row("a", 0.1), row("a", 0.3)])[0]
    assert (found.most, found.half, found.covered) == (None, None, None)
    assert found.median == pytest.approx(math.exp(0.2))


def test_a_rate_that_is_too_high_is_a_time_that_is_too_short() -> None:
    assert CheckRow("s", "i", "bandwidth", "a", "MB/s", 90, 100).error == math.log(100 / 90)
    assert CheckRow("s", "i", "latency", "a", "us", 100, 90).error == math.log(100 / 90)


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


def test_kept_rows_are_those_of_the_studies_and_nothing_is_fitted_to_them() -> None:
    rows = check_rows()
    assert write(rows).splitlines()[0] == ",".join(COLUMNS)
    for study in {one.study for one in rows}:
        expected = {one["id"]: one for one in load_study(study).expected()}
        for one in rows:
            if one.study == study:
                known = expected[one.id]
                assert one.published == pytest.approx(float(known["published"]), rel=1e-5)
                assert "calibration" not in known["source"], one.id
                assert one.unit == known["unit"]


def test_the_verb_prints_errors_and_spreads_with_what_they_rest_on() -> None:
    errors = json.loads(run_here("uncertainty", "errors", "--json").stdout)
    assert [one["kind"] for one in errors] == list(KINDS)
    (collective,) = [one for one in errors if one["kind"] == "collective"]
    assert (collective["rows"], collective["median"], collective["most"]) == (0, None, None)
    spreads = json.loads(run_here("uncertainty", "spreads", "--json").stdout)
    assert {"latency", "message rate", "bandwidth", "host", "nic"} <= {
        one["figure"] for one in spreads
    }
