"""The verb ``control serve``."""

import json
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

import etherweave
from etherweave.cli.control import parameters
from etherweave.cli.exits import FAILED, mistakes, reject
from etherweave.cli.parameters import AsJson, File, Settings, overrides, seconds
from etherweave.control.plan import FabricPlanError, plan
from etherweave.control.rules import FabricPlan
from etherweave.linux.processes import handled

if TYPE_CHECKING:
    from etherweave.control.controller.survey import Survey


def serve(
    file: File,
    *,
    listen: parameters.Listen = "127.0.0.1:6653",
    tls_key: parameters.TlsKey = None,
    tls_certificate: parameters.TlsCertificate = None,
    tls_ca: parameters.TlsAuthority = None,
    metrics_port: Annotated[int | None, typer.Option(min=0, max=65535)] = None,
    audit: str = "60s",
    probe: parameters.Probe = "1s",
    leave_foreign: bool = False,
    dry_run: bool = False,
    wait: str = "30s",
    factory: parameters.Factory = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Install a scenario's plan in OpenFlow switches and keep it installed.

    Logs events as JSON lines on standard error until SIGTERM or Ctrl-C; switches then keep their
    rules. Exit code 1: --dry-run found differences; 2: a mistake.

    Parameters
    ----------
    metrics_port
        Serve metrics for Prometheus on this port of the loopback interface.
    audit : TIME
        Time between two readings of all tables.
    leave_foreign
        Keep entries of switches that are not in the plan.
    dry_run
        Print the differences between switches and plan; change nothing.
    wait : TIME
        Longest wait for switches of --dry-run.
    """
    from etherweave.control.controller.app import Controller
    from etherweave.control.controller.log import EventLog
    from etherweave.control.controller.server import ListenError
    from etherweave.control.controller.survey import survey

    if as_json and not dry_run:
        reject("--json: expected with --dry-run only")
    log = EventLog()
    with mistakes(etherweave.ScenarioError, FabricPlanError):
        numbers = parameters.factory_addresses(factory)
        changes = overrides(settings)
        logged: set[str] = set()

        def planner(failed: Sequence[str]) -> FabricPlan:
            planned = plan(file, changes, failed=failed, factory=numbers)
            for warning in planned.warnings:
                if warning not in logged:
                    logged.add(warning)
                    log.write("warning", plan=warning)
            return planned.installed

        fabric_plan = planner([])
        if fabric_plan.switches[0].protocol != "openflow13":
            raise FabricPlanError(
                'control.protocol = "openflow10": the controller speaks OpenFlow 1.3; expected '
                '"openflow13", or `control plan -o` and `ovs-ofctl`'
            )
        options = parameters.controller_options(listen, (tls_key, tls_certificate, tls_ca))
    options = replace(
        options,
        metrics_port=metrics_port,
        audit_s=seconds("--audit", audit, (0.1, 1e9)),
        probe_s=seconds("--probe", probe, (0.1, 1e9)),
        leave_foreign=leave_foreign,
        is_dry_run=dry_run,
    )
    wait_s = seconds("--wait", wait, (0, 1e9)) if dry_run else 0
    stop = threading.Event()
    try:
        with handled((signal.SIGTERM, signal.SIGINT), lambda *_: stop.set()):
            controller = Controller(planner, fabric_plan, options, log)
            if dry_run:
                _print(survey(controller, wait_s, stop), as_json)
            else:
                controller.run(stop)
    except (ListenError, OSError) as error:
        reject(error)


def _print(result: "Survey", as_json: bool) -> None:
    from etherweave.cli.control.diff import as_figures, as_lines

    if as_json:
        figures = {
            "switches": {name: as_figures(drift) for name, drift in result.drifts.items()},
            "absent": result.absent,
            "wiring": [finding._asdict() for finding in result.wiring],
        }
        print(json.dumps(figures, indent=2))
    else:
        for name, drift in result.drifts.items():
            for line in as_lines(drift):
                print(f"{name}: {line}")
        for name, reason in result.absent.items():
            print(f"{name}: {reason}")
        for finding in result.wiring:
            print(f"{finding.fault}: {finding}")
    if not result.is_as_planned:
        raise typer.Exit(FAILED)
