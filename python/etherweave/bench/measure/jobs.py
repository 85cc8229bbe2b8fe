"""Jobs of a scenario with their schedules."""

import json
from collections.abc import Sequence
from typing import NamedTuple, TypedDict, cast

from etherweave import _core
from etherweave.api.scenario import Overrides, ScenarioSource, literals, read


class Amounts(TypedDict):
    """Size of a job; values of the busiest rank end in ``_max``."""

    ranks: int
    messages: int  # Sent messages; endless streams count those of their window.
    bytes: int  # Payload sent [B].
    messages_rank_max: int  # Sent and received.
    bytes_rank_max: int  # Sent or received, whichever is more [B].
    rest_ps_max: int  # Sleep and computation [ps].
    iterations: int  # Measured, over all ranks.
    is_endless: bool  # Whether streams send until the run ends.


class ScenarioJob(NamedTuple):
    """A job and its schedule."""

    name: str
    hosts: Sequence[str]  # Hosts of the scenario, in rank order.
    amounts: Amounts
    schedule: bytes  # Input of the executor.


class ScenarioJobs(NamedTuple):
    """All jobs of a scenario."""

    name: str
    seed: int
    resolved: str  # The scenario with every default, as TOML.
    rate_bps: int  # Rate of the slowest link of a host that has a rank [b/s].
    end_ns: float | None  # When the run ends at the latest [ns].
    jobs: Sequence[ScenarioJob]

    @property
    def ranks(self) -> int:
        """Number of ranks of all jobs."""
        return sum(job.amounts["ranks"] for job in self.jobs)


def jobs_of(scenario: ScenarioSource, overrides: Overrides | None, warm_up: int) -> ScenarioJobs:
    """Read a scenario and generate its schedules.

    ``scenario`` and ``overrides`` are those of :func:`etherweave.run`; ``warm_up`` counts passes
    over each block of a program before the measured one. Raises ``ScenarioError`` when the scenario
    is wrong, or a schedule cannot be repeated for the warm-up.
    """
    text, origin = read(scenario)
    made = _core.schedules(text, origin, literals(overrides), warm_up)
    jobs = [
        ScenarioJob(job.name, job.hosts, cast(Amounts, json.loads(job.amounts)), job.bytes)
        for job in made.jobs
    ]
    return ScenarioJobs(made.name, made.seed, made.resolved, made.rate_bps, made.end_ns, jobs)
