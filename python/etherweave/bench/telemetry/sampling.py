"""One look at all counters of a host."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.telemetry import counters
from etherweave.bench.telemetry.counters import Row
from etherweave.bench.telemetry.driver import driver_counters
from etherweave.bench.telemetry.families import INTERFACE, PRIORITY, PROCESSOR, RDMA

TICKS = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """What all counters showed at one time."""

    time_ns: int
    """Since 1970."""
    rows: Mapping[str, list[Row]]
    """By the names of families."""


class Sampler:
    """Looks at a host.

    Parameters
    ----------
    interfaces
        Those to look at.
    root
        Holds ``proc`` and ``sys``.
    driver
        Gives the counters of an interface's driver.
    """

    def __init__(
        self,
        interfaces: Iterable[str],
        root: Path = Path("/"),
        driver: Callable[[str], Mapping[str, int]] = driver_counters,
    ) -> None:
        self._interfaces = tuple(interfaces)
        self._root = root
        self._driver = driver
        self._ports = sorted(root.glob("sys/class/infiniband/*/ports/*"))

    def __call__(self) -> Sample:
        """Look once."""
        driver = {name: self._driver(name) for name in self._interfaces}
        rows = {
            PROCESSOR.name: counters.processors(_text(self._root / "proc/stat"), TICKS),
            INTERFACE.name: [
                counters.interface(name, self._statistics(name), driver[name])
                for name in self._interfaces
            ],
            PRIORITY.name: [
                row for name in self._interfaces for row in counters.priorities(name, driver[name])
            ],
            RDMA.name: [self._port(path) for path in self._ports],
        }
        return Sample(time.time_ns(), rows)

    def _statistics(self, interface: str) -> dict[str, int]:
        home = self._root / "sys/class/net" / interface / "statistics"
        return _numbers(home / name for name in counters.STATISTICS)

    def _port(self, path: Path) -> Row:
        counted = _numbers([*path.glob("counters/*"), *path.glob("hw_counters/*")])
        return counters.rdma(path.parts[-3], path.name, counted)


def _numbers(files: Iterable[Path]) -> dict[str, int]:
    texts = {file.name: _text(file).strip() for file in files}
    return {name: int(text) for name, text in texts.items() if text.isascii() and text.isdigit()}


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(errors="replace")
    return ""
