"""The verb ``report``."""

from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import refuse
from etherweave.results import Result

EXAMPLES = """Examples:

etherweave run halo3d.toml -o result

etherweave report result"""


def report(
    result: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="Directory of `run -o`.")
    ],
) -> None:
    """Draw a result as one HTML page, report.html beside its tables."""
    from etherweave.report import write_run

    try:
        loaded = Result.load(result)
    except (OSError, ValueError) as error:
        refuse(error)
    print(write_run(loaded, result))
