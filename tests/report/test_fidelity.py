"""Flow-level mode beside packets."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import etherweave
from etherweave.api.fidelity import (
    both_fidelities,
    compare_fidelity,
    error_max,
    error_text,
    fidelities,
    mode_labels,
    time_text,
    with_errors,
)
from etherweave.report.run.comparison import ComparedResults, iteration_times
from etherweave.report.run.hosts import iterations, streams
from etherweave.report.run.modes import modes
from support import command_line
from support.documents import ROOT
from support.measured_results import measurement

command = command_line.run_here

SCENARIO: dict[str, Any] = {
    "topology": {"single_switch": {"hosts": 4}},
    "job": [{"name": "pair", "workload": {"osu_bw": {"bytes": "8MiB", "iterations": 4}}}],
}


def test_figures_of_both_stand_side_by_side_with_their_error() -> None:
    packet, flow = (
        etherweave.run(SCENARIO, {"run.fidelity": fidelity}) for fidelity in ("packet", "flow")
    )
    result = compare_fidelity(packet, flow)
    mean = next(row for row in result["figures"] if row["figure"] == "mean_us")
    assert mean["job"] == "pair"
    durations = flow.values("iterations", "duration_ns")
    assert mean["flow"] == pytest.approx(sum(durations) / len(durations) / 1e3)
    assert mean["error"] == pytest.approx(mean["flow"] / mean["packet"] - 1)
    assert abs(mean["error"]) < 0.03
    assert abs(result["end_error"]) < 0.03


CUT_OFF: dict[str, Any] = {
    "topology": {"single_switch": {"hosts": 6}},
    "job": [
        {"name": "pair", "workload": {"osu_bw": {"bytes": "1MiB", "iterations": 4}}},
        {
            "name": "incast",
            "background": True,
            "workload": {"incast": {"sources": 3, "message": "1GiB", "messages": 1}},
        },
    ],
}


def test_messages_that_the_end_of_the_run_cuts_off_have_no_completion_to_compare() -> None:
    comparison = compare_fidelity(
        *(etherweave.run(CUT_OFF, both_fidelity) for both_fidelity in both_fidelities(CUT_OFF))
    )
    assert {row["figure"] for row in comparison["figures"] if row["job"] == "pair"} >= {"mean_us"}
    assert {row["figure"] for row in comparison["figures"] if row["job"] == "incast"} == {
        "goodput_gbps"
    }


def ending(result: etherweave.Result, *ends_ns: float) -> etherweave.Result:
    """Let the streams of a result end at other times."""
    streams = result.tables["streams"]
    at = streams.column_names.index("end_ns")
    changed = streams.set_column(at, "end_ns", pyarrow.array(ends_ns))
    return replace(result, tables={**result.tables, "streams": changed})


def test_completion_times_are_compared_of_streams_that_have_ended_in_both() -> None:
    packet, flow = (etherweave.run(CUT_OFF, keys) for keys in both_fidelities(CUT_OFF))
    of_packet = ending(packet, packet.summary["end_ns"], 4e6, 1e6)
    rows = compare_fidelity(of_packet, ending(flow, 1e6, 2e6, flow.summary["end_ns"]))["figures"]
    (mean,) = (row for row in rows if (row["job"], row["figure"]) == ("incast", "mean_us"))
    assert (mean["packet"], mean["flow"], mean["error"]) == (4000, 2000, -0.5)


def test_the_command_line_prints_both() -> None:
    file = ROOT / "scenarios" / "permutation.toml"
    change = ("--set", 'job.0.workload.permutation.bytes="256KiB"')
    done = command("run", file, "--compare-fidelity", *change, code=0)
    assert "flow-level mode in 1/" in done.stdout
    assert "mean_us" in done.stdout
    document = json.loads(command("run", file, "--compare-fidelity", "--json", *change).stdout)
    assert {row["figure"] for row in document["figures"]} >= {"mean_us", "median_us", "p99_us"}


def test_a_comparison_keeps_flow_level_mode_with_its_errors(tmp_path: Path) -> None:
    file, home = ROOT / "scenarios" / "flow_level.toml", tmp_path / "result"
    change = ("--set", 'job.0.workload.osu_collective.operation.allreduce.bytes="1MiB"')
    assert command("run", file, "--compare-fidelity", *change, "-o", home).returncode == 0
    result = etherweave.Result.load(home)
    errors = result.summary["fidelity_errors"]
    assert {(row["job"], row["figure"]) for row in errors} >= {("allreduce", "mean_us")}
    worst = max((row["error"] for row in errors), key=abs)
    assert str(error_text(result)).startswith(f"{worst:+.1%} at most, of ")
    assert command("report", home).returncode == 0
    assert "error against packets" in (home / "report.html").read_text()


def test_errors_that_were_not_measured_are_null_in_json() -> None:
    for change in ((), ("--set", 'run.fidelity="flow"')):
        done = command_line.run_here("run", ROOT / "scenarios" / "first.toml", "--json", *change)
        assert json.loads(done.stdout)["fidelity_errors"] is None


def test_the_largest_error_of_a_result_is_that_of_its_summary() -> None:
    packet, flow = (etherweave.run(SCENARIO, keys) for keys in both_fidelities(SCENARIO))
    assert error_max(flow.summary) is None
    compared = compare_fidelity(packet, flow)
    largest = max(abs(row["error"]) for row in compared["figures"])
    assert error_max(with_errors(flow, compared).summary) == largest


def test_a_run_in_flow_level_mode_says_that_its_error_was_not_measured() -> None:
    change = ("--set", 'job.0.workload.osu_collective.operation.allreduce.bytes="1MiB"')
    done = command("run", ROOT / "scenarios" / "flow_level.toml", *change)
    assert "flow-level mode, error against packets: not measured" in done.stdout
    assert "error against packets" not in command("run", ROOT / "scenarios" / "first.toml").stdout


@pytest.mark.parametrize(
    "beside",
    [["--trace", "x.json"], ["--pcap", "host0"], ["--slowdown"], ["--extend", "module:Class"]],
)
def test_a_comparison_has_packets_and_flows_alone(beside: list[str]) -> None:
    file = ROOT / "scenarios" / "first.toml"
    done = command_line.run_here("run", file, "--compare-fidelity", *beside, code=2)
    expected = "--compare-fidelity: expected none of --pcap, --trace, --slowdown and --extend"
    assert expected in done.stderr


@pytest.mark.parametrize(
    ("speed_up", "expected"),
    [
        (10.4, "1/10 of the time"),
        (2.5, "1/2.5 of the time"),
        (1.0, "1/1 of the time"),
        (0.4, "2.5 times the time"),
        (0.2, "5 times the time"),
        (0.01, "100 times the time"),
    ],
)
def test_comparisons_say_how_much_faster_flow_level_mode_is(speed_up: float, expected: str) -> None:
    assert time_text(speed_up) == expected


def test_a_run_whose_packets_would_hold_each_other_back_is_warned_of() -> None:
    file, change = ROOT / "scenarios" / "permutation.toml", ("--set", 'run.fidelity="flow"')
    assert "WARNING" not in command("run", ROOT / "scenarios" / "flow_level.toml").stderr
    assert "WARNING: run.fidelity: in " in command("run", file, *change).stderr


HYBRID = ROOT / "scenarios" / "hybrid.toml"


def test_jobs_of_either_kind_are_compared_with_packets_of_all() -> None:
    packet, hybrid = both_fidelities(HYBRID)
    assert packet == {"run.fidelity": "packet", "job.1.fidelity": "packet"}
    assert hybrid == {}
    assert fidelities(etherweave.resolve(HYBRID)) == {"halo": "packet", "others": "flow"}
    of_flow = {"run.fidelity": "flow", "job.0.fidelity": "packet"}
    assert both_fidelities(HYBRID, of_flow)[1] == of_flow
    everything = {**SCENARIO, "job": [{**SCENARIO["job"][0], "fidelity": "packet"}]}
    assert both_fidelities(everything)[1] == {"run.fidelity": "flow", "job.0.fidelity": "flow"}


def test_a_hybrid_run_says_which_jobs_are_in_which_mode() -> None:
    change = ("--set", "job.0.workload.halo3d.iterations=1")
    done = command("run", HYBRID, *change)
    assert done.stderr == ""
    assert "in flow-level mode: others; in packets: halo" in done.stdout
    assert "  halo (packets): 16 iterations, mean " in done.stdout
    document = json.loads(command("run", HYBRID, "--json", *change).stdout)
    assert document["fidelities"] == {"halo": "packet", "others": "flow"}


PAIRS: dict[str, Any] = {
    "topology": {"single_switch": {"hosts": 6}},
    "job": [
        {"name": "near", "workload": {"osu_latency": {"bytes": "8B", "iterations": 4}}},
        {
            "name": "far",
            "fidelity": "flow",
            "workload": {"osu_bw": {"bytes": "1MiB", "iterations": 4}},
        },
        {"name": "last", "fidelity": "flow", "workload": {"incast": {"sources": 1, "messages": 4}}},
    ],
}


def packets_of_all() -> etherweave.Result:
    return etherweave.run(PAIRS, both_fidelities(PAIRS)[0])


def test_figures_of_each_job_of_a_hybrid_say_how_it_was_simulated() -> None:
    hybrid = etherweave.run(PAIRS)
    of_iterations, of_streams = iterations(hybrid), streams(hybrid)
    assert of_iterations
    assert of_streams
    jobs = [row[0] for row in of_iterations.tables[0].rows]
    assert jobs == ["near (packets)", "far (flow-level mode)"]
    assert {row[0] for row in of_streams.tables[0].rows} == {"last (flow-level mode)"}
    plain = iterations(packets_of_all())
    assert plain
    assert [row[0] for row in plain.tables[0].rows] == ["near", "far"]


def test_a_hybrid_lists_its_jobs_with_their_errors() -> None:
    hybrid, packets = etherweave.run(PAIRS), packets_of_all()
    known = with_errors(hybrid, compare_fidelity(packets, hybrid))
    assert modes(packets) is None
    section, measured = modes(hybrid), modes(known)
    assert section
    assert measured
    assert list(section.tables[0].rows) == [
        ["near", "packets"],
        ["far", "flow-level mode"],
        ["last", "flow-level mode"],
    ]
    assert "were not measured" in section.caption
    (table,) = measured.tables
    assert table.head[2:] == (
        "error of mean",
        "error of median",
        "error of 99 %",
        "error of goodput",
    )
    near, far, last = table.rows
    assert near[5] == far[5] == "–"
    assert last[5].endswith("%")
    (error,) = (
        row["error"]
        for row in known.summary["fidelity_errors"]
        if (row["job"], row["figure"]) == ("far", "mean_us")
    )
    assert far[2] == f"{error:+.1%}"


def test_results_side_by_side_say_of_each_job_how_it_was_simulated() -> None:
    hybrid, packets = etherweave.run(PAIRS), packets_of_all()
    section = iteration_times(ComparedResults([hybrid, packets]))
    assert section
    assert [row[:2] for row in section.tables[0].rows] == [
        ["near", "simulated 1, packets (hybrid)"],
        ["near", "simulated 2, packets"],
        ["far", "simulated 1, flow-level mode (hybrid)"],
        ["far", "simulated 2, packets"],
    ]
    alike = ComparedResults([packets, packets])
    assert alike.labels_of("near") == alike.labels


def test_a_measured_job_was_simulated_by_nothing() -> None:
    hybrid = etherweave.run(PAIRS)
    measured = replace(hybrid, summary={**hybrid.summary, "measured": measurement(1)})
    assert error_text(measured) is None
    assert mode_labels(measured) == {}
    assert ComparedResults([hybrid, measured]).labels_of("near") == [
        "simulated, packets (hybrid)",
        "measured",
    ]


def test_a_hybrid_among_congestors_that_hold_others_back_is_warned_of() -> None:
    file = ROOT / "scenarios" / "gpcnet.toml"
    congestors = [f"--set=job.{number}.fidelity='flow'" for number in range(1, 5)]
    assert "WARNING: run.fidelity: in " in command("run", file, *congestors).stderr
