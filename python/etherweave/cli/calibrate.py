"""The verb ``calibrate``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tomllib import loads
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import etherweave
from etherweave.bench.calibration import (
    Calibration,
    CalibrationError,
    Compared,
    Observation,
    calibrate,
)
from etherweave.bench.calibration.calibrating import FOUND
from etherweave.bench.calibration.collecting import LAUNCHES, collect
from etherweave.bench.calibration.observations import read
from etherweave.bench.calibration.planning import Hosts, amount, plan
from etherweave.bench.measure import Interrupted, LaunchError, Limits, MeasureError
from etherweave.bench.site.values import SiteError
from etherweave.cli.exits import FAILED, INTERRUPTED, alarm, notice, refuse, terminable, told
from etherweave.cli.ground import Ground, read_ground
from etherweave.cli.parameters import AsJson, directory
from etherweave.cli.progress import study_progress

EXAMPLES = """Examples:

etherweave calibrate cluster.toml --site site.toml --fabric roce -o calibrated

etherweave run cluster.toml --set @calibrated/constants.toml

etherweave calibrate cluster.toml --measured latency --measured bandwidth --measured halo3d

etherweave calibrate"""

TESTBED = "sandia-2020"
"""Study whose constants are fitted unless a site and a scenario are given."""
CONSTANTS = "constants.toml"


def calibrate_verb(
    scenario: Annotated[
        Path | None,
        typer.Argument(help="The fabric, and as its jobs the workloads that are held out."),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Measure now, on the hosts of this site, TOML."),
    ] = None,
    fabric: Annotated[str | None, typer.Option(help="Of the site, if it has several.")] = None,
    hosts: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="Of the site, as ranks go; all by default.")
    ] = None,
    measured: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIRECTORY",
            help="What `measure` left of one job, or `bench run` of osu_latency and osu_bw; "
            "as often as needed.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Directory for launches, constants and comparison."),
    ] = None,
    launches: Annotated[
        int, typer.Option("--repeat", min=1, help="Launches of each workload, in shuffled rounds.")
    ] = 6,
    time_limit: Annotated[
        float,
        typer.Option(min=1, max=86400 * 30, help="Longest launch in seconds, predicted and real."),
    ] = Limits().seconds,
    traffic_limit: Annotated[
        float, typer.Option(min=0, help="Most payload of all launches in GB, as predicted.")
    ] = Limits().gigabytes,
    as_json: AsJson = False,
) -> None:
    """Fit constants of hosts to micro-benchmarks; foretell other workloads, and print how well.

    A scenario's jobs are measured one at a time, beside micro-benchmarks (osu_latency, osu_bw,
    incast) that the constants are fitted to. Without a scenario the shipped constants are fitted
    anew to the figures of the published testbed, and printed beside the shipped. Changes no file
    but those of its output. Ends with 1 when a launch fails, 2 after a mistake, 130 after Ctrl-C;
    the same command goes on with the launches that lack.
    """
    if scenario is None:
        return _testbed()
    if (site is None) == (not measured):
        refuse("expected --site FILE to measure now, or --measured DIRECTORY of before")
    if site and output is None:
        refuse("--site: measures; expected --output DIRECTORY for its launches")
    base = _scenario(scenario)
    if output:
        directory(output)
    with _mistakes(), terminable():
        if site and output:
            ground = read_ground(site, fabric, hosts)
            limits = Limits(time_limit, traffic_limit)
            observations = _measured(base, ground, launches, limits, output / LAUNCHES)
        else:
            observations = [one for place in measured or [] for one in read(place, base)]
        found = calibrate(observations, _tell)
    if output:
        _save(found, output)
    _print(found, as_json)
    return None


@contextmanager
def _mistakes() -> Iterator[None]:
    """Tell what goes wrong as verbs do."""
    try:
        yield
    except (KeyboardInterrupt, Interrupted):
        alarm("Interrupted: what was launched has ended; launches that were complete are kept.")
        raise typer.Exit(INTERRUPTED) from None
    except LaunchError as error:
        alarm(error)
        raise typer.Exit(FAILED) from None
    except (etherweave.ScenarioError, SiteError, MeasureError, CalibrationError) as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))


def _scenario(file: Path) -> dict[str, Any]:
    """Read a scenario, with what lies in files beside it."""
    try:
        return loads(etherweave.resolve(file))
    except etherweave.ScenarioError as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))


def _measured(
    base: Mapping[str, Any], ground: Ground, launches: int, limits: Limits, place: Path
) -> list[Observation]:
    names = ground.hosts or tuple(host.name for host in ground.site.hosts)
    hosts = Hosts(ground.site, ground.link, names, limits)
    workloads = plan(base, hosts)
    expected = amount(workloads, launches, limits)
    count = len(workloads)
    _tell(f"launches: {launches * count} ({launches} of each of {count} workloads), {expected}")
    with study_progress("calibrate", "launches") as tell:
        return collect(workloads, launches, hosts, place, tell)


def _tell(step: str) -> None:
    notice(step)


def _save(found: Calibration, output: Path) -> None:
    """Write constants as overrides, and all that was found as JSON."""
    output.mkdir(parents=True, exist_ok=True)
    lines = [f'"{key}" = "{value}"\n' for key, value in found.settings().items()]
    (output / CONSTANTS).write_text("".join(lines), encoding="utf-8")
    (output / FOUND).write_text(json.dumps(found.facts(), indent=2) + "\n", encoding="utf-8")


def _print(found: Calibration, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found.facts(), indent=2))
        return
    shown = Console()
    shown.print(_constants(found))
    shown.print(_comparison("fitted to", found.probes))
    if found.held_out:
        shown.print(_comparison("held out", found.held_out))
        shown.print(_verdict(found))


def _verdict(found: Calibration) -> str:
    count = len(found.held_out)
    return (
        f"held out: mean iterations foretold within {found.typical_error_of_mean:.1%}, median "
        f"iterations within {found.typical_error:.1%}: the median of {count} "
        f"workload{'s' if count > 1 else ''}, the worst {found.worst_error:.1%}"
    )


def _constants(found: Calibration) -> Table:
    table = Table(escape("constant [ns]"), "before", "fitted", "95 % interval")
    for one in found.constants:
        if one.is_determined:
            facts = (f"{one.value_ns:.0f}", f"{one.low_ns:.0f} to {one.high_ns:.0f}")
        else:
            facts = ("", "not determined: as before")
        table.add_row(one.key, f"{one.before_ns:.0f}", *facts)
    return table


def _comparison(title: str, rows: Sequence[Compared]) -> Table:
    """Give times of an iteration, or of all streams together."""
    table = Table(padding=(0, 0))
    table.add_column(Text(f"{title} [us]"), overflow="fold")
    for name in ("measured", "foretold", "95 % interval", "error", "of median"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in rows:
        table.add_row(
            Text(one.name),
            _us(one.measured_s),
            _us(one.foretold_s),
            f"{_us(one.foretold_low_s)} to {_us(one.foretold_high_s)}",
            f"{one.error:+.1%}",
            f"{one.error_of_median:+.1%}",
        )
    return table


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f}" if seconds < 1e-4 else f"{seconds * 1e6:,.0f}"


def _testbed() -> None:
    """Fit the hosts' constants to the point-to-point figures; ns, Gb/s and us."""
    from etherweave.study.calibration import calibrate as fit
    from etherweave.study.folder import load_study

    table = Table("constant", "figure", "target", "shipped", "fitted", "figure with fitted")
    for row in fit(load_study(TESTBED)):
        table.add_row(*row)
    Console().print(table)
