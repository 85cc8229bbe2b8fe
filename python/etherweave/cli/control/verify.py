"""The verb ``control verify``."""

import json
from pathlib import Path
from typing import Any

import typer

import etherweave
from etherweave.cli.control.parameters import Factory, Failed, factory_addresses, warned_plan
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED, INTERRUPTED, mistakes, print_error, reject
from etherweave.cli.parameters import AsJson, File, Natural, Settings, directory
from etherweave.cli.progress import step_progress
from etherweave.control.ovs.daemons import OvsError, missing
from etherweave.control.ovs.verify import VerifyOptions, VerifyReport, verify
from etherweave.control.plan import FabricPlanError, PlannedDeployment

PRINTED_MAX = 20  # Findings on the page; the JSON has all.


def verify_verb(
    file: File,
    *,
    pairs: str = "1000",
    failed: Failed = None,
    factory: Factory = None,
    seed: Natural = 1,
    keep: Path | None = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Verify a plan by tracing frames through Open vSwitch.

    Requires neither root nor a network interface. Frames must follow routing and flow table, and
    arrive once and unchanged; invalid frames must be dropped. Exit code 1: there are findings; 2: a
    mistake.

    Parameters
    ----------
    pairs : NUMBER|all
        Number of pairs of hosts, chosen at random, or all.
    seed : N
        Seed of random choices.
    keep : DIRECTORY
        Keep the files of Open vSwitch in this directory.
    """
    options = VerifyOptions(_count(pairs), seed, directory(keep) if keep else None)
    if lacking := missing():
        reject(f"not found: {', '.join(lacking)}; expected Open vSwitch (openvswitch-switch)")
    try:
        with mistakes(etherweave.ScenarioError, FabricPlanError, OvsError):
            numbers = factory_addresses(factory)
            planned = warned_plan(file, settings, failed, numbers)
            # Signals, too, end the daemons first.
            with step_progress() as progress:
                report = verify(
                    planned,
                    options,
                    numbers,
                    lambda what, done, count: progress(file.stem, f"{done:,} of {count:,} {what}"),
                )
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print(json.dumps(_json(planned, report), indent=2))
    else:
        _print(planned, report)
    if not report.is_good:
        raise typer.Exit(FAILED)


def _count(pairs: str) -> int | None:
    if pairs == "all":
        return None
    if not (pairs.isascii() and pairs.isdigit() and int(pairs) > 0):
        reject(f"--pairs {pairs}: expected a number from 1, or all")
    return int(pairs)


def _json(planned: PlannedDeployment, report: VerifyReport) -> dict[str, Any]:
    return {
        "name": planned.plan.name,
        "switches": len(planned.plan.switches),
        "hosts": len({host.host for host in planned.plan.hosts}),
        "ports": len(planned.plan.hosts),
        "failed": list(planned.failed),
        "good": report.is_good,
        "frames": report.followed,
        "findings": [finding._asdict() for finding in report.findings],
        "differences": report.differences,
        "rules": report.rules,
        "rules_met": report.rules_matched,
        "build_s": report.build_s,
        "trace_s": report.trace_s,
        "traces_per_s": report.traces_per_s,
    }


def _print(planned: PlannedDeployment, report: VerifyReport) -> None:
    plan = planned.plan
    print(f"{plan.name}: {plan.size}")
    for cable in planned.failed:
        print(f"  Without {cable}")
    wrong = [finding.kind for finding in report.findings]
    rows = [
        (kind, f"{count:,}", f"{wrong.count(kind):,}") for kind, count in report.followed.items()
    ]
    print_table(("frames", ">followed", ">wrong"), rows)
    print_table(
        ("purpose", ">total"), [(purpose, f"{count:,}") for purpose, count in report.rules.items()]
    )
    print(f"  {report.rules_matched:,} of {sum(report.rules.values()):,} rules matched a frame")
    print(f"  {report.build_s:.1f} s to build, {report.traces_per_s:,.0f} frames/s followed")
    for switch, lines in report.differences.items():
        for line in lines:
            print_error(f"{switch} has other rules than planned: {line}")
    for finding in report.findings[:PRINTED_MAX]:
        print_error(finding)
    if more := len(report.findings[PRINTED_MAX:]):
        print_error(f"and {more:,} others")
