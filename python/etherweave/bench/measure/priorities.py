"""Priorities of jobs on a real cluster: variables of MPI, or marks of the sockets of its ranks."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from etherweave.api.code_points import code_point, mistake, octet
from etherweave.bench.measure.errors import MeasureError
from etherweave.bench.measure.jobs import ScenarioJobs
from etherweave.bench.site.reading import priority_settings, stacks_with_priorities
from etherweave.bench.site.values import SiteFabric


class JobPriority(NamedTuple):
    """The priority of a job, and what gives it to the packets of its ranks."""

    job: str
    priority: int  # Priority of 802.1Q, which PFC pauses.
    code_point: int  # Code point of IP, from which switches and NICs read the priority.
    settings: Mapping[str, str]
    """Variables of the MPI library, and settings of sockets that the executor carries out."""
    first: int  # First rank of the job among those of all.
    last: int

    def words(self) -> list[str]:
        """Return options of the executor."""
        ranks = f"{self.first}-{self.last}"
        settings = [f"{ranks}:{name}={value}" for name, value in self.settings.items()]
        return [word for setting in settings for word in ("--set", setting)]

    def __str__(self) -> str:
        return f"{self.job}: priority {self.priority}, code point {self.code_point}"


def job_priorities(
    jobs: ScenarioJobs,
    link: SiteFabric | None,
    marks: Mapping[int, int] | None = None,
    *,
    is_here: bool = False,
) -> list[JobPriority]:
    """Return the priorities of all jobs; none where all have 0, as without any setting.

    ``marks`` are code points of priorities that differ from :func:`code_point`. Raises
    ``MeasureError`` where the fabric's stack cannot set them, or no fabric writes a code point;
    ``is_here`` says that all ranks share this machine, where none is needed.
    """
    if problem := mistake(marks or {}):
        raise MeasureError(problem)
    if marks and link is None:
        raise MeasureError(
            "code points: no packet carries them without a fabric of a site; expected --site"
        )
    numbers = numbers_of(jobs)
    if not any(numbers) or (link is None and is_here):
        return []
    if link is None or not priority_settings(link.kind, link.stack, 0, 0):
        job = next(at for at, number in enumerate(numbers) if number)
        reason = (
            f"fabric {link.name} ({link.kind} by {link.stack}) cannot set it"
            if link
            else "only a fabric of a site can set it"
        )
        raise MeasureError(
            f"job.{job}.priority: {numbers[job]}; {reason}; expected "
            f"--site with a fabric of {stacks_with_priorities()}, or 0 in all jobs"
        )
    return _set(jobs, numbers, link, marks or {})


def numbers_of(jobs: ScenarioJobs) -> list[int]:
    """Return the priority of each job."""
    return [job["priority"] for job in tomllib.loads(jobs.resolved)["job"]]


def _set(
    jobs: ScenarioJobs, numbers: Sequence[int], link: SiteFabric, marks: Mapping[int, int]
) -> list[JobPriority]:
    priorities, first = [], 0
    for job, number in zip(jobs.jobs, numbers, strict=True):
        mark, last = marks.get(number, code_point(number)), first + job.amounts["ranks"] - 1
        settings = priority_settings(link.kind, link.stack, number, octet(mark))
        priorities.append(JobPriority(job.name, number, mark, settings, first, last))
        first = last + 1
    return priorities
