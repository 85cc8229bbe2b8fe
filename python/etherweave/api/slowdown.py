"""Slowdown of jobs by each other: each against itself alone on the same hosts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etherweave.api.overview import overview
from etherweave.api.results import Result


@dataclass(frozen=True)
class Slowdown:
    """A job among others and alone."""

    job: str
    figure: str  # Figure that is compared: ``mean iteration``, ``mean completion`` or ``goodput``.
    unit: str  # Unit of both figures.
    together: float
    alone: float

    @property
    def factor(self) -> float:
        """How many times as long it takes among the others."""
        pair = self.together, self.alone
        above, below = reversed(pair) if self.figure == "goodput" else pair
        return above / below if below else float("inf")


def foreground(result: Result) -> list[str]:
    """List the jobs that are not in the background."""
    return [job["name"] for job in result.scenario["job"] if not job["background"]]


def slowdowns(together: Result, alone: Mapping[str, Result]) -> list[Slowdown]:
    """Compare each job of a run with itself alone, where both measured something.

    ``alone`` has, by name of a job, its run with ``run.jobs`` of that name only.
    """
    comparisons = [_compared(job, overview(together), overview(run)) for job, run in alone.items()]
    return [compared for compared in comparisons if compared]


def _compared(job: str, together: dict[str, Any], alone: dict[str, Any]) -> Slowdown | None:
    if job in together["jobs"] and job in alone["jobs"]:
        means = [figures["jobs"][job]["mean_us"] for figures in (together, alone)]
        return Slowdown(job, "mean iteration", "us", *means)
    if job not in together["streams"] or job not in alone["streams"]:
        return None
    both = [figures["streams"][job] for figures in (together, alone)]
    if all(stream["complete"] == stream["streams"] for stream in both):
        return Slowdown(job, "mean completion", "us", *(stream["mean_us"] for stream in both))
    return Slowdown(job, "goodput", "Gb/s", *(stream["goodput_gbps"] for stream in both))
