"""Output of ``run --samples``."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etherweave.api.outputs import below
from etherweave.api.simulation import ScenarioError
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import kept_in, mistakes, notice, print_warnings
from etherweave.cli.parameters import directory
from etherweave.cli.progress import work_progress
from etherweave.cli.repeated import exit_where_failed, number, print_rest

if TYPE_CHECKING:
    from etherweave.uncertainty import ModelError, SampledResult
    from etherweave.uncertainty.figures import Unknown
    from etherweave.uncertainty.intervals import Distribution, Interval

SHARE_MIN = 0.02  # Least part of a variance whose unknown is named.
NAMED_MAX = 4  # Most unknowns that are named for a figure.
DETAILED = (".mean_us", ".call_us", "streams.goodput_gbps")
"""Ends of names of the figures whose unknowns are named."""
INTERVALS = (">as it stands", ">median", ">50 %", ">90 %", ">90 % with the model's error")
"""Titles of the columns of a figure in samples."""
OUTSIDE = "*"  # Mark of a figure as it stands that lies outside of its interval of 90 %.


def run_sampled(
    file: Path,
    changes: dict[str, object],
    samples: int,
    uncertain: Sequence[str],
    where: str,
    processes: int,
    memory_limit: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Carry out samples of a scenario, and print the intervals of its figures."""
    from etherweave.sweeps import ExecutorError, SweepError, executor
    from etherweave.uncertainty import UncertaintyError, declared, run_samples

    home = directory(output or below(Path("results"), f"{file.stem}-samples"))
    with mistakes(ScenarioError, UncertaintyError, SweepError, ExecutorError, ValueError):
        drawn, on = declared(uncertain), executor(where, processes)
        with kept_in(home), work_progress(file.stem, "runs") as on_progress:
            result = run_samples(
                file,
                samples,
                home,
                changes,
                declared=drawn,
                executor=on,
                memory_limit=memory_limit,
                on_progress=on_progress,
                on_notice=notice,
            )
    print(json.dumps(facts(result), indent=2)) if as_json else _print(result)
    print_warnings(result.warnings, set())
    exit_where_failed(result.ended, "samples")


def facts(result: "SampledResult") -> dict[str, Any]:
    """Return a sampled result as JSON has it."""
    return {
        "name": result.name,
        "asked": result.asked,
        "samples": result.samples,
        "seeds": list(result.seeds),
        "ended": dict(result.ended),
        "is_known": result.is_known,
        "unknowns": [asdict(entry) for entry in result.unknowns.entries],
        "fixed": [unknown["key"] for unknown in result.unknowns.fixed],
        "without_basis": list(result.unknowns.without_basis),
        "no_basis": list(result.unknowns.no_basis),
        "figures": {row.name: figure(row) for row in result.figures},
        "left_out": dict(result.left_out),
        "warnings": list(result.warnings),
        "model_errors": {job: error_facts(error) for job, error in result.model_errors.items()},
        "in_flow_level_mode": list(result.in_flow),
    }


def error_facts(error: "ModelError") -> dict[str, Any]:
    """Return an error of the model as JSON has it."""
    names = ("rows", "systems", "half", "most", "covered")
    conditions = {"kind": error.kind, "conditions": error.conditions._asdict()}
    return conditions | {name: getattr(error, name) for name in names}


def figure(distribution: "Distribution") -> dict[str, Any]:
    """Return a figure with its intervals as JSON has it."""
    has_rest = distribution.varies and distribution.contributions is not None
    return {
        "point": distribution.point,
        "median": distribution.median,
        "interval_50": list(distribution.half),
        "interval_90": list(distribution.most),
        "interval_90_with_model": list(distribution.together) if distribution.together else None,
        "error": distribution.error if math.isfinite(distribution.error) else None,
        "contributions": {
            each.unknown: {
                "share": each.share,
                "interval_90_if_known": list(each.known) if each.known else None,
            }
            for each in distribution.contributions or ()
        },
        "rest": distribution.rest if has_rest else None,
    }


