"""The verb ``bench run``."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from etherweave.bench.campaign import Campaign, CampaignOptions, experiments
from etherweave.bench.environment.findings import EnvironmentFinding, Severity
from etherweave.bench.environment.inspections import HostInspection, inspect_hosts
from etherweave.bench.plans import BenchmarkPlanError
from etherweave.bench.points import JudgedLaunch, judged_launches
from etherweave.bench.runner import RunObserver, run
from etherweave.bench.session import Budget, Cost, cost, exceeded, session
from etherweave.bench.statistics.launches import StoppingRule
from etherweave.bench.store import Store, StoreError, keep_switches
from etherweave.bench.summary import CampaignSummary, summary
from etherweave.bench.tables import save
from etherweave.bench.telemetry.epochs import Epoch, epochs, keep, recorder
from etherweave.bench.telemetry.link_traffic import GAP, findings
from etherweave.cli.bench.amounts import amount, size_of, time_of
from etherweave.cli.bench.cluster import Cluster, cluster_of
from etherweave.cli.bench.plan import sizes_of
from etherweave.cli.bench.summaries import print_summary
from etherweave.cli.exits import FAILED, INTERRUPTED, alarm, notice, refuse, terminable, told
from etherweave.cli.parameters import AsJson, directory
from etherweave.cli.progress import CountCallback, study_progress

EXAMPLES = """Examples:

etherweave bench run osu_latency osu_bw --site site.toml -o results/monday

etherweave bench run osu_latency --site site.toml --fabric roce --fabric tcp --all-pairs -o pairs

etherweave bench run iperf3 --site site.toml --hosts node1,node2 --seconds 10 -o tcp --json"""

LOOK = "look"
"""Names the workplace of looks at hosts; launches are called otherwise."""
_GAPS = ("host", GAP)
"""Checks whose gaps are told: nothing, or less, is known of a host."""
_MOST = 20
"""Findings that are told one by one."""

Programs = Annotated[
    list[str],
    typer.Argument(help="Programs such as osu_bw, or benchmarks for their first program."),
]
SiteFile = Annotated[
    Path | None,
    typer.Option(
        "--site", metavar="FILE", help="Hosts, launcher and fabrics, TOML; else this machine."
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="Directory of the results; one of a run that was killed goes on."
    ),
]
Fabrics = Annotated[
    list[str] | None, typer.Option("--fabric", help="Of the site; all of them by default.")
]
Hosts = Annotated[
    str | None, typer.Option(metavar="NAME,…", help="Of the site; all of them by default.")
]
Sizes = Annotated[
    list[str] | None,
    typer.Option("--size", metavar="[MIN:]MAX", help="Message sizes, such as 8B:64KiB."),
]


def bench_run(
    programs: Programs,
    output: Output,
    site: SiteFile = None,
    fabric: Fabrics = None,
    hosts: Hosts = None,
    size: Sizes = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Every pair, rather than the first two hosts.")
    ] = False,
    ranks: Annotated[int, typer.Option(min=1, help="Processes on each host.")] = 1,
    iterations: Annotated[int | None, typer.Option(min=1, help="Of each size.")] = None,
    seconds: Annotated[
        int | None, typer.Option(min=1, help="Of each test, where it goes by the clock.")
    ] = None,
    streams: Annotated[int, typer.Option(min=1, help="Connections of a pair.")] = 1,
    half_width: Annotated[
        float, typer.Option(help="Of the median's 95 % interval, as a share of it.")
    ] = StoppingRule.half_width,
    launches_min: Annotated[
        int, typer.Option(min=1, help="Of each experiment, after the warm-up.")
    ] = StoppingRule.launches_min,
    launches_max: Annotated[
        int, typer.Option(min=1, help="Then it ends, precise or not.")
    ] = StoppingRule.launches_max,
    seed: Annotated[int, typer.Option(help="Of the order of launches.")] = 0,
    limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Ends a launch; else ten forecasts.")
    ] = None,
    budget_bytes: Annotated[
        str, typer.Option(metavar="SIZE", help="That all launches may send.")
    ] = "1TB",
    budget_time: Annotated[str, typer.Option(metavar="TIME", help="That they may take.")] = "1h",
    telemetry: Annotated[
        bool, typer.Option("--telemetry/--no-telemetry", help="Record the counters of all hosts.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Launch benchmarks on a cluster until medians are known, and keep every launch.

    Refused when forecasts exceed the budget. Ends with 1 when an experiment gave no number, with 2
    after a mistake, with 130 after Ctrl-C; the same command then goes on.
    """
    cluster = cluster_of(site, fabric or [], hosts)
    try:
        wish = CampaignOptions(
            cluster.hosts,
            tuple(map(sizes_of, size or [])) or ((None, None),),
            ranks,
            iterations,
            seconds,
            streams,
            all_pairs,
        )
        rule = StoppingRule(half_width, launches_min=launches_min, launches_max=launches_max)
        planned = experiments(programs, cluster.networks, wish)
        budget = Budget(size_of(budget_bytes), time_of(budget_time))
        limit_s = time_of(limit) if limit else None
        if limit_s == 0:
            raise ValueError(f"--limit {limit}: expected more than no time")
    except (BenchmarkPlanError, ValueError) as error:
        refuse(error)
    campaign = Campaign(cluster.name, cluster.networks, planned, rule, seed)
    _afford(campaign, budget)
    found, is_whole = _carried_out(campaign, directory(output), cluster, limit_s, telemetry)
    print(json.dumps(found.facts(), indent=2)) if as_json else print_summary(found)
    notice(f"Results: {output}")
    if not is_whole:
        alarm("Interrupted: the same command goes on.")
        raise typer.Exit(INTERRUPTED)
    if found.has_failed:
        raise typer.Exit(FAILED)


