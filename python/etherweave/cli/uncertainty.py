"""The verb ``uncertainty``."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import AsJson, File, Settings, Uncertain, overrides
from etherweave.cli.sampled import error_facts
from etherweave.cli.verbs import nested

if TYPE_CHECKING:
    from etherweave.uncertainty import ModelError
    from etherweave.uncertainty.intervals import Interval

uncertainty = nested(
    "Print how far documents differ in the same figure, and the error of the model."
)


@uncertainty.command("spreads", epilog="Examples:\netherweave uncertainty spreads")
def spreads_verb(as_json: AsJson = False) -> None:
    """Print how far documents differ in the same figure.

    Documents are the profiles of interconnects, and published figures of osu_latency and osu_bw. A
    spread is a standard deviation of natural logarithms; the factor is that by which nine of ten
    values are at most off.
    """
    from etherweave.uncertainty import spreads

    found = spreads()
    if as_json:
        return print(json.dumps([asdict(one) for one in found], indent=2))
    rows = [
        (one.figure, str(one.documents), f"{one.sigma:.3f}", f"{one.factor:.2f}", one.values)
        for one in found
    ]
    return print_table(("figure", ">documents", ">spread", ">factor", "values"), rows)


@uncertainty.command(
    "figures", epilog="Examples:\netherweave uncertainty figures halo3d.toml --json"
)
def figures_verb(
    file: File, settings: Settings = None, uncertain: Uncertain = None, as_json: AsJson = False
) -> None:
    """Print what `etherweave run --samples` draws of a scenario, and from what."""
    from etherweave import ScenarioError
    from etherweave.scenario import read
    from etherweave.uncertainty import UncertaintyError, declared, unknowns

    with mistakes(ScenarioError, UncertaintyError):
        text, origin = read(file)
        found = unknowns(text, origin, overrides(settings), declared(uncertain or ()))
    if as_json:
        fixed = [one["key"] for one in found.fixed]
        unknown = [asdict(one) for one in found.entries]
        return print(json.dumps({"unknowns": unknown, "fixed": fixed}, indent=2))
    rows = [(one.name, one.basis, f"{one.low} to {one.high}", one.about) for one in found.entries]
    print_table(("unknown", "basis", "99 %", "from"), rows)
    if found.fixed:
        print(f"  not drawn: {', '.join(one['key'] for one in found.fixed)}")
    return None


@uncertainty.command("errors", epilog="Examples:\netherweave uncertainty errors")
def errors_verb(as_json: AsJson = False) -> None:
    """Print the error of the model by kind of figures: measured over simulated times.

    It is estimated from check rows of studies to which nothing is fitted. An interval is that in
    which a row of a further system lies; covered is the part of rows that lie in what all other
    systems say, as a mean over systems.
    """
    from etherweave.uncertainty import model_errors

    found = model_errors()
    if as_json:
        return print(json.dumps([error_facts(one) for one in found], indent=2))
    return print_table(
        ("kind", ">rows", ">systems", ">middle", ">50 %", ">90 %", ">covered"), map(_row, found)
    )


@uncertainty.command(
    "rows", epilog="Examples:\netherweave uncertainty rows results/osu-references > rows.csv"
)
def rows_verb(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIRECTORY...", help="Results of studies, complete ones."),
    ],
) -> None:
    """Print the check rows of results of studies that measure the error of the model, as CSV.

    `python/etherweave/uncertainty/check_rows.csv` is what it prints for all studies that come with
    Etherweave.
    """
    from etherweave.study import load_study_result
    from etherweave.uncertainty.model_errors import collect, write

    with mistakes(ValueError):
        print(write(collect(map(load_study_result, directories))), end="")


def _row(one: "ModelError") -> tuple[str, ...]:
    middle = "–" if math.isnan(one.median) else f"{one.median:.2f}"
    covered = "–" if one.covered is None else f"{one.covered:.0%}"
    counts = (str(one.rows), str(len(one.systems)))
    return (one.kind, *counts, middle, _ends(one.half), _ends(one.most), covered)


def _ends(ends: "Interval | None") -> str:
    return "–" if ends is None else f"{ends.low:.2f} to {ends.high:.2f}"
