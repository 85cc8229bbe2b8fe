"""Programs that record themselves, and their simulation on other fabrics."""

import gzip
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from etherweave import _core
from etherweave.api.traces import write_trace
from etherweave.archives import recorded as recording_of
from etherweave.bench.measure.mpi_recorder import RecorderOverhead
from etherweave.pages import write_report
from support.command_line import run_here

pytestmark = pytest.mark.needs("mpicc", "mpirun")
RANKS = 3


def written(name: str) -> str:
    return (Path(__file__).parents[1] / "data" / "recorder" / name).read_text()


PROGRAM = written("halo.c")
FABRIC = (
    '[topology.single_switch]\nhosts = {hosts}\n[[job]]\nname = "a"\nworkload.osu_latency = {{}}\n'
)


def launcher(ranks: int) -> list[str]:
    """The recorder lets root start it."""
    return ["mpirun", "--oversubscribe", "-np", str(ranks)]


def fabric(directory: Path, hosts: int) -> Path:
    file = directory / f"fabric{hosts}.toml"
    file.write_text(FABRIC.format(hosts=hosts))
    return file


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recorded")
    (directory / "program.c").write_text(PROGRAM)
    words = ["mpicc", "-o", str(directory / "program"), str(directory / "program.c")]
    subprocess.run(words, check=True)
    command = [*launcher(RANKS), str(directory / "program")]
    done = run_here("record", "-o", directory / "files", "--json", "--", *command, code=0)
    facts = json.loads(done.stdout)
    assert (facts["ranks"], len(facts["hosts"])) == (RANKS, 1)
    assert 0 < facts["compute_share"] < 1
    return directory / "files"


def test_each_message_has_its_sender_receiver_tag_and_size(recorded: Path) -> None:
    transfers = pl.DataFrame(_core.Recording.read(recorded).tables()["transfers"])
    ring = [(7, 100), (9, 150), (7, 400), (7, 400), (11, 10), (11, 20), (12, 30)]
    for rank in range(RANKS):
        own = transfers.filter(pl.col("source") == rank).sort("start_ns", maintain_order=True)
        assert set(own["destination"]) == {(rank + 1) % RANKS}
        assert own.select("tag", "bytes").rows() == ring
        assert (own["end_ns"] >= own["start_ns"]).all()


def test_calls_of_a_rank_follow_each_other(recorded: Path) -> None:
    activities = pl.DataFrame(_core.Recording.read(recorded).tables()["activities"])
    for _, own in activities.group_by("rank"):
        assert (own["start_ns"].to_list()[1:] >= own["end_ns"].to_numpy()[:-1]).all()
        for name in ("send_receive", "wait", "allreduce", "bcast", "alltoallv", "barrier"):
            assert name in own["activity"], name


def test_a_recording_becomes_messages_of_the_same_sizes(recorded: Path) -> None:
    text = _core.Recording.read(recorded).goal("open_mpi_4_1", 1, 1.0)
    for source in range(RANKS):
        for destination in {0, 1, 2} - {source}:
            assert f"send {8 * (10 * source + destination)}b to {destination} " in text
    # The all-reduce of two ranks has 32 B, that of three 64 B; none is of rank 2 alone.
    ranks = text.split("rank ")[1:]
    assert ["b to " in rank and "send 32b" in rank for rank in ranks] == [True, True, False]


def test_the_recorder_subtracts_itself_and_scales_computation(recorded: Path) -> None:
    recording = _core.Recording.read(recorded)

    def computed(scale: float) -> int:
        words = [line.split() for line in recording.goal("mpich_4", 1, scale).splitlines()]
        return sum(int(line[2]) for line in words if line[1:2] == ["calc"])

    facts = json.loads(recording.facts)
    activities = pl.DataFrame(recording.tables()["activities"])
    between = activities.filter(activity="compute").select(pl.col("end_ns") - pl.col("start_ns"))
    assert facts["record_ns_max"] > 0
    assert computed(0.0) == 0
    assert 0 < computed(1.0) < between.to_series().sum()
    assert computed(4.0) == pytest.approx(4 * computed(1.0), abs=0)


def test_the_report_of_a_recording_shows_ranks_over_time(recorded: Path, tmp_path: Path) -> None:
    page = write_report(recorded, tmp_path).read_text()
    assert "Ranks over time" in page
    assert '<section id="iterations_recorded">' in page
    assert (tmp_path / "ranks_recorded.svg").exists()
    assert (tmp_path / "iterations_recorded.svg").exists()


