"""Plan of what is measured on a site: placed, checked and summed up before the first launch."""

import math
import re
from collections.abc import Mapping, Sequence
from tomllib import loads
from typing import Any, NamedTuple

import etherweave
from etherweave.bench.calibration.measured import CalibrationError, alone, beside
from etherweave.bench.calibration.micro_benchmarks import MicroBenchmark, micro_benchmarks
from etherweave.bench.campaigns.campaign import digest
from etherweave.bench.measure import MeasureError, MeasureLimits
from etherweave.bench.measure.estimate import Estimate, estimate, within
from etherweave.bench.measure.jobs import ScenarioJobs, jobs_of
from etherweave.bench.measure.rank_placement import of_site
from etherweave.bench.site.values import ClusterSite, SiteFabric

WARM_UP = 1  # Warm-up passes, as in ``measure``.


class MeasuringHosts(NamedTuple):
    """Hosts that measure, and their limits."""

    site: ClusterSite
    link: SiteFabric | None
    names: tuple[str, ...]  # Each takes the place of a host of the scenario, in order.
    limits: MeasureLimits


class PlannedWorkload(NamedTuple):
    """A micro-benchmark or a job, alone, on hosts of a site."""

    name: str
    scenario: Mapping[str, object]
    hosts: tuple[str, ...]  # Hosts of the site, in rank order.
    expected: Estimate  # Time and payload of one launch.

    @property
    def directory(self) -> str:
        """Prefix of the directories of its launches: readable, and safe for any name of a job."""
        return directory_of(self.name)


def directory_of(name: str) -> str:
    """Return the prefix of the directories of a workload's launches."""
    words = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:60]
    return words if words == name else f"{words}-{digest(name)[:10]}"


def plan(base: Mapping[str, Any], hosts: MeasuringHosts) -> tuple[PlannedWorkload, ...]:
    """Plan micro-benchmarks and the scenario's jobs, each alone.

    Raises ``CalibrationError`` when one of them cannot be measured as it is simulated;
    ``MeasureError`` when one takes longer than it may, or a host is named twice; ``SiteError`` when
    a host is none of the site's.
    """
    if (count := len(hosts.names)) < 2:
        raise CalibrationError(f"{count} host takes part; expected at least 2 to measure between")
    (transport,) = loads(etherweave.resolve(base))["transport"]
    benchmarks = micro_benchmarks(count, transport)
    scenarios = {row.name: beside(base, row.name, row.workload) for row in benchmarks}
    host_of = _host_map(scenarios, benchmarks, hosts.names)
    for job in base["job"]:
        if (name := str(job["name"])) in scenarios:
            raise CalibrationError(
                f"job {name}: a micro-benchmark has that name; expected another for the job"
            )
        scenarios[name] = alone(base, job)
    return tuple(_workload(name, scenario, host_of, hosts) for name, scenario in scenarios.items())


def amount(workloads: Sequence[PlannedWorkload], launches: int, limits: MeasureLimits) -> Estimate:
    """Return time and payload of all launches together.

    Raises ``MeasureError`` when they send more than they may.
    """
    seconds = sum(workload.expected.seconds for workload in workloads)
    gigabytes = sum(workload.expected.gigabytes for workload in workloads)
    within(limits._replace(seconds=seconds), Estimate(seconds, gigabytes), launches)
    return Estimate(launches * seconds, launches * gigabytes)


def _host_map(
    scenarios: Mapping[str, Mapping[str, object]],
    benchmarks: Sequence[MicroBenchmark],
    names: Sequence[str],
) -> dict[str, str]:
    """Map hosts of the scenario to those of the site; the last benchmark uses all of them."""
    last = benchmarks[-1].name
    (job,) = _jobs(last, scenarios[last]).jobs
    return dict(zip(job.hosts, names, strict=True))


def _jobs(name: str, scenario: Mapping[str, object]) -> ScenarioJobs:
    try:
        return jobs_of(scenario, None, WARM_UP)
    except etherweave.ScenarioError as error:
        raise CalibrationError(f"{name}, alone and without run.end: {error}") from None


def _workload(
    name: str, scenario: Mapping[str, object], host_of: Mapping[str, str], hosts: MeasuringHosts
) -> PlannedWorkload:
    jobs = _jobs(name, scenario)
    (job,) = jobs.jobs
    for rank, host in enumerate(job.hosts):
        if host not in host_of:
            raise CalibrationError(
                f"{name}: rank {rank} is on {host}; expected one of {', '.join(host_of)}: "
                "the hosts of the site take the place of these"
            )
    names = tuple(host_of[host] for host in job.hosts)
    rank_placement = of_site(hosts.site, hosts.link, names, jobs.ranks)
    expected = estimate(jobs, rank_placement.processors, rank_placement.rate_bps)
    try:
        within(hosts.limits._replace(gigabytes=math.inf), expected, launches=1)
    except MeasureError as error:
        raise MeasureError(f"{name}: {error}") from None
    return PlannedWorkload(name, scenario, names, expected)
