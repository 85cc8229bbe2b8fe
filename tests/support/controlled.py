"""Parts that tests of the controller share: a controller in this process, and patience."""

import contextlib
import io
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from etherweave.control.controller.app import Controller
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.roles import RoleTiming
from etherweave.control.controller.server import ControllerOptions
from etherweave.control.rules import FabricPlan

PATIENCE_S = 120.0  # Limit of what takes no time on an idle machine [s].
QUICK = ControllerOptions(port=0, probe_s=0.1, audit_s=3600, pace=RoleTiming(0.1, 0.35, 0.8))
"""The controller as it runs by itself, at a quicker pace, and without audits."""


class RecordedLog(io.StringIO):
    """The log of a controller, to be asked for events."""

    def __str__(self) -> str:
        return self.getvalue()

    def events(self, event: str) -> list[dict[str, Any]]:
        lines = map(json.loads, self.getvalue().splitlines())
        return [line for line in lines if line["event"] == event]


@dataclass
class Running:
    """A controller that runs in a thread."""

    controller: Controller
    log: RecordedLog
    stop: threading.Event = field(default_factory=threading.Event)

    def has_installed(self, names: Sequence[str]) -> bool:
        """Return whether switches do what the plan active says."""
        switches = [self.controller.switches[name] for name in names]
        return all(switch.installed is self.controller.desired[switch.name] for switch in switches)

    def count(self, name: str) -> int:
        """Add up a count of all switches."""
        return sum(switch.counts[name] for switch in self.controller.switches.values())


@contextlib.contextmanager
def controlled(
    plan: FabricPlan,
    planner: Callable[[Sequence[str]], FabricPlan] | None = None,
    options: ControllerOptions = QUICK,
    **changes: Any,
) -> Iterator[Running]:
    """Run a controller for a plan, and stop it."""
    log = RecordedLog()
    plans = planner or (lambda _: plan)
    controller = Controller(plans, plan, replace(options, **changes), EventLog(log))
    running = Running(controller, log)
    thread = threading.Thread(target=controller.run, args=(running.stop,))
    thread.start()
    try:
        yield running
    finally:
        running.stop.set()
        thread.join()
