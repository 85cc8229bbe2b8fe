"""Batch jobs of Slurm, also as an array; works without accounting.

Results come as files; whether a job still lives is what ``squeue`` says, and how it ended otherwise
what ``scontrol`` does. ``sbatch --wait`` looks only every some ten seconds.
"""

import re
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.launchers.batch import read_outcome, write_tasks
from etherweave.bench.launchers.kind import Kind, OptionKind
from etherweave.bench.launchers.launcher import Ending, Job, Launcher, Outcome
from etherweave.bench.launchers.mpirun import lacking
from etherweave.bench.launchers.placed import LaunchError
from etherweave.bench.launchers.srun import WAIT_S, cancel, request, withdraw
from etherweave.bench.site.values import Link, Site, SiteError

_SCRIPT = '#!/bin/sh\nexec "$@"\n'
"""What is to be done comes as arguments."""
_PAUSE_S = 0.1
"""Between looks for a file, which cost Slurm nothing [s]."""
_ASK_MIN_S, _ASK_MAX_S = 0.1, 5.0
"""Between questions to Slurm, growing [s]."""
_LATE_S = 10.0
"""By which a shared directory may show a file late [s]."""
_PATIENCE_S = 60.0
_STATE = re.compile(r"\bJobState=(\S+)")


@dataclass(frozen=True)
class Batch:
    """Submits jobs and waits for what they leave."""

    site: Site
    link: Link | None = None
    name: str = "sbatch"

    def missing(self) -> str:
        """Tell which program is; empty when none."""
        return lacking("sbatch", "squeue", "scontrol", "scancel")

    def launch(self, job: Job) -> Outcome:
        """Carry out a job; what goes wrong is in its outcome."""
        return self.launch_all([job])[0]

    def launch_all(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Carry out jobs as one array."""
        return list(self.outcomes(jobs))

    def outcomes(self, jobs: Sequence[Job]) -> Generator[Outcome, None, None]:
        """Carry out jobs as one array, one after the other; give each outcome once it is there.

        Parameters
        ----------
        jobs
            On the same hosts, each with a directory that all hosts see.
        """
        jobs = [replace(job, directory=job.directory.absolute()) for job in jobs]
        start = time.time_ns()
        said, ending, array = "", Ending.FAILED, None
        try:
            for job in jobs:
                try:
                    array = array or self._submitted(jobs)
                    # Of an array that came to nothing, nothing more can come.
                    said = said or self._wait(array, job.directory)
                except (LaunchError, SiteError, OSError) as error:
                    said = str(error)
                except KeyboardInterrupt:
                    said, ending = "ended by the user", Ending.INTERRUPTED
                words = array.words if array else ()
                lost = Outcome(ending, "", said, words, start, time.time_ns())
                yield read_outcome(job.directory) or lost
        finally:
            if array:
                # Costs nothing when all is over, and leaves nothing when it is not.
                cancel(array.number)

    def _submitted(self, jobs: Sequence[Job]) -> "_Array":
        withdraw(jobs[-1])
        words = tuple(self._submission(jobs))
        wait_s = self.site.number("wait", WAIT_S) + sum(job.limit_s for job in jobs)
        number = _said(words).split(";")[0].strip()
        return _Array(number, words, wait_s, time.monotonic() + wait_s, jobs[0].directory)

    def _submission(self, jobs: Sequence[Job]) -> list[str]:
        first = jobs[0]
        for job in jobs:
            if (job.hosts, job.ranks_per_node) != (first.hosts, first.ranks_per_node):
                raise LaunchError("jobs of an array: on different hosts; expected the same")
        for host in first.hosts:
            self.site.host(host)
        script, tasks = first.directory / "batch.sh", first.directory / "tasks.json"
        script.write_text(_SCRIPT, encoding="utf-8")
        inner = {name: value for name, value in self.site.options.items() if name == "mpi"}
        write_tasks(tasks, replace(self.site, options=inner), self.link, list(jobs))
        # Named after the last one: while an array lives, that has not ended.
        whole = replace(jobs[-1], limit_s=max(job.limit_s for job in jobs))
        # One at a time: they would disturb each other.
        words = ["sbatch", "--parsable", *request(whole), f"--array=0-{len(jobs) - 1}%1"]
        words += [f"--output={first.directory}/batch-%a.out", *self.site.texts("arguments")]
        python = self.site.text("python", sys.executable)
        return [*words, str(script), python, "-m", "etherweave.bench.launchers.batch", str(tasks)]

    def _wait(self, array: "_Array", directory: Path) -> str:
        """Wait until an outcome is there, or cannot come; tell why not."""
        pause, ask, gone = _ASK_MIN_S, 0.0, 0.0
        while read_outcome(directory) is None:
            now = time.monotonic()
            if now > array.end:
                return f"job {array.number}: not done within {array.wait_s:g} s"
            if now >= ask:
                if _lives(array.number):
                    gone = 0.0
                elif not gone:
                    gone, pause = now, _ASK_MIN_S
                elif now > gone + _LATE_S:
                    fate, log = _fate(array.number), _log(array.log)
                    return f"job {array.number}: left no outcome; {fate}; {log}"
                ask, pause = now + pause, min(1.5 * pause, _ASK_MAX_S)
            time.sleep(_PAUSE_S)
        return ""


class _Array(NamedTuple):
    """Jobs that were submitted together."""

    number: str
    words: tuple[str, ...]
    wait_s: float
    end: float
    """On the monotonic clock [s]."""
    log: Path
    """Where tasks write what went wrong with themselves."""


def _lives(number: str) -> bool:
    try:
        return bool(_said(("squeue", "--noheader", f"--jobs={number}", "--format=%i")).strip())
    except LaunchError:
        return False  # An old number is an error to squeue.


def _fate(number: str) -> str:
    try:
        states = set(_STATE.findall(_said(("scontrol", "--oneliner", "show", "job", number))))
    except LaunchError as error:
        return str(error)
    return f"ended as {', '.join(sorted(states))}"


def _log(directory: Path) -> str:
    texts = [file.read_text(errors="replace") for file in sorted(directory.glob("batch-*.out"))]
    return "\n".join(texts)[-2000:]


def _said(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{words[0]}: {error}") from None
    if done.returncode:
        raise LaunchError(f"{words[0]}: {' '.join(done.stderr.split())}")
    return done.stdout


def _make(site: Site, link: Link | None) -> Launcher:
    return Batch(site, link)


KIND = Kind(
    "sbatch",
    _make,
    {
        "arguments": OptionKind.TEXTS,
        "mpi": OptionKind.TEXT,
        "wait": OptionKind.TIME,
    },
)