FIELDS = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur"},
    "s": {"name", "cat", "id", "pid", "tid", "ts", "args"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
    "i": {"name", "cat", "s", "pid", "tid", "ts"},
}
"""Keys of each phase that the trace has, by the document that ``etherweave.api.traces`` names."""


def test_a_trace_has_every_call_and_both_ends_of_a_message(recorded: Path, tmp_path: Path) -> None:
    recording = _core.Recording.read(recorded)
    for name in ("a.json", "a.json.gz"):
        write_trace(recording, tmp_path / name)
    text = (tmp_path / "a.json").read_bytes()
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == text
    events = json.loads(text)["traceEvents"]
    for event in events:
        assert set(event) == {"ph", *FIELDS[event["ph"]]}
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
    counts = Counter(event["ph"] for event in events)
    tables = recording.tables()
    assert counts["X"] == len(tables["activities"])
    assert counts["s"] == counts["i"] == counts["f"] == len(tables["transfers"])


def test_a_replay_predicts_the_time_on_another_fabric(recorded: Path, tmp_path: Path) -> None:
    words = ("replay", recorded, "--on", fabric(tmp_path, RANKS), "--json", "--set")
    slow, fast = (
        json.loads(run_here(*words, f"topology.single_switch.rate={rate}").stdout)
        for rate in ("1Gb/s", "100Gb/s")
    )
    assert slow["recorded_ns"] == fast["recorded_ns"]
    assert slow["predicted_ns"] > fast["predicted_ns"] > 0
    assert fast["error"] == fast["predicted_ns"] / fast["recorded_ns"] - 1


@pytest.mark.parametrize(
    ("version", "rules"),
    [
        ("Open MPI v4.0.5", "open_mpi_4_0"),
        ("Open MPI v4.1.4", "open_mpi_4_1"),
        ("Open MPI v5.0.0", "open_mpi_5_0"),
        ("MPICH Version: 4.2.1", "mpich_4"),
        ("MPICH Version:\t4.0.2", "mpich_4"),
        ("MPICH Version:      4.1", "mpich_4"),
        ("MPICH Version:\t3.4", None),
        ("Open MPI v4.10.0", None),
        ("Intel(R) MPI Library 2021.9", None),
    ],
)
def test_collectives_have_the_rules_of_the_recorded_library(
    version: str, rules: str | None, recorded: Path, tmp_path: Path
) -> None:
    files = of_library(recorded, tmp_path / "files", version)
    done = run_here("replay", files, "--on", fabric(tmp_path, RANKS), "--json")
    assert json.loads(done.stdout)["library"] == (rules or "open_mpi_4_1")
    name = " ".join(version.split())
    warning = f"the rules of {name} for collectives are not known: open_mpi_4_1 was taken"
    assert (warning in done.stderr) == (rules is None), done.stderr


def of_library(recorded: Path, files: Path, version: str) -> Path:
    """Copy a recording, with another library; its name is the second text of the head."""
    shutil.copytree(recorded, files)
    for path in files.glob("*.ewr"):
        head, text = path.read_bytes(), version.encode()
        host = 40
        library = host + 1 + head[host]
        rest = library + 1 + head[library]
        path.write_bytes(head[:library] + bytes([len(text)]) + text + head[rest:])
    return files


CHALLENGE = written("hpccinf.txt")


@pytest.mark.needs("hpcc")
def test_all_tests_of_the_hpc_challenge_are_recorded_and_replayed(tmp_path: Path) -> None:
    (tmp_path / "hpccinf.txt").write_text(CHALLENGE)
    command = [*launcher(2), "-wdir", str(tmp_path), "hpcc"]
    done = run_here("record", "-o", tmp_path / "files", "--json", "--", *command, code=0)
    assert "Success=1" in (tmp_path / "hpccoutf.txt").read_text()
    facts = json.loads(done.stdout)
    assert facts["calls"] > 10_000
    words = ("replay", tmp_path / "files", "--on", fabric(tmp_path, 2), "--json")
    predicted = json.loads(run_here(*words, code=0).stdout)
    waited = {"processor_wait_max": facts["processor_wait_max"]}
    assert predicted["recorded"] | waited == facts
    assert predicted["predicted_ns"] > facts["compute_share"] * facts["span_ns"]
    swifter = json.loads(run_here(*words, "--compute-scale", "0.5").stdout)
    assert swifter["predicted_ns"] < predicted["predicted_ns"]
    from support.otf2_archives import of_recording

    # An archive says as much, but for what the recorder took and the names of hosts.
    archive = of_recording(tmp_path / "files", tmp_path / "archive")
    assert goal(archive, tmp_path / "kept") == goal(tmp_path / "files", tmp_path)


