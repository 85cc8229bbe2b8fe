"""The very schedule that is simulated, executed over MPI on this machine."""

import os
import signal
import struct
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etherweave
from etherweave import _core
from etherweave.api import toml
from etherweave.api.results import Result
from etherweave.bench.measure import (
    LaunchOptions,
    MeasureError,
    MeasureLaunchError,
    MeasureLimits,
    executor,
    measure,
)
from support import command_line
from support.living import programs
from support.waiting import until

pytestmark = [pytest.mark.needs("mpicc", "mpirun"), pytest.mark.usefixtures("own_cache")]
HALO = {
    "pex": 2,
    "pey": 2,
    "pez": 1,
    "nx": 10,
    "ny": 20,
    "nz": 30,
    "vars": 2,
    "sleep": "10us",
    "iterations": 7,
}
FFT = {"pex": 2, "pey": 3, "pez": 1, "x_bytes": "1kB", "y_bytes": "4kB", "iterations": 5}
GOAL = """num_ranks 3
rank 0 {
a: send 100b to 1 tag 5
b: send 200b to 2 tag 6
c: calc 0
c requires a
c requires b
d: recv 300b from 2
d requires c
}
rank 1 {
a: recv 100b from 0 tag 5
}
rank 2 {
a: recv 200b from 0 tag 6
b: calc 2000
b requires a
c: send 300b to 0
c requires b
}
"""


