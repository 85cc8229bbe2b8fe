"""Output of ``run`` about many runs of a scenario, be they samples or replications."""

import math
from collections.abc import Mapping, Sequence

import typer

from etherweave.cli.exits import FAILED, print_error

WHOLE_MIN = 10_000  # Least figure that is printed as a whole number.


def number(value: float | None) -> str:
    """Write a figure; a dash where it has no value."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= WHOLE_MIN else f"{value:.4g}"


def print_rest(
    fixed: Sequence[tuple[str, float]], left_out: Mapping[str, int], runs: int, what: str
) -> None:
    """Print figures that do not vary, and those that only some of so many runs have."""
    if fixed:
        figures = ", ".join(f"{name} {number(value)}" for name, value in fixed)
        print(f"  the same in all {what}: {figures}")
    for figure, count in left_out.items():
        print(f"  {figure}: only in {count} of {runs} {what}")


def exit_where_failed(ended: Mapping[str, int], what: str) -> None:
    """Exit with 1 where runs ended otherwise than complete, and print how many did."""
    failed = {end: count for end, count in ended.items() if end != "complete"}
    if failed:
        ends = ", ".join(f"{end} {count}" for end, count in failed.items())
        runs, lacking = sum(ended.values()), sum(failed.values())
        print_error(f"{lacking} of {runs} {what} have no figures here, by their end: {ends}")
        raise typer.Exit(FAILED)
