"""Batch jobs of Slurm, also as an array; works without accounting.

Results come as files; ``squeue`` reports whether a job still exists, and ``scontrol`` how it
ended otherwise. ``sbatch --wait`` looks only every some ten seconds.
"""

import json
import os
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from etherweave.api.inputs import decoded
from etherweave.api.outputs import write_json
from etherweave.bench.launchers.launcher import (
    Ending,
    LauncherKind,
    LaunchJob,
    LaunchOutcome,
    OptionKind,
)
from etherweave.bench.launchers.mpirun import lacking
from etherweave.bench.launchers.site_launcher import LauncherError
from etherweave.bench.launchers.srun import KIND as SRUN
from etherweave.bench.launchers.srun import WAIT_S, allocation_options, cancel, cancel_earlier
from etherweave.bench.site.values import ClusterSite, SiteError, SiteFabric
from etherweave.sweeps.slurm import SlurmError, fate, lives, slurm

_SCRIPT = '#!/bin/sh\nexec "$@"\n'  # The command is in the arguments.
_PAUSE_S = 0.1  # Between two checks for a file, which cost Slurm nothing [s].
_ASK_MIN_S, _ASK_MAX_S = 0.1, 5.0  # Between two queries of Slurm, growing [s].
_LATE_S = 10.0  # Delay until a shared directory shows a file, at most [s].


@dataclass(frozen=True)
class SlurmBatchLauncher:
    """Submits jobs and waits for what they leave."""

    site: ClusterSite
    link: SiteFabric | None = None
    name: str = "sbatch"

    def missing(self) -> str:
        """Return which program is missing; empty when none is."""
        return lacking("sbatch", "squeue", "scontrol", "scancel")

    def launch(self, job: LaunchJob) -> LaunchOutcome:
        """Carry out a job; what goes wrong is in its outcome."""
        return self.launch_all([job])[0]

    def launch_all(self, jobs: Sequence[LaunchJob]) -> list[LaunchOutcome]:
        """Carry out jobs as one array."""
        return list(self.outcomes(jobs))

    def outcomes(self, jobs: Sequence[LaunchJob]) -> Generator[LaunchOutcome, None, None]:
        """Carry out jobs as one array, one after the other; give each outcome once it is there.

        Jobs are on the same hosts, each with a directory that all hosts see.
        """
        jobs = [replace(job, directory=job.directory.absolute()) for job in jobs]
        start = time.time_ns()
        message, ending, array = "", Ending.FAILED, None
        try:
            for job in jobs:
                try:
                    array = array or self._submitted(jobs)
                    # Of an array that came to nothing, nothing more can come.
                    message = message or self._wait(array, job.directory)
                except (LauncherError, SlurmError, SiteError, OSError) as error:
                    message = str(error)
                except KeyboardInterrupt:
                    message, ending = "ended by the user", Ending.INTERRUPTED
                words = array.words if array else ()
                lost = LaunchOutcome(ending, "", message, words, start, time.time_ns())
                yield read_outcome(job.directory) or lost
        finally:
            if array:
                # Costs nothing when all is over, and leaves nothing when it is not.
                cancel(array.number)

    def _submitted(self, jobs: Sequence[LaunchJob]) -> "_Array":
        cancel_earlier(jobs[-1])
        words = tuple(self._submission(jobs))
        wait_s = self.site.number("wait", WAIT_S) + sum(job.limit_s for job in jobs)
        number = slurm(*words).split(";")[0].strip()
        return _Array(number, words, wait_s, time.monotonic() + wait_s, jobs[0].directory)

    def _submission(self, jobs: Sequence[LaunchJob]) -> list[str]:
        first = jobs[0]
        for job in jobs:
            if (job.hosts, job.ranks_per_node) != (first.hosts, first.ranks_per_node):
                raise LauncherError("jobs of an array: on different hosts; expected the same")
        for host in first.hosts:
            self.site.host(host)
        script, tasks = first.directory / "batch.sh", first.directory / "tasks.json"
        script.write_text(_SCRIPT, encoding="utf-8")
        inner = {name: value for name, value in self.site.options.items() if name == "mpi"}
        write_tasks(tasks, replace(self.site, options=inner), self.link, list(jobs))
        # Named after the last one: while an array lives, that has not ended.
        array = replace(jobs[-1], limit_s=max(job.limit_s for job in jobs))
        # One at a time: they would disturb each other.
        words = ["sbatch", "--parsable", *allocation_options(array), f"--array=0-{len(jobs) - 1}%1"]
        words += [f"--output={first.directory}/batch-%a.out", *self.site.texts("arguments")]
        python = self.site.text("python", sys.executable)
        return [*words, str(script), python, "-m", "etherweave.bench.launchers.sbatch", str(tasks)]

    def _wait(self, array: "_Array", directory: Path) -> str:
        """Wait until an outcome is there, or cannot come; return why not."""
        pause, ask, gone = _ASK_MIN_S, 0.0, 0.0
        while read_outcome(directory) is None:
            now = time.monotonic()
            if now > array.end:
                return f"job {array.number}: not done within {array.wait_s:g} s"
            if now >= ask:
                if lives(array.number):
                    gone = 0.0
                elif not gone:
                    gone, pause = now, _ASK_MIN_S
                elif now > gone + _LATE_S:
                    ended, log = fate(array.number), _log(array.log)
                    return f"job {array.number}: left no outcome; {ended}; {log}"
                ask, pause = now + pause, min(1.5 * pause, _ASK_MAX_S)
            time.sleep(_PAUSE_S)
        return ""


