"""The verb ``bench compare``."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from etherweave.api.units import Unit, amount, size_text
from etherweave.bench.campaigns import comparisons
from etherweave.bench.campaigns.baselines import BaselineError
from etherweave.bench.campaigns.baselines import baseline as stored_baseline
from etherweave.bench.campaigns.store import Store, StoreError
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED, mistakes, print_error, reject
from etherweave.cli.parameters import AsJson

Source = Annotated[
    str,
    typer.Argument(metavar="RESULT", help="Directory of `bench run -o`, or baseline as FILE:NAME."),
]


def compare(
    baseline: Source,
    candidate: Source,
    *,
    ignore: list[comparisons.IgnoredField] | None = None,
    strict: bool = False,
    as_json: AsJson = False,
) -> None:
    """Compare two results point by point: better, worse or undecided.

    By the Hodges-Lehmann shift, with simultaneous 95 % intervals. Exits with 2 after a mistake, or
    when nothing can be compared.

    Parameters
    ----------
    ignore
        Compare points that differ in this field; repeatable.
    strict
        Exit with 1 on a regression.
    """
    before, now = numbers(baseline), numbers(candidate)
    with mistakes(ValueError):
        rows = comparisons.differences(before, now, ignore=ignore or ())
    if not rows:
        reject(f"{baseline} and {candidate} have no point in common; {_remedy(before, now)}")
    if differing := site_differences(baseline, candidate):
        print_error(f"WARNING: the sites differ: {'; '.join(differing)}")
    if as_json:
        print(json.dumps([difference.facts() for difference in rows], indent=2))
    else:
        print_differences(rows)
    if strict and any(row.verdict is comparisons.DifferenceVerdict.WORSE for row in rows):
        raise typer.Exit(FAILED)


def _remedy(before: comparisons.Numbers, now: comparisons.Numbers) -> str:
    if fields := comparisons.separating_fields(before, now):
        options = " ".join(f"--ignore {name}" for name in fields)
        return (
            f"they differ in {', '.join(fields)}; expected {options} to compare them all the same"
        )
    examples = " and ".join(next((point.words for point in own), "none") for own in (before, now))
    return f"such as {examples}; expected results of equal programs, options, metrics and sizes"


def numbers(source: str) -> comparisons.Numbers:
    """Read the numbers of a result, or of a baseline as FILE:NAME; or end with the mistake."""
    file, colon, name = source.rpartition(":")
    with mistakes(StoreError, BaselineError):
        if colon and not Path(source).is_dir():
            return stored_baseline(Path(file), name).numbers
        return comparisons.numbers_of(Store.open(Path(source)))


def site_differences(baseline: str, candidate: str) -> list[str]:
    """List what the sites of two results differ in: names, and networks of one name."""
    before, now = _site(baseline), _site(candidate)
    return [
        f"{name} {before[name]} and {now[name]}"
        for name in before
        if name in now and before[name] != now[name]
    ]


def _site(source: str) -> dict[str, str]:
    """Read what a result has of its site; a baseline has the name alone."""
    file, colon, name = source.rpartition(":")
    with mistakes(StoreError, BaselineError):
        if colon and not Path(source).is_dir():
            return {"site": stored_baseline(Path(file), name).site}
        campaign = Store.open(Path(source)).campaign
    networks = {
        f"{network.name}.{key}": _with_unit(key, value)
        for network in campaign.networks
        for key, value in vars(network).items()
    }
    return {"site": campaign.site, **networks}


def _with_unit(key: str, value: Any) -> str:
    """Write a value of a network as site files have it."""
    if key == "rate":
        return f"{8 * value / 1e9:g} Gb/s"
    return amount(value, Unit.SECONDS) if key == "latency" else str(value)


def print_differences(rows: Sequence[comparisons.Difference]) -> None:
    """Print a row for each point, and how many are better, worse and undecided."""
    titles = ("", ">size", ">baseline", ">shift", "", ">from", ">to", ">launches", "")
    print_table(titles, map(_row, rows))
    counts = Counter(difference.verdict for difference in rows)
    print(", ".join(f"{counts[verdict]} {verdict}" for verdict in comparisons.DifferenceVerdict))


def _row(difference: comparisons.Difference) -> tuple[str, ...]:
    interval = difference.comparison.interval
    ends = (interval.low, interval.high) if interval else ()
    bounds = [_signed(value, difference.point.unit) for value in ends] or ("", "too few")
    before, now = difference.launches
    return (*shift_cells(difference), *bounds, f"{before} : {now}", difference.verdict.value)


def shift_cells(difference: comparisons.Difference) -> tuple[str, ...]:
    """Write a point, its size, its baseline, and the shift with its share of the baseline."""
    comparison, unit = difference.comparison, difference.point.unit
    share = "" if comparison.relative is None else f"{comparison.relative:+.1%}"
    values = (amount(comparison.baseline, unit), _signed(comparison.shift, unit))
    return difference.point.words, size_text(difference.point.size_bytes), *values, share


def _signed(value: float, unit: str) -> str:
    return f"{'-' if value < 0 else '+'}{amount(abs(value), unit)}"
