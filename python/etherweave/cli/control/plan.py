"""The verb ``control plan``."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import etherweave
from etherweave.api.outputs import new_files, quoted_row
from etherweave.cli.control import parameters
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import AsJson, File, Settings, directory
from etherweave.control import text
from etherweave.control.plan import CARRIED, FabricPlanError, PlannedDeployment, as_json, counts
from etherweave.control.rules import Purpose, SwitchPlan


def plan_verb(
    file: File,
    *,
    output: Path | None = None,
    only: str | None = None,
    failed: parameters.Failed = None,
    factory: parameters.Factory = None,
    settings: Settings = None,
    as_json_: AsJson = False,
) -> None:
    """Compute the OpenFlow rules of every switch and the addresses of every host.

    Prints the number of rules by purpose, and warns of plans that pauses can deadlock or failed
    cables divide. Exit code 2: a mistake.

    Parameters
    ----------
    output : -o
        Directory for SWITCH.flows, SWITCH.groups and SWITCH.meters of every switch, in the form of
        ovs-ofctl, and hosts.csv.
    only : --switch
        Print the rules of this switch, one per line.
    """
    if output:
        directory(output)
    with mistakes(etherweave.ScenarioError, FabricPlanError):
        planned = parameters.warned_plan(
            file, settings, failed, parameters.factory_addresses(factory)
        )
        if output:
            write(planned, output)
    if only:
        _print_rules(planned, only)
    elif as_json_:
        print(json.dumps(as_json(planned.installed)))
    else:
        print_counts(planned)


def write(planned: PlannedDeployment, output: Path) -> None:
    """Write the rules of all switches, and the addresses of all hosts."""
    with new_files(output) as files:
        for switch in planned.installed.switches:
            for kind, lines in _texts(switch).items():
                files.add(f"{switch.name}.{kind}", "".join(lines))
        files.add("hosts.csv", _hosts(planned))


def _hosts(planned: PlannedDeployment) -> str:
    table = io.StringIO(newline="")
    rows = csv.writer(table)
    rows.writerow(("host", "switch", "port", "mac", "ipv4"))
    for host in planned.installed.hosts:
        address = "" if host.ipv4 is None else text.ipv4_text(host.ipv4)
        names = quoted_row((host.name, host.switch))
        rows.writerow((*names, host.port, text.mac_text(host.mac), address))
    return table.getvalue()


def _texts(switch: SwitchPlan) -> dict[str, list[str]]:
    return {
        "flows": [f"{line}\n" for line in text.flows(switch.rules, switch.protocol)],
        "groups": [f"{text.group(group)}\n" for group in switch.groups],
        "meters": [f"{text.meter(meter)}\n" for meter in switch.meters],
    }


def _print_rules(planned: PlannedDeployment, name: str) -> None:
    for lines in _texts(parameters.switch_of(planned.installed, name)).values():
        print("".join(lines), end="")


def print_counts(planned: PlannedDeployment) -> None:
    """Print the number of rules by purpose."""
    plan = planned.installed
    print(f"{plan.name}: {plan.size}")
    print(f"  Addresses: {plan.layout}")
    for cable in planned.failed:
        print(f"  Around {cable}")
    counted = [counts(switch) for switch in plan.switches]
    print_table(("purpose", ">min", ">max", ">total"), _rows(counted))


def _rows(counted: list[dict[Purpose, int]]) -> list[tuple[str, ...]]:
    def row(name: str, values: list[int]) -> tuple[str, ...]:
        return (name, *(f"{value:,}" for value in (min(values), max(values), sum(values))))

    def total(counts: dict[Purpose, int], purposes: Any) -> int:
        return sum(counts.get(purpose, 0) for purpose in purposes)

    present = [purpose for purpose in Purpose if any(purpose in counts for counts in counted)]
    added = [purpose for purpose in present if purpose not in CARRIED]
    rows = [row(purpose, [total(counts, (purpose,)) for counts in counted]) for purpose in present]
    rows.append(row("subtotal: design", [total(counts, CARRIED) for counts in counted]))
    rows.append(row("subtotal: deployment", [total(counts, added) for counts in counted]))
    return rows