def scenario(*workloads: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    jobs = [{"name": f"job{at}", "workload": workload} for at, workload in enumerate(workloads)]
    return {"topology": {"single_switch": {"hosts": 16}}, "job": jobs, **more}


def flow_bytes(workload: Mapping[str, Any], header: int) -> dict[tuple[str, str], int]:
    """Simulate over TCP, all messages with a header; bytes that each host acknowledged to another.

    A second job goes on until the last byte of the first is acknowledged.
    """
    later = {"osu_latency": {"bytes": "8B", "warm_up": 0, "iterations": 2000}}
    mpi = {"header": f"{header}B", "eager_max": "1GiB"}
    both = scenario(workload, later, transport={"tcp": {}}, host={"mpi_tcp": mpi})
    rows = etherweave.run(both).to_polars("flows")
    columns = rows.select("source_host", "destination_host", "bytes")
    return {(source, destination): count for source, destination, count in columns.rows()}


def simulated_counts(workload: Mapping[str, Any], ranks: int) -> dict[tuple[int, int], Any]:
    """Messages and payload between two ranks, as the simulator carried them.

    Each message costs a header; two headers of different length give two equations.
    """
    short, long = flow_bytes(workload, 64), flow_bytes(workload, 164)
    counts = {}
    for (source, destination), count in short.items():
        pair = int(source.removeprefix("host")), int(destination.removeprefix("host"))
        messages = (long[source, destination] - count) // 100
        if max(pair) < ranks:
            counts[pair] = (messages, count - 64 * messages)
    return counts


def measured_counts(result: Result, kind: str) -> dict[tuple[int, int], Any]:
    rows = result.to_polars("messages").filter(pl.col(f"{kind}_messages") > 0)
    columns = rows.select("rank", "peer", f"{kind}_messages", f"{kind}_bytes")
    return {(rank, peer): (messages, count) for rank, peer, messages, count in columns.rows()}


@pytest.mark.parametrize(
    ("workload", "ranks", "iterations"),
    [
        ({"halo3d": HALO}, 4, 7),
        ({"fft": FFT}, 6, 5),
        (
            {
                "osu_collective": {
                    "ranks": 5,
                    "operation": {"allreduce": {"bytes": "20kB"}},
                    "warm_up": 2,
                    "iterations": 4,
                }
            },
            5,
            4,
        ),
        ({"goal": {"text": GOAL, "iterations": 3}}, 3, 3),
    ],
    ids=["halo3d", "fft", "allreduce", "goal"],
)
def test_every_message_of_the_simulation_is_sent_and_received(
    workload: Mapping[str, Any], ranks: int, iterations: int
) -> None:
    result = measure(scenario(workload), warm_up=2, verify=True)
    simulated = simulated_counts(workload, ranks)
    assert simulated
    assert measured_counts(result, "sent") == simulated
    received = measured_counts(result, "received")
    assert {(peer, rank): count for (rank, peer), count in received.items()} == simulated
    rows = result.to_polars("iterations")
    assert rows.select("rank", "iteration").rows() == [
        (rank, iteration) for rank in range(ranks) for iteration in range(iterations)
    ]
    assert (rows["duration_ns"] > 0).all()


def test_a_halo_rank_sends_its_faces_and_edges() -> None:
    # With two ranks along x and y and one along z: two x faces to one peer, two y faces to the
    # other, and of the xy edges four to the last. Two barriers before the loop and one after.
    result = measure(scenario({"halo3d": HALO}))
    sent = measured_counts(result, "sent")
    assert sent[0, 1][1] == 7 * (2 * 8 * 2 * 20 * 30 + 4 * 8 * 2 * 20)
    assert sent[0, 3] == (7 * 4, 7 * 4 * 8 * 2 * 30)
    # An iteration sleeps for 10 us at least.
    assert result.to_polars("iterations")["duration_ns"].min() >= 10_000  # type: ignore[operator]


def test_a_counted_incast_delivers_what_it_delivers_in_the_simulation() -> None:
    incast = {"sources": 3, "streams_per_source": 2, "message": "5kB", "outstanding": 4}
    both = scenario({"incast": {**incast, "messages": 50}})
    columns = ["job", "stream", "messages", "bytes"]
    measured = measure(both).to_polars("streams")
    simulated = etherweave.run(both).to_polars("streams")
    assert measured.select(columns).rows() == simulated.select(columns).rows()
    assert measured["bytes"].sum() == 3 * 2 * 50 * 5_000
    assert (measured["goodput_gbps"] > 0).all()


def test_an_endless_incast_ends_with_the_run() -> None:
    incast = {"sources": 2, "message": "64KiB", "outstanding": 8}
    run = {"end": "60ms", "warm_up": "20ms"}
    result = measure(scenario({"incast": incast}, run=run))
    streams, facts = result.to_polars("streams"), result.summary["measured"]
    assert facts["messages"] == streams["messages"].sum()
    assert facts["payload_bytes"] == streams["bytes"].sum()
    assert streams["start_ns"].to_list() == pytest.approx([20e6, 20e6], abs=1e3)
    assert streams["end_ns"].to_list() == pytest.approx([60e6, 60e6], abs=1e3)
    # Sinks count whole messages, and from the end of the warm-up on.
    assert (streams["bytes"] % 65_536 == 0).all()
    assert (streams["bytes"] > 0).all()
    assert (streams["bytes"] <= streams["messages"] * 65_536).all()


def test_a_job_in_the_background_stops_when_the_others_are_done() -> None:
    both = scenario({"osu_latency": {"bytes": "8B", "iterations": 50}}, {"incast": {"sources": 1}})
    both["job"][1]["background"] = True
    result = measure(both, limits=MeasureLimits(seconds=60))
    assert len(result.tables["iterations"]) == 50
    assert result.to_polars("streams")["messages"][0] > 0


def test_a_job_starts_when_it_should() -> None:
    both = scenario({"fft": {**FFT, "pey": 1}}, {"fft": {**FFT, "pey": 1}})
    both["job"][1]["start"] = "30ms"
    rows = measure(both).to_polars("iterations")
    first = dict(rows.group_by("job").agg(pl.col("start_ns").min()).rows())
    assert 0 <= first["job0"] < 30e6 <= first["job1"]


def test_launches_are_numbered_and_a_result_is_one_of_a_run(tmp_path: Path) -> None:
    result = measure(scenario({"fft": {**FFT, "pey": 1}}), launches=2)
    loaded = Result.load(result.save(tmp_path / "measured"))
    run = etherweave.run(scenario({"fft": {**FFT, "pey": 1}}))
    rows = loaded.to_polars("iterations")
    assert rows["launch"].to_list() == [0] * 10 + [1] * 10
    assert rows.drop("launch").schema == run.to_polars("iterations").schema
    assert loaded.to_polars("streams").drop("launch").schema == run.to_polars("streams").schema
    assert loaded.summary["measured"]["launches"] == 2
    assert loaded.resolved == run.resolved
    assert loaded.to_polars("ranks")["scenario_host"].to_list() == ["host0", "host1"] * 2
    assert "2 ranks shared 1 host" in loaded.summary["warnings"][0]


def schedule(workload: Mapping[str, Any]) -> bytearray:
    text = toml.document(scenario(workload))
    return bytearray(_core.schedules(text, "<test>", [], 0).jobs[0].bytes)


def launched(
    directory: Path, file: bytes | bytearray, ranks: int, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run the executor on a file as it is."""
    (directory / "job.ews").write_bytes(file)
    words = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-np", str(ranks)]
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    program = str(executor.build().path)
    words = [*words, *root, program, *options, str(directory), str(directory / "job.ews")]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def test_a_hostile_file_is_rejected_before_anything_is_sent(tmp_path: Path) -> None:
    good = schedule({"fft": {**FFT, "pey": 1}})
    cut = launched(tmp_path, good[:-8], 2)
    assert cut.returncode == 2
    assert f"job.ews: byte 32: a file of {len(good)} bytes" in cut.stderr
    wrong = bytearray(good)
    struct.pack_into("<I", wrong, 8, 99)
    assert "byte 8: version 99; expected 2" in launched(tmp_path, wrong, 2).stderr


def test_another_number_of_ranks_is_rejected(tmp_path: Path) -> None:
    done = launched(tmp_path, schedule({"fft": {**FFT, "pey": 1}}), 1)
    assert done.returncode == 3
    assert "1 ranks were launched; expected 2" in done.stderr
    with pytest.raises(MeasureError, match="the jobs have 2 ranks; expected 4"):
        measure(scenario({"fft": {**FFT, "pey": 1}}), ranks=4)


def test_a_message_of_another_length_is_found(tmp_path: Path) -> None:
    file = schedule({"goal": {"text": "num_ranks 2\nrank 0 {\ns: send 8b to 1\n}\n"
                              "rank 1 {\nr: recv 8b from 0\n}\n"}})  # fmt: skip
    # The last operations are the receive of 8 bytes, a wait and the end of the iteration.
    struct.pack_into("<Q", file, len(file) - 2 * 16 - 8, 24)
    done = launched(tmp_path, file, 2, "--verify")
    assert done.returncode == 5
    assert "8 bytes from rank 0 of the job; expected 24" in done.stderr


def test_a_schedule_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    file = schedule({"halo3d": {**HALO, "sleep": "3s", "pey": 1}})
    started = time.monotonic()
    done = launched(tmp_path, file, 2, "--time-limit", "1")
    assert "the time limit is over" in done.stderr
    assert done.returncode == 4
    assert time.monotonic() - started < 15


def test_the_error_of_a_failed_launch_has_the_output_of_its_processes() -> None:
    options = LaunchOptions(extra=["--no-such-option-of-mpirun"])
    with pytest.raises(MeasureLaunchError, match="launcher local failed:"):
        measure(scenario({"fft": {**FFT, "pey": 1}}), options=options)


def test_the_command_line_measures_and_saves(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(toml.document(scenario({"fft": {**FFT, "pey": 1}})))
    words = ("measure", file, "-o", tmp_path / "out", "--ranks", "2")
    done = command_line.invoke(*words, code=0)
    assert "job0: 10 iterations, mean" in done.stdout
    assert "WARNING: 2 ranks shared 1 host" in done.stderr
    assert len(Result.load(tmp_path / "out").tables["iterations"]) == 10


def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(toml.document(scenario({"halo3d": {**HALO, "sleep": "1s", "iterations": 400}})))
    cache = os.environ["XDG_CACHE_HOME"]
    words = [*command_line.COMMAND, "measure", str(file)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        until(lambda: len(programs(cache)) == 4, limit_s=60)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Interrupted" in said
    until(lambda: not programs(cache))
