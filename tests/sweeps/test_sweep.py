"""A sweep keeps what has run, goes on where it stopped, and gives the same bytes however it ran."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas
import polars as pl
import pytest

from etherweave.api.fidelity import fidelities
from etherweave.api.machine import build
from etherweave.api.results import Result
from etherweave.report.sweep import draw_sweep
from etherweave.sweeps import (
    ExecutorError,
    FlowFirst,
    SweepError,
    SweepStore,
    cost,
    executor,
    executors,
    expect,
    in_fidelity,
    load_sweep,
    shortlist,
    sweep,
)
from etherweave.sweeps.executors import Answer, Executor, Task
from etherweave.sweeps.running import work_of
from support.command_line import run_here
from support.sweeps import contents, start, wait_for, write

pytestmark = pytest.mark.usefixtures("workers_of_this_process")

RUNS = 24  # Four sources, three sizes, two seeds.


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that nobody disturbed."""
    home = tmp_path_factory.mktemp("sweep")
    result = sweep(load_sweep(write(home)), home / "out", executor("local", 2))
    assert (result.carried_out, result.status.failed) == (RUNS, 0)
    words = f"{RUNS} of {RUNS} runs finished, {RUNS} of them now, in {result.dataset}"
    assert repr(result) == f"<SweepResult: {words}>"
    return home / "out"


