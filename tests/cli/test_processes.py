"""One simulation on the processes of an MPI job gives the result of one process."""

import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

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


def launched(count: int, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the command line on so many processes."""
    command = ["mpirun", "-n", str(count), *command_line.COMMAND, *map(str, words)]
    environment = os.environ | ENVIRONMENT
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=environment
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
def test_a_curve_of_several_processes_is_that_of_one(
    count: int, traffic: Path, tmp_path: Path
) -> None:
    one, several = (tmp_path / name for name in ("one.csv", "several.csv"))
    assert command_line.run("curve", traffic, "-o", one).returncode == 0
    done = launched(count, "curve", traffic, "-o", several)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("routing") == 1, "only the first process prints"
    first, second = (pl.read_csv(file).drop("wall_s") for file in (one, several))
    assert first.equals(second)


def test_a_mistake_is_printed_once_and_ends_all_processes(traffic: Path) -> None:
    done = launched(3, "curve", traffic, "--set", "open_loop.loads=[2]")
    assert done.returncode == 2
    assert done.stderr.count("open_loop.loads: 2; expected") == 1


def test_a_mistake_of_one_process_ends_all_others(traffic: Path) -> None:
    missing = traffic.parent / "missing.toml"
    done = launched(1, "curve", traffic, ":", "-n", 1, *command_line.COMMAND, "curve", missing)
    assert done.returncode == 2
    assert f"process 1: {missing}: No such file" in done.stderr
