"""Skipped repetitions: tables, warnings, refusals."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import etherweave
from etherweave import ScenarioError

ROOT = Path(__file__).parents[2]
FORWARD = {"run.fast_forward": {"error": 0.01}}
SCENARIO = {
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 4}},
    "job": [
        {
            "name": "exchange",
            "workload": {"all_to_all": {"ranks": 8, "bytes": "20kB", "iterations": 80}},
        }
    ],
}

FFT = {"pex": 2, "pey": 2, "pez": 2, "iterations": 120}
TCP = {"transport": {"tcp": {}}, "job": [{"name": "transposes", "workload": {"fft": FFT}}]}
"""A loop whose connections settle soon."""


def test_a_run_with_exact_skips_has_the_tables_of_the_full_run() -> None:
    """All but the number of events, the fingerprint and what a run takes is the same."""
    full = etherweave.run(SCENARIO)
    skipping = etherweave.run(SCENARIO, {"run.fast_forward": {}})
    for name in ("iterations", "ports", "flows", "streams"):
        assert skipping.to_polars(name).equals(full.to_polars(name)), name
    for key in ("end_ns", "packet_hops", "packets_created", "packets_delivered"):
        assert skipping.summary[key] == full.summary[key], key
    assert skipping.summary["fingerprint"] is None
    assert "[run.fast_forward]\nerror = 0.0\n" in skipping.resolved
    skips = skipping.to_polars("skips")
    skipped = skipping.summary["skipped"]
    assert skipped["repetitions"] == skips["repetitions"].sum()
    assert skipped["events_share"] == pytest.approx(
        skips["events"].sum() / skipping.summary["events"]
    )
    assert skipped["error_share"] == skipped["bound_share"] == 0
    assert "skipped" not in full.summary
    assert set(skips["level"]) == {"repeated"}
    assert skips["error_share"].max() == 0
    (warning,) = skipping.summary["warnings"]
    assert "repetitions that were not simulated and repeat others" in warning


def test_parts_of_long_messages_are_skipped_where_there_are_no_loops() -> None:
    """One step of an exchange of long messages has no loop."""
    long = {"job.0.workload.all_to_all": {"ranks": 2, "bytes": "20MB", "iterations": 1}}
    full = etherweave.run(SCENARIO, long)
    skipping = etherweave.run(SCENARIO, {**long, "run.fast_forward": {}})
    for name in ("iterations", "ports", "flows"):
        assert skipping.to_polars(name).equals(full.to_polars(name)), name
    skipped = skipping.summary["skipped"]
    packets = skipping.to_polars("skips").filter(is_of_messages=1)["repetitions"].sum()
    assert skipped["message_packets"] == packets > 0 == skipped["repetitions"]
    assert skipped["time_share"] > 0.9
    (warning,) = skipping.summary["warnings"]
    assert f"those of {packets} packets of the longest messages that were not sim" in warning


@pytest.mark.usefixtures("workers_of_this_process")
def test_replications_have_means_of_what_was_skipped(tmp_path: Path) -> None:
    """They are figures as others, by their names in summaries."""
    scenario = {
        "topology": {"single_switch": {"hosts": 2}},
        "run": {"fast_forward": {}},
        "job": [{"name": "ping", "workload": {"osu_latency": {"iterations": 40}}}],
    }
    result = etherweave.run_replications(scenario, 2, tmp_path)
    shares = [result.figures[f"skipped.{name}_share"].mean for name in ("time", "events", "error")]
    assert 0.2 < shares[0] < 1
    assert 0.2 < shares[1] < 1
    assert shares[2] == 0
    assert 8 < result.figures["skipped.repetitions"].mean < 40


def test_a_run_with_a_known_error_says_so() -> None:
    """TCP does not repeat exactly, and is named."""
    tcp = {**SCENARIO, **TCP}
    skipping = etherweave.run(tcp, FORWARD)
    full = etherweave.run(tcp)
    assert skipping.summary["end_ns"] == pytest.approx(full.summary["end_ns"], rel=0.01)
    assert skipping.to_polars("iterations").height == full.to_polars("iterations").height
    (warning,) = skipping.summary["warnings"]
    assert "differ from others by" in warning
    assert "drift and other jobs may add 1.00 % each" in warning
    bound = skipping.summary["skipped"]["bound_share"]
    error = abs(skipping.summary["end_ns"] / full.summary["end_ns"] - 1)
    assert error <= bound < 0.01
    assert f"where compared: the end is off by at most {100 * bound:.2f} % where they" in warning
    (reason,) = etherweave.run(tcp, {"run.fast_forward": {}}).summary["warnings"]
    assert reason == (
        "run.fast_forward: nothing was skipped: transport has states that never repeat exactly; "
        "an `error` skips by mean times"
    )
    exact = etherweave.run(tcp, {"run.fast_forward": {}}).summary["skipped"]
    assert str(exact["time_share"]) == "0.0"


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        ({}, "; an `error` skips by mean times"),
        ({"error": 0.01}, "; more repetitions, or a larger `error`, may allow a skip"),
    ],
)
def test_a_run_without_a_skip_says_what_would_allow_one(
    forward: dict[str, float], expected: str
) -> None:
    few = {"run.fast_forward": forward, "job.0.workload.fft.iterations": 40}
    (warning,) = etherweave.run({**SCENARIO, **TCP}, few).summary["warnings"]
    assert warning.startswith("run.fast_forward: nothing was skipped: ")
    assert warning.endswith(expected)


@pytest.mark.slow
def test_ends_of_all_rows_of_the_bench_are_within_their_bounds() -> None:
    """Rows that repeat exactly have a bound of 0."""
    program = "import json, forward; print(json.dumps([row.measure() for row in forward.rows()]))"
    rows = json.loads(subprocess.check_output([sys.executable, "-c", program], cwd=ROOT / "bench"))
    assert {tuple(row["levels"]) for row in rows} == {(), ("repeated",), ("steady",)}
    for row in rows:
        assert abs(row["end_error"]) <= row["end_error_bound"] < 0.01, row
        assert row["levels"] != ["repeated"] or row["end_error_bound"] == 0, row


def test_shadows_are_the_reason_where_all_skips_are_simulated() -> None:
    """They are counted in repetitions."""
    changed = {"run.fast_forward": {"error": 0.01, "shadows": 1}}
    result = etherweave.run({**SCENARIO, **TCP}, changed)
    (warning,) = result.summary["warnings"]
    repetitions = result.to_polars("skips")["repetitions"].sum()
    assert "nothing was skipped: run.fast_forward.shadows has all" in warning
    assert f"; the time of {repetitions} more, simulated in full, was predicted within" in warning


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"observe.ranks": True},
            "with notes of ranks; expected none of `observe.ranks`, --trace and",
        ),
        (
            {"observe": {"period": "1us", "until": "1ms", "ports": ["switches"]}},
            "with observe; expected no `observe`",
        ),
        (
            {"faults.down": [{"link": "leaf0 - core0", "until": "1ms"}]},
            "with faults; expected no `faults`",
        ),
        (
            {"job.0.workload.all_to_all.iterations": 15, "transport": {"tcp": {}}},
            "with a longest loop of 15 repetitions, of rank 0 of job exchange; expected",
        ),
        ({"run.fast_forward": {"error": 2}}, "run.fast_forward.error"),
        ({"run.fast_forward": {"error": "11 %"}}, "expected at most 0.1, a share"),
        ({"run.fast_forward": {"error": 1}}, "expected at most 0.1, a share such as 0.01 for 1 %"),
        ({"run.fast_forward": False}, "false; expected a table, or no key to switch it off"),
        ({"run.fast_forward": True}, "true; expected a table; `{}` for its defaults"),
    ],
)
def test_what_cannot_be_skipped_is_refused(changed: dict[str, object], expected: str) -> None:
    """Each refusal says what is wrong and what was expected."""
    with pytest.raises(ScenarioError, match=r"run\.fast_forward") as refused:
        etherweave.run(SCENARIO, {**FORWARD, **changed})
    assert expected in str(refused.value)


def test_the_reason_why_nothing_was_skipped_is_the_same_on_all_threads() -> None:
    """A shard may have a rank that computes, and another one messages that begin."""
    scenario = {
        "run": {"end": "3us", "fast_forward": {}},
        "job": [
            {"name": "step", "workload": {"training": {"model": {"layers": 2}}}},
            {"name": "window", "workload": {"osu_one_sided_bw": {}}},
        ],
    }
    one, two = (etherweave.run(scenario, threads=threads).summary for threads in (1, 2))
    assert one["warnings"] == two["warnings"]
    assert any("job window computes, or waits for a time" in text for text in one["warnings"])


def test_long_messages_of_a_trace_are_shortened(tmp_path: Path) -> None:
    """Both exchange a message, then one sends another."""
    ranks = ["send 4000000b to {} tag 1", "recv 4000000b from {} tag 1"]
    trace = ["num_ranks 2"]
    for rank, extra in ((0, "send 6000000b to 1 tag 2"), (1, "recv 6000000b from 0 tag 2")):
        lines = [
            f"l{number}: {line.format(1 - rank)}" for number, line in enumerate([*ranks, extra])
        ]
        trace += [f"rank {rank} {{", *lines, "l2 requires l0", "l2 requires l1", "}"]
    (tmp_path / "two.goal").write_text("\n".join(trace) + "\n")
    text = (
        "topology.single_switch.hosts = 2\n[[job]]\nname = 'a'\nworkload.goal.file = 'two.goal'\n"
    )
    (tmp_path / "two.toml").write_text(text)
    full = etherweave.run(tmp_path / "two.toml")
    short = etherweave.run(tmp_path / "two.toml", {"run.fast_forward": {}})
    assert short.summary["skipped"]["message_packets"] > 1000
    for name in ("iterations", "flows", "ports"):
        assert short.to_polars(name).equals(full.to_polars(name)), name


def test_captures_are_refused(tmp_path: Path) -> None:
    """Frames that are skipped cannot be written."""
    with pytest.raises(ScenarioError, match="with --pcap; expected no --pcap"):
        etherweave.run(SCENARIO, FORWARD, pcap={"host0": tmp_path / "host0.pcapng"})


@pytest.mark.parametrize(
    ("heading", "names", "transports"),
    [
        (
            "| 400 times on 16 hosts",
            ["ring", "incast", "all_to_all", "halo3d", "tree", "fft"],
            ("", "_dcqcn", "_tcp"),
        ),
        (
            "| one message of each rank",
            [f"messages_{name}" for name in ("pair", "gather", "permutation", "permutation_16")],
            ("", "_dcqcn", "_hpcc", "_swift"),
        ),
    ],
    ids=["loops", "messages"],
)
def test_the_page_has_gains_that_were_recorded(
    heading: str, names: list[str], transports: tuple[str, ...]
) -> None:
    """Another record adds gains of its own machine; what is skipped is the same on all."""
    rows = [json.loads(row) for row in (ROOT / "bench/history.jsonl").read_text().splitlines()]
    page = (ROOT / "docs/models/fast-forward.md").read_text()
    table = page[page.index(heading) :].partition("\n\n")[0].splitlines()[2:]
    for name, line in zip(names, table, strict=True):
        cells = line.split("|")[2:-1]
        for transport, cell in zip(transports, cells, strict=True):
            own = [row for row in rows if row["row"] == f"forward_{name}{transport}"]
            if own and own[-1]["levels"]:
                assert float(cell) in {float(f"{row['times']:.2g}") for row in own}, own[-1]["row"]
            else:
                assert cell.strip() == ("none skipped" if own else ""), (name, transport)
