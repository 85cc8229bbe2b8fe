"""Measurements before anything is launched: forecasts, command lines, schedules, compilers."""

import ctypes
import os
import random
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from etherweave import _core
from etherweave.api import toml
from etherweave.bench.launchers.launcher import Ending, LaunchJob
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.launchers.site_launcher import SiteLauncher
from etherweave.bench.measure import (
    LaunchOptions,
    LaunchProgram,
    MeasureError,
    MeasureLaunchError,
    MeasureLimits,
    executor,
    measure,
    mpi_recorder,
    rank_placement,
)
from etherweave.bench.measure.estimate import LOCAL_BYTES_PER_S, MESSAGE_S, START_S, estimate
from etherweave.bench.measure.jobs import ScenarioJobs, jobs_of
from etherweave.bench.measure.launch import launch
from etherweave.bench.measure.records import MESSAGES, RANKS, STREAMS, tables
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import ClusterSite, SiteError, SiteHost, this_machine

FOUR = ClusterSite("four", "mpirun", tuple(SiteHost(f"n{n}", f"10.0.0.{n}") for n in (1, 2, 3, 4)))


def scenario(workload: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    job = {"name": "job", "workload": workload}
    return {"topology": {"fat_tree": {}}, "job": [job], **more}


def jobs(workload: Mapping[str, Any], **more: Any) -> ScenarioJobs:
    return jobs_of(scenario(workload, **more), None, 0)


def test_an_estimate_adds_sleeps_payload_and_messages() -> None:
    made = jobs({"halo3d": {"iterations": 100}})
    # 216 us of sleep, 3,916,800 B at 100 Gb/s, 18 messages each way; 3 barriers of 6 rounds.
    messages = 2 * (100 * 18 + 18)
    seconds = START_S + 100 * (216e-6 + 3_916_800 * 8 / 100e9) + messages * MESSAGE_S
    expected = estimate(made, None)
    assert expected.seconds == pytest.approx(seconds)
    assert expected.gigabytes == pytest.approx(48 * 100 * 3_916_800 / 1e9)
    # On one machine all ranks share its memory and its processors.
    seconds = 100 * 216e-6 + 48 * 391_680_000 / LOCAL_BYTES_PER_S + 24 * messages * MESSAGE_S
    assert estimate(made, 2).seconds == pytest.approx(START_S + seconds)


def test_endless_streams_fill_their_links_until_the_run_ends() -> None:
    expected = estimate(jobs({"incast": {"sources": 3}}, run={"end": "2s"}), None)
    assert expected.seconds == pytest.approx(START_S + 2)
    assert expected.gigabytes == pytest.approx(4 * 2 * 100 / 8)


def test_a_launch_beyond_its_limits_is_rejected_before_it_starts() -> None:
    halo = scenario({"halo3d": {"pez": 1, "iterations": 1_000_000}})
    options = LaunchOptions(LaunchProgram.MPIRUN)
    with pytest.raises(MeasureError, match=r"takes about .* s and .* GB; expected at most 600 s"):
        measure(halo, options=options)
    # Without neighbours along z, 16 ranks send four faces and twelve edges: 126.6 GB.
    assert round(3 * 1000 * 16 * (4 * 640_000 + 12 * 6_400) / 1e9) == 127
    with pytest.raises(MeasureError, match=r"3 launches send about 127 GB; expected at most 1 GB"):
        measure(
            halo,
            {"job.0.workload.halo3d.iterations": 1000},
            options=options,
            limits=MeasureLimits(gigabytes=1),
            launches=3,
        )


VERSIONS = {"Open MPI": "mpirun (Open MPI) 4.1.4", "MPICH": "HYDRA build details:"}


@pytest.fixture
def words_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Give what launchers are called with: scripts in their place say it."""

    def called(options: LaunchOptions, ranks: int, library: str = "Open MPI") -> str:
        script = f'[ "$1" = --version ] && echo "{VERSIONS[library]}" || echo "${{0##*/}} $*"'
        for name in ("mpirun", "srun"):
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o700)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        directory = Path(mkdtemp(dir=tmp_path))
        placement = rank_placement.of_launcher(options, ranks)
        outcome = placement.launcher.launch(
            placement.job(BenchmarkCommand(Start.MPI, ("x",)), directory, 20)
        )
        assert outcome.ending is Ending.DONE, outcome.errors
        return outcome.text.replace("--allow-run-as-root ", "").strip()

    return called


def test_launchers_are_command_lines(words_of: Callable[..., str]) -> None:
    file = LaunchOptions(LaunchProgram.MPIRUN, Path("hosts"))
    assert words_of(file, 48) == "mpirun --hostfile hosts --map-by node -np 48 x"
    assert words_of(file, 4, "MPICH") == "mpirun -f hosts -np 4 x"
    assert words_of(LaunchOptions(LaunchProgram.MPIRUN), 4, "MPICH") == "mpirun -np 4 x"
    assert words_of(LaunchOptions(LaunchProgram.SRUN, extra=["--mpi=pmix"]), 4) == (
        "srun --ntasks=4 --mpi=pmix x"
    )
    here = words_of(LaunchOptions(extra=["--bind-to", "none"]), 4)
    assert here.startswith("mpirun --oversubscribe ")
    assert here.endswith(" -np 4 --bind-to none x")
    with pytest.raises(MeasureError, match="--hostfile: srun takes none; expected --launcher mpi"):
        words_of(LaunchOptions(LaunchProgram.SRUN, Path("hosts")), 4)


def test_files_in_options_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "srun").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "srun").chmod(0o700)
    placement = rank_placement.of_launcher(LaunchOptions(LaunchProgram.SRUN), 1)
    outcome = placement.launcher.launch(
        placement.job(BenchmarkCommand(Start.MPI, ("x",)), tmp_path / "job", 20)
    )
    assert outcome.text.strip() == str(tmp_path)


def test_ranks_that_outnumber_processors_yield(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_placement, "processors", lambda: 2)
    name = "OMPI_MCA_mpi_yield_when_idle"

    def given(site: ClusterSite, ranks: int) -> str | None:
        own = rank_placement.of_site(site, None, None, ranks).launcher
        assert isinstance(own, SiteLauncher)
        return dict(own.site.environment).get(name)

    assert given(this_machine(), 2) is None
    assert given(this_machine(), 3) == "1"
    assert given(replace(this_machine(), environment=((name, "0"),)), 3) == "0"


@pytest.mark.parametrize(
    ("ranks", "hosts", "per_node"),
    [
        (1, "n1", 1),
        (3, "n1 n2 n3", 1),
        (4, "n1 n2 n3 n4", 1),
        (5, "n1 n2 n3", 2),
        (8, "n1 n2 n3 n4", 2),
        (9, "n1 n2 n3", 3),
    ],
)
def test_ranks_are_placed_on_hosts_in_ordered_blocks(ranks: int, hosts: str, per_node: int) -> None:
    placement = rank_placement.of_site(FOUR, None, None, ranks)
    assert (placement.hosts, placement.ranks_per_node) == (tuple(hosts.split()), per_node)
    assert placement.job(BenchmarkCommand(Start.MPI, ("x",)), Path(), 1).ranks == ranks
    assert placement.processors is None


def test_hosts_of_a_site_may_be_chosen_and_no_others() -> None:
    assert rank_placement.of_site(FOUR, None, ("n4", "n2", "n1"), 2).hosts == ("n4", "n2")
    with pytest.raises(SiteError, match="host elsewhere: is not of site four; expected n1, n2"):
        rank_placement.of_site(FOUR, None, ("n1", "elsewhere"), 1)
    with pytest.raises(MeasureError, match="host n2: named twice; expected each host once"):
        rank_placement.of_site(FOUR, None, ("n2", "n1", "n2"), 1)


def test_a_link_that_is_slower_than_the_scenario_s_counts() -> None:
    made = jobs({"osu_bw": {"bytes": "1MB", "window": 10, "warm_up": 0, "iterations": 10}})
    # Ten messages of 1 MB at 1 Gb/s and an acknowledgement, ten times; a barrier of one round.
    shaped = replace(FOUR, options={"rate": 1.25e8})
    placement = rank_placement.of_site(shaped, None, None, made.ranks)
    seconds = START_S + 100e6 * 8 / 1e9 + (10 * 11 + 2) * MESSAGE_S
    assert estimate(made, placement.processors, placement.rate_bps).seconds == pytest.approx(
        seconds
    )


def test_a_launch_that_does_not_end_is_ended(tmp_path: Path) -> None:
    elapsed: list[float] = []
    sleep = LaunchJob(
        BenchmarkCommand(Start.ALONE, ("sleep", "30")), ("localhost",), 1, tmp_path, 0.5
    )
    with pytest.raises(MeasureLaunchError, match="no end after"):
        launch(launcher(this_machine()), sleep, elapsed.append)
    assert elapsed
    assert elapsed == sorted(elapsed)


def test_a_missing_launcher_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MeasureError, match="launcher mpirun: not found: mpirun, ssh, timeout"):
        measure(scenario({"osu_latency": {}}), site=FOUR)
    with pytest.raises(MeasureError, match="launcher srun: not found: srun"):
        measure(scenario({"osu_latency": {}}), options=LaunchOptions(LaunchProgram.SRUN))


def test_missing_or_truncated_records_are_errors(tmp_path: Path) -> None:
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
    """Report why not; empty when they are."""
    (directory / "iterations.bin").write_bytes(iterations)
    try:
        tables(directory, jobs({"osu_latency": {}}).jobs, 0)
    except MeasureError as error:
        return str(error)
    return ""


def test_a_compiler_that_is_missing_or_fails_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="no-such-mpicc: not found; expected a compiler of MPI"):
        executor.build("no-such-mpicc")
    refuses = tmp_path / "mpicc"
    refuses.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    refuses.chmod(0o755)
    with pytest.raises(MeasureError, match=r"rejects the executor:\nbroken"):
        executor.build(str(refuses), into=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_an_error_of_a_compiler_names_the_program_and_has_ten_lines(tmp_path: Path) -> None:
    refuses = tmp_path / "mpicc"
    refuses.write_text("#!/bin/sh\nseq 12 >&2\nexit 1\n")
    refuses.chmod(0o755)
    with pytest.raises(MeasureError) as raised:
        executor.build(str(refuses), mpi_recorder.PARTS, into=tmp_path / "cache")
    first, *lines = str(raised.value).splitlines()
    assert first.endswith("rejects the recorder:")
    assert lines == [*map(str, range(1, 11)), "(2 lines more)"]


SAYING = """#!/bin/sh
echo modular 4
while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done
[ $# -eq 0 ] || echo made > "$2"
"""


def test_the_compiler_is_of_the_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    # A login shell reads the profile of its home, where sites define `module`.
    (tmp_path / ".bash_profile").write_text(f'module() {{ PATH="{tmp_path}/$2:$PATH"; }}\n')
    (tmp_path / "mpi4").mkdir()
    compiler = tmp_path / "mpi4" / "modular-cc"
    compiler.write_text(SAYING)
    compiler.chmod(0o700)
    made = executor.build("modular-cc", into=tmp_path / "cache", modules=("mpi4",))
    assert made.path.read_text() == "made\n"
    with pytest.raises(MeasureError, match="modular-cc: not found with mpi5; expected a compiler"):
        executor.build("modular-cc", into=tmp_path / "cache", modules=("mpi5",))


@pytest.mark.needs("mpicc")
@pytest.mark.parametrize(
    ("longest_ns", "ranks", "expected_ns"),
    [
        (0, 2, 20_000_000 + 2 * 20_000),
        (2_500_000, 100, 20_000_000 + 100 * 20_000),
        (10_000_000, 2, 8 * 10_000_000 + 2 * 20_000),
        (125_000_001, 2, 1_000_000_000 + 2 * 20_000),
        (2**63 - 1, 2, 1_000_000_000 + 2 * 20_000),
    ],
)
def test_a_start_is_announced_earlier_if_ranks_respond_slowly(
    tmp_path: Path, longest_ns: int, ranks: int, expected_ns: int
) -> None:
    """Eight of the longest round trips, from 20 ms to 1 s, and 20 us for each rank."""
    built = executor.build("mpicc", ("clocks.c",), into=tmp_path, flags=("-shared", "-fPIC"))
    lead_ns = ctypes.CDLL(str(built.path)).lead_ns
    lead_ns.argtypes, lead_ns.restype = [ctypes.c_int64, ctypes.c_int], ctypes.c_int64
    assert lead_ns(longest_ns, ranks) == expected_ns


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
        {"npb": {"benchmark": "lu", "class": "S", "ranks": 2, "iterations": 3}},
    ]
    made = (_core.schedules(toml.document(scenario(workload)), "", [], 1) for workload in workloads)
    return [schedule.jobs[0].bytes for schedule in made]


@pytest.mark.needs("cc")
def test_the_reader_takes_what_the_core_writes(checker: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.ews" for number in range(4)]
    for path, file in zip(files, schedules(), strict=True):
        path.write_bytes(file)
    done = checked(checker, files)
    assert done.returncode == 0, done.stdout
    printed = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    ranks = ["2 ranks, 0 streams"] * 2
    assert printed == ["2 ranks, 0 streams", "3 ranks, 2 streams", *ranks]


@pytest.mark.needs("cc")
def test_no_file_crashes_the_reader(checker: Path, tmp_path: Path) -> None:
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
                # A header with the right length gets past the first check.
                file[32:40] = len(file).to_bytes(8, "little") if len(file) > 64 else b""
            files.append(tmp_path / f"{len(files)}.ews")
            files[-1].write_bytes(file)
    done = checked(checker, files)
    assert done.returncode == 2, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(files)
    assert sum(": byte " in line for line in lines) > len(files) / 2
