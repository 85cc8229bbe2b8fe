"""The verbs of ``bench baseline``."""

from pathlib import Path
from typing import Annotated

import typer

from etherweave.bench.campaigns.baselines import BaselineError, add, baselines
from etherweave.bench.campaigns.store import Store, StoreError
from etherweave.cli.bench.printing import moment
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes
from etherweave.cli.verbs import nested

File = Annotated[Path, typer.Option("--file", metavar="FILE", help="JSON file of baselines.")]

baseline = nested("Store results under a name, and list them, for later comparisons.")


@baseline.command("add")
def add_one(result: Path, *, name: str, file: File) -> None:
    """Store the numbers of a result for `bench compare FILE:NAME RESULT`.

    Parameters
    ----------
    result
        Directory of `bench run -o`.
    name
        Name of the baseline; an existing one is replaced.
    """
    with mistakes(StoreError, BaselineError):
        kept = add(file, name, Store.open(result))
    print(f"{name}: {len(kept.rows)} points of {kept.site}")


@baseline.command("list")
def list_all(file: File) -> None:
    """List the baselines of a file."""
    with mistakes(BaselineError):
        kept = baselines(file)
    rows = [(key, row.site, moment(row.start_ns), str(len(row.rows))) for key, row in kept.items()]
    print_table(("name", "cluster", "measured", ">points"), rows)