def test_the_dataset_has_a_row_for_each_point_with_axes_and_figures(dataset: Path) -> None:
    rows = SweepStore(dataset).table()
    assert rows.height == RUNS
    assert rows["seed"].to_list() == [1, 2] * (RUNS // 2)
    assert set(rows["ended"]) == {"complete"}
    # Every source sends its messages over a link of 100 Gb/s: the receiver gets no more.
    assert rows["goodput_gbps"].is_between(1, 100).all()
    # A run without a pause has a figure, too; the place of a pause is none.
    assert rows["pauses.longest_us"].min() == 0.0 and not rows["pauses.longest_us"].null_count()
    assert [name for name in rows.columns if name.startswith("pauses.longest")] == [
        "pauses.longest_us"
    ]


BENCHMARKS = """\
topology.single_switch.hosts = 4
transport.roce = {}

[[job]]
name = "a.b"
workload.osu_latency = { bytes = "8B", iterations = 3 }

[[job]]
name = "c"
workload.osu_bw = { bytes = "4KiB", pairs = 1, window = 8, iterations = 3 }

[[sweep.axis]]
key = "switch.latency"
values = ["100ns"]
"""


def test_the_dataset_has_what_the_tools_of_benchmarks_print(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(BENCHMARKS)
    sweep(load_sweep(tmp_path / "a.toml"), tmp_path / "out", executor("local", 1))
    (row,) = SweepStore(tmp_path / "out").table().to_dicts()
    words = ("run", tmp_path / "a.toml", "-s", "switch.latency=100ns", "--json")
    printed = json.loads(run_here(*words, code=0).stdout)["benchmarks"]
    assert {name: value for name, value in row.items() if name.startswith("benchmarks.")} == {
        "benchmarks.a.b.osu_latency.latency_us": pytest.approx(1e6 * printed[0]["value"]),
        "benchmarks.c.osu_bw.bandwidth_gbps": pytest.approx(8e-9 * printed[1]["value"]),
    }
    columns = SweepStore(dataset).table().columns
    assert not any(name.startswith("benchmarks.") for name in columns), "an incast has none"


def test_polars_duckdb_and_pandas_read_the_dataset_with_its_axes(dataset: Path) -> None:
    import duckdb

    key = "job.0.workload.incast.message"
    expected = {"1kB": 8, "64KiB": 8, "4 kB": 8}
    by_polars = pl.read_parquet(dataset / "runs" / "**/*.parquet", hive_partitioning=True)
    assert dict(by_polars.group_by(key).len().iter_rows()) == expected
    assert pandas.read_parquet(dataset / "runs")[key].value_counts().to_dict() == expected
    files = f"read_parquet('{dataset}/runs/**/*.parquet', hive_partitioning=true)"
    question = f'select "{key}", count(*), avg(goodput_gbps) from {files} group by 1'
    assert {row[0]: row[1] for row in duckdb.connect().execute(question).fetchall()} == expected


def test_finished_runs_are_never_repeated(dataset: Path, tmp_path: Path) -> None:
    shutil.copytree(dataset, tmp_path / "out")
    path = write(tmp_path)
    assert sweep(load_sweep(path), tmp_path / "out", executor("local", 1)).carried_out == 0
    assert contents(tmp_path / "out") == contents(dataset)
    path.write_text(path.read_text().replace("seeds = 2", "seeds = 3"))
    assert sweep(load_sweep(path), tmp_path / "out", executor()).carried_out == RUNS // 2


@pytest.mark.slow
@pytest.mark.parametrize("lines", [0, 1, 7, RUNS - 1])
def test_killed_sweeps_go_on_to_the_same_bytes(lines: int, dataset: Path, tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    with start(path, "-o", out, "--workers", "2") as process:
        wait_for(out, lines)
        process.kill()
    kept = len(SweepStore(out).records())
    assert lines <= kept < RUNS or lines == RUNS - 1
    assert sweep(load_sweep(path), out, executor("local", 2)).carried_out == RUNS - kept
    assert contents(out) == contents(dataset)


def test_a_line_that_a_kill_has_torn_is_carried_out_again(dataset: Path, tmp_path: Path) -> None:
    shutil.copytree(dataset, tmp_path / "out")
    (journal,) = (tmp_path / "out" / "journal").iterdir()
    journal.write_bytes(journal.read_bytes()[:-100])
    assert sweep(load_sweep(write(tmp_path)), tmp_path / "out").carried_out == 1
    assert contents(tmp_path / "out") == contents(dataset)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(dataset: Path, tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    with start(path, "-o", out, "--workers", "2") as process:
        wait_for(out, 3)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        workers = [child for child in children if "import serve" in _command(child)]
        os.kill(int(workers[0]), signal.SIGKILL)
        assert process.wait(60) == 0
    assert contents(out) == contents(dataset)


def _command(pid: str) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def test_runs_that_fail_are_rows_with_their_message(tmp_path: Path) -> None:
    path = write(tmp_path, "values = [2, 12, 0]", seeds=1)
    done = run_here("sweep", path, "-o", tmp_path / "out", "--json", code=1)
    assert json.loads(done.stdout)["failed"] == 6
    rows = SweepStore(tmp_path / "out").table()
    result = dict(rows.select("job.0.workload.incast.sources", "message").iter_rows())
    assert "13 ranks" in result[12]
    assert "sources: 0" in result[0]
    assert set(rows.filter(pl.col("message") != "")["ended"]) == {"mistake"}
    # A mistake is a result: it is not carried out again.
    again = sweep(load_sweep(path), tmp_path / "out")
    assert again.carried_out == 0
    assert repr(again).startswith(
        "<SweepResult: 9 of 9 runs finished, 0 of them now, 6 failed, in "
    )


@pytest.mark.processes
def test_a_worker_that_dies_twice_leaves_a_row_that_is_carried_out_again(tmp_path: Path) -> None:
    pool = executor("local", 1)
    result = dict(pool.completed("support.sweeps:end_by", [("a", 0), ("b", 9)], tmp_path))
    assert result["a"] == 0
    assert str(result["b"]) == "worker died with exit code -9, 2 times"


@pytest.mark.processes
def test_kept_workers_serve_one_call_after_the_other(tmp_path: Path) -> None:
    with executor("local", 2).kept() as pool:
        calls = [
            dict(pool.completed("support.sweeps:process", [("a", 0), ("b", 0)], tmp_path))
            for _ in range(2)
        ]
        assert len({*calls[0].values(), *calls[1].values()}) <= 2
    with pytest.raises(ProcessLookupError):
        os.kill(calls[0]["a"], 0)


def test_two_sweeps_do_not_share_a_directory(dataset: Path, tmp_path: Path) -> None:
    shutil.copytree(dataset, tmp_path / "out")
    path = write(tmp_path)
    with SweepStore(tmp_path / "out").alone():
        done = run_here("sweep", path, "-o", tmp_path / "out")
        assert "running" in run_here("sweep", "status", tmp_path / "out").stdout
    assert (done.returncode, "another sweep uses this directory" in done.stderr) == (2, True)
    assert "not running" in run_here("sweep", "status", tmp_path / "out").stdout


@pytest.mark.processes
def test_another_worker_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "build", lambda: "0.0.1 of this process")
    with pytest.raises(ExecutorError, match=r"is of \d.*; expected 0.0.1 of this process"):
        sweep(load_sweep(write(tmp_path)), tmp_path / "out", executor("local", 1))


@pytest.mark.needs("namespaces")
def test_a_full_disk_ends_a_sweep_and_later_it_goes_on(dataset: Path, tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "disk"
    out.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k", "none", out], check=True)
    try:
        done = run_here("sweep", path, "-o", out, code=2)
        assert os.strerror(errno.ENOSPC) in done.stderr
        kept = len(SweepStore(out).records())
        assert 0 < kept < RUNS
        subprocess.run(["mount", "-o", "remount,size=1m", out], check=True)
        assert sweep(load_sweep(path), out).carried_out == RUNS - kept
        assert contents(out) == contents(dataset)
    finally:
        subprocess.run(["umount", "--lazy", out], check=True)


def test_an_interruption_says_where_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SweepStore, "write_dataset", interrupt)
    done = run_here("sweep", write(tmp_path), "-o", tmp_path / "out", code=130)
    assert done.stderr == (
        f"Interrupted: what has ended is kept in {tmp_path / 'out'}, and is not repeated.\n"
    )
    assert len(SweepStore(tmp_path / "out").records()) == RUNS


def test_a_dry_run_says_what_is_left_and_carries_nothing_out(tmp_path: Path) -> None:
    done = run_here("sweep", write(tmp_path), "-o", tmp_path / "out", "--dry-run", "--json")
    facts = json.loads(done.stdout)
    assert (facts["points"], facts["left"], facts["finished"]) == (RUNS, RUNS, 0)
    assert facts["wall_s"] > 0
    assert facts["memory_bytes"] > 2**20
    assert not (tmp_path / "out").exists()


def test_a_dry_run_predicts_the_time_beside_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, processors = tmp_path / "loadavg", os.cpu_count() or 1
    monkeypatch.setattr(cost, "LOAD", load)
    for others in (0, 3 * processors):
        load.write_text(f"0.00 0.00 0.00 {others + 1}/200 4711\n")
        expected = expect(load_sweep(write(tmp_path)), tmp_path / "out", executor("local", 1))
        slower = expected.wall_s / (cost.START_S + expected.processor_s)
        share = max(others + 1, processors) / processors
        assert (expected.others, slower) == pytest.approx((others, share))
    assert cost.slowdown(4 * processors, 0.0) >= 4.0
    monkeypatch.setattr(cost, "LOAD", tmp_path / "no")
    assert expect(load_sweep(write(tmp_path)), tmp_path / "out", executor("local", 1)).others == 0


def test_a_dry_run_leaves_mistakes_of_single_points_to_the_sweep(tmp_path: Path) -> None:
    path = write(tmp_path)
    text = path.read_text()
    axis = '[[sweep.axis]]\nkey = "job.0.workload.incast.sources"\nvalues = [{}]\n'
    head = text[: text.index("[sweep")]
    path.write_text(head + axis.format("1, 1000"))
    done = run_here("sweep", path, "-o", tmp_path / "out", "--dry-run", code=0)
    assert "2 runs to carry out" in done.stdout
    path.write_text(head + axis.format("1000, 1001"))
    done = run_here("sweep", path, "-o", tmp_path / "out", "--dry-run", code=2)
    assert "job.0.workload" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("x=job.0.workload.incast.sources", "y=goodput_gbps", "by=seed"), 0, "plot.svg"),
        (("x=sources", "y=goodput_gbps"), 2, "nearest: job.0.workload.incast.sources"),
        (("x=message", "y=goodput_gbps"), 2, "x=message: no value in any row; nearest: job.0.w"),
        (("x=seed",), 2, "no y"),
        (("z=seed",), 2, "expected x=COLUMN"),
        (("seed",), 2, "expected x=COLUMN"),
        (("x=seed", "y=goodput_gbps", "mean=size"), 2, "mean=size: no such column"),
        (("x=seed", "y=goodput_gbps", "seed=7"), 2, "seed=7: no such row; expected one of 1, 2"),
    ],
)
def test_runs_are_drawn_over_an_axis(
    words: tuple[str, ...], code: int, text: str, dataset: Path, tmp_path: Path
) -> None:
    shutil.copytree(dataset, tmp_path / "out")
    done = run_here("sweep", "plot", tmp_path / "out", *words)
    assert (done.returncode, text in done.stdout + done.stderr) == (code, True), done
    assert (tmp_path / "out" / "plot.svg").exists() == (code == 0)


