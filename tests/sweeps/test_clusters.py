"""A cluster of Dask and arrays of Slurm give the bytes of a local sweep, also when workers die."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import etherweave
from etherweave.sweeps import SweepStore, executor, load_sweep, sweep
from support.sweeps import PATIENCE_S, contents, start, wait_for, write
from support.waiting import until

DASK = (sys.executable, "-m", "dask")
RUNS = 24


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("sweep")
    sweep(load_sweep(write(home)), home / "out", executor("local", 2))
    return home / "out"


@contextmanager
def started(*words: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process of a cluster, in a group that is killed after the block."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [*DASK, *words], stdout=quiet, stderr=quiet, start_new_session=True, env=env
    ) as process:
        try:
            yield process
        finally:
            _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _worker(file: Path) -> tuple[str, ...]:
    """Words of a worker: a nanny, and the process that computes."""
    return ("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Path]:
    """A scheduler's file, while it runs."""
    file = tmp_path / "scheduler.json"
    words = ("--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with started("scheduler", *words):
        until(file.exists)
        yield file


@pytest.mark.slow
def test_dask_gives_the_bytes_of_a_local_sweep_though_workers_are_killed(
    scheduler: Path, dataset: Path, tmp_path: Path
) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    with ExitStack() as stack:
        workers = [stack.enter_context(started(*_worker(scheduler))) for _ in range(2)]
        sweeping = stack.enter_context(start(path, "-o", out, "--executor", f"dask={scheduler}"))
        for lines, worker in zip((2, 6), workers, strict=True):
            wait_for(out, lines)
            _kill(worker)
            stack.enter_context(started(*_worker(scheduler)))
        assert sweeping.wait(PATIENCE_S) == 0
    assert len(SweepStore(out).records()) == RUNS
    assert contents(out) == contents(dataset)


@pytest.mark.slow
def test_a_worker_of_dask_with_another_core_is_refused(scheduler: Path, tmp_path: Path) -> None:
    package = Path(etherweave.__file__).parent
    other = tmp_path / "other" / "etherweave"
    shutil.copytree(package, other, ignore=shutil.ignore_patterns("__pycache__"))
    with next(other.glob("_core*.so")).open("ab") as core:
        core.write(b"\0")  # Loads as before, and is another.
    env = os.environ | {"PYTHONPATH": str(other.parent)}
    with (
        started(*_worker(scheduler), env=env),
        start(
            write(tmp_path), "-o", tmp_path / "out", "--executor", f"dask={scheduler}"
        ) as process,
    ):
        assert process.wait(PATIENCE_S) == 2
    assert not SweepStore(tmp_path / "out").records()


@pytest.mark.needs("slurm")
@pytest.mark.slow
def test_an_array_of_slurm_gives_the_bytes_of_a_local_sweep_though_tasks_are_killed(
    slurm: Path, dataset: Path, tmp_path: Path
) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    with start(path, "-o", out, "--executor", "slurm=--mem=200", "--workers", "3") as process:
        until(lambda: bool(_tasks(out)))
        for number in _tasks(out):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        assert process.wait(PATIENCE_S) == 0
    assert contents(out) == contents(dataset)
    assert not (out / "slurm").exists()


@pytest.mark.needs("slurm")
@pytest.mark.slow
def test_killed_arrays_answer_the_next_sweep(slurm: Path, dataset: Path, tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    words = ("-o", out, "--executor", "slurm=--mem=200", "--workers", "2")
    with start(path, *words) as process:
        wait_for(out, 1)
        process.kill()
    assert sweep(load_sweep(path), out, executor("slurm=--mem=200", 2)).status.finished == RUNS
    assert contents(out) == contents(dataset)


@pytest.mark.needs("slurm")
def test_a_request_that_slurm_refuses_is_reported(slurm: Path, tmp_path: Path) -> None:
    words = ("-o", tmp_path / "out", "--executor", "slurm=--partition=none")
    with start(write(tmp_path), *words) as process:
        assert process.wait(PATIENCE_S) == 2


def _tasks(out: Path) -> list[int]:
    """Find the processes that carry out the tasks of an array."""
    mark = f"\0-m\0etherweave.sweeps.executors\0{out}".encode()
    files = {path: _command(path) for path in Path("/proc").glob("[0-9]*")}
    tasks = [path for path, words in files.items() if mark in words and b"sbatch" not in words]
    return [int(path.name) for path in tasks]


def _command(path: Path) -> bytes:
    try:
        return (path / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
def test_a_scheduler_of_dask_that_dies_ends_the_sweep_with_a_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "scheduler.json", tmp_path / "out"
    words = ("--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with ExitStack() as stack:
        scheduler = stack.enter_context(started("scheduler", *words))
        until(file.exists)
        stack.enter_context(started(*_worker(file)))
        where = ("--executor", f"dask={file}")
        sweeping = stack.enter_context(start(write(tmp_path), "-o", out, *where))
        wait_for(out, 2)
        _kill(scheduler)
        assert sweeping.wait(PATIENCE_S) == 2
    printed = capfd.readouterr().err
    assert f"no answer of the scheduler of Dask {file}" in printed
    assert "Traceback" not in printed, printed
    assert len(SweepStore(out).records()) >= 2