def _print(result: "SampledResult") -> None:
    is_finite = math.isfinite(result.error)
    known = (
        f"ends of intervals of 90 % {f'known to {result.error:.1%}' if is_finite else 'not known'}"
    )
    first, last = result.seeds
    print(
        f"{result.name}: {result.samples} samples of {len(result.unknowns.entries)} unknowns, "
        f"seeds {first} to {last}; {known}"
    )
    if not result.unknowns.entries:
        print("  samples differ in their seeds alone: nothing else is uncertain")
    if not result.is_known:
        print(f"  too few samples to know the ends to 5 %: {result.asked}; expected more --samples")
    figures = sorted(result.figures, key=lambda row: not row.name.endswith(DETAILED))
    rows = [(row.name, *intervals(row)) for row in figures if row.varies or row.together]
    if rows:
        print_intervals(("figure",), rows)
    fixed = [(row.name, row.median) for row in result.figures if not (row.varies or row.together)]
    print_rest(fixed, result.left_out, result.samples, "samples")
    for row in result.figures:
        if row.varies and row.name.endswith(DETAILED):
            _print_contributions(result, row)
    for job, error in result.model_errors.items():
        print(f"  error of the model, in the last column alone: {job}: {_error(error)}")
    if result.in_flow:
        measured = "not measured; `etherweave run FILE --compare-fidelity` does"
        jobs = ", ".join(result.in_flow)
        print(f"  error of flow-level mode, in no interval above: {jobs}: {measured}")


def intervals(row: "Distribution") -> tuple[str, ...]:
    """Write the columns of a figure that :data:`INTERVALS` names."""
    together = _ends(row.together) if row.together else ""
    point = number(row.point)
    if row.varies and row.point is not None and not row.most.low <= row.point <= row.most.high:
        point += OUTSIDE
    return (point, number(row.median), _ends(row.half), _ends(row.most), together)


def print_intervals(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print figures in samples, below titles of their first columns and :data:`INTERVALS`."""
    print_table((*titles, *INTERVALS), rows)
    if any(row[len(titles)].endswith(OUTSIDE) for row in rows):
        print(f"  {OUTSIDE} outside of the interval of 90 %: report the median and the interval")


def _error(error: "ModelError") -> str:
    """Write what measured times are to simulated ones, and what that rests on."""
    where = ", ".join(error.shared)
    rows = f"{error.rows} rows of {len(error.systems)} systems" if error.rows else "no row"
    return (
        f"measured times are {error.most.low:.2f} to {error.most.high:.2f} of simulated ones in "
        f"90 % ({where}: {rows})"
    )


def _print_contributions(result: "SampledResult", distribution: "Distribution") -> None:
    """Print which unknowns widen a figure, and what would be left if they were known."""
    if not result.unknowns.entries:
        return None
    if distribution.contributions is None:
        return print(f"  {distribution.name}: what widens it is not known from so few samples")
    print(f"  {distribution.name} varies by")
    known = {each.name: each for each in result.unknowns.entries}
    for each in distribution.contributions[:NAMED_MAX]:
        if each.share >= SHARE_MIN:
            about = known[each.unknown]
            left = f"; if it were known, 90 % would be {_ends(each.known)}" if each.known else ""
            about_it = f"{about.basis}, {about.low} to {about.high}"
            print(f"    {each.share:4.0%}  {each.unknown} ({about_it}){left}")
    if distribution.rest >= SHARE_MIN:
        others = f"unknowns whose effect {result.samples} samples do not show"
        print(f"    {distribution.rest:4.0%}  seeds, unknowns together, and {others}")
    first = [each for each in distribution.contributions[:1] if each.share >= SHARE_MIN]
    _print_measurement([known[each.unknown] for each in first])
    return None


def _print_measurement(largest: Sequence["Unknown"]) -> None:
    """Print what would narrow the largest unknown of a figure."""
    from etherweave.uncertainty.measured_by import measurement_of

    for unknown in largest:
        if measurement := measurement_of(unknown):
            print(f"    to narrow it most: {measurement}")


def _ends(ends: "Interval") -> str:
    return f"{number(ends.low)} to {number(ends.high)}"
