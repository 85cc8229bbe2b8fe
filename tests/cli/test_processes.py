"""One simulation on the processes of an MPI job gives the result of one process."""

import json
import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

import etherweave
from etherweave.api.packing import OF_MACHINE
from support import command_line

pytestmark = [pytest.mark.needs("mpirun"), pytest.mark.serial]
ENVIRONMENT = {
    # For Open MPI, which by default starts no process for root, and no more than there are cores.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
TRAFFIC = """
[topology.dragonfly]
[open_loop]
routings = ["minimal", "ugal_local"]
loads = [0.3, 0.9]
warm_up = "5us"
measured = "10us"
"""
"""Nine groups of 4 switches: three shards, so that one of four processes has none."""


SCENARIOS = Path(__file__).parents[2] / "scenarios"


def launched(count: int, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the command line on so many processes."""
    command = ["mpirun", "-n", str(count), *command_line.COMMAND, *map(str, words)]
    environment = os.environ | ENVIRONMENT
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=900, env=environment
    )
    if "this build has no MPI library" in done.stderr:
        assert done.returncode == 2
        assert done.stderr.count("The launcher has started") == 1
        pytest.skip("the core is built without MPI")
    return done


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    file = tmp_path / "traffic.toml"
    file.write_text(TRAFFIC)
    return file


@pytest.mark.parametrize("count", [2, 4])
def test_a_curve_by_processes_is_that_of_one(count: int, traffic: Path, tmp_path: Path) -> None:
    one, several = (tmp_path / name for name in ("one.csv", "several.csv"))
    assert command_line.run("curve", traffic, "-o", one).returncode == 0
    done = launched(count, "curve", traffic, "-o", several)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("routing") == 1, "only the first process prints"
    first, second = (pl.read_csv(file).drop("wall_s") for file in (one, several))
    assert first.equals(second)


RUNS: dict[str, tuple[str, ...]] = {
    "permutation": (),
    "halo3d_tcp": ("job.0.workload.halo3d.iterations=2",),
    "adaptive_dragonfly": (),
    "spraying": (),
    "credits": (),
    "failing_link": (),
    "degraded_link": (),
    "incast_observed": (),
}
"""RoCE, TCP with MPI ranks, decisions per packet, credits, failures, bit errors, samples."""
SKIPS = (
    "topology={k_ary_fat_tree={k=4}}",
    'job.0.workload.permutation={ranks=4,bytes="32MiB",iterations=12}',
    "run.fast_forward={}",
)
"""Twelve messages in turn, of which most is skipped: more turns than are compared in any case."""


# More than two processes meet in the way of two; two of them have more shards each.
@pytest.mark.parametrize(
    ("name", "changes", "count"),
    [
        *((name, changes, 4) for name, changes in RUNS.items()),
        ("permutation", (), 2),
        ("permutation", SKIPS, 2),
    ],
)
def test_a_run_of_several_processes_is_that_of_one(
    count: int, name: str, changes: tuple[str, ...], tmp_path: Path
) -> None:
    words = ["run", SCENARIOS / f"{name}.toml", *(f"--set={word}" for word in changes)]
    one, several = tmp_path / "one", tmp_path / "several"
    assert command_line.run(*words, "-o", one, "--threads", 1).returncode == 0
    done = launched(count, *words, "-o", several)
    assert done.returncode == 0, done.stderr
    assert facts(several) == facts(one)
    tables = sorted(file.name for file in one.glob("*.parquet"))
    assert tables == sorted(file.name for file in several.glob("*.parquet"))
    for table in tables:
        assert pl.read_parquet(several / table).equals(pl.read_parquet(one / table)), table


def facts(result: Path) -> dict[str, object]:
    """Return the summary without what depends on the machine and the number of parts."""
    summary = json.loads((result / "summary.json").read_text())["summary"]
    return {key: value for key, value in summary.items() if key not in OF_MACHINE}


def test_a_capture_is_the_same_whichever_process_writes_it(tmp_path: Path) -> None:
    first, last = (tmp_path / f"{name}.pcapng" for name in ("first", "last"))
    scenario = SCENARIOS / "first.toml"
    names = pl.DataFrame(etherweave.fabric(scenario).tables["hosts"])["host"]
    captures = [f"--pcap={names[0]}={first}", f"--pcap={names[-1]}={last}"]
    assert command_line.run("run", scenario, *captures).returncode == 0
    expected = [file.read_bytes() for file in (first, last)]
    done = launched(2, "run", scenario, *captures)
    assert done.returncode == 0, done.stderr
    assert [file.read_bytes() for file in (first, last)] == expected


def test_a_stuck_run_names_what_waits_in_all_processes(tmp_path: Path) -> None:
    # Every host sends two switches on, through buffers that others fill: a cyclic dependency.
    # Pauses of slow links last long, so that few are repeated until the run gives up.
    links = "".join(f"h{i},s{i},1Gb/s,3m\\ns{i},s{(i + 1) % 5},400Mb/s,20m\\n" for i in range(5))
    scenario = tmp_path / "stuck.toml"
    scenario.write_text(
        f'routing = "shortest_path"\n[topology.custom]\nhosts = 5\nlinks = "{links}"\n'
        '[switch]\nbuffer = "150kB"\nreserve = "0B"\ningress_threshold.alpha = 0.25\n'
        "[[job]]\nname = 'cycle'\n"
        "workload.permutation_streams = { ranks = 5, message = '1MB', partner.shift = 2 }\n"
    )
    one, several = command_line.run("run", scenario), launched(2, "run", scenario)
    assert (one.returncode, several.returncode) == (3, 3)
    _, expected = one.stderr.split("No event can make progress:\n")
    assert expected in several.stderr


def test_a_mistake_is_printed_once_and_ends_all_processes(traffic: Path) -> None:
    done = launched(3, "curve", traffic, "--set", "open_loop.loads=[2]")
    assert done.returncode == 2
    assert done.stderr.count("open_loop.loads.0: 2; expected") == 1


def test_a_mistake_of_one_process_ends_all_others(traffic: Path) -> None:
    missing = traffic.parent / "missing.toml"
    done = launched(1, "curve", traffic, ":", "-n", 1, *command_line.COMMAND, "curve", missing)
    assert done.returncode == 2
    assert f"process 1: {missing}: No such file" in done.stderr
