"""The page of a sweep, and intervals of means over seeds."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from etherweave.report.sweep import plot
from etherweave.report.sweep_page import write_sweep

RUNS = pl.DataFrame(
    {
        "switch.buffer": ["1MiB"] * 3 + ["2MiB"] * 3,
        "seed": [1, 2, 3] * 2,
        "jobs.halo.mean_us": [1.0, 2.0, 3.0, 10.0, 10.0, 10.0],
        "pauses.frames": [0] * 6,
    }
)


def ends(table: pl.DataFrame) -> list[float]:
    """Ends of the band at the first place."""
    (band,) = plot(table, "switch.buffer", "jobs.halo.mean_us").axes[0].collections
    points = np.asarray(band.get_paths()[0].vertices)
    at = points[points[:, 0] == 1 << 20, 1]
    return [float(at.min()), float(at.max())]


def test_a_band_is_the_interval_of_the_mean_of_seeds() -> None:
    # Student's t of 2 degrees of freedom at 97.5 % is 4.303; the deviation of 1, 2, 3 is 1.
    half = 4.30265 / math.sqrt(3)
    # No time is below 0, where the lower end would lie.
    assert half > 2
    assert ends(RUNS) == pytest.approx([0, 2 + half], rel=1e-5)


def test_rows_that_are_no_repetitions_have_their_range() -> None:
    assert ends(RUNS.with_columns(seed=pl.lit(1))) == [1, 3]
    assert ends(RUNS.drop("seed")) == [1, 3]


def test_a_page_has_figures_that_differ_and_a_row_for_each_point(tmp_path: Path) -> None:
    page = write_sweep(RUNS, ["switch.buffer", "seed"], "a sweep", "6 of 6 runs.", {}, tmp_path)
    text = page.read_text()
    assert "jobs.halo.mean [us]: from 2 at switch.buffer = 1MiB to 10 at" in text
    assert '<section id="jobs_halo_mean_us">' in text
    assert "pauses" not in text.partition("<script")[0], "equal in all runs"
    assert text.count("<td>1MiB</td>") == 1