def _afford(campaign: Campaign, budget: Budget) -> None:
    forecast = cost(campaign)
    over = exceeded(forecast, budget)
    if over:
        options = " and ".join(f"--budget-{name}" for name in over)
        refuse(f"{_words(forecast)}; expected within {options}, or fewer --launches-max")
    notice(_words(forecast))


def _words(forecast: Cost) -> str:
    return (
        f"{forecast.launches:,} launches at most, {amount(forecast.bytes, 'B')} from the busiest "
        f"host, {amount(forecast.seconds, 's')}, roughly"
    )


def _carried_out(
    campaign: Campaign, output: Path, cluster: Cluster, limit: float | None, telemetry: bool
) -> tuple[CampaignSummary, bool]:
    """Run, and write the tables however it ends; tell whether it came to its end."""
    try:
        store = Store.create(output, campaign)
        keep_switches(store.directory, cluster.switches)
        with store.alone():
            is_whole = _launched(store, cluster, limit, telemetry)
            launches = judged_launches(store.campaign, store.records())
            kept = list(epochs(store))
            crossings = findings(launches, kept)
            _warn([one for one in crossings if one.severity is Severity.GAP])
            _tell_cost(kept)
            seen = [*store.environments(), {"findings": [asdict(one) for one in crossings]}]
            found = summary(store.campaign, launches, seen)
            save(store, found)
    except OSError as error:
        refuse(told(error))
    except StoreError as error:
        refuse(error)
    return found, is_whole


def _launched(store: Store, cluster: Cluster, limit: float | None, telemetry: bool) -> bool:
    def watch(tell: CountCallback) -> RunObserver:
        def told(one: JudgedLaunch, done: int, most: int) -> None:
            tell(done, most, one.record.name)

        return (
            RunObserver(told, (recorder(cluster.python),), keep) if telemetry else RunObserver(told)
        )

    try:
        with terminable(), session(store, lambda: _looks(store, cluster)) as (number, findings):
            _warn(findings)
            with study_progress(store.directory.name, "launches") as tell:
                return run(store, cluster.launchers, number, watch(tell), limit)
    except KeyboardInterrupt:
        return False


def _looks(store: Store, cluster: Cluster) -> list[HostInspection]:
    """Look at all hosts that take part, on each fabric."""
    try:
        return [
            view
            for fabric, hosts in _hosts(store.campaign).items()
            for view in inspect_hosts(
                cluster.launchers[fabric], fabric, hosts, cluster.python, store.workplace(LOOK)
            )
        ]
    finally:
        store.clear(LOOK)


def _hosts(campaign: Campaign) -> dict[str, list[str]]:
    """Gather the hosts of experiments by fabric."""
    found: dict[str, dict[str, None]] = {}
    for one in campaign.experiments:
        found.setdefault(one.fabric, {}).update(dict.fromkeys(one.hosts))
    return {fabric: list(hosts) for fabric, hosts in found.items()}


def _warn(findings: Sequence[EnvironmentFinding]) -> None:
    """Tell warnings, and hosts of which less is known."""
    told = [one for one in findings if one.severity is Severity.WARNING or one.check in _GAPS]
    for one in told[:_MOST]:
        if one.severity is Severity.WARNING:
            alarm(f"WARNING: {one.where}: {one.what}. {one.do}")
        else:
            notice(f"{one.where}: {one.what}")
    if len(told) > _MOST:
        alarm(f"{len(told) - _MOST} more, in the directory of the results: environment")


def _tell_cost(kept: Sequence[Epoch]) -> None:
    """Tell what recording took where it took most."""
    most = max((one for one in kept if one.cost), key=lambda one: one.cost or 0.0, default=None)
    if most:
        what = f"Telemetry took at most {most.cost:.2%} of a processor, on {most.host}."
        notice(what)
