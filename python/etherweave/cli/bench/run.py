"""The verb ``bench run``."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etherweave.api.units import amount
from etherweave.cli.bench import plan
from etherweave.cli.bench.amounts import TimeLimit, TrafficLimit, octets
from etherweave.cli.exits import FAILED, INTERRUPTED, notice, print_error, reject, reject_file
from etherweave.cli.parameters import AsJson, directory, seconds
from etherweave.cli.progress import count_progress

if TYPE_CHECKING:
    from etherweave.bench.campaigns.session import CampaignCost, SessionResult
    from etherweave.bench.environment.findings import EnvironmentFinding
    from etherweave.bench.statistics.launches import StoppingRule
    from etherweave.bench.telemetry.epochs import Epoch


_GAPS = ("host", "telemetry")
"""Checks whose gaps are printed: nothing, or less, is known of a host."""
_MAX = 20  # Findings that are printed one by one.

Programs = Annotated[
    list[str],
    typer.Argument(help="Programs such as osu_bw, or benchmarks for their first program."),
]


def run_verb(
    programs: Programs,
    *,
    output: Path,
    site: Path | None = None,
    fabric: list[str] | None = None,
    hosts: str | None = None,
    size: list[str] | None = None,
    all_pairs: bool = False,
    ranks: plan.Ranks = 1,
    iterations: plan.Iterations = None,
    duration: plan.Duration = None,
    streams: plan.Streams = 1,
    half_width: float = 0.05,
    launches: str = "10:30",
    seed: int = 0,
    time_limit: TimeLimit = None,
    total_time_limit: str = "1h",
    traffic_limit: TrafficLimit = "1TB",
    telemetry: bool = True,
    background: list[str] | None = None,
    program_options: plan.ProgramOptions = None,
    as_json: AsJson = False,
) -> None:
    """Launch benchmarks on a cluster until their medians are known, and keep every launch.

    Options of the programs themselves follow --, and `bench info` lists them.
    Without --time-limit a launch is ended after ten times its predicted time, at least a minute.
    Exits with 1 when an experiment gave no number, with 2 after a mistake, with 130 after Ctrl-C;
    the same command then continues.

    Parameters
    ----------
    output : -o DIRECTORY
        Write the results here; continue the campaign that the directory holds, if any.
    site : FILE
        Read hosts, launcher and fabrics from this TOML file. Default: this machine.
    fabric : NAME
        Use this fabric of the site; repeatable. Default: all.
    hosts : NAME,…
        Use these hosts of the site. Default: all.
    size : [MIN:]MAX
        Send messages of these sizes: 8B:64KiB; repeatable.
    all_pairs
        Measure every pair of hosts, rather than the first two hosts.
    half_width : SHARE
        Stop when every 95 % confidence interval is within this share of its median.
    launches : [MIN:]MAX
        Launch each experiment MIN to MAX times after its warm-up; N alone means N times.
    seed
        Shuffle the order of launches by this seed.
    total_time_limit : TIME
        Refuse to start if all launches together are predicted to take longer.
    telemetry
        Record the counters of all hosts.
    background : PROGRAM
        Load the network by this program during each launch, on the same hosts; repeatable.
    """
    from etherweave import bench
    from etherweave.bench.campaigns.store import StoreError
    from etherweave.bench.programs.plans import BenchmarkPlanError
    from etherweave.bench.site.values import SiteError

    limits = bench.CampaignLimits(
        seconds("--time-limit", time_limit) if time_limit else None,
        seconds("--total-time-limit", total_time_limit),
        octets("--traffic-limit", traffic_limit),
    )
    try:
        with count_progress(output.name, "launches") as progress:
            done = bench.run(
                programs,
                directory(output),
                site=site,
                fabrics=fabric or (),
                hosts=hosts.split(",") if hosts else None,
                sizes=tuple(map(plan.sizes_of, size or ())) or ((None, None),),
                ranks_per_host=ranks,
                iterations=iterations,
                duration_s=plan.duration_of(duration),
                streams=streams,
                all_pairs=all_pairs,
                options=program_options or (),
                background=background or (),
                rule=_rule(half_width, launches),
                seed=seed,
                limits=limits,
                telemetry=telemetry,
                observer=bench.SessionObserver(lambda cost: notice(_words(cost)), _warn, progress),
            )
    except bench.LimitError as error:
        options = " and ".join(f"--{name.replace(' ', '-')}-limit" for name in error.exceeded)
        reject(f"{_words(error.cost)}; expected within {options}, or fewer --launches")
    except (BenchmarkPlanError, SiteError, StoreError, ValueError) as error:
        reject(error)
    except OSError as error:
        reject_file(error)
    _end(done, output, as_json)


def _rule(half_width: float, launches: str) -> "StoppingRule":
    from etherweave.bench.statistics.launches import StoppingRule

    least, most = launches_of(launches)
    return StoppingRule(half_width, launches_min=least, launches_max=most)


def launches_of(text: str) -> tuple[int, int]:
    """Read the smallest and the largest number of launches, or end with the mistake."""
    low, _, high = text.rpartition(":")
    parts = (low or high, high)
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        reject(f"--launches {text}: expected numbers such as 5 or 10:30")
    least, most = map(int, parts)
    if not 1 <= least <= most:
        reject(f"--launches {text}: expected 1 or more, the smaller number first")
    return least, most


def _end(done: "SessionResult", output: Path, as_json: bool) -> None:
    from etherweave.bench.environment.findings import Severity
    from etherweave.cli.bench.printing import print_summary

    _warn([finding for finding in done.findings if finding.severity is Severity.GAP])
    _print_recording_cost(done.epochs)
    print(json.dumps(done.summary.facts(), indent=2)) if as_json else print_summary(done.summary)
    notice(f"Results: {output}")
    if not done.is_complete:
        print_error("Interrupted: the same command continues.")
        raise typer.Exit(INTERRUPTED)
    if done.summary.has_failed:
        raise typer.Exit(FAILED)


def _words(cost: "CampaignCost") -> str:
    return (
        f"{cost.launches:,} launches at most, {amount(cost.bytes, 'B')} from the busiest "
        f"host, {amount(cost.seconds, 's')}, roughly{cost.reasons}"
    )


def _warn(findings: Sequence["EnvironmentFinding"]) -> None:
    """Print warnings, and hosts of which less is known."""
    from etherweave.bench.environment.findings import Severity

    shown = [row for row in findings if row.severity is Severity.WARNING or row.check in _GAPS]
    for warning in shown[:_MAX]:
        if warning.severity is Severity.WARNING:
            print_error(f"WARNING: {warning.where}: {warning.what}. {warning.do}")
        else:
            notice(f"{warning.where}: {warning.what}")
    if len(shown) > _MAX:
        print_error(f"{len(shown) - _MAX} more, in the directory of the results: environment")


def _print_recording_cost(epochs: Sequence["Epoch"]) -> None:
    """Print the processor time of recording, on the host where it was largest."""
    most = max((row for row in epochs if row.cost), key=lambda row: row.cost or 0.0, default=None)
    if most:
        notice(f"Telemetry took at most {most.cost:.2%} of a processor, on {most.host}.")
