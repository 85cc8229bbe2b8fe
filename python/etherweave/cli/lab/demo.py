"""The verb ``lab demo``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from etherweave.api.scenario import ScenarioSource
from etherweave.cli.lab.parameters import (
    PlaneOption,
    end_with,
    reported_errors,
    root_only,
    step_printer,
)
from etherweave.cli.parameters import AsJson, Settings, overrides
from etherweave.cli.progress import count_progress
from etherweave.control.lab import demonstration, lifecycle, state
from etherweave.control.lab.compare import PathComparison
from etherweave.control.lab.pauses import PausePhase, PauseResult
from etherweave.control.reaction import DataPlane

DRAGONFLY: ScenarioSource = {
    "name": "dragonfly of 20 hosts",
    "topology": {"dragonfly": {"p": 2, "a": 2, "h": 2}},
    "control": {"rules": "conditional"},
}
"""Five groups of two switches with two hosts, the smallest with paths around any global link."""
NAME = "demo"


def demo_verb(
    file: Path | None = None,
    *,
    plane: PlaneOption = DataPlane.OVS,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Demonstrate addresses, rules, paths and a pause in a lab, then remove it.

    Takes less than a minute. Exit code 1: a result is not as expected; 2: a mistake.

    Parameters
    ----------
    file : SCENARIO
        Scenario; default: a dragonfly of 20 hosts.
    """
    root_only()
    scope, progress = state.machine_scope(), step_printer()
    with reported_errors():
        lab = lifecycle.up(
            scope, NAME, file or DRAGONFLY, overrides(settings), plane=plane, progress=progress
        )
        try:
            plan = lab.layout.plan
            if not as_json:
                print(f"{plan.name}: {plan.size}")
            with count_progress(plan.name, "pairs") as count:
                result = demonstration.demonstrate(
                    lab,
                    (lambda *_: None) if as_json else _print_step,
                    lambda done, of: count(done, of, ""),
                )
        finally:
            progress("removing everything")
            lifecycle.down(scope, NAME)
    if as_json:
        print(json.dumps(asdict(result), indent=2))
    end_with(demonstration.failures(result))


def _print_step(name: str, figures: Any) -> None:
    match figures:
        case demonstration.AddressCheck():
            _addresses(figures)
        case demonstration.UnknownDestinationCheck():
            print("Frames to unknown addresses")
            print(f"  {figures.sent} sent, to {' and '.join(figures.addresses)}")
            print(f"  {figures.elsewhere} at any port but their sender's")
        case demonstration.RuleCounts():
            _rules(figures)
        case PathComparison():
            print(f"Paths between all {figures.pairs} pairs of hosts, {figures.hops} hops")
            print(f"  {figures.arrived} arrive once, and at no other port")
            print(f"  {figures.as_tables} leave by ports of the flow tables")
            if figures.as_simulated is not None:
                print(f"  {figures.as_simulated} use the links of the simulator")
            elif figures.not_simulated:
                print(f"  not simulated: {figures.not_simulated}")
        case PauseResult():
            _pausing(figures)
        case None if name == "pausing":
            print("Pauses: no rule of this fabric has another port; try control.rules=conditional")
        case demonstration.Traffic():
            _traffic(figures)


def _addresses(figures: demonstration.AddressCheck) -> None:
    print("Addresses by DMP")
    print(f"  {figures.layout}")
    print(f"  {figures.addressed} of {figures.hosts} hosts have the address of the plan")
    print(f"  {figures.requests} requests, {figures.answers} answers at the same port")
    print(f"  {figures.elsewhere} frames of DMP at any other port")


def _rules(figures: demonstration.RuleCounts) -> None:
    carried = [
        all_ - extra for all_, extra in zip(figures.installed, figures.alternatives, strict=True)
    ]
    print("Rules of the flow table, read back from the switches")
    print(f"  {_range(carried)} by default, and {_range(figures.alternatives)} alternatives")
    print(f"  {_range((figures.design_min, figures.design_max))} by the model of figure 6, minimal")
    print(f"  {figures.flat} in each switch with a rule per host")


def _range(values: Any) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def _pausing(figures: PauseResult) -> None:
    print(
        f"{figures.source} sends to {figures.destination}; {figures.port} is paused, then resumed"
    )
    print(f"  {'':<8}  {figures.port:>18}  {figures.alternative:>18}  path")
    phases = (("before", figures.before), ("paused", figures.paused), ("resumed", figures.resumed))
    for name, phase in phases:
        print(f"  {name:<8}  {_sent(phase)}")
    print(
        f"  diverted after {figures.diverted_ms:.1f} ms, "
        f"restored after {figures.restored_ms:.1f} ms"
    )


def _sent(phase: PausePhase) -> str:
    path = ", ".join(phase.path)
    return f"{phase.by_default:>18}  {phase.by_alternative:>18}  {path}"


def _traffic(figures: demonstration.Traffic) -> None:
    print(f"{figures.source} and {figures.destination}")
    print(f"  {figures.answered} of {figures.pings} pings, {figures.round_trip_ms:.2f} ms")
    if figures.tcp_gbps is not None:
        print(f"  {figures.tcp_gbps:.2f} Gb/s by TCP: this machine's, not the fabric's")
