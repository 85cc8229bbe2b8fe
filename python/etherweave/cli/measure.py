"""The verb ``measure``."""

import json
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.bench.measure import (
    Interrupted,
    Launcher,
    LaunchError,
    Launching,
    Limits,
    MeasureError,
    measure,
)
from etherweave.bench.site.values import SiteError
from etherweave.cli.exits import FAILED, INTERRUPTED, alarm, refuse, terminable, told
from etherweave.cli.ground import Ground, read_ground
from etherweave.cli.parameters import AsJson, File, Settings, directory, overrides
from etherweave.cli.progress import measure_progress
from etherweave.cli.run import job_lines
from etherweave.overview import overview
from etherweave.results import Result

EXAMPLES = """Examples:

etherweave measure halo3d.toml -o measured --set job.0.workload.halo3d.iterations=1000

etherweave measure halo3d.toml -o measured --launcher mpirun --hostfile hosts --repeat 5

etherweave measure halo3d.toml -o measured --launcher srun --launch-option=--nodes=48

etherweave measure halo3d.toml -o measured --site cluster.toml --fabric roce --hosts n1,n2,n3,n4

etherweave run halo3d.toml -o simulated && etherweave report simulated --beside measured"""

HOSTFILE = "Of mpirun: the hosts, one a line."


def measure_verb(
    file: File,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for the result.")
    ] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random streams.")] = None,
    site: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Hosts, launcher and fabrics of a cluster, TOML."),
    ] = None,
    fabric: Annotated[str | None, typer.Option(help="Of the site, if it has several.")] = None,
    hosts: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="Of the site, as ranks go; all by default.")
    ] = None,
    launcher: Annotated[
        Launcher | None,
        typer.Option(
            help="Without a site: what starts the ranks. Default: local, all of them here."
        ),
    ] = None,
    hostfile: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help=HOSTFILE)
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option("--np", min=1, help="Ranks; refuses a scenario with another number."),
    ] = None,
    launch_option: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="For the launcher, as often as needed.")
    ] = None,
    launches: Annotated[
        int, typer.Option("--repeat", min=1, help="Launches; each starts all ranks anew.")
    ] = 1,
    warm_up: Annotated[
        int, typer.Option(min=0, help="Passes over each block before times are taken.")
    ] = 1,
    time_limit: Annotated[
        float,
        typer.Option(min=1, max=86400 * 30, help="Longest launch in seconds, predicted and real."),
    ] = Limits().seconds,
    traffic_limit: Annotated[
        float, typer.Option(min=0, help="Most payload of all launches in GB, as predicted.")
    ] = Limits().gigabytes,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare the length of every message; takes time.")
    ] = False,
    compiler: Annotated[str, typer.Option(help="Of MPI programs in C.")] = "mpicc",
    as_json: AsJson = False,
) -> None:
    """Execute a scenario's jobs over MPI, as they are simulated; print iteration times in us.

    Ends with 1 when a launch fails, 2 after a mistake, 130 after Ctrl-C.
    """
    changes = overrides(settings)
    if seed is not None:
        changes["seed"] = seed
    if output:
        directory(output)
    ground = read_ground(site, fabric, hosts) if site else None
    launching = Launching(launcher or Launcher.LOCAL, hostfile, launch_option or ())
    _agree(ground, fabric or hosts, launcher or hostfile or launch_option)
    result, is_partial = None, False
    try:
        with terminable(), measure_progress(file.stem) as tell:
            result = measure(
                file,
                changes,
                site=ground and ground.site,
                link=ground and ground.link,
                hosts=ground and ground.hosts,
                launching=launching,
                limits=Limits(time_limit, traffic_limit),
                ranks=ranks,
                launches=launches,
                rehearsal=warm_up,
                verify=verify,
                compiler=compiler,
                progress=tell,
            )
    except Interrupted as interruption:
        result, is_partial = interruption.result, True
    except (etherweave.ScenarioError, SiteError) as error:
        refuse(error)
    except LaunchError as error:
        alarm(error)
        raise typer.Exit(FAILED) from None
    except MeasureError as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))
    if result is not None:
        _tell(result, output, as_json)
    if is_partial:
        alarm("Interrupted: what was launched has ended; launches that were complete are kept.")
        raise typer.Exit(INTERRUPTED)


def _agree(ground: Ground | None, of_site: object, of_launcher: object) -> None:
    """Refuse options of both ways to launch."""
    if ground and of_launcher:
        refuse("--site: tells the launcher; expected no --launcher, --hostfile or --launch-option")
    if of_site and not ground:
        refuse("--fabric and --hosts: are a site's; expected --site FILE")


def _tell(result: Result, output: Path | None, as_json: bool) -> None:
    if output:
        result.save(output)
    print(_json(result) if as_json else _text(result))
    for warning in result.summary["warnings"]:
        alarm(f"WARNING: {warning}")


def _json(result: Result) -> str:
    return json.dumps({**result.summary, **overview(result)}, indent=2)


def _text(result: Result) -> str:
    summary, facts = result.summary, result.summary["measured"]
    head = (
        f"{summary['name']}: {summary['finished']} after {summary['end_ns'] / 1e6:.3f} ms; "
        f"ranks: {facts['ranks']}, hosts: {facts['hosts']}, launches: {facts['launches']}, "
        f"messages: {facts['messages']:,} with {facts['payload_bytes']:,} B; "
        f"clocks within {facts['clock_error_ns_max'] / 1e3:.1f} us"
    )
    return "\n".join([head, *job_lines(overview(result))])
