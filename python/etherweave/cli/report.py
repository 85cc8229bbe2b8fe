"""The verb ``report``."""

from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import refuse

EXAMPLES = """Examples:

etherweave run halo3d.toml -o result

etherweave report result

etherweave report result --beside measured

etherweave report results/sandia-2020"""


def report(
    result: Annotated[
        Path,
        typer.Argument(exists=True, file_okay=False, help="Directory of `run -o`, or of a study."),
    ],
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Result of the same jobs, as of `measure -o`, shown beside; as often as needed.",
        ),
    ] = None,
) -> None:
    """Draw a result or a study as one HTML page, report.html beside its tables."""
    from etherweave.report import write_report

    try:
        page = write_report(result, result, beside or ())
    except (OSError, ValueError) as error:
        refuse(error)
    print(page)
