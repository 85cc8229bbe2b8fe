"""What a controller would do, without doing it: switches against plans, cables as far as seen.

Nothing is changed: no role is claimed, no rule written. Probes go out, and come back only from
switches whose tables already hand LLDP to controllers.
"""

import threading
import time
from dataclasses import dataclass

from etherweave.control.admission import LLDP
from etherweave.control.controller import drift
from etherweave.control.controller.app import TICK_S, Controller
from etherweave.control.controller.drift import Drift
from etherweave.control.controller.install import InstallError, read_tables
from etherweave.control.controller.reports import ReportError, Tables
from etherweave.control.controller.session import GoneError, Session
from etherweave.control.controller.watch import LOST_AFTER
from etherweave.control.controller.wiring import Finding
from etherweave.control.rules import SwitchPlan


@dataclass(frozen=True)
class Survey:
    """How a fabric differs from its plan."""

    drifts: dict[str, Drift]
    """Of every switch that has answered."""
    tables: dict[str, Tables]
    absent: dict[str, str]
    """Switches that have not, and why."""
    wiring: tuple[Finding, ...]

    @property
    def is_as_planned(self) -> bool:
        """Whether nothing differs."""
        return not (any(self.drifts.values()) or self.absent or self.wiring)


def survey(controller: Controller, wait_s: float, stop: threading.Event) -> Survey:
    """Wait for switches, read their tables, and compare.

    Parameters
    ----------
    controller
        One that only watches.
    wait_s
        How long switches may take to connect [s].
    stop
        Ends the waiting early.
    """
    with controller.serving():
        _watch(controller, wait_s, stop, until_all=True)
        since_s = time.monotonic()
        _watch(controller, (LOST_AFTER + 0.5) * controller.watch.every_s, stop, until_all=False)
        sessions = controller.connected_switches()
        tables: dict[str, Tables] = {}
        absent = {name: "not connected" for name in controller.switches if name not in sessions}
        for name, session in sessions.items():
            _read(name, session, tables, absent)
        passes = {name: since_s for name in tables if _hands_probes(tables[name], controller, name)}
        wiring = controller.watch.report(controller.watch.seen(sessions, passes))
    drifts = {name: drift.compare(controller.desired[name], told) for name, told in tables.items()}
    return Survey(drifts, tables, absent, wiring)


def _watch(controller: Controller, wait_s: float, stop: threading.Event, until_all: bool) -> None:
    end_s = time.monotonic() + wait_s
    while time.monotonic() < end_s and not stop.wait(TICK_S):
        controller.turn()
        if until_all and len(controller.connected_switches()) == len(controller.switches):
            return


def _read(name: str, session: Session, tables: dict[str, Tables], absent: dict[str, str]) -> None:
    try:
        tables[name] = read_tables(session)
    except (GoneError, ReportError, InstallError) as error:
        absent[name] = str(error)


def _hands_probes(told: Tables, controller: Controller, name: str) -> bool:
    """Tell whether a switch has the rules that hand probes over, so that silence says something."""
    plan: SwitchPlan = controller.desired[name]
    missing = drift.compare(plan, told)
    return not any(
        test.field == "eth_type" and test.value == LLDP
        for rule in (*missing.missing, *missing.changed)
        for test in rule.match
    )
