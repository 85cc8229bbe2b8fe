"""Rows about progress: how far the time left that a command prints is from the time that it takes.

A command writes a line to a log every ten seconds. Of each line behind the first tenth of the
command's time, the time left is compared with the time until the command ends.
"""

import functools
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from commands import PROGRAM
from rows import Row

ROOT = Path(__file__).parents[1]
COMMANDS = {
    "study": ("study", "sandia-2020", "-o", "{out}"),
    "study_of_many": ("study", "osu-references", "-o", "{out}"),
    "samples": ("study", "hot-interconnects-2022", "--samples", "8", "-o", "{out}"),
    "sweep": ("sweep", f"{ROOT}/bench/sweep_halo3d.toml", "-o", "{out}"),
    "run": (
        *("run", f"{ROOT}/scenarios/halo3d_roce.toml"),
        *("--set", "job.0.workload.halo3d.iterations=2000"),
    ),
    "run_skips": (
        *("run", f"{ROOT}/scenarios/halo3d_roce.toml", "--set", "run.fast_forward.error=0.01"),
        *("--set", "job.0.workload.halo3d.iterations=16000"),
    ),
    "advise": ("advise", f"{ROOT}/scenarios/advise/128_nodes.toml"),
}
"""Commands that take minutes, with ``{out}`` for a directory of their results."""
FIRST_SHARE = 0.1
"""Share of a command's time from which on lines are compared."""
PHASE = "before samples"
"""Words of lines whose time left is that of a first phase: they are left out."""
LEFT = re.compile(r"(?:between (?P<least>\d+) s and )?(?P<most>\d+) s left")


class Line(NamedTuple):
    """A line that names a time left, and when it came [s]."""

    at_s: float
    least_s: float
    most_s: float

    def ratio(self, total_s: float) -> float:
        """Return by what factor the range of the line misses the time left, at least 1."""
        left_s = total_s - self.at_s
        return max(self.least_s / left_s, left_s / max(self.most_s, 0.5), 1.0)


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    return [Row(f"progress_{name}", functools.partial(measure, name)) for name in COMMANDS]


def measure(name: str) -> dict[str, Any]:
    """Run a command, and compare its lines with its end."""
    with tempfile.TemporaryDirectory() as out:
        started_s = time.monotonic()
        words = [word.format(out=f"{out}/out") for word in COMMANDS[name]]
        lines = list(_lines(words, out, started_s))
        total_s = time.monotonic() - started_s
    ratios = {
        total_s - line.at_s: line.ratio(total_s)
        for line in lines
        if line.at_s >= FIRST_SHARE * total_s
    }
    if not ratios:
        raise ValueError(f"{name}: ended after {total_s:.0f} s without a line of its time left")
    worst_left_s = max(ratios, key=ratios.__getitem__)
    return {
        "row": f"progress_{name}",
        "wall_s": round(total_s, 1),
        "lines": len(ratios),
        "ratio_median": round(statistics.median(ratios.values()), 2),
        "ratio_max": round(ratios[worst_left_s], 2),
        "ratio_max_left_s": round(worst_left_s, 1),
    }


def _lines(words: list[str], home: str, started_s: float) -> Iterator[Line]:
    command = [PROGRAM, *words]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=home
    ) as process:
        assert process.stderr is not None
        for text in process.stderr:
            if PHASE not in text and (match := LEFT.search(text)):
                most_s = float(match["most"])
                least_s = float(match["least"] or most_s)
                yield Line(time.monotonic() - started_s, least_s, most_s)
    if process.returncode not in (0, 1):  # A study with rows outside their bounds exits with 1.
        raise subprocess.CalledProcessError(process.returncode, command)