MESSAGE, SOURCES = "job.0.workload.incast.message", "job.0.workload.incast.sources"


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        ((), {f"{MESSAGE} = 1kB", f"{MESSAGE} = 4 kB", f"{MESSAGE} = 64KiB"}),
        ((f"{MESSAGE}=4 kB",), set()),
        ((f"mean={MESSAGE}",), set()),
        ((f"by={MESSAGE}",), set()),
    ],
)
def test_an_axis_that_is_not_named_is_not_averaged_in_silence(
    words: tuple[str, ...], titles: set[str], dataset: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plot.svg"
    run_here("sweep", "plot", dataset, f"x={SOURCES}", "y=goodput_gbps", *words, "-o", out, code=0)
    drawn = re.findall(r"<!-- (.*?) -->", out.read_text())
    assert {text for text in drawn if " = " in text} == titles
    is_averaged = f"mean={MESSAGE}" in words
    assert any(text.startswith(f"Means over {MESSAGE}; ") for text in drawn) == is_averaged
    assert "goodput [Gb/s]" in drawn
    if f"by={MESSAGE}" in words:
        lines = [text for text in drawn if text in ("1kB", "4 kB", "64KiB")]
        assert lines == ["1kB", "4 kB", "64KiB"]


def test_a_table_of_runs_is_written_for_spreadsheets(dataset: Path, tmp_path: Path) -> None:
    done = run_here("sweep", "table", dataset, "-o", tmp_path / "runs.csv", code=0)
    assert done.stdout.strip() == str(tmp_path / "runs.csv")
    table = pl.read_csv(tmp_path / "runs.csv")
    assert table.height == RUNS and MESSAGE in table.columns and table["seed"].max() == 2
    refused = run_here("sweep", "table", dataset, "--intervals", code=2)
    assert f"{dataset}: no samples; expected a sweep with --samples" in refused.stderr


def test_many_panels_are_refused_with_what_would_make_them_fewer(dataset: Path) -> None:
    store = SweepStore(dataset)
    table = store.table().with_columns(run_number=pl.int_range(pl.len()))
    axes = [*store.axes(), "run_number"]
    columns = {"x": SOURCES, "y": "goodput_gbps"}
    with pytest.raises(ValueError, match=rf"72 panels of {MESSAGE}, run_number; expected at most"):
        draw_sweep(table, columns, dataset / "none.svg", axes)


def test_unknown_columns_are_named_before_panels_are_counted(dataset: Path) -> None:
    store = SweepStore(dataset)
    table = store.table().with_columns(run_number=pl.int_range(pl.len()))
    axes = [*store.axes(), "run_number"]
    for name, column in {"x": SOURCES[:-1], "y": "goodput", "by": "seeds"}.items():
        columns = {"x": SOURCES, "y": "goodput_gbps", name: column}
        near = {"x": SOURCES, "y": "goodput_gbps", "by": "seed"}[name]
        with pytest.raises(ValueError, match=rf"^{name}={column}: no such column; nearest: {near}"):
            draw_sweep(table, columns, dataset / "none.svg", axes)


@pytest.mark.parametrize("verb", ["status", "plot"])
def test_a_directory_without_a_sweep_is_refused(verb: str, tmp_path: Path) -> None:
    words = ("x=a", "y=b") if verb == "plot" else ()
    assert "expected" in run_here("sweep", verb, tmp_path, *words, code=2).stderr


def test_tables_of_runs_are_kept_on_request_also_later(dataset: Path, tmp_path: Path) -> None:
    what, home, on = load_sweep(write(tmp_path)), tmp_path / "out", executor("local", 2)
    shutil.copytree(dataset, home)
    assert sweep(what, home, on, tables=True).carried_out == RUNS
    assert sweep(what, home, on, tables=True).carried_out == 0
    assert contents(home) == contents(dataset)
    for run, hops in SweepStore(home).table().select("run", "packet_hops").iter_rows():
        result = Result.load(home / "tables" / run)
        assert result.summary["packet_hops"] == hops
        assert result.machine["core"].startswith(result.summary["version"])


def test_packets_are_simulated_of_points_that_are_close_in_flow_level_mode(tmp_path: Path) -> None:
    what, home = load_sweep(write(tmp_path)), tmp_path / "out"
    first = FlowFirst("end_ns", close=3)
    close = shortlist(what, home, first, executor("local", 2))
    flow = SweepStore(home / "flow").table()
    axes = [key for key in what.axes if key != "seed"]
    means = flow.group_by(axes).agg(pl.col("end_ns").mean())
    expected = means.filter(pl.col("end_ns") <= 3 * pl.col("end_ns").min())
    assert 1 < expected.height < RUNS // 2
    assert {tuple(map(point.get, axes)) for point in close.points()} == set(
        expected.select(axes).iter_rows()
    )
    done = sweep(close, home, executor("local", 2))
    assert done.to_polars().height == done.carried_out == 2 * expected.height
    assert "run.fidelity" not in done.to_polars().columns
    # All of both stages is kept.
    again = shortlist(what, home, first, executor("local", 1))
    assert list(again.points()) == list(close.points())
    assert sweep(again, home, executor("local", 1)).carried_out == 0
    largest = shortlist(what, home, FlowFirst("goodput_gbps", 1.0, is_largest_best=True))
    best = flow.group_by(axes).agg(pl.col("goodput_gbps").mean()).sort("goodput_gbps")[-1]
    assert {tuple(map(point.get, axes)) for point in largest.points()} == set(
        best.select(axes).iter_rows()
    )


@pytest.mark.parametrize(("run", "job"), [("flow", None), ("flow", "packet"), ("packet", "packet")])
def test_flow_first_is_flow_for_all_jobs_and_then_packets_whatever_the_scenario_names(
    run: str, job: str | None, tmp_path: Path
) -> None:
    path, home = write(tmp_path, sources="values = [4]", seeds=1), tmp_path / "out"
    text = path.read_text() + f'[run]\nfidelity = "{run}"\n'
    path.write_text(text.replace("[[job]]", f'[[job]]\nfidelity = "{job}"') if job else text)
    flow = in_fidelity(load_sweep(path), "flow")
    packet = shortlist(load_sweep(path), home, FlowFirst("end_ns", 1.0), executor("local", 1))
    assert sweep(flow, home / "flow").carried_out == 0
    for what, expected in ((flow, "flow"), (packet, "packet")):
        result = [fidelities(what.resolve(point)) for point in what.points()]
        assert result
        assert all(fidelity == {"incast": expected} for fidelity in result)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run.fidelity", '"flow"'),
        ("job.0.fidelity", '"flow"'),
        ("job.0", '{ name = "a", fidelity = "flow", workload.incast.sources = 2 }'),
        ("job", '[{ name = "a", fidelity = "packet", workload.incast.sources = 2 }]'),
    ],
)
def test_an_axis_of_fidelity_beside_flow_first_fails(key: str, value: str, tmp_path: Path) -> None:
    path = write(tmp_path, seeds=1)
    text = path.read_text() + f'[[sweep.axis]]\nkey = "{key}"\nvalues = [{value}]\n'
    path.write_text(text.replace('key = "job.0.workload.incast.sources"', 'key = "nic.xoff"'))
    with pytest.raises(SweepError, match=f"{key}: an axis of fidelity; expected none beside"):
        shortlist(load_sweep(path), tmp_path / "out", FlowFirst("end_ns"))


