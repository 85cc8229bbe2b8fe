"""The verb ``calibrate``."""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tomllib import loads
from typing import TYPE_CHECKING, Any

import typer

import etherweave
from etherweave.api.inputs import read_text
from etherweave.api.outputs import new_files
from etherweave.bench.measure.errors import MeasureLaunchError
from etherweave.cli import measure
from etherweave.cli.bench.amounts import TrafficLimit
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import INTERRUPTED, mistakes, notice, print_error, print_warnings, reject
from etherweave.cli.parameters import AsJson, Positive, Uncertain, directory, is_given

if TYPE_CHECKING:
    from etherweave.bench.calibration import Calibration, ComparedWorkload, MeasuredWorkload
    from etherweave.bench.calibration.calibration import CalibratedConstant
    from etherweave.bench.measure import MeasureLimits


TESTBED = "sandia-2020"  # Study whose constants are fitted unless another, or a scenario, is given.
CONSTANTS = "constants.toml"  # File with the middle of the posterior, as overrides.
POSTERIOR = "posterior.toml"  # File with the posterior, as distributions.
CHALLENGE = "hpcc"  # Directory of the launches of the HPC Challenge, beside a calibration.
OF_LAUNCHES = ("fabric", "hosts", "hpcc", "launches", "time_limit", "traffic_limit")
"""Parameters of launches on a site."""


def calibrate_verb(
    context: typer.Context,
    scenario: Path | None = None,
    *,
    site: measure.SiteFile = None,
    fabric: measure.Fabric = None,
    hosts: measure.Hosts = None,
    measured: list[Path] | None = None,
    hpcc: Positive | None = None,
    uncertain: Uncertain = None,
    output: Path | None = None,
    launches: Positive = 6,
    time_limit: measure.LaunchTimeLimit = measure.TIME_LIMIT,
    traffic_limit: TrafficLimit = measure.TRAFFIC_LIMIT,
    study: str = TESTBED,
    as_json: AsJson = False,
) -> None:
    """Infer constants of hosts from micro-benchmarks; predict other workloads, print the errors.

    A scenario's jobs are measured one at a time, beside micro-benchmarks (osu_latency, osu_bw,
    incast) that constants are inferred from: what the scenario's profile does not know of them is
    narrowed by what was measured. Without a scenario the constants of a study are fitted anew to
    its figures that are for that, and printed beside the shipped. Changes no file but those of its
    output. Exits with 1 when a launch fails, 2 after a mistake, 130 after Ctrl-C; the same command
    then continues with the missing launches.

    Parameters
    ----------
    scenario
        A scenario of the fabric, whose jobs are the held-out workloads.
    measured : DIRECTORY|FILE
        Use a result of `measure` with one job, or of `bench run` with osu_latency, osu_bw or hpcc;
        or what these have printed, or a CSV table job,iteration_s of the scenario's jobs;
        repeatable.
    hpcc : ORDER
        Launch the HPC Challenge instead, with a matrix of this order: infer from its rings, predict
        its other tests.
    output : -o
        Directory for launches, posterior and comparison.
    launches
        Launch each workload this often, in shuffled rounds.
    study : NAME
        Fit this study's constants, if no scenario is given.
    """
    if scenario is None:
        others = {param.name for param in context.command.params} - {"study"}
        _check_unused(context, others, "expected a scenario")
        return _published(study)
    _check_unused(context, {"study"}, "fits the constants of a study; expected no scenario")
    base = _scenario(scenario)
    if (site is None) == (not measured):
        stated = "both --site and --measured" if site else "neither --site nor --measured"
        reject(f"{stated}; expected a site to measure now, or earlier measurements")
    if site and output is None:
        reject("--site: measures on hosts; expected --output DIRECTORY for its launches")
    if measured:
        _check_unused(context, OF_LAUNCHES, "is of launches; expected --site, not --measured")
    from etherweave.bench.calibration import calibrate
    from etherweave.bench.calibration.priors import prior_of
    from etherweave.cli.progress import step_progress
    from etherweave.uncertainty import UncertaintyError, declared

    with mistakes(UncertaintyError):
        prior = prior_of(scenario, declared(uncertain or ()))
    if output:
        directory(output)
    printed: set[str] = set()
    with _mistakes():
        if site and output:
            limits, selected = (
                measure.limits_of(time_limit, traffic_limit),
                measure.select_site(site, fabric, hosts),
            )
            if hpcc:
                workloads = _challenge(base, selected, launches, limits, output / CHALLENGE, hpcc)
            else:
                workloads = _measured(base, selected, launches, limits, output)
        else:
            workloads = _read(measured or [], base, printed)
        with step_progress() as show:
            calibration = calibrate(workloads, prior, notice, partial(show, "calibrate"))
    if output:
        _save(calibration, output)
    _print(calibration, as_json)
    print_warnings(calibration.warnings, printed)
    return None


