"""Fixtures that all tests share."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from etherweave.api.machine import usable_processors
from support import needs

MACHINE = "machine"
"""Group of tests that run one after the other, as they change what a machine has once."""


def pytest_configure(config: pytest.Config) -> None:
    # Threads of linear algebra wait in loops, from which tests on all processors take the time.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        gc.disable()  # Modules and tests stay. A process that collects none has few.
    for line in (
        "needs(*names): skip where the machine lacks one of these; see tests/support/needs.py",
        "serial: changes what a machine has once, so that only one such test runs at a time",
        "slow: takes more than a second of processor time; left out of `make test-fast`",
        "fuzz: draws its input from seeds; `make fuzz` draws more",
        "long: takes minutes; `make fuzz` runs it",
        "processes: starts workers, where other tests of its file carry out work in this process",
        "alone: measures times of this machine with nothing beside it; `make bench` runs it",
    ):
        config.addinivalue_line("markers", line)


@pytest.hookimpl(tryfirst=True)  # Before xdist reads groups.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests whose needs are not met, and decide what runs side by side and what first."""
    for item in items:
        names = [name for mark in item.iter_markers("needs") for name in mark.args]
        try:
            lack = needs.all_missing(names)
        except LookupError as error:
            raise pytest.UsageError(f"{item.nodeid}: {error}") from None
        if lack:
            item.add_marker(pytest.mark.skip(reason=lack))
        if any(needs.NEEDS[name].is_machine_wide for name in names):
            item.add_marker("serial")
        item.add_marker(pytest.mark.xdist_group(group(item)))
    # What takes longest begins first, so that no processor waits for it at the end.
    items.sort(key=lambda item: (group(item) != MACHINE, "/study/" not in item.nodeid))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Start a process more than there are processors: tests of one of them wait for daemons."""
    return usable_processors() + 1


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a case by the beginning of its text where that is long: some have 100,000 characters."""
    is_long = isinstance(val, str | bytes) and len(val) > 60
    return ascii(val)[1:41] if is_long else None


def group(item: pytest.Item) -> str:
    """Name the tests that run one after the other: those of a file share its fixtures."""
    is_serial = item.get_closest_marker("serial") is not None
    return MACHINE if is_serial else item.nodeid.partition("::")[0]


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_interrupts() -> Iterator[None]:
    """Make Ctrl-C interrupt tests: a shell makes processes in its background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def programs_start_compiled(pytestconfig: pytest.Config) -> Iterator[None]:
    """Keep bytecode of programs that tests start often, also where Python is set not to."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            # One for all sessions: to compile all libraries takes longer than most tests.
            bytecode = pytestconfig.rootpath / ".pytest_cache" / "bytecode"
            patch.setenv("PYTHONPYCACHEPREFIX", str(bytecode))
        yield


@pytest.fixture(scope="module")
def slurm() -> Iterator[Path]:
    """Run a Slurm, which commands find; gives its configuration. In the end it has no job."""
    from support import private_slurm

    with private_slurm.running() as file, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(file))
        patch.delenv("SLURM_JOB_ID", raising=False)
        yield file
        private_slurm.check_no_jobs()


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile executors and recorders once for a file, in a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def workers_of_this_process(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carry out tasks of local workers in this process: most take less than a worker's start."""
    from etherweave.sweeps import executors
    from support.workers import completed_here

    if request.node.get_closest_marker("processes") is None:
        monkeypatch.setattr(executors.Executor, "completed", completed_here)


@pytest.fixture
def quick_figures() -> Iterator[None]:
    """Draw figures of pages as SVG only, without a layout."""
    from support import figures

    with figures.quick():
        yield


@pytest.fixture
def undrawn_figures() -> Iterator[None]:
    """Leave figures of pages empty, where other tests draw the same ones."""
    from support import figures

    with figures.undrawn():
        yield


@pytest.fixture(scope="session", autouse=True)
def daemons_are_on_the_path() -> Iterator[None]:
    """Let all users start what Debian puts on the path of root only, as needs are met by it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", needs.SEARCH_PATH)
        yield
