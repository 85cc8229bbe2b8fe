"""Results on disk, without a simulation: what a save leaves, and what an interrupted one."""

from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pyarrow
import pyarrow.parquet
import pytest

from etherweave.results import Finished, Result, Summary


def result(
    seed: int = 1, finished: Finished = "complete", tables: tuple[str, ...] = ("a", "b")
) -> Result:
    summary = Summary(
        name="made",
        seed=seed,
        version="0.0.0",
        finished=finished,
        stuck_report=None,
        end_ns=10.5,
        wall_s=0.0,
        setup_s=0.0,
        events=0,
        packet_hops=0,
        packets_created=0,
        packets_delivered=0,
        packets_dropped=0,
        packets_damaged=0,
        packets_in_flight=0,
        packets_max=0,
        fingerprint=None,
        threads=1,
        warnings=[],
    )
    columns = {"duration_ns": [1.5, 2.5]}
    made = {name: pyarrow.table(columns) for name in tables}
    return Result(made, summary, f"seed = {seed}\n", {"processor": "paper"})


def test_a_result_on_disk_is_a_parquet_file_per_table_a_scenario_and_a_summary(
    tmp_path: Path,
) -> None:
    result().save(tmp_path / "new" / "here")
    names = sorted(path.name for path in (tmp_path / "new" / "here").iterdir())
    assert names == ["a.parquet", "b.parquet", "scenario.toml", "summary.json"]


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    saved = result()
    loaded = Result.load(saved.save(tmp_path))
    assert (loaded.summary, loaded.resolved) == (saved.summary, saved.resolved)
    assert loaded.machine == saved.machine
    assert loaded.tables == saved.tables


def test_every_table_says_where_it_came_from(tmp_path: Path) -> None:
    result(seed=7, finished="interrupted").save(tmp_path)
    metadata = pyarrow.parquet.read_schema(tmp_path / "a.parquet").metadata
    assert metadata[b"etherweave.seed"] == b"7"
    assert metadata[b"etherweave.version"] == b"0.0.0"
    assert metadata[b"etherweave.finished"] == b"interrupted"
    assert metadata[b"etherweave.scenario"] == b"seed = 7\n"


def test_a_save_replaces_all_tables_and_leaves_other_files(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    result(tables=("a", "b")).save(tmp_path)
    result(seed=2, tables=("b", "c")).save(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == ["b.parquet", "c.parquet"]
    assert Result.load(tmp_path).summary["seed"] == 2
    assert (tmp_path / "report.html").read_text() == "mine"


def test_an_interrupted_save_leaves_the_result_before_it(tmp_path: Path) -> None:
    result(seed=1).save(tmp_path)
    with interrupted("pathlib.Path.write_text"), pytest.raises(KeyboardInterrupt):
        result(seed=2).save(tmp_path)
    assert Result.load(tmp_path).summary["seed"] == 1
    assert not list(tmp_path.glob(".saving-*"))


def test_an_interrupted_first_save_leaves_no_result(tmp_path: Path) -> None:
    with interrupted("pathlib.Path.write_text"), pytest.raises(KeyboardInterrupt):
        result().save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_save_interrupted_between_renames_leaves_no_mixture(tmp_path: Path) -> None:
    result(seed=1).save(tmp_path)
    with interrupted("pathlib.Path.replace"), pytest.raises(KeyboardInterrupt):
        result(seed=2).save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no result here; expected a directory with"):
        Result.load(tmp_path)


def test_a_format_of_another_time_is_refused(tmp_path: Path) -> None:
    result().save(tmp_path)
    (tmp_path / "summary.json").write_text('{"format": 0}')
    with pytest.raises(ValueError, match=r"summary\.json: format 0; expected 1"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    ("finished", "is_partial"),
    [("complete", False), ("time_limit", False), ("interrupted", True), ("stuck", True)],
)
def test_a_run_that_ended_before_its_jobs_or_its_time_is_partial(
    finished: Finished, is_partial: bool
) -> None:
    assert result(finished=finished).is_partial == is_partial


def test_an_unknown_table_is_named_beside_the_known() -> None:
    with pytest.raises(KeyError, match="no table 'c'; known: a, b"):
        result().to_polars("c")


def interrupted(act: str) -> AbstractContextManager[object]:
    """Ctrl-C as soon as the act is tried."""
    return patch(act, side_effect=KeyboardInterrupt)