class _Array(NamedTuple):
    """Jobs that were submitted together."""

    number: str
    words: tuple[str, ...]
    wait_s: float
    end: float  # On the monotonic clock [s].
    log: Path  # Where tasks write what went wrong with themselves.


def _log(directory: Path) -> str:
    texts = [file.read_text(errors="replace") for file in sorted(directory.glob("batch-*.out"))]
    return "\n".join(texts)[-2000:]


KIND = LauncherKind(
    "sbatch",
    SlurmBatchLauncher,
    {"arguments": OptionKind.TEXTS, "mpi": OptionKind.TEXT, "wait": OptionKind.TIME},
)


OUTCOME = "outcome.json"  # File in the directory of a job.


def write_tasks(
    file: Path, site: ClusterSite, link: SiteFabric | None, jobs: list[LaunchJob]
) -> None:
    """Write what the tasks of an array shall do."""
    facts = {
        "site": asdict(site) | {"options": dict(site.options)},
        "link": asdict(link) if link else None,
        "jobs": [asdict(job) | {"directory": str(job.directory)} for job in jobs],
    }
    file.write_text(json.dumps(facts), encoding="utf-8")


def read_task(file: Path, number: int) -> tuple[ClusterSite, SiteFabric | None, LaunchJob]:
    """Return what one task shall do."""
    facts = json.loads(file.read_text(encoding="utf-8"))
    options = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in facts["site"].pop("options").items()
    }
    site = replace(decoded(ClusterSite, facts["site"], "site"), options=options)
    link = decoded(SiteFabric, facts["link"], "link") if facts["link"] else None
    return site, link, decoded(LaunchJob, facts["jobs"][number], f"jobs[{number}]")


def write_outcome(directory: Path, outcome: LaunchOutcome) -> None:
    """Leave an outcome in a job's directory, whole or not at all."""
    write_json(directory / OUTCOME, asdict(outcome))


def read_outcome(directory: Path) -> LaunchOutcome | None:
    """Return the outcome of a job; none: it is not there yet."""
    try:
        facts = json.loads((directory / OUTCOME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return decoded(LaunchOutcome, facts, OUTCOME)


def main(tasks: Path) -> None:
    """Carry out the task whose number is in Slurm's environment."""
    site, link, job = read_task(tasks, int(os.environ.get("SLURM_ARRAY_TASK_ID", "0")))
    write_outcome(job.directory, SRUN.make(site, link).launch(job))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
