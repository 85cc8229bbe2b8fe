"""What is measured on a site: seated, checked and summed up before anything is launched."""

import math
import re
from collections.abc import Mapping, Sequence
from tomllib import loads
from typing import Any, NamedTuple

import etherweave
from etherweave.bench.calibration.observations import CalibrationError, alone, beside
from etherweave.bench.calibration.probes import Probe, probes
from etherweave.bench.campaign import digest
from etherweave.bench.measure import Limits, MeasureError
from etherweave.bench.measure.forecast import Forecast, forecast, within
from etherweave.bench.measure.jobs import Jobs, jobs_of
from etherweave.bench.measure.seating import of_site
from etherweave.bench.site.values import ClusterSite, SiteFabric

REHEARSAL = 1
"""Passes before the start that counts, as ``measure`` has them."""


class Hosts(NamedTuple):
    """Where it is measured."""

    site: ClusterSite
    link: SiteFabric | None
    names: tuple[str, ...]
    """Each stands for a host of the scenario, in the order of either."""
    limits: Limits


class Workload(NamedTuple):
    """A probe or a job, alone, on hosts of a site."""

    name: str
    scenario: Mapping[str, object]
    hosts: tuple[str, ...]
    """Of the site, in the order of ranks."""
    expected: Forecast
    """Of one launch."""

    @property
    def directory(self) -> str:
        """Name what holds its launches: readable, and no path, whatever the job is called."""
        return directory_of(self.name)


def directory_of(name: str) -> str:
    """Name what holds launches of a workload."""
    words = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:60]
    return words if words == name else f"{words}-{digest(name)[:10]}"


def plan(base: Mapping[str, Any], hosts: Hosts) -> tuple[Workload, ...]:
    """List micro-benchmarks and the scenario's jobs, each alone.

    Parameters
    ----------
    base
        The scenario.
    hosts
        Where, and within which limits.

    Raises
    ------
    CalibrationError
        When one of them cannot be measured so that it compares with what is simulated.
    MeasureError
        When one takes longer than it may, or a host is named twice.
    SiteError
        When a host is none of the site's.
    """
    if (count := len(hosts.names)) < 2:
        raise CalibrationError(f"{count} host takes part; expected at least 2 to measure between")
    (transport,) = loads(etherweave.resolve(base))["transport"]
    usual = probes(count, transport)
    asked = {probe.name: beside(base, probe.name, probe.workload) for probe in usual}
    seats = _seats(asked, usual, hosts.names)
    for job in base["job"]:
        if (name := str(job["name"])) in asked:
            raise CalibrationError(
                f"job {name}: a micro-benchmark has that name; expected another for the job"
            )
        asked[name] = alone(base, job)
    return tuple(_workload(name, scenario, seats, hosts) for name, scenario in asked.items())


def amount(workloads: Sequence[Workload], launches: int, limits: Limits) -> Forecast:
    """Tell what all launches together take.

    Raises
    ------
    MeasureError
        When they send more than they may.
    """
    seconds = sum(one.expected.seconds for one in workloads)
    gigabytes = sum(one.expected.gigabytes for one in workloads)
    within(limits._replace(seconds=seconds), Forecast(seconds, gigabytes), launches)
    return Forecast(launches * seconds, launches * gigabytes)


def _seats(
    asked: Mapping[str, Mapping[str, object]], usual: Sequence[Probe], names: Sequence[str]
) -> dict[str, str]:
    """Tell which host of the site stands for which of the scenario: the last probe has all."""
    last = usual[-1].name
    (job,) = _jobs(last, asked[last]).jobs
    return dict(zip(job.hosts, names, strict=True))


def _jobs(name: str, scenario: Mapping[str, object]) -> Jobs:
    try:
        return jobs_of(scenario, None, REHEARSAL)
    except etherweave.ScenarioError as error:
        raise CalibrationError(f"{name}, alone and without run.end: {error}") from None


def _workload(
    name: str, scenario: Mapping[str, object], seats: Mapping[str, str], hosts: Hosts
) -> Workload:
    jobs = _jobs(name, scenario)
    (job,) = jobs.jobs
    for rank, place in enumerate(job.hosts):
        if place not in seats:
            raise CalibrationError(
                f"{name}: rank {rank} is on {place}; expected one of {', '.join(seats)}: "
                "for these the hosts of the site stand"
            )
    names = tuple(seats[place] for place in job.hosts)
    seating = of_site(hosts.site, hosts.link, names, jobs.ranks)
    expected = forecast(jobs, seating.processors, seating.rate_bps)
    try:
        within(hosts.limits._replace(gigabytes=math.inf), expected, launches=1)
    except MeasureError as error:
        raise MeasureError(f"{name}: {error}") from None
    return Workload(name, scenario, names, expected)
