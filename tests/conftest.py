"""What all tests share."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_interrupts() -> Iterator[None]:
    """Whoever starts tests in the background tells them, and their children, to ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def programs_start_compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Some machines tell Python to keep no bytecode; here it starts over and over again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        yield