def test_an_archive_of_a_recording_has_the_same_operations(recorded: Path, tmp_path: Path) -> None:
    from support.otf2_archives import of_recording

    archive = of_recording(recorded, tmp_path / "archive")
    # Sizes of pairs are not in it.
    result, expected = (
        re.sub(r"(l\d+: ....) \d+b", r"\1", goal(source, tmp_path / "kept"))
        for source in (archive, recorded)
    )
    assert result == expected


def goal(source: Path, keep: Path) -> str:
    """Return the operations of a recording or an archive, without computation."""
    with recording_of(source, keep) as files:
        return _core.Recording.read(files).goal("open_mpi_4_1", 1, 0.0)


def test_a_replay_needs_a_host_for_every_rank(recorded: Path, tmp_path: Path) -> None:
    done = run_here("replay", recorded, "--on", fabric(tmp_path, RANKS - 1), code=2)
    assert "3" in done.stderr and "2" in done.stderr


def test_pages_have_the_warning_that_ranks_waited_for_a_processor(
    recorded: Path, tmp_path: Path
) -> None:
    files, out = shutil.copytree(recorded, tmp_path / "files"), tmp_path / "out"
    for path in files.glob("*.ewr"):
        head = path.read_bytes()
        path.write_bytes(head[:20] + (840_000).to_bytes(4, "little") + head[24:])
    waited = "waited for a processor during 84.0% of the time"
    assert f"<li>a rank {waited}" in write_report(files, tmp_path / "page").read_text()
    done = run_here("replay", files, "--on", fabric(tmp_path, RANKS), "-o", out, code=0)
    assert done.stderr.count(waited) == 1
    assert "not compared with the recording" in done.stdout
    page = write_report(out, out).read_text()
    assert f"<li>a rank of the recording {waited}" in page and "which are not compared" in page


def test_files_of_some_ranks_or_cut_ones_are_refused(recorded: Path, tmp_path: Path) -> None:
    part = shutil.copytree(recorded, tmp_path / "part")
    on = ("--on", fabric(tmp_path, RANKS))
    (part / "1.ewr").write_bytes((part / "1.ewr").read_bytes()[:-1])
    assert "1.ewr: byte " in run_here("replay", part, *on, code=2).stderr
    (part / "1.ewr").unlink()
    assert "rank 2 of 3; expected rank 1 of 3" in run_here("replay", part, *on, code=2).stderr
    assert "No such file" in run_here("replay", tmp_path / "none", *on, code=2).stderr


def test_the_overhead_is_that_of_pairs(recorded: Path, tmp_path: Path) -> None:
    command = [*launcher(RANKS), str(recorded.parent / "program")]
    words = ("record", "-o", tmp_path / "files", "--measure", "2")
    result = json.loads(run_here(*words, "--json", "--", *command, code=0).stdout)["overhead"]
    assert [len(result[name]) for name in ("without_s", "with_s")] == [2, 2]
    assert len(list((tmp_path / "files").glob("*.ewr"))) == RANKS
    failing = run_here("record", "-o", tmp_path / "b", "--measure", "2", "--", "false", code=1)
    assert "false ended with 1" in failing.stderr


def test_the_overhead_of_pairs_has_an_interval_where_they_are_many() -> None:
    few = RecorderOverhead((1.0, 2.0, 4.0), (1.1, 2.0, 4.8))
    assert few.parts == pytest.approx([0.1, 0.0, 0.2])
    assert (few.to_json()["overhead"], few.interval) == (pytest.approx(0.1), None)
    many = RecorderOverhead((1.0,) * 20, tuple(1 + number / 100 for number in range(20)))
    interval = many.interval
    assert interval is not None
    # Of 20 values the 6th and the 15th bound the median with 95.9 %.
    assert interval[:2] == pytest.approx((0.05, 0.14))


def test_programs_that_record_nothing_or_fail_are_errors(recorded: Path, tmp_path: Path) -> None:
    nothing = run_here("record", "-o", tmp_path / "a", "--", "true", code=1)
    assert "nothing was recorded" in nothing.stderr
    failing = run_here("record", "-o", tmp_path / "b", "--", "false", code=1)
    assert "false ended with 1" in failing.stderr
    assert "has a recording" in run_here("record", "-o", recorded, "--", "true", code=2).stderr
