"""The recorder of MPI programs: compiled by the site's MPI, loaded before a program."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from etherweave.bench.measure.executor import Executor, build
from etherweave.bench.statistics.quantiles import Interval, median, median_interval
from etherweave.linux.processes import ended_with

PARTS = (
    "recorder.c",
    "requests.c",
    "record_messages.c",
    "record_requests.c",
    "record_collectives.c",
    "record_communicators.c",
    "fortran.c",
    "clocks.c",
)
FLAGS = ("-shared", "-fPIC")
LIBRARIES = ("-ldl",)
DIRECTORY = "ETHERWEAVE_RECORD"  # Variable that names the directory of the files.
PRELOAD = "LD_PRELOAD"


def library(compiler: str = "mpicc") -> Executor:
    """Compile the recorder, unless the cache has it.

    Raises ``MeasureError`` when there is no such compiler, or it rejects the sources.
    """
    return build(compiler, PARTS, flags=FLAGS, libraries=LIBRARIES)


def variables(made: Executor, directory: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make a program record itself into a directory."""
    loaded = [str(made.path), *filter(None, [inherited.get(PRELOAD)])]
    return {PRELOAD: ":".join(loaded), DIRECTORY: str(directory.absolute())}


def run(command: Sequence[str], made: Executor, directory: Path) -> int:
    """Run a command whose MPI programs record themselves; returns how it ended.

    Raises ``OSError`` when it cannot be started.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with ended_with() as mark:
        return _ended(command, mark | variables(made, directory, os.environ))


AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""Lets mpirun of Open MPI start programs of root, as launchers of campaigns do."""


def _ended(words: Sequence[str], variables: Mapping[str, str]) -> int:
    allowed = AS_ROOT if os.geteuid() == 0 else {}
    return subprocess.run(words, env={**allowed, **os.environ, **variables}, check=False).returncode


@dataclass(frozen=True)
class RecorderOverhead:
    """Whole times of a command without and with the recorder, in pairs [s]."""

    without_s: tuple[float, ...]
    with_s: tuple[float, ...]

    @property
    def parts(self) -> list[float]:
        """Share by which the time with the recorder is longer, of each pair."""
        pairs = zip(self.without_s, self.with_s, strict=True)
        return [recorded / plain - 1 for plain, recorded in pairs]

    @property
    def interval(self) -> Interval | None:
        """Interval of the median of :attr:`parts`; none for few pairs."""
        return median_interval(self.parts)

    def to_json(self) -> dict[str, object]:
        """Return the figures."""
        interval = self.interval
        return {
            "without_s": self.without_s,
            "with_s": self.with_s,
            "overhead": median(self.parts),
            "interval": interval and [interval.low, interval.high],
        }


def overhead(
    command: Sequence[str], made: Executor, directory: Path, pairs: int
) -> RecorderOverhead | int:
    """Run a command in pairs, without and with the recorder, each first in every other pair.

    The directory has the recording of the last pair.

    Returns how the command ended, where it fails. Raises ``OSError`` when it cannot be started.
    """
    directory.mkdir(parents=True, exist_ok=True)
    recorder = variables(made, directory, os.environ)
    times: dict[bool, list[float]] = {False: [], True: []}
    with ended_with() as mark:
        for turn in range(2 * pairs):
            is_recorded = turn % 4 in (0, 3)
            if is_recorded:
                # The recorder leaves files of another program alone.
                for earlier in directory.glob("*.ewr"):
                    earlier.unlink()
            start_s = time.perf_counter()
            ended = _ended(command, mark | recorder if is_recorded else mark)
            times[is_recorded].append(time.perf_counter() - start_s)
            if ended:
                return ended
    return RecorderOverhead(tuple(times[False]), tuple(times[True]))