HPCC = '{ hpcc = {}, reliability = "selective_repeat", ack_every = 1 }'


@pytest.mark.parametrize(("is_largest_best", "best"), [(False, "32KiB"), (True, "64KiB")])
def test_points_of_which_flow_level_mode_warns_are_left_for_packets_and_are_not_the_best(
    is_largest_best: bool, best: str, tmp_path: Path
) -> None:
    path = write(tmp_path, sources="values = [4]", seeds=1)
    more = f'[[sweep.axis]]\nkey = "transport.roce"\nvalues = [{{}}, {HPCC}]\n'
    text = path.read_text().replace('"1kB", "4 kB"', '"32KiB"').replace("transport.roce = {}", "")
    path.write_text(f"{text}{more}")
    first = FlowFirst("end_ns", 1.0, is_largest_best)
    close = shortlist(load_sweep(path), tmp_path / "out", first, executor("local", 1))
    # HPCC would set rates where links are full.
    result = [
        tuple(map(point.get, ("transport.roce", "job.0.workload.incast.message")))
        for point in close.points()
    ]
    assert {message for roce, message in result if roce != {}} == {"32KiB", "64KiB"}
    assert [message for roce, message in result if roce == {}] == [best]


def test_the_command_says_how_many_points_flow_level_mode_warns_of(tmp_path: Path) -> None:
    path = write(tmp_path, sources="values = [4]", seeds=1)
    path.write_text(path.read_text().replace("transport.roce = {}", f"transport.roce = {HPCC}"))
    done = run_here("sweep", path, "-o", tmp_path / "out", "--flow-first", "end_ns")
    assert "3 of 3 runs are left for packets" in done.stderr
    assert (
        "3 of 3 runs in flow-level mode ended with a warning of what it leaves out" in done.stderr
    )


