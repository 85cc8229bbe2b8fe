"""The page of a sweep, and intervals of means over seeds."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from etherweave.report.sweep import WITH_MODEL, draw_sweep, plot, with_unit
from etherweave.report.sweep_page import write_sweep

pytestmark = pytest.mark.usefixtures("workers_of_this_process")

RUNS = pl.DataFrame(
    {
        "switch.buffer": ["1MiB"] * 3 + ["2MiB"] * 3,
        "seed": [1, 2, 3] * 2,
        "jobs.halo.mean_us": [1.0, 2.0, 3.0, 10.0, 10.0, 10.0],
        "pauses.frames": [0] * 6,
    }
)


ROUTINGS = pl.DataFrame(
    {
        "routing": ["spray", "spray", "ecmp", "ecmp"],
        "topology.fat_tree.cores": [1, 4, 1, 4],
        "seed": 1,
        "jobs.halo.mean_us": [2.0, 1.0, 8.0, 7.0],
    }
)


def written(runs: pl.DataFrame, axes: list[str], home: Path) -> str:
    """Write the page of a sweep with these axes; return its text."""
    return write_sweep({"a": runs}, axes, "a sweep", "All runs.", {}, home).read_text()


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
    text = written(RUNS, ["switch.buffer", "seed"], tmp_path)
    assert '"lead">halo.mean [us]: from 2 at buffer = 1MiB to 10 at buffer = 2MiB.</p>' in text
    assert '<section id="jobs_halo_mean_us">' in text
    assert "pauses" not in text.partition("<script")[0], "equal in all runs"
    assert text.count("<td>1MiB</td>") == 1


def test_a_page_begins_with_what_the_tool_of_a_benchmark_prints(tmp_path: Path) -> None:
    calls = "benchmarks.halo.request_response"
    runs = RUNS.with_columns(
        pl.col("jobs.halo.mean_us").alias(f"{calls}.mean.round_trip_us"),
        (2 * pl.col("jobs.halo.mean_us")).alias(f"{calls}.p95.round_trip_us"),
        (1e6 / pl.col("jobs.halo.mean_us")).alias(f"{calls}.transaction_rate_per_s"),
    )
    text = written(runs, ["switch.buffer", "seed"], tmp_path)
    assert '<p class="lead">mean.round_trip [us]: from 2 at buffer = ' in text
    assert "p95" not in text and "transaction_rate" not in text
    text = written(runs, ["seed"], tmp_path)
    assert f'<p class="lead">{calls}.mean.round_trip [us]: 6 (95 %: ' in text


def test_a_page_has_whole_keys_where_their_ends_are_alike(tmp_path: Path) -> None:
    same = pl.col("jobs.halo.mean_us")
    runs = RUNS.rename({"switch.buffer": "job.0.start"}).with_columns(
        pl.col("seed").alias("job.1.start"),
        same.alias("benchmarks.halo.osu_latency.latency_us"),
        same.alias("benchmarks.other.osu_latency.latency_us"),
    )
    text = written(runs, ["job.0.start", "job.1.start"], tmp_path)
    assert "halo.osu_latency.latency [us]: from 1 at job.0.start = 1MiB, job.1.start =" in text


def test_the_end_of_a_name_is_its_unit() -> None:
    assert with_unit("a.message_rate_per_s") == "a.message_rate [1/s]"
    assert [with_unit(name) for name in ("end_ns", "fabric_share")] == ["end [ns]", "fabric_share"]


def test_a_page_says_which_axis_changes_a_figure_most(tmp_path: Path) -> None:
    text = written(ROUTINGS, ["routing", "topology.fat_tree.cores", "seed"], tmp_path)
    # 7.5 to 1.5 over the routings, 5 to 4 over the cores.
    assert "means differ by a factor of 5 over routing, of 1.25 over cores." in text
    assert "Means over seeds" not in text
    axis = plot(ROUTINGS, "topology.fat_tree.cores", "jobs.halo.mean_us", "routing").axes[0].xaxis
    assert [place for place in axis.get_majorticklocs() if 1 <= place <= 4] == [1, 2, 3, 4]


def test_a_page_compares_no_axes_where_a_point_has_failed(tmp_path: Path) -> None:
    runs = ROUTINGS.with_columns(pl.Series("jobs.halo.mean_us", [2.0, None, 8.0, 7.0]))
    for rows in (runs, runs.drop_nulls()):
        text = written(rows, ["routing", "topology.fat_tree.cores", "seed"], tmp_path)
        assert "halo.mean [us]: from 2 at" in text
        assert "by a factor of" not in text


@pytest.mark.parametrize("first", [-1, 0])
def test_samples_of_points_have_a_row_for_each_point(first: int, tmp_path: Path) -> None:
    """Points whose run as it stands has failed have samples alone."""
    runs = RUNS.with_columns(sample=pl.Series([first, 1, 2] * 2), seed=pl.lit(1))
    text = written(runs, ["switch.buffer", "sample", "seed"], tmp_path)
    assert text.count("<td>1MiB</td>") == text.count("<td>2MiB</td>") == 1


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_note_names_the_error_of_the_model_where_it_is_drawn(
    is_drawn: bool, tmp_path: Path
) -> None:
    """Rows of two conditions at one place have no interval with the error of the model."""
    sizes = ["to 64 B", "to 64 B" if is_drawn else "to 4 KiB"] * 3
    runs = RUNS.with_columns(
        pl.Series("conditions.halo", [f"latency; {size}; ; 0" for size in sizes]),
        sample=pl.Series([-1, 0, 1] * 2),
        seed=pl.lit(1),
    )
    columns = {"x": "switch.buffer", "y": "jobs.halo.mean_us"}
    draw_sweep(runs, columns, tmp_path / "runs.svg", ["switch.buffer", "sample", "seed"])
    assert (WITH_MODEL in (tmp_path / "runs.svg").read_text()) is is_drawn


def test_replications_have_a_sentence_that_compares_them_with_those_beside(tmp_path: Path) -> None:
    name = "flows.storage.slowdown_p99"
    seeds = {"seed": [1, 2, 3]}
    tables = {
        "HPCC": pl.DataFrame(seeds | {name: [2.0, 3.0, 4.0]}),
        "DCTCP": pl.DataFrame(seeds | {name: [8.0, 12.0, 16.0]}),
        "TIMELY": pl.DataFrame(seeds | {name: [1.0, 3.0, 8.0]}),
    }
    text = write_sweep(tables, ["seed"], "replications", "3 runs.", {}, tmp_path).read_text()
    # Student's t of 2 degrees of freedom is 4.303: half widths are 4.303 / sqrt(3) = 2.484 of HPCC
    # and four times as much, 9.937, of DCTCP. TIMELY differs by -1, 0 and 4: 1 within 6.6.
    assert "slowdown_p99: 3 (95 %: 1 to 5.484) with HPCC; 12 (95 %: 2.063 to 21.94) with" in text
    assert "with DCTCP, 4 times as much;" in text
    assert "with TIMELY, 1.33 times as much, within chance." in text
    assert [text.count(f"<td>{result}</td>") for result in tables] == [1, 1, 1]


def test_points_at_names_are_not_joined() -> None:
    table = RUNS.with_columns(profile=pl.col("switch.buffer").replace({"1MiB": "a", "2MiB": "b"}))
    axes = plot(table, "profile", "jobs.halo.mean_us").axes[0]
    assert [line.get_linestyle() for line in axes.lines] == ["None"]
    assert [len(bars.get_paths()) for bars in axes.collections] == [2]
    (line,) = plot(table, "switch.buffer", "jobs.halo.mean_us", "profile").axes[0].lines[:1]
    assert line.get_linestyle() == "-"


def test_a_page_draws_over_amounts_rather_than_names(tmp_path: Path) -> None:
    table = RUNS.with_columns(profile=pl.col("seed").cast(pl.String) + "x")
    page = written(table, ["profile", "switch.buffer"], tmp_path)
    assert '"label": "switch.buffer [B]"' in page
    assert '<p class="lead">halo.mean [us]: from 1 at ' in page


def test_names_of_sizes_are_powers_of_two_and_do_not_touch() -> None:
    sizes = [f"{1 << power}KiB" for power in range(9)]
    table = pl.DataFrame({"size": sizes * 2, "rate": ["a"] * 9 + ["b"] * 9, "y": [1.0] * 18})
    figure = plot(table, "size", "y", panels=["rate"])
    figure.draw_without_rendering()
    ticks = figure.axes[0].xaxis.get_ticklabels()
    assert [tick.get_text() for tick in ticks] == ["1Ki", "4Ki", "16Ki", "64Ki", "256Ki"]
    boxes = sorted((tick.get_window_extent() for tick in ticks), key=lambda box: box.x0)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_a_logarithmic_axis_has_plain_numbers() -> None:
    table = pl.DataFrame({"sources": [2, 4, 8, 16, 32], "y": [1.0] * 5})
    figure = plot(table, "sources", "y")
    figure.draw_without_rendering()
    low, high = figure.axes[0].get_xlim()
    ticks = [tick.label1 for tick in figure.axes[0].xaxis.get_major_ticks()]
    names = [name.get_text() for name in ticks if low <= name.get_position()[0] <= high]
    assert names == ["2", "4", "8", "16", "32"]
    assert not any(text.get_text() for text in figure.axes[0].xaxis.get_ticklabels(minor=True))


@pytest.mark.parametrize(
    ("end", "begins"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_a_figure_has_the_format_of_its_name_and_equal_bytes(
    end: str, begins: bytes, tmp_path: Path
) -> None:
    columns = {"x": "switch.buffer", "y": "jobs.halo.mean_us"}
    first, second = (draw_sweep(RUNS, columns, tmp_path / f"{n}.{end}") for n in (1, 2))
    assert first.read_bytes().startswith(begins)
    assert first.read_bytes() == second.read_bytes()
