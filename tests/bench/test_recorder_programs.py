"""Rare calls of programs are recorded, and the recorder says what it does not record."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from etherweave import _core
from etherweave.bench.launchers.mpirun import user
from support.command_line import run, run_here

pytestmark = pytest.mark.needs("mpicc", "mpirun")
RANKS = 3
PROGRAMS = Path(__file__).parents[1] / "data" / "recorder"


def source(name: str) -> str:
    """Return a part of a program, as it stands within `main` or before it."""
    return (PROGRAMS / name).read_text()


HEAD = r"""
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static int rank, ranks, up, down;
static double a[100], b[100];
"""
MAIN = """
#ifndef THREADS
#define THREADS MPI_THREAD_MULTIPLE
#endif
int main(int count, char **words) {{
    int provided;
    MPI_Init_thread(&count, &words, THREADS, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    {body}
    MPI_Finalize();
    return 0;
}}
"""
RING = """
    MPI_Irecv(b, 10, MPI_DOUBLE, down, 5, comm, &q[0]);
    MPI_Isend(a, 10, MPI_DOUBLE, up, 5, comm, &q[1]);
"""


class Library(NamedTuple):
    """An MPI library: its compilers, and its launcher with options."""

    compiler: str
    fortran: str
    launcher: tuple[str, ...]


DEFAULT = Library("mpicc", "mpif90", ("mpirun", *user(), "--oversubscribe", "--timeout", "60"))
MPICH = Library("mpicc.mpich", "mpif90.mpich", ("mpirun.mpich",))
NEEDS_MPICH = pytest.mark.needs("mpicc.mpich", "mpirun.mpich")
LIBRARIES = [
    pytest.param(DEFAULT, id="default"),
    pytest.param(MPICH, id="mpich", marks=NEEDS_MPICH),
]


def program(directory: Path, body: str, before: str = "", library: Library = DEFAULT) -> list[str]:
    """Compile a program; return the command that starts it on three ranks."""
    source, made = directory / "program.c", directory / "program"
    source.write_text(HEAD + before + MAIN.format(body=body))
    subprocess.run([library.compiler, "-o", str(made), str(source), "-lpthread"], check=True)
    return [*library.launcher, "-np", str(RANKS), str(made)]


def record(
    directory: Path, body: str, before: str = "", library: Library = DEFAULT, code: int = 0
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Record a program; return the recording, and how `record` ended, which is with that code."""
    command = program(directory, body, before, library)
    files = directory / "files"
    words = ("-o", files, "--compiler", library.compiler, "--json", "--", *command)
    return files, run_here("record", *words, code=code)


def messages(files: Path) -> list[tuple[int, int, int]]:
    """Return source, destination and bytes of all messages, in order of these."""
    transfers = pl.DataFrame(_core.Recording.read(files).tables()["transfers"])
    return sorted(transfers.select("source", "destination", "bytes").rows())


def ring(rounds: int) -> list[tuple[int, int, int]]:
    """Return messages of ten numbers from each rank to the next."""
    return sorted((rank, (rank + 1) % RANKS, 80) for rank in range(RANKS) for _ in range(rounds))


@pytest.mark.parametrize("library", LIBRARIES)
def test_waits_for_idle_persistent_requests_find_nothing(library: Library, tmp_path: Path) -> None:
    body = """
        MPI_Request q[2];
        int at, is_done;
        MPI_Send_init(a, 10, MPI_DOUBLE, up, 5, MPI_COMM_WORLD, &q[0]);
        MPI_Recv_init(b, 10, MPI_DOUBLE, down, 5, MPI_COMM_WORLD, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        for (int round = 0; round < 3; round++) {
            MPI_Startall(2, q);
            MPI_Waitany(2, q, &at, MPI_STATUS_IGNORE);
            MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
            MPI_Testall(2, q, &is_done, MPI_STATUSES_IGNORE);
        }
        MPI_Request_free(&q[0]);
        MPI_Request_free(&q[1]);
    """
    files, _ = record(tmp_path, body, library=library)
    assert messages(files) == ring(3)


FREED = f"""
        for (int round = 0; round < 20; round++) {{
            MPI_Comm comm, other;
            MPI_Request q[2];
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            {RING}
            MPI_Comm_free(&comm);
            MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
            MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
            MPI_Comm_free(&other);
        }}
    """
REUSED = f"""
        for (int round = 0; round < 20; round++) {{
            MPI_Comm comm;
            MPI_Request q[2];
            int sign = round % 2 ? 1 : -1, own = rank;
            MPI_Comm_split(MPI_COMM_WORLD, 0, sign * rank, &comm);
            MPI_Comm_rank(comm, &own);
            up = (own + ranks + sign) % ranks, down = (own + ranks - sign) % ranks;
            {RING}
            MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
            MPI_Comm_disconnect(&comm);
        }}
    """


@pytest.mark.parametrize("body", [FREED, REUSED], ids=["freed before its waits", "reused"])
def test_messages_belong_to_their_communicator_whatever_its_handle(
    body: str, tmp_path: Path
) -> None:
    files, _ = record(tmp_path, body)
    assert messages(files) == ring(20)


@pytest.mark.parametrize("library", LIBRARIES)
def test_communicators_are_numbered_as_made(library: Library, tmp_path: Path) -> None:
    body = """
        MPI_Comm made[4];
        MPI_Request q[2];
        for (int at = 0; at < 2; at++) {
            MPI_Comm_idup(MPI_COMM_WORLD, &made[at], q);
            MPI_Wait(q, MPI_STATUS_IGNORE);
        }
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &down, &ranks, 1, &up, &ranks,
                                       MPI_INFO_NULL, 0, &made[2]);
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){1}, &up, &ranks, MPI_INFO_NULL, 0,
                              &made[3]);
        for (int at = 0; at < 4; at++) {
            MPI_Comm comm = made[rank == 0 ? at : 3 - at];
            MPI_Sendrecv(a, 10, MPI_DOUBLE, rank, 5, b, 10, MPI_DOUBLE, rank, 5, comm,
                         MPI_STATUS_IGNORE);
        }
        for (int at = 0; at < 4; at++) {
            MPI_Bcast(a, at + 1, MPI_DOUBLE, at % ranks, made[at]);
        }
    """
    files, done = record(tmp_path, body, library=library)
    assert "not recorded" not in done.stderr
    # Members of a communicator whose numbers differ would disagree on its broadcast.
    assert "send 32b" in _core.Recording.read(files).goal("mpich_4", 1, 0.0)


def test_a_type_may_have_more_bytes_than_an_int_counts(tmp_path: Path) -> None:
    body = """
        MPI_Datatype type;
        MPI_Type_contiguous(1 << 30, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Bcast(a, 1, type, 0, MPI_COMM_SELF);
    """
    files, _ = record(tmp_path, body)
    # The broadcast is the only record with 2^32, which LEB128 writes like this.
    assert b"\x80\x80\x80\x80\x10" in (files / "0.ewr").read_bytes()


def test_matched_probes_give_their_messages_to_their_receives(tmp_path: Path) -> None:
    body = """
        MPI_Comm comm = MPI_COMM_WORLD;
        MPI_Message message;
        MPI_Status status;
        MPI_Request q[2];
        for (int round = 0; round < 3; round++) {
            MPI_Isend(a, 10, MPI_DOUBLE, up, 5, comm, &q[1]);
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(b, 100, MPI_DOUBLE, &message, round ? &status : MPI_STATUS_IGNORE);
            MPI_Wait(&q[1], MPI_STATUS_IGNORE);
            MPI_Barrier(comm);
            MPI_Isend(a, 10, MPI_DOUBLE, up, 5, comm, &q[1]);
            for (int is_there = 0; !is_there;) {
                MPI_Improbe(down, 5, comm, &is_there, &message, &status);
            }
            MPI_Imrecv(b, 100, MPI_DOUBLE, &message, &q[0]);
            MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
            MPI_Barrier(comm);
        }
        MPI_Mprobe(MPI_PROC_NULL, 5, comm, &message, &status);
        MPI_Mrecv(b, 100, MPI_DOUBLE, &message, &status);
    """
    files, done = record(tmp_path, body)
    assert "not recorded" not in done.stderr
    assert messages(files) == ring(6)


SIZED = source("sized.c")
PLAIN_COUNTS = """
#define COUNT int
#define PLACE int
#define SIZED(NAME) NAME
"""
LARGE_COUNTS = """
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define SIZED(NAME) NAME##_c
"""


def operations(files: Path) -> list[str]:
    """Return sends and receives of a replay in the order of ranks, without their labels."""
    text = _core.Recording.read(files).goal("mpich_4", 1, 0.0)
    return re.findall("^rank.*|(?:send|recv) .*", text, re.MULTILINE)


@NEEDS_MPICH
def test_functions_for_large_counts_are_recorded_like_the_others(tmp_path: Path) -> None:
    result = []
    for name, before in (("plain", PLAIN_COUNTS), ("large", LARGE_COUNTS)):
        (tmp_path / name).mkdir()
        files, done = record(tmp_path / name, SIZED, before, MPICH)
        assert "not recorded" not in done.stderr
        result.append(operations(files))
    plain, large = result
    assert plain == large
    # Three messages of each rank, and those of the collectives.
    assert len(plain) > 2 * 3 * RANKS


@NEEDS_MPICH
@pytest.mark.parametrize(
    ("names", "body"),
    [
        (
            ["MPI_Isendrecv"],
            "MPI_Isendrecv(a, 1, MPI_INT, up, 5, b, 1, MPI_INT, down, 5, MPI_COMM_WORLD, q);",
        ),
        (
            ["MPI_Precv_init", "MPI_Psend_init"],
            """
            MPI_Precv_init(b, 2, 5, MPI_DOUBLE, down, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
            MPI_Psend_init(a, 2, 5, MPI_DOUBLE, up, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
            MPI_Startall(2, q);
            MPI_Pready_range(0, 1, q[1]);
            """,
        ),
        (
            ["MPI_Start of a persistent collective"],
            """
            MPI_Bcast_init_c(a, 5, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
            MPI_Start(&q[0]);
            """,
        ),
    ],
)
def test_unrecorded_calls_of_mpi_4_are_said(names: list[str], body: str, tmp_path: Path) -> None:
    source = f"MPI_Request q[2] = {{MPI_REQUEST_NULL, MPI_REQUEST_NULL}}; {body}"
    source += "MPI_Waitall(2, q, MPI_STATUSES_IGNORE);"
    _, done = record(tmp_path, source, library=MPICH)
    assert sorted(json.loads(done.stdout)["not_recorded"]) == names


@pytest.mark.parametrize(("processors", "is_said"), [(RANKS - 1, True), (RANKS, False)])
def test_ranks_that_share_processors_are_a_warning(
    processors: int, is_said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etherweave.cli.record.usable_processors", lambda: processors)
    _, done = record(tmp_path, "MPI_Barrier(MPI_COMM_WORLD);")
    warning = f"WARNING: {RANKS} ranks shared the {processors} processors of this host"
    assert (warning in done.stderr) == is_said, done.stderr


def test_busy_processors_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etherweave.cli.record.usable_processors", lambda: RANKS)
    body = "for (double end = MPI_Wtime() + 0.5; MPI_Wtime() < end;) {}"
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        _, done = record(tmp_path, body)
    finally:
        os.sched_setaffinity(0, before)
    assert "WARNING: a rank waited for a processor during " in done.stderr
    # Three ranks compute on one processor, so each waits for two thirds of the time.
    assert 0.5 < json.loads(done.stdout)["processor_wait_max"] < 1


def test_a_program_that_ran_before_keeps_its_recording(tmp_path: Path) -> None:
    body = "MPI_Send(a, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);"
    twice = "; ".join([" ".join(program(tmp_path, body))] * 2)
    words = ("record", "-o", tmp_path / "files", "--json", "--", "sh", "-c", twice)
    done = run(*words, code=0)
    assert json.loads(done.stdout)["ranks"] == RANKS
    assert "has the recording of another program, so this one is not recorded" in done.stderr


def test_a_file_that_cannot_grow_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    body = """
        if (rank == 1) {
            struct rlimit most = {1000, 1000};
            signal(SIGXFSZ, SIG_IGN);
            setrlimit(RLIMIT_FSIZE, &most);
        }
        for (int call = 0; call < 400000; call++) {
            MPI_Send(a, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        }
    """
    _, done = record(tmp_path, body, code=2)
    assert "1.ewr: byte 1000: the file ends within a record; expected a recording" in done.stderr


THREADS = source("threads.c")
THREADED = source("threaded.c")
TOPOLOGY = """
    MPI_Comm comm;
    MPI_Request request;
    int one[1] = {10}, none[1] = {0};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &down, one, 1, &up, one, MPI_INFO_NULL, 0,
                                   &comm);
"""
FORTRAN = source("ring.f90")
TWIN = source("twin.c")
PLAIN = {"use": "", "include": "", "request": "integer", "communicator": "integer"}
INTERFACES = {
    "mpif.h": PLAIN | {"include": "include 'mpif.h'"},
    "mpi": PLAIN | {"use": "use mpi"},
    "mpi_f08": {
        "use": "use mpi_f08",
        "include": "",
        "request": "type(MPI_Request)",
        "communicator": "type(MPI_Comm)",
    },
}
"""Declarations of MPI for Fortran, and its types of handles."""


def fortran(directory: Path, words: dict[str, str], library: Library) -> list[str]:
    """Compile the program in Fortran; return the command that starts it."""
    source, made = directory / "ring.f90", directory / "ring"
    source.write_text(FORTRAN.format_map(words))
    subprocess.run([library.fortran, "-o", str(made), str(source)], check=True, cwd=directory)
    return [*library.launcher, "-np", str(RANKS), str(made)]


def calls(files: Path) -> list[tuple[int, str]]:
    """Return the calls of each rank in their order, without computation."""
    activities = pl.DataFrame(_core.Recording.read(files).tables()["activities"])
    calls = activities.filter(pl.col("activity") != "compute")
    return calls.sort("rank", "start_ns", maintain_order=True).select("rank", "activity").rows()


@pytest.mark.needs("gfortran")
@pytest.mark.parametrize("library", LIBRARIES)
def test_programs_in_fortran_are_recorded_as_those_in_c(library: Library, tmp_path: Path) -> None:
    files, _ = record(tmp_path, TWIN, library=library)
    expected = operations(files), calls(files)
    for name, words in INTERFACES.items():
        command = fortran(tmp_path, words, library)
        options = ("-o", tmp_path / name, "--compiler", library.compiler, "--", *command)
        assert "not recorded" not in run_here("record", *options, code=0).stderr
        assert (operations(tmp_path / name), calls(tmp_path / name)) == expected, name


@pytest.mark.parametrize("library", LIBRARIES)
def test_messages_of_mpi_for_files_are_not_recorded(library: Library, tmp_path: Path) -> None:
    body = f"""
        MPI_File file;
        MPI_File_open(MPI_COMM_WORLD, "{tmp_path}/data", MPI_MODE_CREATE | MPI_MODE_RDWR,
                      MPI_INFO_NULL, &file);
        MPI_File_write_at_all(file, rank * 800, a, 100, MPI_DOUBLE, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
        MPI_Barrier(MPI_COMM_WORLD);
    """
    files, _ = record(tmp_path, body, library=library)
    # The end of the program leaves a record as well.
    assert [name for _, name in calls(files)] == ["barrier", "other"] * RANKS


RETURN_ERRORS = "MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);"
"""Errors are returned, as few programs ask: MPI's own choice is to end the program."""
ONE_THREAD = "#define THREADS MPI_THREAD_SINGLE"
"""Open MPI 4.1 never returns from a wait for a list in which a request fails, with several."""
TRUNCATED = f"""
    {RETURN_ERRORS}
    MPI_Request q[3];
    MPI_Irecv(b, 1, MPI_DOUBLE, down, 5, MPI_COMM_WORLD, &q[0]);
    MPI_Irecv(b + 1, 10, MPI_DOUBLE, down, 6, MPI_COMM_WORLD, &q[1]);
    MPI_Isend(a, 10, MPI_DOUBLE, up, 6, MPI_COMM_WORLD, &q[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(a, 2, MPI_DOUBLE, up, 5, MPI_COMM_WORLD);
"""
"""The first receive fails, as its message is longer; the others succeed."""


@pytest.mark.parametrize(
    ("name", "body", "before"),
    [
        ("calls of several threads at once", THREADED, THREADS),
        (
            "MPI_Wait that failed",
            TRUNCATED
            + "MPI_Wait(&q[0], MPI_STATUS_IGNORE); MPI_Waitall(2, q + 1, MPI_STATUSES_IGNORE);",
            ONE_THREAD,
        ),
        (
            "MPI_Waitall that failed",
            TRUNCATED + "MPI_Waitall(3, q, MPI_STATUSES_IGNORE);",
            ONE_THREAD,
        ),
    ],
)
def test_what_is_not_recorded_is_said(name: str, body: str, before: str, tmp_path: Path) -> None:
    files, done = record(tmp_path, body, before)
    assert f"WARNING: {name}: messages are not recorded" in done.stderr
    assert json.loads(done.stdout)["not_recorded"] == [name]
    with pytest.raises(_core.ScenarioError, match=f"{name}, which is not recorded"):
        _core.Recording.read(files).goal("open_mpi_4_1", 1, 1.0)


UNRECORDED = {
    "MPI_Bcast that failed": "MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);",
    "MPI_Ineighbor_allgather": (
        "MPI_Ineighbor_allgather(a, 10, MPI_DOUBLE, b, 10, MPI_DOUBLE, comm, &request);"
        "MPI_Wait(&request, MPI_STATUS_IGNORE);"
    ),
    "MPI_Neighbor_alltoallv": (
        "MPI_Neighbor_alltoallv(a, one, none, MPI_DOUBLE, b, one, none, MPI_DOUBLE, comm);"
    ),
    "MPI_Send that failed": "MPI_Send(a, 1, MPI_INT, 100000000, 0, MPI_COMM_WORLD);",
    "MPI_Win_allocate_shared": (
        "MPI_Win_allocate_shared(80, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);"
        "MPI_Win_free(&window);"
    ),
}


def test_all_that_is_not_recorded_is_said(tmp_path: Path) -> None:
    before = TOPOLOGY + "MPI_Win window; double *base;" + RETURN_ERRORS
    files, done = record(tmp_path, before + "".join(UNRECORDED.values()))
    assert sorted(json.loads(done.stdout)["not_recorded"]) == list(UNRECORDED)
    assert f"WARNING: {', '.join(UNRECORDED)}: messages are not recorded" in done.stderr
    with pytest.raises(_core.ScenarioError, match=f"{min(UNRECORDED)}, which is not recorded"):
        _core.Recording.read(files).goal("open_mpi_4_1", 1, 1.0)


@pytest.mark.usefixtures("undrawn_figures")
def test_what_is_not_recorded_stands_in_the_report(tmp_path: Path) -> None:
    files, _ = record(tmp_path, THREADED, THREADS)
    run_here("report", files, code=0)
    assert "calls of several threads at once" in (files / "report.html").read_text()


LISTS = source("lists.c")


@pytest.mark.parametrize("library", LIBRARIES)
def test_threads_may_wait_for_lists_at_once(library: Library, tmp_path: Path) -> None:
    _, done = record(tmp_path, THREADED, LISTS, library)
    assert json.loads(done.stdout)["not_recorded"] == ["calls of several threads at once"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_both_functions_for_the_level_of_threads_agree(library: Library, tmp_path: Path) -> None:
    body = """
        int level;
        MPI_Query_thread(&level);
        if (level != MPI_THREAD_SERIALIZED || provided != level) {
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
    """
    record(tmp_path, body, library=library)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "wait",
    [
        "MPI_Waitall(3, q, MPI_STATUSES_IGNORE); MPI_Waitall(2, q + 1, MPI_STATUSES_IGNORE);",
        """
        for (int sum = 0, done, at[3]; sum < 3; sum += done) {
            MPI_Waitsome(3, q, &done, at, MPI_STATUSES_IGNORE);
        }
        """,
    ],
)
def test_others_of_failed_requests_complete(wait: str, library: Library, tmp_path: Path) -> None:
    files, done = record(tmp_path, TRUNCATED + wait, ONE_THREAD, library)
    (failed,) = json.loads(done.stdout)["not_recorded"]
    assert failed.endswith("that failed")
    assert set(ring(1)) <= set(messages(files))


def test_a_program_that_fails_behind_mpi_finalize_is_recorded(tmp_path: Path) -> None:
    files, done = record(tmp_path, "MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 3;", code=1)
    assert json.loads(done.stdout)["ranks"] == RANKS
    assert "mpirun ended with 3: the recording is complete" in done.stderr
    assert "barrier" in _core.Recording.read(files).tables()["activities"].values("activity")


def test_a_program_that_ends_without_mpi_finalize_leaves_no_recording(tmp_path: Path) -> None:
    files, done = record(tmp_path, "MPI_Barrier(MPI_COMM_WORLD); _exit(0);", code=1)
    assert "the recording is not complete" in done.stderr
    with pytest.raises(
        _core.ScenarioError, match="an empty file; expected a recording of a program"
    ):
        _core.Recording.read(files)
