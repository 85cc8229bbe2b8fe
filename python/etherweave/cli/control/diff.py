"""The verb ``control diff``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import etherweave
from etherweave.cli.control.parameters import Factory, Failed, factory_addresses, warned_plan
from etherweave.cli.exits import FAILED, mistakes, reject
from etherweave.cli.parameters import AsJson, File, Settings, overrides
from etherweave.control import text
from etherweave.control.controller.drift import Drift, between, entry_text
from etherweave.control.plan import FabricPlanError, plan
from etherweave.control.rules import FabricPlan, SwitchPlan


def diff(
    file: File,
    other: Path | None = None,
    *,
    to: list[str] | None = None,
    failed: Failed = None,
    factory: Factory = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the differences between two plans, by switch; change nothing.

    Lines begin with + for additions, - for removals, ~ for changes. --failed applies to the second
    plan. Exit code 1: the plans differ; 2: a mistake.

    Parameters
    ----------
    other : OTHER
        Second scenario; default: the same scenario.
    to : KEY=VALUE
        Override a key of the second plan only; repeatable.
    """
    if other is None and not (to or failed):
        reject("expected another scenario, or --to, or --failed: a plan is equal to itself")
    with mistakes(etherweave.ScenarioError, FabricPlanError):
        numbers = factory_addresses(factory)
        old = plan(file, overrides(settings), factory=numbers).installed
        changes = [*(settings or ()), *(to or ())]
        new = warned_plan(other or file, changes, failed, numbers).installed
    drifts = differences(old, new)
    if as_json:
        print(json.dumps({name: as_figures(drift) for name, drift in drifts.items()}, indent=2))
    else:
        for name, drift in drifts.items():
            for line in as_lines(drift):
                print(f"{name}: {line}")
    if drifts:
        raise typer.Exit(FAILED)


def differences(old: FabricPlan, new: FabricPlan) -> dict[str, Drift]:
    """Compare two plans by the names of switches; a missing switch counts as empty."""
    before = {switch.name: switch for switch in old.switches}
    after = {switch.name: switch for switch in new.switches}
    names = [*after, *(name for name in before if name not in after)]
    drifts = {
        name: between(before.get(name, _idle(name)), after.get(name, _idle(name))) for name in names
    }
    return {name: drift for name, drift in drifts.items() if drift}


def _idle(name: str) -> SwitchPlan:
    return SwitchPlan(name, 0, (), (), (), (), {})


def as_lines(drift: Drift) -> Iterator[str]:
    """Write the changes of a switch, one line each."""
    yield from (f"+ {text.meter(meter)}" for meter in drift.meters_missing)
    yield from (f"~ {text.meter(meter)}" for meter in drift.meters_changed)
    yield from (f"- meter={number}" for number in drift.meters_foreign)
    yield from (f"+ {text.group(group)}" for group in drift.groups_missing)
    yield from (f"~ {text.group(group)}" for group in drift.groups_changed)
    yield from (f"- group_id={number}" for number in drift.groups_foreign)
    yield from (f"+ {text.flow(rule)}" for rule in drift.missing)
    yield from (f"~ {text.flow(rule)}" for rule in drift.changed)
    yield from (f"- {entry_text(entry)}" for entry in drift.foreign)


def as_figures(drift: Drift) -> dict[str, Any]:
    """Return the changes of a switch as lists of text."""
    figures: dict[str, list[str]] = {"add": [], "change": [], "remove": []}
    kinds = {"+": "add", "~": "change", "-": "remove"}
    for line in as_lines(drift):
        figures[kinds[line[0]]].append(line[2:])
    return figures
