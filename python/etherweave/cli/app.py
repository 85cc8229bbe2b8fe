"""The verbs."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import etherweave
from etherweave.cli.progress import console as errors
from etherweave.cli.progress import simulation_bar, study_bar
from etherweave.results import Result
from etherweave.simulation import Literal, ScenarioError

app = typer.Typer(
    help="Would Ethernet do for my codes, and what must I switch on?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A scenario, TOML.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="Override: switch.latency='\"1us\"'."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
USAGE, STUCK, INTERRUPTED = 2, 3, 130


def _version(wanted: bool) -> None:
    if wanted:
        print(etherweave.__version__)
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take what all verbs share."""


@app.command()
def run(
    file: File,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for the result.")
    ] = None,
    settings: Set = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random streams.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads; results do not depend on it.")] = 1,
    pcap: Annotated[
        str | None,
        typer.Option(metavar="HOST=FILE", help="Write the frames at a host's port as pcapng."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a scenario: etherweave run halo3d.toml -o result --set seed=7."""
    overrides = _overrides(settings)
    if seed is not None:
        overrides["seed"] = seed
    try:
        with simulation_bar(file.stem) as tell:
            result = etherweave.run(
                file, overrides, threads=threads, pcap=_capture(pcap), progress=tell
            )
    except ScenarioError as error:
        _fail(error)
    if output:
        result.save(output)
    _print_run(result, as_json)
    _exit(result)


@app.command()
def show(file: File, settings: Set = None) -> None:
    """Print a scenario with every default filled in."""
    try:
        print(etherweave.resolve(file, _overrides(settings)), end="")
    except ScenarioError as error:
        _fail(error)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors."""
    print(etherweave.schema())


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="Such as sandia-2020.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory; default: results/NAME.")
    ] = None,
    full: Annotated[bool, typer.Option(help="All published iterations: takes hours.")] = False,
    fresh: Annotated[bool, typer.Option(help="Run again what has a result.")] = False,
    strict: Annotated[bool, typer.Option(help="Fail when a figure does not hold.")] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce a published evaluation: simulated against published, and a report."""
    from etherweave.report import write_study
    from etherweave.study import run_study

    home = output or Path("results") / (f"{name}-full" if full else name)
    try:
        with study_bar(name) as bar:
            done = run_study(name, home, full=full, fresh=fresh, on_progress=bar)
    except KeyError as error:
        errors.print(error.args[0], style="red", highlight=False)
        raise typer.Exit(USAGE) from None
    page = write_study(done)
    if as_json:
        print(done.to_json())
    else:
        _print_study(done)
        errors.print(f"Report: {page}", highlight=False)
    if strict and not all(check.holds for check in done.checks):
        raise typer.Exit(1)


@app.command()
def report(
    result: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Of run -o.")],
) -> None:
    """Draw a result as one HTML page, report.html beside its tables."""
    from etherweave.report import write_run

    print(write_run(Result.load(result), result))


@app.command()
def calibrate() -> None:
    """Fit the hosts' constants to the point-to-point figures, and print them beside the shipped."""
    from etherweave.study.calibration import calibrate

    table = Table("constant", "figure", "target", "shipped", "fitted", "figure with fitted")
    for row in calibrate():
        table.add_row(*row)
    Console().print(table)


def _overrides(settings: list[str] | None) -> dict[str, object]:
    overrides: dict[str, object] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals:
            errors.print(f"--set {setting}: no value; expected KEY=VALUE", style="red")
            raise typer.Exit(USAGE)
        overrides[key] = Literal(value)
    return overrides


def _capture(pcap: str | None) -> tuple[str, str] | None:
    if pcap is None:
        return None
    host, _, file = pcap.partition("=")
    return host, file or f"{host}.pcapng"


def _fail(error: ScenarioError) -> None:
    errors.print(str(error), style="red", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(USAGE)


def _exit(result: Result) -> None:
    for warning in result.summary["warnings"]:
        errors.print(f"WARNING: {escape(warning)}", style="bold red", highlight=False)
    finished = result.summary["finished"]
    if finished == "stuck":
        errors.print(f"Stuck: nothing can go on.\n{result.summary.get('stuck_report')}")
        raise typer.Exit(STUCK)
    if finished == "interrupted":
        errors.print("Interrupted: the result is partial, and marked so.", style="red")
        raise typer.Exit(INTERRUPTED)


def statistics(result: Result) -> dict[str, dict[str, float]]:
    """Tell the iteration times of each job [us]."""
    time = pl.col("duration_ns") / 1e3
    rows = result.to_polars("iterations").group_by("job", maintain_order=True)
    table = rows.agg(
        iterations=pl.len(),
        mean_us=time.mean(),
        median_us=time.median(),
        p99_us=time.quantile(0.99),
        max_us=time.max(),
    )
    return {row.pop("job"): row for row in table.to_dicts()}


def _print_run(result: Result, as_json: bool) -> None:
    goodput = float(result.to_polars("streams")["goodput_gbps"].sum())
    if as_json:
        jobs = {"jobs": statistics(result), "goodput_gbps": goodput}
        json.dump({**result.summary, **jobs}, sys.stdout, indent=2)
        print()
        return
    summary: dict[str, Any] = dict(result.summary)
    speed = summary["packet_hops"] / max(summary["wall_s"], 1e-9) / 1e6
    print(
        f"{summary['name']}: {summary['finished']} after {summary['end_ns'] / 1e6:.3f} ms; "
        f"{summary['packet_hops']:,} packet-hops in {summary['wall_s']:.2f} s "
        f"({speed:.2f} M/s), {summary['packets_dropped']:,} packets dropped"
    )
    for job, times in statistics(result).items():
        print(
            f"  {job}: {times['iterations']} iterations, mean {times['mean_us']:.2f} us, "
            f"median {times['median_us']:.2f}, p99 {times['p99_us']:.2f}, max {times['max_us']:.2f}"
        )
    if goodput > 0:
        print(f"  streams: {goodput:.2f} Gb/s")


def _print_study(done: Any) -> None:
    if not done.full:
        print("Shortened: fewer iterations than published; total times are scaled to all.")
    table = Table("check", "published", "holds within", "simulated", "")
    for check in done.checks:
        low, high = ("" if bound is None else f"{bound:g}" for bound in check.tolerance)
        published = "" if check.expected is None else f"{check.expected:g} {check.unit}"
        verdict = "[green]pass[/]" if check.holds else "[bold red]FAIL[/]"
        table.add_row(check.id, published, f"{low} … {high}", f"{check.value:.4g}", verdict)
    wide = Console(width=None if sys.stdout.isatty() else 120)
    wide.print(table)
    held = sum(check.holds for check in done.checks)
    print(f"{held} of {len(done.checks)} figures hold.")
