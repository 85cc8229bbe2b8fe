"""The verbs of ``bench baseline``."""

from pathlib import Path
from typing import Annotated

import typer

from etherweave.bench.baselines import BaselineError, add, baselines
from etherweave.bench.store import Store, StoreError
from etherweave.cli.bench.moments import moment
from etherweave.cli.design_page import print_sheet
from etherweave.cli.exits import refuse, told

EXAMPLES = """Examples:

etherweave bench baseline add results/monday --name spring --file baselines.json

etherweave bench baseline list --file baselines.json"""

File = Annotated[Path, typer.Option("--file", help="Holds baselines, JSON.")]

baseline = typer.Typer(
    help="Numbers that are kept under a name, to hold later ones against.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@baseline.command("add", epilog=EXAMPLES)
def add_one(
    result: Annotated[Path, typer.Argument(help="Directory of `bench run`.")],
    name: Annotated[str, typer.Option(help="Of the baseline; one that exists is replaced.")],
    file: File,
) -> None:
    """Keep the numbers of a result; `bench compare FILE:NAME RESULT` uses them."""
    try:
        kept = add(file, name, Store.open(result))
    except OSError as error:
        refuse(told(error))
    except (StoreError, BaselineError) as error:
        refuse(error)
    print(f"{name}: {len(kept.rows)} points of {kept.site}")


@baseline.command("list", epilog=EXAMPLES)
def list_all(file: File) -> None:
    """List the baselines of a file."""
    try:
        found = baselines(file)
    except BaselineError as error:
        refuse(error)
    rows = [
        (name, one.site, moment(one.start_ns), str(len(one.rows))) for name, one in found.items()
    ]
    print_sheet(("name", "cluster", "measured", ">points"), rows)
