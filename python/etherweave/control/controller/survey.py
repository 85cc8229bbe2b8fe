"""A dry run of a controller: switches compared with their plans, cables as far as discovered.

Nothing is changed: no role is claimed, no rule written. Probes are sent, and return only from
switches whose tables already send LLDP to controllers.
"""

import threading
import time
from dataclasses import dataclass

from etherweave.control.admission import LLDP
from etherweave.control.controller import drift
from etherweave.control.controller.app import TICK_S, Controller
from etherweave.control.controller.discovery import LOST_AFTER
from etherweave.control.controller.drift import Drift
from etherweave.control.controller.install import InstallError, read_tables
from etherweave.control.controller.reports import ReportedTables, SwitchReportError
from etherweave.control.controller.session import DisconnectedError, SwitchSession
from etherweave.control.controller.wiring import WiringFinding
from etherweave.control.rules import SwitchPlan


@dataclass(frozen=True)
class Survey:
    """Differences between a fabric and its plan."""

    drifts: dict[str, Drift]  # Differences of every switch that was read.
    tables: dict[str, ReportedTables]
    absent: dict[str, str]  # Switches that were not read, and why.
    wiring: tuple[WiringFinding, ...]

    @property
    def is_as_planned(self) -> bool:
        """Whether nothing differs."""
        return not (any(self.drifts.values()) or self.absent or self.wiring)


def survey(controller: Controller, wait_s: float, stop: threading.Event) -> Survey:
    """Wait for switches, read their tables, and compare.

    ``controller`` is one for a dry run; ``wait_s`` is the longest wait for switches [s], which
    ``stop`` ends early.
    """
    with controller.serving():
        _watch(controller, wait_s, stop, until_all=True)
        since_s = time.monotonic()
        _watch(controller, (LOST_AFTER + 0.5) * controller.discovery.every_s, stop, until_all=False)
        sessions = controller.connected_switches()
        tables: dict[str, ReportedTables] = {}
        absent = {name: "not connected" for name in controller.switches if name not in sessions}
        for name, session in sessions.items():
            _read(name, session, tables, absent)
        ready_s = {key: since_s for key in tables if _forwards_probes(tables[key], controller, key)}
        wiring = controller.discovery.report(controller.discovery.observed(sessions, ready_s))
    drifts = {name: drift.compare(controller.desired[name], rows) for name, rows in tables.items()}
    return Survey(drifts, tables, absent, wiring)


def _watch(controller: Controller, wait_s: float, stop: threading.Event, until_all: bool) -> None:
    end_s = time.monotonic() + wait_s
    while time.monotonic() < end_s and not stop.wait(TICK_S):
        controller.step()
        if until_all and len(controller.connected_switches()) == len(controller.switches):
            return


def _read(
    name: str, session: SwitchSession, tables: dict[str, ReportedTables], absent: dict[str, str]
) -> None:
    try:
        tables[name] = read_tables(session)
    except (DisconnectedError, SwitchReportError, InstallError) as error:
        absent[name] = str(error)


def _forwards_probes(reported: ReportedTables, controller: Controller, name: str) -> bool:
    """Return whether a switch has the rules that send probes to the controller."""
    plan: SwitchPlan = controller.desired[name]
    missing = drift.compare(plan, reported)
    return not any(
        field.field == "eth_type" and field.value == LLDP
        for rule in (*missing.missing, *missing.changed)
        for field in rule.match
    )
