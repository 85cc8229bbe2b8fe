"""OTF2 archives as recordings: of calls with known times, and of what was recorded."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from etherweave import _core
from etherweave.archives import ArchiveError, recorded
from etherweave.pages import write_report
from support.command_line import run_here
from support.otf2_archives import ROOT_NONE, Archive, CollectiveOp, events, otf2, written

FABRIC = (
    '[topology.single_switch]\nhosts = {hosts}\n[[job]]\nname = "a"\nworkload.osu_latency = {{}}\n'
)


def anchor(directory: Path, write: Callable[[Archive], None], ranks: int = 2, **keys: int) -> Path:
    with written(directory / "archive", ranks, **keys) as archive:
        write(archive)
    return directory / "archive/traces.otf2"


def converted(source: Path, keep: Path) -> _core.Recording:
    with recorded(source, keep) as files:
        return _core.Recording.read(files)


def goal(recording: _core.Recording, scale: float = 1.0) -> list[str]:
    return recording.goal("open_mpi_4_1", 1, scale).splitlines()


def refusal(source: Path) -> str:
    with pytest.raises(ArchiveError) as error, recorded(source):
        pass
    return str(error.value)


def started(archive: Archive) -> None:
    """MPI is there from 1 us on; the program has regions of its own."""
    for rank in range(len(archive.locations)):
        archive.write(rank, events.Enter(100, archive.region("main")))
        archive.call(rank, "MPI_Init", 200, 1_000)


def ended(archive: Archive, time: int = 10_000) -> None:
    for rank in range(len(archive.locations)):
        archive.call(rank, "MPI_Finalize", time, time + 500)
        archive.write(rank, events.Leave(time + 600, archive.region("main")))


def pair(archive: Archive) -> None:
    """A message each way: blocking, and from anybody while the receiver computes."""
    world, call = archive.world, archive.call
    started(archive)
    call(0, "MPI_Send", 1_300, 1_400, events.MpiSend(1_300, 1, world, 7, 100))
    call(1, "MPI_Recv", 1_100, 1_600, events.MpiRecv(1_600, 0, world, 7, 100))
    call(0, "MPI_Irecv", 1_500, 1_510, events.MpiIrecvRequest(1_500, 41))
    call(0, "MPI_Test", 1_600, 1_610, events.MpiRequestTest(1_610, 41))
    call(1, "MPI_Isend", 1_700, 1_720, events.MpiIsend(1_700, 0, world, 9, 30, 5))
    call(0, "MPI_Wait", 2_510, 2_600, events.MpiIrecv(2_600, 1, world, 9, 30, 41))
    call(1, "MPI_Wait", 2_720, 2_800, events.MpiIsendComplete(2_800, 5))
    ended(archive)


def test_calls_have_the_times_and_messages_of_their_events(tmp_path: Path) -> None:
    recording = converted(anchor(tmp_path, pair), tmp_path / "kept")
    facts = json.loads(recording.facts)
    assert (facts["ranks"], facts["hosts"], facts["span_ns"]) == (2, ["n0", "n1"], 9_000)
    lines = goal(recording)
    first = lines[lines.index("rank 0 {") : lines.index("rank 1 {")]
    # Rank 0 computes 300 ns, 100 ns, 1,000 ns with a test inside, and 7,400 ns up to its end.
    assert [line.split(": ")[1] for line in first if ": " in line] == [
        *("calc 300", "send 100b to 1 tag 0", "calc 100", "recv 30b from 1 tag 1", "calc 1000"),
        *("calc 0", "calc 7400"),
    ]
    transfers = recording.tables()["transfers"]
    names = ("source", "destination", "tag", "bytes", "start_ns", "end_ns")
    columns = [list(transfers.values(name)) for name in names]
    assert sorted(zip(*columns, strict=True)) == [
        (0, 1, 7, 100, 300, 600),
        (1, 0, 9, 30, 700, 1_600),
    ]


def test_times_are_those_of_the_clock_of_the_archive(tmp_path: Path) -> None:
    recording = converted(anchor(tmp_path, pair, resolution=10**6), tmp_path / "kept")
    assert json.loads(recording.facts)["span_ns"] == 9_000_000


def collectives(archive: Archive) -> None:
    """Each collective of 24 B of three members in another order, as Score-P sums them up."""
    turned = archive.comm([2, 0, 1])
    started(archive)
    of_root, of_others = {0: 72, 1: 0, 2: 0}, {0: 24, 1: 24, 2: 24}
    kinds = [
        ("MPI_Bcast", CollectiveOp.BCAST, 1, of_root, of_others),
        ("MPI_Gather", CollectiveOp.GATHER, 1, of_others, of_root),
        ("MPI_Allreduce", CollectiveOp.ALLREDUCE, ROOT_NONE, dict.fromkeys(range(3), 72), None),
        ("MPI_Scan", CollectiveOp.SCAN, ROOT_NONE, {2: 72, 0: 48, 1: 24}, {2: 24, 0: 48, 1: 72}),
        ("MPI_Barrier", CollectiveOp.BARRIER, ROOT_NONE, dict.fromkeys(range(3), 0), None),
    ]
    for number, (name, op, root, sent, received) in enumerate(kinds):
        at = 2_000 + 100 * number
        for rank in range(3):
            sums = (sent[rank], (received or sent)[rank])
            end = events.MpiCollectiveEnd(at + 50, op, turned, root, *sums)
            archive.call(rank, name, at, at + 50, events.MpiCollectiveBegin(at), end)
    for rank in range(3):
        reduce = (CollectiveOp.ALLREDUCE, turned, ROOT_NONE, 36, 36)
        begun = events.NonBlockingCollectiveRequest(3_000, 8)
        archive.call(rank, "MPI_Iallreduce", 3_000, 3_010, begun)
        done = events.NonBlockingCollectiveComplete(4_000, *reduce, 8)
        archive.call(rank, "MPI_Wait", 3_500, 4_000, done)
    ended(archive)


def test_collectives_have_the_sizes_and_roots_that_the_sums_are_of(tmp_path: Path) -> None:
    recording = converted(anchor(tmp_path, collectives, 3), tmp_path / "kept")
    activities = recording.tables()["activities"]
    columns = (activities.values(name) for name in ("rank", "activity", "bytes"))
    result = [row for row in zip(*columns, strict=True) if row[1] != "compute" and row[2]]
    names = ("bcast", "gather", "allreduce", "scan")
    assert result == [
        (rank, *collective)
        for rank in range(3)
        for collective in (*((name, 24) for name in names), ("allreduce", 12))
    ]
    # Member 1 of the communicator is rank 0, which sends its broadcast to two others.
    first = goal(recording)[1:]
    assert sum("send 24b to" in line for line in first[: first.index("rank 1 {")]) >= 2


def test_pairs_of_an_alltoallv_share_what_their_ends_send_and_receive(tmp_path: Path) -> None:
    sent, received = (300, 100, 0), (40, 160, 200)

    def write(archive: Archive) -> None:
        started(archive)
        for rank in range(3):
            sums = (sent[rank], received[rank])
            end = events.MpiCollectiveEnd(
                2_100, CollectiveOp.ALLTOALLV, archive.world, ROOT_NONE, *sums
            )
            archive.call(rank, "MPI_Alltoallv", 2_000, 2_100, events.MpiCollectiveBegin(2_000), end)
        ended(archive)

    text = "\n".join(goal(converted(anchor(tmp_path, write, 3), tmp_path / "kept")))
    for source in range(3):
        for destination in {0, 1, 2} - {source}:
            size = sent[source] * received[destination] // sum(received)
            assert f"send {size}b to {destination} " in text
            assert f"recv {size}b from {source} " in text


@pytest.mark.parametrize("verb", ["replay", "report"])
def test_an_archive_is_replayed_and_drawn_as_a_recording_is(tmp_path: Path, verb: str) -> None:
    source = anchor(tmp_path, pair)
    if verb == "report":
        page = write_report(source, tmp_path)
        assert "Ranks over time" in page.read_text()
        assert "<h1>archive</h1>" in page.read_text()
        assert run_here("report", source).stdout == f"{source.parent / 'report.html'}\n"
        return
    on = tmp_path / "fabric.toml"
    on.write_text(FABRIC.format(hosts=2))
    keep = tmp_path / "kept"
    done = run_here("replay", source, "--on", on, "--keep", keep, "--json", code=0)
    assert json.loads(done.stdout) == json.loads(
        run_here("replay", keep, "--on", on, "--json").stdout
    )
    again = run_here("replay", source, "--on", on, "--keep", keep)
    assert (again.returncode, "has a recording" in again.stderr) == (2, True)


def during(*calls: Callable[[Archive], None]) -> Callable[[Archive], None]:
    """Write events of rank 0 between the calls with which a program starts and ends."""

    def write(archive: Archive) -> None:
        for part in (started, *calls, ended):
            part(archive)

    return write


def call(name: str, event: Callable[[Archive], Any]) -> Callable[[Archive], None]:
    """Write a call of rank 0 with an event."""
    return lambda archive: archive.call(0, name, 2_000, 2_100, event(archive))


def put(archive: Archive) -> Any:
    window = archive.trace.definitions.rma_wins.create("window", comm=archive.world)
    return events.RmaPut(2_000, window, 1, 8, 3)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (call("MPI_Put", put), "rank 0: RmaPut, which is not recorded; expected a program that"),
        (
            call("MPI_Send", lambda archive: events.MpiSend(2_000, 1, archive.world, 42, 100)),
            "rank0 sends a message of 100 B under tag 42 that rank1 does not receive",
        ),
    ],
)
def test_what_a_recording_cannot_have_is_refused(
    call: Callable[[Archive], None], error: str, tmp_path: Path
) -> None:
    on = tmp_path / "fabric.toml"
    on.write_text(FABRIC.format(hosts=2))
    assert error in run_here("replay", anchor(tmp_path, during(call)), "--on", on, code=2).stderr


def lonely(archive: Archive) -> None:
    archive.call(0, "MPI_Init", 0, 10)


def threads(archive: Archive) -> None:
    other = archive.trace.definitions.locations.create("thread 1", group=archive.locations[0].group)
    region = archive.region("MPI_Send")
    send = events.MpiSend(2_000, 1, archive.world, 7, 100)
    for event in (events.Enter(2_000, region), send, events.Leave(2_100, region)):
        archive.trace.event_writer_from_location(other)(event)


def partly(archive: Archive) -> Any:
    sums = (CollectiveOp.ALLTOALLV, archive.world, ROOT_NONE, 8, 8)
    return events.MpiCollectiveEnd(2_100, *sums)


def cut(archive: Archive) -> None:
    started(archive)
    archive.write(0, events.Enter(2_000, archive.region("MPI_Recv")))
    archive.write(0, events.MpiRecv(2_100, 1, archive.world, 7, 100))


OUTSIDE = during(lambda archive: archive.write(0, events.MpiSend(2_000, 1, archive.world, 7, 100)))
NEVER = call("MPI_Ibarrier", lambda _: events.NonBlockingCollectiveRequest(2_000, 8))
UNOPENED = call("MPI_Wait", lambda _: events.MpiIsendComplete(2_050, 77))
NOBODY = call("MPI_Send", lambda archive: events.MpiSend(2_050, 5, archive.world, 7, 100))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lonely, "rank 1 has 0 of 0 events; expected all of them"),
        (OUTSIDE, "rank 0: a message outside of a call; expected regions of MPI"),
        (during(threads), "thread 1 of MPI Rank 0 exchanges messages, but is no rank; expected"),
        (during(NEVER), "rank 0: a collective that never completes"),
        (during(call("MPI_Alltoallv", partly)), "rank 0: a collective that not all members called"),
        (cut, "rank 0: the archive ends within a call"),
        (during(UNOPENED), "rank 0: request 77 completes, but is not open"),
        (during(NOBODY), "rank 0: member 5 of a communicator of 2"),
    ],
)
def test_an_archive_without_a_whole_program_is_refused(
    tmp_path: Path, write: Callable[[Archive], None], message: str
) -> None:
    assert f"traces.otf2: {message}" in refusal(anchor(tmp_path, write))


def test_an_archive_without_ranks_is_refused(tmp_path: Path) -> None:
    with otf2.writer.open(str(tmp_path / "archive"), timer_resolution=10**9) as trace:
        node = trace.definitions.system_tree_nodes.create("machine")
        group = trace.definitions.location_groups.create("process", system_tree_parent=node)
        location = trace.definitions.locations.create("thread", group=group)
        region = trace.definitions.regions.create("main")
        trace.event_writer_from_location(location)(events.Enter(5, region))
    assert "0 groups of MPI's locations; expected one" in refusal(tmp_path / "archive/traces.otf2")


def test_damaged_archives_are_refused_with_their_name(tmp_path: Path) -> None:
    source = anchor(tmp_path, pair)
    for file in sorted(path for path in source.parent.rglob("*") if path.is_file()):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        assert refusal(source).startswith(f"{source}: ")
        file.write_bytes(content)
    shutil.rmtree(source.parent / "traces")
    assert refusal(source).startswith(f"{source}: ")
    done = run_here("replay", tmp_path / "none.otf2", "--on", tmp_path / "fabric.toml")
    assert (done.returncode, "none.otf2: No such file" in done.stderr) == (2, True)


def test_an_archive_that_the_library_never_opens_or_crashes_on_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = anchor(tmp_path, pair)
    for code, message in (
        (-signal.SIGALRM, "is damaged; the library otf2 does not end opening it"),
        (-signal.SIGABRT, f"is damaged; the library otf2 ended with exit code {-signal.SIGABRT}"),
    ):
        ended = subprocess.CompletedProcess[str]((), code, "", "")
        monkeypatch.setattr("etherweave.archives.subprocess.run", lambda *_, of=ended, **__: of)
        assert refusal(source) == f"{source}: {message}"


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = anchor(tmp_path, pair)
    monkeypatch.setattr("etherweave.archives.find_spec", lambda name: None)
    assert refusal(source).endswith(": pip install 'etherweave[otf2]'")
