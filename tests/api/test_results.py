"""Results on disk, without a simulation: what a save leaves, and what an interrupted one."""

import os
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pyarrow
import pyarrow.parquet
import pytest

import etherweave
from etherweave.api.result_schema import ResultError
from etherweave.api.results import Finished, Result, Summary

CORE = ["flows.parquet", "iterations.parquet", "ports.parquet", "streams.parquet"]
"""The tables that every simulated result has."""


JOB = {"name": "j", "workload": {"osu_latency": {"iterations": 3}}}
SCENARIO: dict[str, object] = {"topology": {"single_switch": {"hosts": 2}}, "job": [JOB]}


@cache
def simulated() -> dict[str, pyarrow.Table]:
    """The core's tables of two hosts."""
    return dict(etherweave.run(SCENARIO).tables)


def resolved(seed: int) -> str:
    return etherweave.resolve({**SCENARIO, "seed": seed})


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
        packets_lost=0,
        packets_in_flight=0,
        packets_max=0,
        fingerprint=None,
        threads=1,
        warnings=[],
    )
    columns = {"duration_ns": [1.5, 2.5]}
    made = {name: pyarrow.table(columns) for name in tables}
    return Result({**simulated(), **made}, summary, resolved(seed), {"processor": "paper"})


def test_a_result_on_disk_is_a_file_per_table_a_scenario_and_a_summary(tmp_path: Path) -> None:
    result().save(tmp_path / "new" / "here")
    names = sorted(path.name for path in (tmp_path / "new" / "here").iterdir())
    assert names == sorted(["a.parquet", "b.parquet", *CORE, "scenario.toml", "summary.json"])


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    saved = result()
    loaded = Result.load(saved.save(tmp_path))
    assert (loaded.summary, loaded.resolved) == (saved.summary, saved.resolved)
    assert loaded.machine == saved.machine
    assert loaded.tables == saved.tables


def test_every_table_has_its_origin_in_its_metadata(tmp_path: Path) -> None:
    result(seed=7, finished="interrupted").save(tmp_path)
    metadata = pyarrow.parquet.read_schema(tmp_path / "a.parquet").metadata
    assert metadata[b"etherweave.seed"] == b"7"
    assert metadata[b"etherweave.version"] == b"0.0.0"
    assert metadata[b"etherweave.finished"] == b"interrupted"
    assert metadata[b"etherweave.scenario"] == resolved(7).encode()


def test_a_save_replaces_all_tables_and_leaves_other_files(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    result(tables=("a", "b")).save(tmp_path)
    result(seed=2, tables=("b", "c")).save(tmp_path)
    names = sorted(path.name for path in tmp_path.glob("*.parquet"))
    assert names == sorted(["b.parquet", "c.parquet", *CORE])
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


def test_a_format_of_another_version_is_rejected(tmp_path: Path) -> None:
    result().save(tmp_path)
    (tmp_path / "summary.json").write_text('{"format": 0}')
    with pytest.raises(ValueError, match=r"summary\.json: format 0; expected 1"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    ("finished", "is_partial"),
    [("complete", False), ("time_limit", False), ("interrupted", True), ("stuck", True)],
)
def test_a_run_that_ended_too_early_is_partial(finished: Finished, is_partial: bool) -> None:
    assert result(finished=finished).is_partial == is_partial


def test_an_unknown_table_is_named_beside_the_known() -> None:
    with pytest.raises(KeyError, match="no table 'c'; known: a, b, flows, iterations"):
        result().to_polars("c")


def edit(home: Path, old: str, new: str) -> None:
    text = (home / "summary.json").read_text()
    assert old in text
    (home / "summary.json").write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"seed": 1', '"seed": true', "summary.seed: true; expected a whole number"),
        ('"threads": 1', '"threads": 1.5', "summary.threads: 1.5; expected a whole number"),
        ('"end_ns": 10.5', '"end_ns": "late"', 'summary.end_ns: "late"; expected a number'),
        ('"end_ns": 10.5,', "", "summary: end_ns is missing"),
        ('"end_ns": 10.5', '"end_ns": NaN', "NaN is not a number of JSON; expected JSON"),
        (
            '"complete"',
            '"done"',
            "summary.finished: \"done\"; expected 'complete' or 'interrupted' or ",
        ),
        ('"warnings": []', '"warnings": [1]', "summary.warnings[0]: 1; expected text"),
        ('"paper"', "[]", "machine.processor: []; expected text"),
        ('"machine": {', '"engine": {', "machine: null; expected an object"),
    ],
)
def test_other_summaries_are_rejected(tmp_path: Path, old: str, new: str, message: str) -> None:
    result().save(tmp_path)
    edit(tmp_path, old, new)
    with pytest.raises(ResultError) as raised:
        Result.load(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / 'summary.json'}: {message}")


def test_a_column_missing_twice_there_or_of_another_type_is_rejected(tmp_path: Path) -> None:
    result().save(tmp_path)
    file = tmp_path / "iterations.parquet"
    table = simulated()["iterations"]
    rank = table.column_names.index("rank")
    text = pyarrow.array(["0"] * len(table))
    none = pyarrow.nulls(len(table), pyarrow.uint64())
    for changed, message in (
        (table.drop_columns(["host"]), "no columns host of job, rank, iteration, start_ns, "),
        (table.append_column("rank", table["rank"]), "2 columns rank; expected one"),
        (table.set_column(rank, "rank", text), "column rank: text; expected integer"),
        (table.set_column(rank, "rank", none), f"column rank: {len(table)} missing values"),
    ):
        pyarrow.parquet.write_table(changed, file)
        with pytest.raises(ResultError) as raised:
            Result.load(tmp_path)
        assert str(raised.value).startswith(f"{file}: {message}")


def test_a_table_that_changed_by_one_bit_is_rejected_or_the_same(tmp_path: Path) -> None:
    saved = result()
    file = saved.save(tmp_path) / "ports.parquet"
    content = file.read_bytes()
    rejected = 0
    for at in range(0, len(content), len(content) // 50):
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            assert Result.load(tmp_path).tables["ports"] == saved.tables["ports"]
        except ResultError:
            rejected += 1
    assert rejected > 0


@pytest.mark.parametrize("name", ["summary.json", "scenario.toml", "flows.parquet"])
@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "dangling", "zero", "empty"])
def test_other_files_are_rejected_in_one_sentence(tmp_path: Path, name: str, kind: str) -> None:
    result().save(tmp_path)
    file = tmp_path / name
    file.unlink()
    match kind:
        case "directory":
            file.mkdir()
        case "fifo":
            os.mkfifo(file)
        case "dangling":
            file.symlink_to(tmp_path / "nowhere")
        case "zero":
            file.symlink_to("/dev/zero")
        case "empty":
            file.touch()
    if (name, kind) == ("scenario.toml", "empty"):
        return  # An empty file is TOML.
    with pytest.raises((OSError, ValueError)) as raised:
        Result.load(tmp_path)
    assert "\n" not in str(raised.value)


def interrupted(act: str) -> AbstractContextManager[object]:
    """Ctrl-C as soon as the act is tried."""
    return patch(act, side_effect=KeyboardInterrupt)


def test_a_result_is_shown_in_a_line() -> None:
    tables = "iterations, ports, streams, flows, a, b"
    assert repr(result()) == f"<Result of made: complete after 0.000 ms; tables {tables}>"
