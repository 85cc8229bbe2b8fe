"""The verb ``report``."""

from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import refuse

EXAMPLES = """Examples:

etherweave run halo3d.toml -o result

etherweave report result

etherweave report result --beside measured

etherweave report results/sandia-2020

etherweave report calibrated

etherweave report results/monday --simulation simulated --topology fabric.toml"""


def report(
    result: Annotated[
        Path,
        typer.Argument(
            exists=True,
            file_okay=False,
            help="Directory of `run -o`, `bench run -o`, `calibrate -o` or a study.",
        ),
    ],
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Result of the same jobs, as of `measure -o`, to be shown beside it; repeatable.",
        ),
    ] = None,
    simulation: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            exists=True,
            help="Shown beside benchmarks: a directory of `run -o` with OSU's tests, one of "
            "several such, or a table as points.csv; repeatable.",
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Where the hosts of benchmarks sit: a site's file, or a scenario whose hosts "
            "are those of the site, in order.",
        ),
    ] = None,
) -> None:
    """Draw a result, a study, benchmarks or a calibration as one HTML page, report.html there."""
    from etherweave.report import write_report

    try:
        page = write_report(result, result, beside or (), simulation or (), topology)
    except (OSError, ValueError) as error:
        refuse(error)
    print(page)
