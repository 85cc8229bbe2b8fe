"""Simulated and measured results of the same jobs, on one page."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etherweave
from etherweave.api import toml
from etherweave.api.overview import overview
from etherweave.api.results import Measured, Result
from etherweave.measurements.run_lines import job_lines
from etherweave.pages import write_report
from etherweave.report.run.comparison import ComparedResults, goodput, iteration_times, sentences
from etherweave.report.run.hosts import streams
from etherweave.report.run.page import write_run
from support import command_line
from support.measured_results import measurement, slowed

command = command_line.run_here


SCENARIO: dict[str, Any] = {
    "topology": {"single_switch": {"hosts": 8}},
    "run": {"end": "1ms"},
    "job": [
        {"name": "fft", "workload": {"fft": {"pex": 2, "pey": 2, "pez": 1, "iterations": 9}}},
        {"name": "incast", "workload": {"incast": {"sources": 2}}},
    ],
}


@pytest.fixture(scope="module")
def simulated() -> Result:
    return etherweave.run(SCENARIO)


@pytest.fixture(scope="module")
def measured(simulated: Result) -> Result:
    """Pretend that two launches were twice and four times as slow."""
    facts: Measured = {**measurement(2), "command": ["mpirun", "-np", "7"]}
    result = slowed(simulated, (2, 4), facts)
    return dataclasses.replace(
        result, summary={**result.summary, "warnings": ["7 ranks shared 1 host"]}
    )


def test_the_ratio_is_that_of_medians(simulated: Result, measured: Result) -> None:
    section = iteration_times(ComparedResults([simulated, measured]))
    assert section is not None
    (table,) = section.tables
    assert [row[:3] for row in table.rows] == [
        ["fft", "simulated", "36"],
        ["fft", "measured", "72"],
    ]
    # Half of the measured times are twice, half four times as long: the median lies between.
    ratio = float(table.rows[1][-1])
    assert table.rows[0][-1] == "1.000"
    assert 2 < ratio < 4
    times = simulated.to_polars("iterations")["duration_ns"]
    twice, four_times = (factor * times.median() / 1e3 for factor in (2, 4))  # type: ignore[operator]
    assert table.rows[1][-2] == f"{twice:,.5g} to {four_times:,.5g}"
    assert ratio == pytest.approx(
        pl.concat([times * 2, times * 4]).median() / times.median(),  # type: ignore[operator]
        abs=1e-3,
    )


def test_a_sentence_says_how_many_times_as_long_the_other_takes(
    simulated: Result, measured: Result, tmp_path: Path
) -> None:
    twice = dataclasses.replace(
        measured,
        tables={
            **measured.tables,
            "iterations": measured.to_polars("iterations").filter(pl.col("launch") == 0).to_arrow(),
        },
    )
    (sentence,) = sentences(ComparedResults([simulated, twice]))
    assert sentence.startswith("fft: measured takes 2 times as long as simulated, by medians of ")
    assert sentences(ComparedResults([simulated])) == []
    assert sentence in write_run(simulated, tmp_path, [twice]).read_text()


def test_goodput_is_the_mean_over_launches(simulated: Result, measured: Result) -> None:
    section = goodput(ComparedResults([simulated, measured]))
    assert section is not None
    assert [row[-1] for row in section.tables[0].rows] == ["1.000", "0.375"]


def test_a_destination_has_a_mean_goodput_of_launches(simulated: Result, measured: Result) -> None:
    rates = []
    for result in (simulated, measured):
        section = streams(result)
        assert section is not None
        ((_, _, _, count, *_, rate),) = section.tables[0].rows
        rates.append(float(rate))
        assert ("all 2 launches" in section.caption) == (count == "4"), "two sources, twice"
    (line,) = (line for line in job_lines(measured, overview(measured)) if "streams" in line)
    assert line.startswith("incast: 4 streams in 2 launches, ") and "b/s on the mean, " in line
    # Streams ran at half of the rate in one launch, at a quarter in the other.
    assert rates[1] == pytest.approx(rates[0] * 3 / 8, abs=0.01)


def test_results_are_called_by_how_they_came_about(simulated: Result, measured: Result) -> None:
    assert ComparedResults([simulated, measured]).labels == ["simulated", "measured"]
    other = dataclasses.replace(simulated, summary={**simulated.summary, "name": "dragonfly"})
    assert ComparedResults([simulated, other, measured]).labels == [
        f"simulated {simulated.summary['name']}",
        "simulated dragonfly",
        "measured",
    ]
    assert ComparedResults([measured, simulated, measured]).labels == [
        *("measured 1", "simulated", "measured 2")
    ]


def test_a_warning_names_its_result_among_several(simulated: Result, measured: Result) -> None:
    assert ComparedResults([measured]).warnings == ["7 ranks shared 1 host"]
    assert ComparedResults([simulated, measured]).warnings == ["measured: 7 ranks shared 1 host"]
    assert ComparedResults([measured, simulated]).warnings == ["measured: 7 ranks shared 1 host"]


def test_another_workload_is_reported(simulated: Result, measured: Result) -> None:
    longer = etherweave.run(SCENARIO, {"job.0.workload.fft.iterations": 10})
    assert ComparedResults([simulated, measured]).differences == []
    assert ComparedResults([simulated, longer]).differences == [
        "simulated 2: job fft has another workload than in the first result"
    ]


def test_jobs_that_only_one_result_has_stay_away(simulated: Result) -> None:
    other = {**SCENARIO, "job": [{**SCENARIO["job"][0], "name": "other"}]}
    pair = ComparedResults([simulated, etherweave.run(other)])
    assert iteration_times(pair) is None
    assert goodput(pair) is None


@pytest.mark.slow
def test_a_report_shows_both(tmp_path: Path, simulated: Result, measured: Result) -> None:
    simulated.save(tmp_path / "simulated")
    measured.save(tmp_path / "measured")
    command("report", tmp_path / "simulated", "--beside", tmp_path / "measured", code=0)
    page = (tmp_path / "simulated" / "report.html").read_text()
    assert "Simulated and measured" in page
    assert "measured: 7 ranks shared 1 host" in page
    assert "Resolved scenario, measured" in page
    assert (tmp_path / "simulated" / "beside.svg").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("quick_figures")
def test_a_measured_result_has_a_page_of_its_own(tmp_path: Path, measured: Result) -> None:
    measured.save(tmp_path)
    page = write_report(tmp_path, tmp_path).read_text()
    assert "mpirun -np 7" in page
    assert "Not shown, for want of results" not in page
    assert "Iteration times" in page


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_figures")
def test_measured_results_may_be_first(tmp_path: Path, simulated: Result, measured: Result) -> None:
    simulated.save(tmp_path / "simulated")
    measured.save(tmp_path / "measured")
    page = write_report(tmp_path / "measured", tmp_path, [tmp_path / "simulated"]).read_text()
    assert "Simulated and measured" in page
    assert "mpirun -np 7" in page


@pytest.mark.parametrize("words", [(), ("--ports",)])
def test_what_limits_a_measured_result_is_not_explained(
    tmp_path: Path, measured: Result, words: tuple[str, ...]
) -> None:
    measured.save(tmp_path)
    done = command_line.invoke("explain", tmp_path, *words, code=2)
    assert "measured, so that what its ranks waited for is not known; expected" in done.output


def test_nothing_stands_beside_a_study(tmp_path: Path) -> None:
    (tmp_path / "checks.json").write_text("{}")
    with pytest.raises(ValueError, match="a study; expected a result"):
        write_report(tmp_path, tmp_path, [tmp_path])


def test_schedules_are_written_for_other_programs(tmp_path: Path) -> None:
    # GOAL has neither messages of a rank to itself, which a halo does not need, nor timer slack.
    halo = {"name": "halo", "workload": {"halo3d": {"pex": 2, "pey": 2, "pez": 1, "iterations": 9}}}
    scenario = {**SCENARIO, "run": {}, "host": {"timer_slack": "0s"}}
    file = tmp_path / "halo.toml"
    file.write_text(toml.document({**scenario, "job": [halo]}))
    done = command("schedule", file, "-o", tmp_path / "out", "--goal", "--chakra", "--json", code=0)
    (row,) = json.loads(done.stdout)
    assert [Path(name).name for name in row["files"]] == ["0.ews", "0.goal", "0.bin", "0.{rank}.et"]
    # The text becomes the binary without a scenario, too.
    done = command("schedule", tmp_path / "out/0.goal", "-o", tmp_path / "converted")
    assert done.stdout == f"{tmp_path}/converted/0.bin\n"
    assert Path(done.stdout.strip()).read_bytes() == (tmp_path / "out/0.bin").read_bytes()
    goal = (tmp_path / "out" / "0.goal").read_text()
    # A scenario that names the text, the binary or the traces simulates the same.
    assert goal.startswith("num_ranks 4\n\nrank 0 {\nl1: recv 0b from")
    original = etherweave.run({**scenario, "job": [halo]})
    for kind, name in [
        ("goal", "out/0.goal"),
        ("goal", "out/0.bin"),
        ("chakra", "out/0.{rank}.et"),
        ("chakra", "out"),
    ]:
        job = {"name": "trace", "workload": {kind: {"file": name}}}
        file.write_text(toml.document({**scenario, "job": [job]}))
        again = etherweave.run(file)
        assert again.summary["end_ns"] == original.summary["end_ns"]
        assert again.summary["packets_created"] == original.summary["packets_created"]


def test_a_graph_that_is_no_sequence_is_written_as_traces(tmp_path: Path) -> None:
    model = {
        "layers": 2,
        "hidden": 64,
        "feed_forward": 256,
        "key_value": 64,
        "vocabulary": 100,
        "sequence": 64,
    }
    training = {
        "ranks": 4,
        "batch": 4,
        "parallel": {"tensor": 1, "pipeline": 2},
        "node": {"accelerators": 1},
        "model": model,
    }
    # Training alone would have this library by itself, a trace would not.
    case = {
        "topology": {"single_switch": {"hosts": 4}},
        "host": {"mpi_roce": {"profile": "nccl-2.21"}},
    }
    file = tmp_path / "step.toml"
    file.write_text(
        toml.document({**case, "job": [{"name": "step", "workload": {"training": training}}]})
    )
    done = command("schedule", file, "-o", tmp_path / "out", "--chakra", code=0)
    assert done.stdout == f"{tmp_path}/out/0.{{rank}}.et\n"
    assert "rank0 has 5 streams; expected a graph that is a sequence" in done.stderr
    original = etherweave.run(file)
    file.write_text(
        toml.document({**case, "job": [{"name": "step", "workload": {"chakra": {"file": "out"}}}]})
    )
    assert etherweave.run(file).summary["end_ns"] == original.summary["end_ns"]
    # Without a format, there is nothing else to write.
    file.write_text(
        toml.document({**case, "job": [{"name": "step", "workload": {"training": training}}]})
    )
    done = command("schedule", file, "-o", tmp_path / "none")
    assert (done.returncode, (tmp_path / "none").exists()) == (2, False)


def test_a_mistake_in_a_goal_text_leaves_no_binary(tmp_path: Path) -> None:
    file = tmp_path / "cut.goal"
    file.write_text("num_ranks 2\nrank 0 {\na: calc\n}\n")
    done = command("schedule", file, "-o", tmp_path / "out")
    assert (done.returncode, (tmp_path / "out").exists()) == (2, False)
    assert done.stderr.startswith(f"{file}: text: line 3: a: calc; expected `send Nb to RANK`, ")
    done = command("schedule", file, "-o", tmp_path / "out", "--goal", code=2)
    assert done.stderr.startswith("--set, --goal, --chakra: beside the GOAL text")


def test_streams_have_no_goal(tmp_path: Path) -> None:
    file = tmp_path / "incast.toml"
    file.write_text(toml.document({**SCENARIO, "job": SCENARIO["job"][1:]}))
    done = command("schedule", file, "-o", tmp_path / "out", "--goal", code=2)
    assert done.stderr == "incast: streams; expected programs of ranks, which GOAL is about\n"
