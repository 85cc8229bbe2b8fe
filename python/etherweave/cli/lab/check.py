"""The verb ``lab check``."""

import json
from typing import Annotated

import typer

from etherweave.cli.exits import FAILED, alarm
from etherweave.cli.lab.parameters import Name, mistakes_told, root_only
from etherweave.cli.parameters import AsJson
from etherweave.cli.progress import study_progress
from etherweave.control.lab import lifecycle, state
from etherweave.control.lab.compare import Comparison, compare

EXAMPLES = """Examples:

etherweave lab check

etherweave lab check --tables-only --json"""


def check_verb(
    name: Name = None,
    tables_only: Annotated[
        bool, typer.Option("--tables-only", help="Leave the simulator out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send a frame between every two hosts, and hold its way against tables and simulator.

    Compared is the port taken at every switch with those that the flow table allows there, and the
    set of links used with the links that carry packets when the same two hosts alone talk in the
    simulator. A lab around failed cables is compared with its tables only. Ends with 1 if
    something differs.
    """
    root_only()
    with mistakes_told():
        lab = lifecycle.find(state.realm(), name)
        is_simulated = not (tables_only or lab.record.failed)
        scenario = lab.directory / "scenario.toml" if is_simulated else None
        with study_progress(lab.layout.plan.name, "pairs") as tell:
            found = compare(lab.layout, scenario, tell=lambda done, of: tell(done, of, ""))
    print(json.dumps(found.as_json())) if as_json else _print(found)
    for line in found.differences:
        alarm(line)
    if found.differences:
        raise typer.Exit(FAILED)


def _print(found: Comparison) -> None:
    print(f"{found.pairs} pairs of hosts, {found.hops} switches on their ways")
    print(f"  arrived, once and nowhere else     {found.arrived:>6}")
    print(f"  by ports that the tables allow     {found.as_tables:>6}")
    if found.choices:
        print(f"  of which tables leave a choice     {found.choices:>6}")
    if found.as_simulated is not None:
        print(f"  by the links of the simulator      {found.as_simulated:>6}")
    elif found.not_simulated:
        print(f"  not simulated: {found.not_simulated}")