def test_what_flow_level_mode_cannot_simulate_is_left_for_packets(tmp_path: Path) -> None:
    path = write(tmp_path, sources="values = [4]", seeds=1)
    more = '[[sweep.axis]]\nkey = "switch.model"\nvalues = ["shared_buffer", "input_queued"]\n'
    path.write_text(path.read_text() + more)
    close = shortlist(load_sweep(path), tmp_path / "out", FlowFirst("end_ns", close=1))
    models = [point["switch.model"] for point in close.points()]
    assert sorted(map(str, models)) == ["input_queued"] * 3 + ["shared_buffer"]
    with pytest.raises(SweepError, match=r"end_us: no figure; expected one of .*end_ns, "):
        shortlist(load_sweep(path), tmp_path / "out", FlowFirst("end_us"))


def test_the_dataset_says_of_each_run_how_it_was_simulated(tmp_path: Path) -> None:
    path = write(tmp_path, sources="values = [2]", seeds=1)
    second = path.read_text().split("[sweep]")[0].partition("[[job]]")[2]
    second = second.replace('"incast"', '"second"').replace("[[job]]", "")
    text = path.read_text().replace("[sweep]", f"[[job]]{second}[sweep]")
    axis = '[[sweep.axis]]\nkey = "run.fidelity"\nvalues = ["packet", "flow"]\n'
    axis += '[[sweep.axis]]\nkey = "job.1.fidelity"\nvalues = ["packet", "flow"]\n'
    path.write_text(text.replace("1kB", "4kB") + axis)
    done = sweep(load_sweep(path), tmp_path / "out", executor("local", 1))
    rows = done.to_polars().filter(pl.col("ended") == "complete")
    result = set(rows.select("run.fidelity", "job.1.fidelity", "fidelity").iter_rows())
    assert result == {
        ("packet", "packet", "packet"),
        ("packet", "flow", "hybrid"),
        ("flow", "packet", "hybrid"),
        ("flow", "flow", "flow"),
    }
    assert rows["fidelity_error_max"].to_list() == [None] * rows.height
    assert rows["fidelity_error_max"].dtype == pl.Float64
    assert done.runs_by_fidelity == dict(rows["fidelity"].value_counts().iter_rows())


