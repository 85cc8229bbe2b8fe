"""A session: one process carries a campaign out, or continues one, and writes its results.

::

    programs, site, options ─► campaign ─► limits ─► inspection of hosts ─► launches ─► results
                                                      (before and after)

:func:`run` is what ``etherweave bench run`` calls. Every launch is on the disk before the next one
begins, so that the same call continues a session that was interrupted or killed.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from etherweave.bench.campaigns.campaign import Campaign, CampaignOptions, experiments
from etherweave.bench.campaigns.cluster import Cluster, cluster_of
from etherweave.bench.campaigns.points import JudgedLaunch, judged_launches
from etherweave.bench.campaigns.runner import RunObserver, launch_until_decided
from etherweave.bench.campaigns.store import Store, keep_switches
from etherweave.bench.campaigns.summary import CampaignSummary, summary
from etherweave.bench.campaigns.tables import save
from etherweave.bench.environment.findings import EnvironmentFinding
from etherweave.bench.environment.inspections import (
    HostInspection,
    inspect_hosts,
    inspection_facts,
    inspection_findings,
)
from etherweave.bench.programs.catalogue import catalogue
from etherweave.bench.programs.plans import BenchmarkPlanError
from etherweave.bench.site.reading import read
from etherweave.bench.site.values import ClusterSite, this_machine
from etherweave.bench.statistics.launches import StoppingRule
from etherweave.bench.telemetry.epochs import Epoch, epochs, keep, recorder, switch_recorder
from etherweave.bench.telemetry.link_traffic import findings as traffic_findings

INSPECTION = "inspection"
"""Names the working directory of inspections of hosts; launches have other names."""


@dataclass(frozen=True)
class CampaignLimits:
    """Limits of a campaign."""

    launch_s: float | None = None
    """Time after which a launch is ended [s]; ten times its predicted time, at least a minute, if
    ``None``."""
    total_s: float = 3600.0  # Predicted time of all launches [s].
    traffic_bytes: float = 1e12
    """Predicted traffic of all launches, of the busiest host of each [bytes]."""


@dataclass(frozen=True)
class CampaignCost:
    """Predicted costs of a campaign, at most."""

    launches: int
    bytes: float  # Sent by the busiest host of each launch, added.
    seconds: float
    unknown: tuple[str, ...] = ()  # Why the cost of programs is that of the limit of their launch.

    @property
    def reasons(self) -> str:
        """Reasons why costs are not known, as the end of a sentence; empty if all are."""
        return "".join(f"; {reason}" for reason in self.unknown)

    def exceeded(self, limits: CampaignLimits) -> tuple[str, ...]:
        """Name the limits that are too small: ``traffic``, ``total time``."""
        over = {
            "traffic": self.bytes > limits.traffic_bytes,
            "total time": self.seconds > limits.total_s,
        }
        return tuple(name for name, is_over in over.items() if is_over)


class LimitError(ValueError):
    """A campaign that is predicted to take more than its limits allow.

    ``exceeded`` has the names of the limits, as :meth:`CampaignCost.exceeded` returns them.
    """

    def __init__(self, cost: CampaignCost, exceeded: Sequence[str]) -> None:
        super().__init__(
            f"{cost.launches:,} launches, {cost.bytes:.3g} bytes, {cost.seconds:.3g} s at most"
            f"{cost.reasons}; expected within the limit of {' and '.join(exceeded)}, "
            "or fewer launches"
        )
        self.cost = cost
        self.exceeded = tuple(exceeded)


@dataclass(frozen=True)
class SessionObserver:
    """Functions that a session calls as it proceeds; each does nothing unless given."""

    predicted: Callable[[CampaignCost], None] = lambda cost: None
    """Takes the predicted cost, before anything is started."""
    inspected: Callable[[Sequence[EnvironmentFinding]], None] = lambda findings: None
    """Takes what is found about the hosts before the first launch."""
    launched: Callable[[int, int, str], None] = lambda done, most, name: None
    """Takes the number of launches done, their largest number, and the name of the last."""


@dataclass(frozen=True)
class SessionResult:
    """Result of a session."""

    summary: CampaignSummary  # Statistics of all launches so far, as ``benchmarks.json`` has them.
    is_complete: bool
    """Whether every experiment is decided; otherwise the user interrupted the session."""
    directory: Path
    findings: tuple[EnvironmentFinding, ...]
    """Whether the traffic of each launch crossed the tested links."""
    epochs: tuple[Epoch, ...]  # How each host was recorded during each launch.


def run(
    programs: Sequence[str],
    output: Path,
    *,
    site: ClusterSite | Path | None = None,
    fabrics: Sequence[str] = (),
    hosts: Sequence[str] | None = None,
    sizes: Sequence[tuple[int | None, int | None]] = ((None, None),),
    ranks_per_host: int = 1,
    iterations: int | None = None,
    duration_s: int | None = None,
    streams: int = 1,
    all_pairs: bool = False,
    options: Sequence[str] = (),
    background: Sequence[str] = (),
    rule: StoppingRule | None = None,
    seed: int = 0,
    limits: CampaignLimits | None = None,
    telemetry: bool = True,
    observer: SessionObserver | None = None,
) -> SessionResult:
    """Launch benchmarks on a cluster until their medians are known, and keep every launch.

    Parameters
    ----------
    programs
        Programs such as ``osu_bw``, or benchmarks for their first program.
    output
        Directory of the results. One that holds the same campaign is continued.
    site
        The cluster, or the path of its file; this machine unless given.
    fabrics
        Names of fabrics of the site; all unless given.
    hosts
        Names of hosts of the site, in the order of ranks; all unless given.
    sizes
        Smallest and largest message of each experiment [bytes]; ``None`` leaves it to the program.
    ranks_per_host
        Processes on each host.
    iterations
        Repetitions of each message size; the program's own number unless given.
    duration_s
        Length of each test of programs that run for a time [s].
    streams
        Parallel connections of a pair of hosts.
    all_pairs
        Whether to run benchmarks of a pair on every pair of hosts rather than on the first two.
    options
        Options of the programs themselves, as in ``["-t", "TCP_RR"]`` of netperf.
    background
        Programs such as ``iperf3`` that load the network during each launch, on its hosts.
    rule
        Required precision and number of launches; 5 % with 10 to 30 launches unless given.
    seed
        Of the order of launches.
    limits
        What the campaign may take.
    telemetry
        Whether to record the counters of all hosts during each launch.
    observer
        Is informed as the session proceeds.

    Returns
    -------
    SessionResult
        The summary, also when Ctrl-C interrupted the session: then of the launches that ended.

    Raises
    ------
    SiteError
        When the site's file is wrong, or lacks a host or a fabric.
    BenchmarkPlanError
        When a program or an option of it is unknown, or it cannot run as requested.
    LimitError
        When the predicted cost exceeds the limits; nothing has been started then.
    StoreError
        When the directory holds another campaign, or another session uses it.
    OSError
        When the system cannot read or write a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from etherweave import bench
    >>> done = bench.run(["osu_latency"], Path("monday"), site=Path("site.toml"))  # doctest: +SKIP
    >>> [one.statistics.median for one in done.summary.points]  # doctest: +SKIP
    [2.1e-06]
    """
    observer = observer or SessionObserver()
    limits = limits or CampaignLimits()
    place = read(site) if isinstance(site, Path) else site or this_machine()
    cluster = cluster_of(place, fabrics, hosts)
    campaign_options = CampaignOptions(
        cluster.hosts,
        tuple(sizes),
        ranks_per_host,
        iterations,
        duration_s,
        streams,
        all_pairs,
        tuple(options),
        tuple(background),
        limits.launch_s,
    )
    planned = experiments(programs, cluster.networks, campaign_options)
    campaign = Campaign(cluster.name, cluster.networks, planned, rule or StoppingRule(), seed)
    _check_limits(campaign, limits, observer)
    _check_programs(campaign, cluster)
    return _carried_out(campaign, output, cluster, limits.launch_s, telemetry, observer)


def predicted_cost(campaign: Campaign) -> CampaignCost:
    """Add up the predictions of all launches, as if every experiment needed all it may have."""
    each = campaign.launches_max
    return CampaignCost(
        launches=each * len(campaign.experiments),
        bytes=each * sum(experiment.bytes for experiment in campaign.experiments),
        seconds=each * sum(experiment.seconds for experiment in campaign.experiments),
        unknown=tuple(filter(None, dict.fromkeys(row.unknown for row in campaign.experiments))),
    )


def _check_programs(campaign: Campaign, cluster: Cluster) -> None:
    """Refuse programs that this machine lacks where it is all hosts."""
    if not cluster.runs_from_path:
        return
    for experiment in campaign.experiments:
        commands = (experiment.command, *(beside.command for beside in experiment.background))
        words = [own for command in commands for own in (command.server, command.arguments) if own]
        if missing := [own[0] for own in words if shutil.which(own[0]) is None]:
            entry = catalogue()[experiment.benchmark]
            source = f"; {entry.title} is in {entry.obtained}" if entry.obtained else ""
            raise BenchmarkPlanError(f"{missing[0]}: not found; expected it in PATH{source}")


def _check_limits(campaign: Campaign, limits: CampaignLimits, observer: SessionObserver) -> None:
    cost = predicted_cost(campaign)
    if exceeded := cost.exceeded(limits):
        raise LimitError(cost, exceeded)
    observer.predicted(cost)


def _carried_out(
    campaign: Campaign,
    output: Path,
    cluster: Cluster,
    limit_s: float | None,
    telemetry: bool,
    observer: SessionObserver,
) -> SessionResult:
    """Launch, and write the tables however that ends."""
    store = Store.create(output, campaign)
    keep_switches(store.directory, cluster.switches)
    with store.alone():
        is_complete = _launched(store, cluster, limit_s, telemetry, observer)
        launches = judged_launches(store.campaign, store.records())
        recorded = tuple(epochs(store))
        findings = tuple(traffic_findings(launches, recorded))
        seen = [*store.environments(), {"findings": [asdict(finding) for finding in findings]}]
        result = summary(store.campaign, launches, seen)
        save(store, result)
    return SessionResult(result, is_complete, store.directory, findings, recorded)


def _launched(
    store: Store,
    cluster: Cluster,
    limit_s: float | None,
    telemetry: bool,
    observer: SessionObserver,
) -> bool:
    def ended(judged_launch: JudgedLaunch, done: int, most: int) -> None:
        observer.launched(done, most, judged_launch.record.name)

    run_observer = RunObserver(ended)
    if telemetry:
        switches = map(switch_recorder, cluster.recorded_switches)
        run_observer = RunObserver(ended, (recorder(cluster.python), *switches), keep)
    try:
        with session(store, lambda: _inspections(store, cluster)) as (number, findings):
            observer.inspected(findings)
            return launch_until_decided(store, cluster.launchers, number, run_observer, limit_s)
    except KeyboardInterrupt:
        return False


def _inspections(store: Store, cluster: Cluster) -> list[HostInspection]:
    """Inspect all hosts that take part, on each fabric."""
    try:
        return [
            inspection
            for fabric, hosts in _hosts(store.campaign).items()
            for inspection in inspect_hosts(
                cluster.launchers[fabric],
                fabric,
                hosts,
                cluster.python,
                store.workplace(INSPECTION),
            )
        ]
    finally:
        store.clear(INSPECTION)


def _hosts(campaign: Campaign) -> dict[str, list[str]]:
    notes: dict[str, dict[str, None]] = {}
    for experiment in campaign.experiments:
        notes.setdefault(experiment.fabric, {}).update(dict.fromkeys(experiment.hosts))
    return {fabric: list(hosts) for fabric, hosts in notes.items()}


@contextmanager
def session(
    store: Store, inspect: Callable[[], list[HostInspection]]
) -> Iterator[tuple[int, list[EnvironmentFinding]]]:
    """Inspect all hosts before and after; give the session's number, and the findings before.

    The second inspection is kept however the session ends, unless the process is killed: then the
    first one stays.
    """
    number, before = store.new_session(), inspect()
    findings = inspection_findings(before)
    store.keep_environment(number, _kept(before, (), findings))
    try:
        yield number, findings
    finally:
        after = inspect()
        store.keep_environment(number, _kept(before, after, inspection_findings(before, after)))


def _kept(
    before: Sequence[HostInspection],
    after: Sequence[HostInspection],
    findings: Sequence[EnvironmentFinding],
) -> dict[str, Any]:
    return {"hosts": inspection_facts(before, after), "findings": [asdict(row) for row in findings]}
