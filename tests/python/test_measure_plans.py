"""Measurements before anything is launched: forecasts, command lines, schedules, compilers."""

import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from etherweave import _core, toml
from etherweave.bench.measure import Launcher, Launching, Limits, MeasureError, executor, measure
from etherweave.bench.measure.forecast import LOCAL_BYTES_PER_S, MESSAGE_S, START_S, forecast
from etherweave.bench.measure.jobs import Jobs, jobs_of
from etherweave.bench.measure.launch import LATE_S, launch
from etherweave.bench.measure.launchers import Place, command
from etherweave.bench.measure.records import MESSAGES, RANKS, STREAMS, tables

OPEN_MPI = Place("mpirun (Open MPI) 4.1.4", processors=2, is_root=False)
MPICH = Place("HYDRA build details:", processors=2, is_root=True)


def scenario(workload: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    job = {"name": "job", "workload": workload}
    return {"topology": {"fat_tree": {}}, "job": [job], **more}


def jobs(workload: Mapping[str, Any], **more: Any) -> Jobs:
    return jobs_of(scenario(workload, **more), None, 0)


def test_a_forecast_adds_rests_payload_and_messages() -> None:
    made = jobs({"halo3d": {"iterations": 100}})
    # 216 us of sleep, 3,916,800 B at 100 Gb/s, 18 messages each way; 3 barriers of 6 rounds.
    messages = 2 * (100 * 18 + 18)
    seconds = START_S + 100 * (216e-6 + 3_916_800 * 8 / 100e9) + messages * MESSAGE_S
    expected = forecast(made, None)
    assert expected.seconds == pytest.approx(seconds)
    assert expected.gigabytes == pytest.approx(48 * 100 * 3_916_800 / 1e9)
    # On one machine all ranks share its memory and its processors.
    seconds = 100 * 216e-6 + 48 * 391_680_000 / LOCAL_BYTES_PER_S + 24 * messages * MESSAGE_S
    assert forecast(made, 2).seconds == pytest.approx(START_S + seconds)


def test_endless_streams_fill_their_links_until_the_run_ends() -> None:
    made = jobs({"incast": {"sources": 3}}, run={"end": "2s"})
    expected = forecast(made, None)
    assert expected.seconds == pytest.approx(START_S + 2)
    assert expected.gigabytes == pytest.approx(4 * 2 * 100 / 8)


def test_what_would_take_too_long_is_refused_before_it_is_launched() -> None:
    halo = scenario({"halo3d": {"pez": 1, "iterations": 1_000_000}})
    launching = Launching(Launcher.MPIRUN)
    with pytest.raises(MeasureError, match=r"takes about .* s and .* GB; expected at most 600 s"):
        measure(halo, launching=launching)
    # Without neighbours along z, 16 ranks send four faces and twelve edges: 126.6 GB.
    assert round(3 * 1000 * 16 * (4 * 640_000 + 12 * 6_400) / 1e9) == 127
    with pytest.raises(MeasureError, match=r"3 launches send about 127 GB; expected at most 1 GB"):
        measure(
            halo,
            {"job.0.workload.halo3d.iterations": 1000},
            launching=launching,
            limits=Limits(gigabytes=1),
            launches=3,
        )


def test_launchers_are_command_lines() -> None:
    hosts = Path("hosts")
    assert command(Launching(Launcher.MPIRUN, hosts), OPEN_MPI, 48) == [
        *("mpirun", "--hostfile", "hosts", "--map-by", "node", "-np", "48")
    ]
    assert command(Launching(extra=["--bind-to", "none"]), OPEN_MPI, 4) == [
        *("mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"),
        *("-np", "4", "--bind-to", "none"),
    ]
    as_root = OPEN_MPI._replace(is_root=True)
    assert command(Launching(), as_root, 2) == [
        *("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2")
    ]
    assert command(Launching(Launcher.MPIRUN, hosts), MPICH, 4) == [
        *("mpirun", "-f", "hosts", "-np", "4")
    ]
    assert command(Launching(Launcher.SRUN, extra=["--mpi=pmix"]), MPICH, 4) == [
        *("srun", "--ntasks=4", "--mpi=pmix")
    ]
    with pytest.raises(MeasureError, match="--hostfile: srun takes none; expected --launcher mpi"):
        command(Launching(Launcher.SRUN, hosts), MPICH, 4)


def test_a_launch_that_does_not_end_is_ended(tmp_path: Path) -> None:
    told: list[float] = []
    with pytest.raises(MeasureError, match="no end after"):
        launch(["sleep", "30"], 0.3 - LATE_S, tmp_path / "log", told.append)
    assert told == sorted(told)
    with pytest.raises(MeasureError, match="no-such-launcher: No such file"):
        launch(["no-such-launcher"], 1, tmp_path / "log", told.append)


def test_records_that_are_missing_or_cut_are_told(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="the executor's records cannot be read"):
        tables(tmp_path, [], 0)
    lists = {"ranks.csv": RANKS, "messages.csv": MESSAGES, "streams.csv": STREAMS}
    for name, columns in lists.items():
        (tmp_path / name).write_text(",".join(columns) + "\n")
    assert tables_are_read(tmp_path, bytes(32)) == ""
    assert "33 bytes; expected rows of 32" in tables_are_read(tmp_path, bytes(33))
    (tmp_path / "ranks.csv").write_text("job,rank,host\n")
    assert "columns ['job', 'rank', 'host']; expected" in tables_are_read(tmp_path, b"")


def tables_are_read(directory: Path, iterations: bytes) -> str:
    """Tell why not; empty when they are."""
    (directory / "iterations.bin").write_bytes(iterations)
    try:
        tables(directory, jobs({"osu_latency": {}}).jobs, 0)
    except MeasureError as error:
        return str(error)
    return ""


def test_a_compiler_that_is_missing_or_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="no-such-mpicc: not found; expected a compiler of MPI"):
        executor.build("no-such-mpicc")
    refuses = tmp_path / "mpicc"
    refuses.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    refuses.chmod(0o755)
    with pytest.raises(MeasureError, match=r"refuses the executor:\nbroken"):
        executor.build(str(refuses), into=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler (cc)"
)


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the executor's reader by itself, with what finds bad accesses if there is such."""
    cache = tmp_path_factory.mktemp("checker")
    parts = ("check.c", "schedule.c")
    watched = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    try:
        return executor.build("cc", parts, into=cache, flags=watched).path
    except MeasureError:
        return executor.build("cc", parts, into=cache).path