def _check_unused(context: typer.Context, names: Collection[str | None], reason: str) -> None:
    """Reject options that the rest of the command line leaves without effect."""
    for param in context.command.params:
        if param.name in names and is_given(context, param.name):
            reject(f"{param.opts[0]}: {reason}")


@contextmanager
def _mistakes() -> Iterator[None]:
    """Turn exceptions of a calibration into errors and exit codes."""
    from etherweave.bench.calibration import CalibrationError
    from etherweave.bench.measure import MeasureInterrupted
    from etherweave.bench.programs.plans import BenchmarkPlanError

    known = (*measure.LAUNCH_MISTAKES, CalibrationError, BenchmarkPlanError)
    try:
        with mistakes(*known, failures=(MeasureLaunchError,)):
            yield
    except (KeyboardInterrupt, MeasureInterrupted):
        print_error("Interrupted: all launched processes have ended; complete launches are kept.")
        raise typer.Exit(INTERRUPTED) from None


def _scenario(file: Path) -> dict[str, Any]:
    with mistakes(etherweave.ScenarioError, OSError, ValueError):
        if not read_text(file).strip():
            reject(f"{file}: empty; expected a scenario of the fabric")
        return loads(etherweave.resolve(file))


def _read(
    places: Sequence[Path], base: Mapping[str, object], printed: set[str]
) -> list["MeasuredWorkload"]:
    """Read earlier measurements, and warn of what is left out of them."""
    from etherweave.bench.calibration.measured import read

    def warn(warning: str) -> None:
        print_warnings([warning], printed)

    return [workload for place in places for workload in read(place, base, warn)]


def _measured(
    base: Mapping[str, Any],
    selected: measure.SelectedSite,
    launches: int,
    limits: "MeasureLimits",
    output: Path,
) -> list["MeasuredWorkload"]:
    """Measure all workloads, with progress on standard error."""
    from etherweave.bench.calibration.collecting import LAUNCHES, collect
    from etherweave.bench.calibration.plans import MeasuringHosts, amount, plan
    from etherweave.cli.progress import count_progress

    names = selected.hosts or tuple(host.name for host in selected.site.hosts)
    hosts = MeasuringHosts(selected.site, selected.link, names, limits)
    workloads = plan(base, hosts)
    expected = amount(workloads, launches, limits)
    count = len(workloads)
    notice(f"launches: {launches * count} ({launches} of each of {count} workloads), {expected}")
    with count_progress("calibrate", "launches") as report:
        return collect(workloads, launches, hosts, output / LAUNCHES, report)


def _challenge(
    base: Mapping[str, Any],
    selected: measure.SelectedSite,
    launches: int,
    limits: "MeasureLimits",
    output: Path,
    order: int,
) -> list["MeasuredWorkload"]:
    """Launch the HPC Challenge as `bench run` does, after a launch that does not count."""
    from etherweave import bench
    from etherweave.bench.calibration.measured import read
    from etherweave.bench.statistics.launches import StoppingRule
    from etherweave.cli.progress import count_progress

    octets = round(limits.gigabytes * 1e9)
    try:
        with count_progress("calibrate", "launches") as report:
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
    """Write the middle of the posterior, the posterior, and the whole calibration as JSON."""
    from etherweave.api import toml
    from etherweave.measurements.files import CALIBRATION_FILE

    lines = [
        f"{json.dumps(key)} = {toml.literal(of)}\n" for key, of in calibration.settings.items()
    ]
    with new_files(output) as files:
        files.add(CONSTANTS, "".join(lines) or "# The measurements determine no constant.\n")
        files.add(POSTERIOR, toml.document(calibration.posterior))
        files.add(CALIBRATION_FILE, json.dumps(calibration.facts(), indent=2) + "\n")


def _print(calibration: "Calibration", as_json: bool) -> None:
    if as_json:
        print(json.dumps(calibration.facts(), indent=2))
        return
    tests = {row.test for row in calibration.micro_benchmarks}
    if unknown := not_determined(calibration.constants, tests):
        print(unknown)
    heads = ("constant", ">before", "prior, 90 %", "posterior, 90 %", ">width", "")
    print_table(heads, map(_constant, calibration.constants))
    if calibration.choices:
        print_table(("choice", "value", ">prior", ">posterior"), _choices(calibration))
    for line in _identified(calibration):
        print(line)
    _print_comparison("inferred from", calibration.micro_benchmarks)
    if calibration.held_out:
        _print_comparison("held out", calibration.held_out)
        print(_verdict(calibration))