def test_a_sweep_in_flow_level_mode_says_that_its_error_was_not_measured(tmp_path: Path) -> None:
    path, home = write(tmp_path, sources="values = [4]", seeds=1), tmp_path / "out"
    words = ("sweep", path, "-o", home, "--workers", "1")
    assert "flow-level mode" not in run_here(*words).stdout
    path.write_text(path.read_text() + '[run]\nfidelity = "flow"\n')
    assert "  flow-level mode, error not measured: 3 runs\n" in run_here(*words).stdout
    document = json.loads(run_here(*words, "--json").stdout)
    assert (document["runs_by_fidelity"], document["fidelity_error_max"]) == ({"flow": 3}, None)
    drawn = run_here("sweep", "plot", home, "x=job.0.workload.incast.message", "y=end_ns")
    assert "flow-level mode, error not measured: 3 runs" in drawn.stderr


def test_the_command_says_how_many_points_are_close(tmp_path: Path) -> None:
    words = ["sweep", str(write(tmp_path)), "-o", str(tmp_path / "out"), "--flow-first", "end_ns"]
    done = run_here(*words, "--close", "1", "--workers", "1")
    assert (
        "2 of 24 runs are left for packets: end_ns in flow-level mode, error not measured, is"
        in (done.stderr)
    )
    assert "flow-level mode" not in done.stdout
    assert "2 of 2 runs finished; 2 now" in done.stdout


