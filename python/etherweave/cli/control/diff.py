"""The verb ``control diff``."""

import json
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.cli.control.differences import as_figures, as_lines
from etherweave.cli.control.parameters import Factory, Failed, factory_addresses
from etherweave.cli.exits import FAILED, refuse, told
from etherweave.cli.parameters import AsJson, File, Settings, overrides
from etherweave.control.controller.drift import Drift, between
from etherweave.control.plan import PlanError, plan
from etherweave.control.rules import Plan, SwitchPlan

EXAMPLES = """Examples:

etherweave control diff dragonfly.toml larger.toml

etherweave control diff dragonfly.toml --failed "group0.switch0 - group0.switch1"

etherweave control diff dragonfly.toml --to control.rules=conditional --json"""


def diff(
    file: File,
    other: Annotated[
        Path | None, typer.Argument(help="Another scenario; without one, the same scenario.")
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="KEY=VALUE", help="Override a key of the second plan only."),
    ] = None,
    failed: Failed = None,
    factory: Factory = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Tell what switches would be told to come from one plan to another; tell nobody.

    A line begins with + for what is to come, - for what is to go, ~ for what does something else.
    --failed counts for the second plan. Ends with 1 when plans differ, with 2 after a mistake.
    """
    if other is None and not (to or failed):
        refuse("expected another scenario, or --to, or --failed: a plan is equal to itself")
    try:
        given = factory_addresses(factory)
        old = plan(file, overrides(settings), factory=given).plan
        changes = overrides(settings) | overrides(to)
        new = plan(other or file, changes, failed=failed or (), factory=given).plan
    except (etherweave.ScenarioError, PlanError) as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))
    found = differences(old, new)
    if as_json:
        print(json.dumps({name: as_figures(one) for name, one in found.items()}, indent=2))
    else:
        for name, one in found.items():
            for line in as_lines(one):
                print(f"{name}: {line}")
    if found:
        raise typer.Exit(FAILED)


def differences(old: Plan, new: Plan) -> dict[str, Drift]:
    """Compare two plans by the names of switches; a switch of one plan only has nothing to do."""
    before = {switch.name: switch for switch in old.switches}
    after = {switch.name: switch for switch in new.switches}
    names = [*after, *(name for name in before if name not in after)]
    found = {
        name: between(before.get(name, _idle(name)), after.get(name, _idle(name))) for name in names
    }
    return {name: one for name, one in found.items() if one}


def _idle(name: str) -> SwitchPlan:
    return SwitchPlan(name, 0, (), (), (), (), {})
