"""The verb ``calibrate``."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tomllib import loads
from typing import TYPE_CHECKING, Annotated, Any

import typer

import etherweave
from etherweave.bench.measure.errors import MeasureLaunchError
from etherweave.cli.bench.amounts import TrafficLimit
from etherweave.cli.exits import INTERRUPTED, mistakes, notice, print_error, reject
from etherweave.cli.measure import (
    LAUNCH_MISTAKES,
    TIME_LIMIT,
    TRAFFIC_LIMIT,
    Fabric,
    Hosts,
    LaunchTimeLimit,
    SelectedSite,
    SiteFile,
    limits_of,
    select_site,
)
from etherweave.cli.parameters import AsJson, directory, output_option
from etherweave.outputs import new_files

if TYPE_CHECKING:
    from rich.table import Table

    from etherweave.bench.calibration import Calibration, ComparedWorkload, MeasuredWorkload
    from etherweave.bench.measure import MeasureLimits

EXAMPLES = """Examples:
etherweave calibrate cluster.toml --site site.toml --fabric roce -o calibrated
etherweave calibrate cluster.toml --site site.toml --hpcc 20000 -o calibrated
etherweave run cluster.toml --set @calibrated/constants.toml
etherweave calibrate cluster.toml --measured latency --measured bandwidth --measured halo3d
etherweave calibrate --study stackhpc-2019"""

TESTBED = "sandia-2020"
"""Study whose constants are fitted unless another, or a scenario, is given."""
CONSTANTS = "constants.toml"
CHALLENGE = "hpcc"
"""Directory of the launches of the HPC Challenge, beside a calibration."""


def calibrate_verb(
    scenario: Annotated[
        Path | None,
        typer.Argument(help="A scenario of the fabric, whose jobs are the held-out workloads."),
    ] = None,
    site: SiteFile = None,
    fabric: Fabric = None,
    hosts: Hosts = None,
    measured: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIRECTORY",
            help="Use a result of `measure` with one job, or of `bench run` with osu_latency, "
            "osu_bw or hpcc; repeatable.",
        ),
    ] = None,
    hpcc: Annotated[
        int | None,
        typer.Option(
            "--hpcc",
            metavar="ORDER",
            min=1,
            help="Launch the HPC Challenge instead, with a matrix of this order: fit to its rings, "
            "predict its other tests.",
        ),
    ] = None,
    output: Annotated[
        Path | None, output_option("Directory for launches, constants and comparison.")
    ] = None,
    launches: Annotated[
        int,
        typer.Option(
            "--launches", min=1, help="Launch each workload this often, in shuffled rounds."
        ),
    ] = 6,
    time_limit: LaunchTimeLimit = TIME_LIMIT,
    traffic_limit: TrafficLimit = TRAFFIC_LIMIT,
    study: Annotated[
        str,
        typer.Option(
            "--study", metavar="NAME", help="Fit this study's constants, if no scenario is given."
        ),
    ] = TESTBED,
    as_json: AsJson = False,
) -> None:
    """Fit constants of hosts to micro-benchmarks; predict other workloads, and print the errors.

    A scenario's jobs are measured one at a time, beside micro-benchmarks (osu_latency, osu_bw,
    incast) that the constants are fitted to. Without a scenario the constants of a study are
    fitted anew to its figures that are for that, and printed beside the shipped. Changes no file
    but those of its output. Ends with 1 when a launch fails, 2 after a mistake, 130 after Ctrl-C;
    the same command then continues with the missing launches.
    """
    if scenario is None:
        return _published(study)
    if (site is None) == (not measured):
        reject("expected --site FILE to measure now, or --measured DIRECTORY of a measurement")
    if site and output is None:
        reject("--site: measures on hosts; expected --output DIRECTORY for its launches")
    from etherweave.bench.calibration import calibrate
    from etherweave.bench.calibration.measured import read

    base = _scenario(scenario)
    if output:
        directory(output)
    with _mistakes():
        if site and output:
            limits, selected = (
                limits_of(time_limit, traffic_limit),
                select_site(site, fabric, hosts),
            )
            if hpcc:
                workloads = _challenge(base, selected, launches, limits, output / CHALLENGE, hpcc)
            else:
                workloads = _measured(base, selected, launches, limits, output)
        else:
            workloads = [one for place in measured or [] for one in read(place, base)]
        calibration = calibrate(workloads, notice)
    if output:
        _save(calibration, output)
    _print(calibration, as_json)
    return None


@contextmanager
def _mistakes() -> Iterator[None]:
    """Turn exceptions of a calibration into errors and exit codes."""
    from etherweave.bench.calibration import CalibrationError
    from etherweave.bench.measure import MeasureInterrupted

    try:
        with mistakes(*LAUNCH_MISTAKES, CalibrationError, failures=(MeasureLaunchError,)):
            yield
    except (KeyboardInterrupt, MeasureInterrupted):
        print_error("Interrupted: all launched processes have ended; complete launches are kept.")
        raise typer.Exit(INTERRUPTED) from None


def _scenario(file: Path) -> dict[str, Any]:
    """Read a scenario, and the files that it names."""
    with mistakes(etherweave.ScenarioError):
        return loads(etherweave.resolve(file))


def _measured(
    base: Mapping[str, Any],
    selected: SelectedSite,
    launches: int,
    limits: "MeasureLimits",
    output: Path,
) -> list["MeasuredWorkload"]:
    """Measure all workloads, with progress on standard error."""
    from etherweave.bench.calibration.collecting import LAUNCHES, collect
    from etherweave.bench.calibration.plans import MeasuringHosts, amount, plan
    from etherweave.cli.progress import study_progress

    names = selected.hosts or tuple(host.name for host in selected.site.hosts)
    hosts = MeasuringHosts(selected.site, selected.link, names, limits)
    workloads = plan(base, hosts)
    expected = amount(workloads, launches, limits)
    count = len(workloads)
    notice(f"launches: {launches * count} ({launches} of each of {count} workloads), {expected}")
    with study_progress("calibrate", "launches") as report:
        return collect(workloads, launches, hosts, output / LAUNCHES, report)


def _challenge(
    base: Mapping[str, Any],
    selected: SelectedSite,
    launches: int,
    limits: "MeasureLimits",
    output: Path,
    order: int,
) -> list["MeasuredWorkload"]:
    """Launch the HPC Challenge as `bench run` does, after a launch that does not count."""
    from etherweave import bench
    from etherweave.bench.calibration.measured import read
    from etherweave.bench.statistics.launches import StoppingRule
    from etherweave.cli.progress import study_progress

    octets = round(limits.gigabytes * 1e9)
    try:
        with study_progress("calibrate", "launches") as report:
            done = bench.run(
                ["hpcc"],
                output,
                site=selected.site,
                fabrics=[selected.link.name] if selected.link else [],
                hosts=selected.hosts,
                sizes=((None, order),),
                rule=StoppingRule(launches_min=launches, launches_max=launches),
                limits=bench.CampaignLimits(limits.seconds, math.inf, octets),
                observer=bench.SessionObserver(launched=report),
            )
    except bench.LimitError as error:
        reject(f"--traffic-limit: {error.cost.bytes / 1e9:.3g} GB are predicted; expected fewer")
    if not done.is_complete:
        raise KeyboardInterrupt
    return read(output, base)


def _save(calibration: "Calibration", output: Path) -> None:
    """Write constants as overrides, and the whole calibration as JSON."""
    from etherweave.bench.calibration.calibration import CALIBRATION_FILE

    lines = [f'"{key}" = "{value}"\n' for key, value in calibration.settings().items()]
    with new_files(output) as files:
        files.add(CONSTANTS, "".join(lines))
        files.add(CALIBRATION_FILE, json.dumps(calibration.facts(), indent=2) + "\n")


def _print(calibration: "Calibration", as_json: bool) -> None:
    if as_json:
        print(json.dumps(calibration.facts(), indent=2))
        return
    from rich.console import Console

    console = Console()
    console.print(_constants(calibration))
    console.print(_comparison("fitted to", calibration.micro_benchmarks))
    if calibration.held_out:
        console.print(_comparison("held out", calibration.held_out))
        console.print(_verdict(calibration))


def _verdict(calibration: "Calibration") -> str:
    count = len(calibration.held_out)
    return (
        f"held out: mean iterations predicted within {calibration.typical_error_of_mean:.1%}, "
        f"median iterations within {calibration.typical_error:.1%}: the median of {count} "
        f"workload{'s' if count > 1 else ''}, the worst {calibration.worst_error:.1%}"
    )


def _constants(calibration: "Calibration") -> "Table":
    from rich.markup import escape
    from rich.table import Table

    table = Table(escape("constant [ns]"), "before", "fitted", "95 % interval")
    for one in calibration.constants:
        if one.is_determined:
            facts = (f"{one.value_ns:.0f}", f"{one.low_ns:.0f} to {one.high_ns:.0f}")
        else:
            facts = ("", "not determined: as before")
        table.add_row(one.key, f"{one.before_ns:.0f}", *facts)
    return table


def _comparison(title: str, rows: Sequence["ComparedWorkload"]) -> "Table":
    """Return a table of times of an iteration, or of all streams together."""
    from rich.table import Table
    from rich.text import Text

    table = Table(padding=(0, 0))
    table.add_column(Text(f"{title} [us]"), overflow="fold")
    for name in ("measured", "predicted", "95 % interval", "error", "of median"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in rows:
        table.add_row(
            Text(one.name),
            _us(one.measured_s),
            _us(one.predicted_s),
            f"{_us(one.predicted_low_s)} to {_us(one.predicted_high_s)}",
            f"{one.error:+.1%}",
            f"{one.error_of_median:+.1%}",
        )
    return table


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f}" if seconds < 1e-4 else f"{seconds * 1e6:,.0f}"


def _published(study: str) -> None:
    """Fit a study's constants to its figures, in the units of both."""
    from rich.console import Console
    from rich.table import Table

    from etherweave.study.calibration import calibrate as fit
    from etherweave.study.folder import load_study

    table = Table("constant", "figure", "target", "shipped", "fitted", "figure with fitted")
    try:
        with mistakes(ValueError):
            for row in fit(load_study(study)):
                table.add_row(*row)
    except KeyError as error:
        reject(error.args[0])
    Console().print(table)