def checked(checker: Path, files: list[Path]) -> subprocess.CompletedProcess[str]:
    words = [str(checker), *map(str, files)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


def schedules() -> list[bytes]:
    workloads: list[Mapping[str, Any]] = [
        {"halo3d": {"pex": 2, "pey": 1, "pez": 1, "iterations": 3}},
        {"incast": {"sources": 2, "messages": 9}},
        {"osu_bw": {"bytes": "64KiB", "window": 4}},
    ]
    made = (_core.schedules(toml.document(scenario(one)), "", [], 1) for one in workloads)
    return [one.jobs[0].bytes for one in made]


@needs_compiler
def test_the_reader_takes_what_the_core_writes(checker: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.ews" for number in range(3)]
    for path, file in zip(files, schedules(), strict=True):
        path.write_bytes(file)
    done = checked(checker, files)
    assert done.returncode == 0, done.stdout
    told = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    assert told == ["2 ranks, 0 streams", "3 ranks, 2 streams", "2 ranks, 0 streams"]


@needs_compiler
def test_no_file_breaks_the_reader(checker: Path, tmp_path: Path) -> None:
    chance = random.Random(5)
    files: list[Path] = []
    for original in schedules():
        for number in range(250):
            file = bytearray(original)
            for _ in range(chance.randrange(1, 4)):
                place = chance.randrange(len(file)) // 4 * 4
                word = chance.choice((0, 1, 2, 0x7FFFFFFF, 0xFFFFFFFF, chance.getrandbits(32)))
                file[place : place + 4] = word.to_bytes(4, "little")
            if number % 5 == 0:
                del file[chance.randrange(len(file)) :]
                # The header tells the length; one that agrees leads further in.
                file[32:40] = len(file).to_bytes(8, "little") if len(file) > 64 else b""
            files.append(tmp_path / f"{len(files)}.ews")
            files[-1].write_bytes(file)
    done = checked(checker, files)
    assert done.returncode == 2, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(files)
    assert sum(": byte " in line for line in lines) > len(files) / 2
