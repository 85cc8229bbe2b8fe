"""The verb ``bench run``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from etherweave.bench.budget import Budget, Cost, cost, exceeded
from etherweave.bench.campaign import Campaign, Wish, experiments
from etherweave.bench.environment.findings import Finding, Severity
from etherweave.bench.environment.readers import ROOT, take
from etherweave.bench.environment.snapshot import Snapshot
from etherweave.bench.plans import PlanError
from etherweave.bench.points import Launched, launched
from etherweave.bench.runner import Watch, run
from etherweave.bench.sitting import sitting
from etherweave.bench.statistics.stopping import Rule
from etherweave.bench.store import Store, StoreError
from etherweave.bench.summary import CampaignSummary, summary
from etherweave.bench.tables import save
from etherweave.bench.telemetry.epochs import recorded
from etherweave.cli.bench.amounts import amount, size_of, time_of
from etherweave.cli.bench.cluster import Cluster, cluster_of
from etherweave.cli.bench.plan import sizes_of
from etherweave.cli.bench.summaries import print_summary
from etherweave.cli.exits import FAILED, INTERRUPTED, alarm, refuse, terminable, told
from etherweave.cli.parameters import AsJson, directory
from etherweave.cli.progress import TellStudy, console, study_progress

EXAMPLES = """Examples:

etherweave bench run osu_latency osu_bw --site site.toml -o results/monday

etherweave bench run osu_latency --site site.toml --fabric roce --fabric tcp --all-pairs -o pairs

etherweave bench run iperf3 --site site.toml --hosts node1,node2 --seconds 10 -o tcp --json"""

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
        float | None, typer.Option(min=0.1, help="Of each test, where it goes by the clock.")
    ] = None,
    streams: Annotated[int, typer.Option(min=1, help="Connections of a pair.")] = 1,
    half_width: Annotated[
        float, typer.Option(help="Of the median's 95 % interval, as a share of it.")
    ] = Rule.half_width,
    launches_min: Annotated[
        int, typer.Option(min=1, help="Of each experiment, after the warm-up.")
    ] = Rule.launches_min,
    launches_max: Annotated[
        int, typer.Option(min=1, help="Then it ends, precise or not.")
    ] = Rule.launches_max,
    seed: Annotated[int, typer.Option(help="Of the order of launches.")] = 0,
    limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Ends a launch; else ten forecasts.")
    ] = None,
    budget_bytes: Annotated[
        str, typer.Option(metavar="SIZE", help="That all launches may send.")
    ] = "1TB",
    budget_time: Annotated[str, typer.Option(metavar="TIME", help="That they may take.")] = "1h",
    telemetry: Annotated[
        bool, typer.Option("--telemetry/--no-telemetry", help="Record this host's counters.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Launch benchmarks on a cluster until medians are known, and keep every launch.

    Refused when forecasts exceed the budget. Ends with 1 when an experiment gave no number, with 2
    after a mistake, with 130 after Ctrl-C; the same command then goes on.
    """
    cluster = cluster_of(site, fabric or [], hosts)
    try:
        wish = Wish(
            cluster.hosts,
            tuple(map(sizes_of, size or [])) or ((None, None),),
            ranks,
            iterations,
            seconds,
            streams,
            all_pairs,
        )
        rule = Rule(half_width, launches_min=launches_min, launches_max=launches_max)
        planned = experiments(programs, cluster.networks, wish)
        budget = Budget(size_of(budget_bytes), time_of(budget_time))
        limit_s = time_of(limit) if limit else None
    except (PlanError, ValueError) as error:
        refuse(error)
    campaign = Campaign(cluster.name, cluster.networks, planned, rule, seed)
    _afford(campaign, budget)
    found, is_whole = _carried_out(campaign, directory(output), cluster, limit_s, telemetry)
    print(json.dumps(found.facts(), indent=2)) if as_json else print_summary(found)
    console.print(f"Results: {output}", highlight=False, markup=False, soft_wrap=True)
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
    console.print(_words(forecast), highlight=False, markup=False, soft_wrap=True)


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
        with store.alone():
            is_whole = _launched(store, cluster, limit, telemetry)
            launches = launched(store.campaign, store.records())
            found = summary(store.campaign, launches, store.environments())
            save(store, found)
    except OSError as error:
        refuse(told(error))
    except StoreError as error:
        refuse(error)
    return found, is_whole


def _launched(store: Store, cluster: Cluster, limit: float | None, telemetry: bool) -> bool:
    interfaces = _here({one.interface for one in store.campaign.networks if one.interface})

    def look() -> Snapshot:
        return take(interfaces=interfaces)

    def watch(tell: TellStudy) -> Watch:
        def told(one: Launched, done: int, most: int) -> None:
            tell(done, most, one.record.name)

        return Watch(told, recorded(interfaces)) if telemetry and interfaces else Watch(told)

    try:
        with terminable(), sitting(store, look) as (number, findings):
            _warn(findings)
            with study_progress(store.directory.name, "launches") as tell:
                return run(store, cluster.launchers, number, watch(tell), limit)
    except KeyboardInterrupt:
        return False


def _here(interfaces: set[str]) -> list[str]:
    """Keep those that this host has: others are of other hosts, or of namespaces."""
    return sorted(name for name in interfaces if (ROOT / "sys/class/net" / name).exists())


def _warn(findings: list[Finding]) -> None:
    for one in findings:
        if one.severity is Severity.WARNING:
            alarm(f"WARNING: {one.where}: {one.what}. {one.do}")
