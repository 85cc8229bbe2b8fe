"""The verb ``measure``, and what it shares with ``calibrate``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import etherweave
from etherweave.bench.measure.errors import MeasureError, MeasureLaunchError
from etherweave.bench.measure.launch import IncastProgram, LaunchOptions, LaunchProgram
from etherweave.bench.site.values import ClusterSite, SiteError, SiteFabric
from etherweave.cli import parameters
from etherweave.cli.bench.amounts import TrafficLimit, octets
from etherweave.cli.bench.plan import Duration, duration_of
from etherweave.cli.exits import INTERRUPTED, mistakes, print_error, reject

if TYPE_CHECKING:
    from etherweave.api.results import Result
    from etherweave.bench.measure import MeasureLimits


TIME_LIMIT = "10min"
TRAFFIC_LIMIT = "1TB"
WARM_UP = 1  # Passes over each block of a program before the recorded start.
COMPILER = "mpicc"
SiteFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Measure on the cluster of this TOML file: hosts, launcher, fabrics."
    ),
]
Fabric = Annotated[
    str | None, typer.Option(help="Name of the site's fabric; needed if it has several.")
]
Hosts = Annotated[
    str | None,
    typer.Option(metavar="NAME,…", help="Names of the site's hosts in rank order; all by default."),
]
LAUNCH_MISTAKES = (etherweave.ScenarioError, SiteError, MeasureError)
LaunchTimeLimit = Annotated[
    str,
    typer.Option(
        "--time-limit",
        metavar="TIME",
        help="End a launch after this time, and refuse to start if it is predicted to take longer.",
    ),
]


class SelectedSite(NamedTuple):
    """A site, and its parts that a measurement uses."""

    site: ClusterSite
    link: SiteFabric | None
    hosts: tuple[str, ...] | None  # Names in rank order; all hosts of the site if ``None``.


def select_site(file: Path, fabric: str | None, hosts: str | None) -> SelectedSite:
    """Read a site; a single fabric needs no name."""
    from etherweave.bench.site.reading import read

    with mistakes(SiteError):
        site = read(file)
        if fabric is None and len(site.links) > 1:
            known = ", ".join(link.name for link in site.links)
            reject(f"{file}: has several fabrics; expected --fabric with one of {known}")
        link = site.link(fabric) if fabric else next(iter(site.links), None)
    return SelectedSite(site, link, tuple(hosts.split(",")) if hosts else None)


def limits_of(time_limit: str, traffic_limit: str) -> "MeasureLimits":
    """Read the limits of a measurement."""
    from etherweave.bench.measure import MeasureLimits

    gigabytes = octets("--traffic-limit", traffic_limit) / 1e9
    return MeasureLimits(parameters.seconds("--time-limit", time_limit), gigabytes)


def measure_verb(
    file: parameters.File,
    *,
    output: Path | None = None,
    settings: parameters.Settings = None,
    seed: parameters.Natural | None = None,
    site: SiteFile = None,
    fabric: Fabric = None,
    hosts: Hosts = None,
    launcher: LaunchProgram | None = None,
    hostfile: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
    dscps: parameters.CodePoints = None,
    program: IncastProgram | None = None,
    duration: Duration = None,
    ranks: parameters.Positive | None = None,
    launch_option: list[str] | None = None,
    launches: parameters.Positive = 1,
    warm_up: parameters.Natural = WARM_UP,
    time_limit: LaunchTimeLimit = TIME_LIMIT,
    traffic_limit: TrafficLimit = TRAFFIC_LIMIT,
    verify: bool = False,
    compiler: str = COMPILER,
    as_json: parameters.AsJson = False,
) -> None:
    """Execute a scenario's jobs over MPI, as they are simulated; print iteration times in us.

    Exits with 1 when a launch fails, 2 after a mistake, 130 after Ctrl-C.

    Parameters
    ----------
    output : -o
        Directory for the result.
    seed
        Seed of all random streams.
    launcher
        Program that starts the ranks without a site; local (all on this machine) by default.
    hostfile
        File with the hosts of mpirun, one on each line.
    ranks
        Refuse a scenario with another number of ranks.
    launch_option : WORD
        Pass this argument to the launcher; repeatable.
    launches
        Launch this often; each starts all ranks.
    warm_up
        Number of warm-up passes over each block of a program.
    verify
        Compare the length of every message; costs time.
    compiler
        Compiler of MPI programs in C.
    program
        Send the scenario's incast by this program, a process for each stream, in place of MPI.
    """
    from etherweave.bench.measure import MeasureInterrupted, measure
    from etherweave.cli.progress import measure_progress

    changes = parameters.overrides(settings)
    if seed is not None:
        changes["seed"] = seed
    if output:
        parameters.directory(output)
    selected = select_site(site, fabric, hosts) if site else None
    options = LaunchOptions(launcher or LaunchProgram.LOCAL, hostfile, launch_option or ())
    _check_options(selected, fabric or hosts, launcher or hostfile or launch_option)
    of_executor = {"--ranks": ranks, "--verify": verify}
    of_executor |= {"--warm-up": warm_up != WARM_UP, "--compiler": compiler != COMPILER}
    _check_program(program, duration, [name for name, value in of_executor.items() if value])
    limits = limits_of(time_limit, traffic_limit)
    result, is_partial = None, False
    try:
        with (
            mistakes(*LAUNCH_MISTAKES, failures=(MeasureLaunchError,)),
            measure_progress(file.stem) as report,
        ):
            if program:
                result = _by_program(
                    file, changes, selected, program, duration_of(duration), launches, dscps, limits
                )
                return _print(result, output, as_json)
            result = measure(
                file,
                changes,
                site=selected and selected.site,
                link=selected and selected.link,
                hosts=selected and selected.hosts,
                options=options,
                limits=limits,
                dscps=parameters.code_points(dscps),
                ranks=ranks,
                launches=launches,
                warm_up=warm_up,
                verify=verify,
                compiler=compiler,
                progress=report,
            )
    except MeasureInterrupted as interruption:
        result, is_partial = interruption.result, True
    if result is not None:
        _print(result, output, as_json)
    if is_partial:
        print_error("Interrupted: all launched processes have ended; complete launches are kept.")
        raise typer.Exit(INTERRUPTED)


def _by_program(
    file: Path,
    changes: dict[str, object],
    selected: SelectedSite | None,
    program: IncastProgram,
    duration_s: int | None,
    launches: int,
    dscps: list[str] | None,
    limits: "MeasureLimits",
) -> "Result":
    from etherweave.bench.measure.incast import DURATION_S, measure_incast

    if selected is None:
        reject(f"--program {program}: the first of a site's hosts receives; expected --site FILE")
    return measure_incast(
        file,
        changes,
        program=program,
        site=selected.site,
        link=selected.link,
        hosts=selected.hosts,
        limits=limits,
        dscps=parameters.code_points(dscps),
        duration_s=duration_s or DURATION_S,
        launches=launches,
    )


def _check_options(selected: SelectedSite | None, of_site: object, of_launcher: object) -> None:
    """Reject options of a site together with those of a launch without one."""
    if selected and of_launcher:
        reject(
            "--site: the site names the launcher; "
            "expected no --launcher, --hostfile or --launch-option"
        )
    if of_site and not selected:
        reject("--fabric and --hosts: select parts of a site; expected --site FILE")


def _check_program(
    program: IncastProgram | None, duration: str | None, of_executor: list[str]
) -> None:
    """Reject options that do nothing: of a program without one, of the executor beside one."""
    if duration and not program:
        reject(
            f"--duration {duration}: a schedule over MPI has its own end; expected --program, or "
            "-s run.end=TIME for streams"
        )
    if program and of_executor:
        reject(
            f"{' and '.join(of_executor)}: of schedules over MPI, which --program {program} "
            "replaces; expected none"
        )


def _print(result: "Result", output: Path | None, as_json: bool) -> None:
    if output:
        result.save(output)
    print(_json(result) if as_json else _text(result))
    for warning in result.summary["warnings"]:
        print_error(f"WARNING: {warning}")


def _json(result: "Result") -> str:
    from etherweave.api.overview import overview
    from etherweave.measurements.benchmark_lines import benchmark_rows

    own = {"benchmarks": benchmark_rows(result)}
    return json.dumps({**result.summary, **overview(result), **own}, indent=2)


def _text(result: "Result") -> str:
    from etherweave.api.overview import overview
    from etherweave.measurements.run_lines import job_lines

    summary, facts = result.summary, result.summary["measured"]
    head = (
        f"{summary['name']}: {summary['finished']} after {summary['end_ns'] / 1e6:.3f} ms; "
        f"ranks: {facts['ranks']}, hosts: {facts['hosts']}, launches: {facts['launches']}, "
        f"messages: {facts['messages']:,} with {facts['payload_bytes']:,} B"
    )
    if "ranks" in result.tables:
        head += f"; clocks within {facts['clock_error_ns_max'] / 1e3:.1f} us"
    lines = [*job_lines(result, overview(result)), *facts.get("priorities", ())]
    return "\n".join([head, *(f"  {line}" for line in lines)])