SCRIPT = """import etherweave
print("script runs")
job = {"name": "test", "workload": {"osu_latency": {"iterations": 3}}}
axis = {"key": "job.0.workload.osu_latency.bytes", "values": ["8B", "64B", "1KiB"]}
topology = {"single_switch": {"hosts": 2}}
scenario = {"topology": topology, "job": [job], "sweep": {"axis": [axis]}}
done = etherweave.sweep(scenario, "out", etherweave.executor("local", 2))
print(done.status.finished)
"""


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, "script.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "script runs\n3\n", "")


def test_a_sweep_whose_runs_are_all_lost_is_an_error(tmp_path: Path) -> None:
    def lose(
        function: str, tasks: Iterable[Task], home: Path, workers: int
    ) -> Iterator[tuple[str, Answer]]:
        return ((key, {"error": "the machine is gone"}) for key, _ in tasks)

    scenario = load_sweep(write(tmp_path))
    with pytest.raises(SweepError, match=r"all [0-9]+ runs lost: the machine is gone; repeat"):
        sweep(scenario, tmp_path / "out", Executor("local", 1, lose))


def test_a_lost_run_counts_again_when_a_later_batch_repeats_it(tmp_path: Path) -> None:
    lost = list[str]()

    def lose_one(
        function: str, tasks: Iterable[Task], home: Path, workers: int
    ) -> Iterator[tuple[str, Answer]]:
        for key, argument in tasks:
            if lost:
                yield key, executors.answer(function, build(), argument)
            else:
                lost.append(key)
                yield key, {"error": "the machine is gone"}

    scenario, on = load_sweep(write(tmp_path)), Executor("local", 1, lose_one)
    work, done = work_of(on), list[int]()
    for _ in range(2):
        sweep(scenario, tmp_path / "out", on, lambda own: done.append(own.done), part_of=(work, 0))
    assert work.count == RUNS
    # Of the first batch every run ends, of the second the one that was lost.
    assert done == [*range(RUNS + 1), RUNS - 1, RUNS]


def test_report_writes_the_page_of_a_sweep(dataset: Path) -> None:
    assert run_here("report", dataset).stdout == f"{dataset / 'report.html'}\n"
    text = (dataset / "report.html").read_text()
    assert f"{RUNS} of {RUNS} runs finished, 0 failed." in text
    refused = run_here("report", dataset, "--from", "1ms", code=2)
    assert "a sweep; expected no option but --beside" in refused.stderr


def test_a_table_as_value_is_a_folder_of_its_words_and_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        "[topology.single_switch]\nhosts = 2\n[[job]]\nname = 'a'\nworkload.osu_latency = {}\n"
        "[[sweep.axis]]\nkey = 'transport'\nvalues = [{ roce = { mtu = '1kB' } }, { roce = {} }]\n"
    )
    sweep(load_sweep(path), tmp_path / "out", executor("local", 1))
    folders = sorted(folder.name for folder in (tmp_path / "out/runs").iterdir())
    assert [name[:-6] for name in folders] == ["transport=roce-", "transport=roce-mtu-1kB-"]
    rows = SweepStore(tmp_path / "out").table().sort("transport")
    assert rows["transport"].to_list() == [name.partition("=")[2] for name in folders]
    texts = [tomllib.loads(f"value = {text}")["value"] for text in rows["transport.toml"]]
    assert texts == [{"roce": {}}, {"roce": {"mtu": "1kB"}}]
