"""Published figures of OSU's benchmarks: which calibrate profiles, and which are predicted."""

from collections import Counter
from pathlib import Path

import pytest

from etherweave.api.units import rate_of, time_of
from etherweave.study import calibration, load_study, run_study

pytestmark = pytest.mark.slow
STUDY = load_study("osu-references")


def test_every_row_has_a_metric_and_a_role() -> None:
    rows = STUDY.expected()
    assert {row["id"] for row in rows} == set(STUDY.metrics)
    roles = Counter(row["source"].rsplit("; ", 1)[1] for row in rows)
    assert set(roles) == {"calibration", "prediction"}
    fitted = Counter(
        row["id"].split(".")[0] for row in rows if row["source"].endswith("calibration")
    )
    assert max(fitted.values()) <= 3


@pytest.mark.parametrize("profile", ["infiniband-edr", "aries"])
def test_a_profile_meets_what_it_is_fitted_to(profile: str, tmp_path: Path) -> None:
    part = run_study("osu-references", tmp_path, only=f"{profile}.*.8.1")
    own = [check for check in part.checks if check.source.endswith("calibration")]
    assert len(own) == 2
    assert all(check.is_passed for check in own)


def test_the_shipped_constants_are_those_that_are_fitted() -> None:
    """But for the last digit: each is searched beside the rounded values of the others."""
    for key, check, _, shipped, fitted, _ in calibration.calibrate(STUDY):
        assert amount(shipped) == pytest.approx(amount(fitted), rel=0.05), (key, check)


def amount(text: str) -> float:
    """Read a time or a rate."""
    return rate_of(text) if text.endswith("b/s") else time_of(text)
