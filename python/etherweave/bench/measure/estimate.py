"""Estimate of the time and the payload of a launch before it starts.

Rough, and rather too long than too short: sleeps, payload at a rate, a time for each message.
"""

import math
from typing import NamedTuple

from etherweave.bench.measure.errors import MeasureError
from etherweave.bench.measure.jobs import ScenarioJob, ScenarioJobs

MESSAGE_S = 10e-6  # Time of a rank for each message that it sends or receives [s]: MPI over TCP.
LOCAL_BYTES_PER_S = 1e9  # Rate of all ranks of one machine together [B/s]: copies in memory.
START_S = 2.0  # Start of a launch: processes, connections, clocks [s].


class MeasureLimits(NamedTuple):
    """Limits of a measurement."""

    seconds: float = 600.0  # Time of each launch [s].
    gigabytes: float = 1000.0  # Payload of all launches [GB].


class Estimate(NamedTuple):
    """Expected time and payload of a launch."""

    seconds: float
    gigabytes: float  # Payload [GB].

    def __str__(self) -> str:
        return f"about {self.seconds:.3g} s and {self.gigabytes:.3g} GB"


def estimate(jobs: ScenarioJobs, processors: int | None, rate_bps: float = math.inf) -> Estimate:
    """Predict one launch.

    ``processors`` are those of this machine, if all ranks share it; ``None`` if each has a host of
    its own. ``rate_bps`` is the share of a rank in the rate of its host's link, if known [b/s].
    """
    run_s = (jobs.end_ns or 0.0) / 1e9
    if processors is None:
        rate_bps = min(rate_bps, max(jobs.rate_bps, 1))
    work_s = max(_seconds(job, rate_bps, processors) for job in jobs.jobs)
    return Estimate(START_S + max(work_s, _end_s(jobs)), _bytes(jobs, run_s) / 1e9)


def within(limits: MeasureLimits, expected: Estimate, launches: int) -> None:
    """Reject what would exceed a limit.

    Raises ``MeasureError`` when time or payload exceed their limit.
    """
    if expected.seconds > limits.seconds:
        raise MeasureError(
            f"a launch takes {expected}; expected at most {limits.seconds:g} s (--time-limit), "
            "or fewer iterations"
        )
    if (total := expected.gigabytes * launches) > limits.gigabytes:
        raise MeasureError(
            f"{launches} launches send about {total:.3g} GB; "
            f"expected at most {limits.gigabytes:g} GB (--traffic-limit)"
        )


def _seconds(job: ScenarioJob, rate_bps: float, processors: int | None) -> float:
    amounts = job.amounts
    transfer_s = amounts["bytes_rank_max"] * 8 / rate_bps
    if processors is None:
        message_s = amounts["messages_rank_max"] * MESSAGE_S
    else:
        transfer_s = max(transfer_s, amounts["bytes"] / LOCAL_BYTES_PER_S)
        # Every message is handled twice, and ranks take turns on the processors.
        message_s = 2 * amounts["messages"] * MESSAGE_S / min(processors, amounts["ranks"])
    return amounts["rest_ps_max"] / 1e12 + transfer_s + message_s


def _end_s(jobs: ScenarioJobs) -> float:
    is_endless = any(job.amounts["is_endless"] for job in jobs.jobs)
    return (jobs.end_ns or 0.0) / 1e9 if is_endless else 0.0


def _bytes(jobs: ScenarioJobs, run_s: float) -> float:
    """Sum payload; an endless stream counts as the full rate of its host's link."""
    endless = run_s * jobs.rate_bps / 8
    return sum(
        endless * len(job.hosts) if job.amounts["is_endless"] else job.amounts["bytes"]
        for job in jobs.jobs
    )
