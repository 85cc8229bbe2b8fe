"""The verb ``lab check``."""

import json
from dataclasses import asdict

from etherweave.cli.lab.parameters import Name, end_with, reported_errors, root_only
from etherweave.cli.parameters import AsJson
from etherweave.cli.progress import count_progress
from etherweave.control.lab import lifecycle, state
from etherweave.control.lab.compare import PathComparison, compare


def check_verb(*, name: Name = None, tables_only: bool = False, as_json: AsJson = False) -> None:
    """Compare the paths of frames between all hosts with tables and simulator.

    The port at every switch is compared with those that the flow table allows, and the links with
    those that carry packets of the same two hosts in the simulator. A lab with failed cables is
    compared with its tables only. Exit code 1: there are differences; 2: a mistake.

    Parameters
    ----------
    tables_only
        Compare with the flow tables only.
    """
    root_only()
    with reported_errors():
        lab = lifecycle.find(state.machine_scope(), name)
        is_simulated = not (tables_only or lab.record.failed)
        scenario = lab.directory / "scenario.toml" if is_simulated else None
        with count_progress(lab.layout.plan.name, "pairs") as progress:
            result = compare(lab.layout, scenario, progress=lambda done, of: progress(done, of, ""))
    print(json.dumps(asdict(result))) if as_json else _print(result)
    end_with(result.differences)


def _print(comparison: PathComparison) -> None:
    print(f"{comparison.pairs} pairs of hosts, {comparison.hops} switches on their paths")
    print(f"  arrived, once and nowhere else     {comparison.arrived:>6}")
    print(f"  by ports that the tables allow     {comparison.as_tables:>6}")
    if comparison.choices:
        print(f"  of which tables leave a choice     {comparison.choices:>6}")
    if comparison.as_simulated is not None:
        print(f"  by the links of the simulator      {comparison.as_simulated:>6}")
    elif comparison.not_simulated:
        print(f"  not simulated: {comparison.not_simulated}")