def not_determined(constants: Sequence["CalibratedConstant"], tests: Collection[str]) -> str:
    """Name constants of which the measurements say nothing; nothing where there are none.

    Where that is all of them, say what is left to do beside the ``tests`` that were measured.
    """
    from etherweave.bench.calibration.measured import MICRO

    left = [constant.key for constant in constants if not constant.is_inferred]
    if left and len(left) == len(constants):
        others = ", ".join(sorted(MICRO - {*tests}))
        measure = f"measure {others} too, or " if others else ""
        return (
            "these measurements determine no constant: all stay as they were before; "
            f"{measure}predict intervals with `run --samples 64 --uncertain @{POSTERIOR}`"
        )
    return f"not determined by these measurements: {', '.join(left)}" if left else ""


def _verdict(calibration: "Calibration") -> str:
    count = len(calibration.held_out)
    return (
        f"held out: {calibration.covered} of {count} inside intervals of 90 %; mean iterations "
        f"predicted within {calibration.typical_error_of_mean:.1%}, median iterations within "
        f"{calibration.typical_error:.1%}: the median of {count} "
        f"workload{'s' if count > 1 else ''}, the worst {calibration.worst_error:.1%}"
    )


def _identified(calibration: "Calibration") -> Iterator[str]:
    """Say what the measurements distinguish, and what they do not."""
    from etherweave.bench.calibration.identifiability import KNOWN

    known = sum(direction.width <= KNOWN for direction in calibration.directions)
    yield f"known: {known} of {len(calibration.directions)} combinations of the unknowns"
    shared = {row.key: row.together_with for row in calibration.constants if row.together_with}
    for key, others in shared.items():
        yield f"not distinguished: {key} and {', '.join(others)}"
    low, median, high = calibration.misfit
    yield f"the model misses micro-benchmarks by {median:.1%} ({low:.1%} to {high:.1%})"


def _constant(row: "CalibratedConstant") -> tuple[str, ...]:
    return (
        row.key,
        _text(row.before, row.unit),
        _range(row.prior_low, row.prior_high, row.unit),
        _range(row.low, row.high, row.unit),
        f"{row.width:.0%}",
        "" if row.is_determined else "together" if row.together_with else "not known",
    )


def _choices(calibration: "Calibration") -> Iterator[tuple[str, ...]]:
    for choice in calibration.choices:
        for value, *weights in zip(choice.values, choice.prior, choice.posterior, strict=True):
            yield choice.key, value, *(f"{weight:.0%}" for weight in weights)


def _range(low: float, high: float, unit: str) -> str:
    return f"{_text(low, unit)} to {_text(high, unit)}"


def _text(value: float | None, unit: str) -> str:
    from etherweave.api.units import Unit, amount

    return "" if value is None else amount(value, unit or Unit.COUNT)


def _print_comparison(title: str, rows: Sequence["ComparedWorkload"]) -> None:
    """Print a table of times of an iteration, or of all streams together."""
    heads = (">measured", ">predicted", ">90 % interval", "", ">error", ">of median")
    print_table((f"{title} [us]", *heads), map(_compared, rows))


def _compared(row: "ComparedWorkload") -> tuple[str, ...]:
    """Write a workload as a row; times of ``osu_latency`` are one way, as it prints them."""
    from etherweave.bench.calibration.micro_benchmarks import reported_share

    share = reported_share(row.test)
    return (
        row.name,
        _us(share * row.measured_s),
        _us(share * row.predicted_s),
        interval_us(share * row.predicted_low_s, share * row.predicted_high_s),
        _mark(row),
        f"{row.error:+.1%}",
        f"{row.error_of_median:+.1%}",
    )


def interval_us(low_s: float, high_s: float) -> str:
    """Write an interval; that of a value which nothing varies is none."""
    low, high = _us(low_s), _us(high_s)
    return "none" if low == high else f"{low} to {high}"


def _mark(workload: "ComparedWorkload") -> str:
    """Mark an interval that does not have what was measured, or what is predicted."""
    low_s, high_s = workload.predicted_low_s, workload.predicted_high_s
    is_within = low_s <= workload.predicted_s <= high_s
    marks = {"*": workload.is_covered, "+": is_within}
    return " ".join(mark for mark, is_inside in marks.items() if not is_inside)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f}" if seconds < 1e-4 else f"{seconds * 1e6:,.0f}"


def _published(study: str) -> None:
    """Fit a study's constants to its figures, in the units of both."""
    from etherweave.study.calibration import calibrate as fit
    from etherweave.study.folder import load_study

    heads = ("constant", "figure", "target", "shipped", "fitted", "figure with fitted")
    with mistakes(KeyError, ValueError):
        print_table(heads, fit(load_study(study)))
