"""Directories of launches, beside the executor: hosts that find the one find the other.

Each is removed after its launch; what a measurement that was killed left, the next one on the same
machine removes.
"""

import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from etherweave.bench.launchers import processes


@contextmanager
def workplace(cache: Path) -> Iterator[Path]:
    """Give an empty directory in the cache while the block lasts."""
    cache.mkdir(parents=True, exist_ok=True)
    sweep(cache)
    with TemporaryDirectory(
        prefix=f"{_beginning()}{processes.process_identity()}.", dir=cache
    ) as directory:
        yield Path(directory)


def sweep(cache: Path) -> None:
    """Remove the directories of processes of this machine that are gone."""
    owned = re.compile(rf"{re.escape(_beginning())}(\d+\.\d+)\.[^.]+")
    for path in cache.glob("launch-*"):
        owner = owned.fullmatch(path.name)
        if owner and processes.has_ended(owner[1]):
            shutil.rmtree(path, ignore_errors=True)


def _beginning() -> str:
    """Begin a name: machines may share the cache, and know nothing of each other's processes."""
    return f"launch-{re.sub('[^A-Za-z0-9-]', '-', platform.node())}."
