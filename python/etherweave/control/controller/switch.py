"""A switch of the plan: what is to be installed, what is installed, and how it is programmed."""

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from etherweave.control.controller import drift
from etherweave.control.controller.drift import CookieFields, Drift
from etherweave.control.controller.install import install, read_tables
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.reports import ReportedTables
from etherweave.control.controller.roles import Role
from etherweave.control.controller.session import SwitchSession
from etherweave.control.messages import MessageType, role_request
from etherweave.control.rules import SwitchPlan

ROLE_S = 10.0
RETRY_S = (1.0, 60.0)  # After a rejected change: first and longest wait, doubled in between [s].
_NAMED_MAX = 10  # Number of rules that a line of the log names.


COUNTS = ("rules_installed", "rules_removed", "audits", "drifts", "refusals")
"""Counters of each switch."""


class StaleRoleError(Exception):
    """A switch has seen a greater generation than this controller's."""


@dataclass
class ManagedSwitch:
    """A switch of the plan and its state; changed by the controller's thread."""

    name: str
    session: SwitchSession | None = None
    since_s: float = 0.0  # When it connected.
    claimed_generation: int | None = None
    """The generation under which this controller is its master."""
    is_role_known: bool = False  # Whether it has reported its generation.
    is_standing_by: bool = False
    installed: SwitchPlan | None = None  # Plan that is installed; None: not read yet.
    entries: int = 0
    stamp: int = 0  # Generation of its latest change.
    ready_s: float | None = None  # When it began to send probes to the controller.
    audited_s: float = 0.0
    retry_s: float = 0.0
    wait_s: float = RETRY_S[0]
    unrepaired: Drift | None = None  # Differences that remained right after they were repaired.
    worker: threading.Thread | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    @property
    def is_busy(self) -> bool:
        """Whether its thread is running."""
        return self.worker is not None and self.worker.is_alive()

    def connected(self, session: SwitchSession) -> None:
        """Begin with a new connection, of which nothing is known."""
        self.session, self.since_s = session, time.monotonic()
        self.claimed_generation, self.is_role_known, self.is_standing_by = None, False, False
        self.installed, self.ready_s, self.retry_s = None, None, 0.0

    def ended(self) -> None:
        """Forget what was known of a connection that has ended."""
        self.session, self.claimed_generation, self.installed, self.ready_s = None, None, None, None

    def delay_retry(self) -> None:
        """Wait longer and longer before the next attempt."""
        self.retry_s = time.monotonic() + self.wait_s
        self.wait_s = min(2 * self.wait_s, RETRY_S[1])

    def start(self, action: Callable[[], None]) -> None:
        """Run an action in its thread."""
        self.worker = threading.Thread(target=action, name=f"program {self.name}", daemon=True)
        self.worker.start()


@dataclass(frozen=True)
class SwitchTarget:
    """Plan to be installed in a switch."""

    plan: SwitchPlan
    fingerprint: int  # Fingerprint of the whole plan.
    generation: int  # Generation of the master.
    leave_foreign: bool


class SwitchProgrammer:
    """Programs a switch; runs in the switch's thread.

    Nothing else changes ``switch`` in the meantime.
    """

    def __init__(self, switch: ManagedSwitch, session: SwitchSession, log: EventLog) -> None:
        self._switch = switch
        self._session = session
        self._log = log

    def ask_role(self, wanted: Role, generation: int) -> int:
        """Request a role, and return the generation that the switch reports.

        Raises ``StaleRoleError`` when a controller with a greater generation is its master and
        ``DisconnectedError`` when it is not connected any more.
        """
        with self._session.exchange(1) as exchange:
            exchange.send(role_request(wanted, generation, exchange.first))
            answer = exchange.answer(ROLE_S)
            if answer.kind is not MessageType.ROLE_REPLY or len(answer.octets) < 24:
                raise StaleRoleError(f"generation {generation} is rejected")
            known: int = struct.unpack_from("!Q", answer.octets, 16)[0]
            return known

    def apply(self, order: SwitchTarget, audit: bool) -> None:
        """Install the plan, changing only what differs."""
        switch = self._switch
        known = None if audit else switch.installed
        reported = drift.as_reported(known) if known else read_tables(self._session)
        if known is None:
            switch.entries = len(reported.entries)
            switch.stamp = drift.generation(reported.entries)
            switch.counts["audits"] += 1
        difference = self._difference(order, reported)
        if audit and switch.installed:
            self._log_drift(difference)
        if difference and difference != switch.unrepaired:
            if known is None:
                switch.unrepaired = self._mend(difference, reported, order)
            else:
                self._repair(difference, reported, order)
                switch.unrepaired = None
        switch.installed = order.plan
        switch.audited_s = time.monotonic()
        switch.wait_s = RETRY_S[0]

    def _repair(self, difference: Drift, reported: ReportedTables, order: SwitchTarget) -> None:
        switch = self._switch
        stamp = CookieFields(order.fingerprint, (switch.stamp + 1) % drift.GENERATIONS)
        begun_s = time.monotonic()
        install(self._session, drift.table_changes(difference, reported, stamp))
        written, removed = (
            len(difference.missing) + len(difference.changed),
            len(difference.foreign),
        )
        switch.stamp = stamp.generation
        switch.entries += len(difference.missing) - removed
        switch.counts["rules_installed"] += written
        switch.counts["rules_removed"] += removed
        self._log.write(
            "installed", switch=switch.name, rules=written, removed=removed,
            generation=stamp.generation, seconds=round(time.monotonic() - begun_s, 3),
        )  # fmt: skip

    def _mend(
        self, difference: Drift, reported: ReportedTables, order: SwitchTarget
    ) -> Drift | None:
        """Repair what differs, and return what a repair did not change.

        A switch may report a rule in another form than it was installed, as a second repair shows.
        What others change after the tables were read is drift, which the next audit repairs.
        """
        for _ in range(1 if self._switch.installed else 2):
            self._repair(difference, reported, order)
            reported = read_tables(self._session)
            remaining = self._difference(order, reported)
            if not remaining:
                break
            if remaining.is_like(difference):
                summary = drift_summary(remaining)
                self._log.write("still_different", switch=self._switch.name, **summary)
                return remaining
            difference = remaining
        return None

    @staticmethod
    def _difference(order: SwitchTarget, reported: ReportedTables) -> Drift:
        difference = drift.compare(order.plan, reported)
        return difference.without_foreign() if order.leave_foreign else difference

    def _log_drift(self, difference: Drift) -> None:
        if difference and difference != self._switch.unrepaired:
            self._switch.counts["drifts"] += 1
            self._log.write("drift", switch=self._switch.name, **drift_summary(difference))


def drift_summary(difference: Drift) -> dict[str, object]:
    """Count the differences, and name the first of them."""
    named = [
        *(f"missing {drift.describe(rule)}" for rule in difference.missing[:_NAMED_MAX]),
        *(f"changed {drift.describe(rule)}" for rule in difference.changed[:_NAMED_MAX]),
        *(drift.describe(entry) for entry in difference.foreign[:_NAMED_MAX]),
    ]
    return {
        "missing": len(difference.missing),
        "changed": len(difference.changed),
        "foreign": len(difference.foreign),
        "groups": len(difference.groups_missing + difference.groups_changed)
        + len(difference.groups_foreign),
        "meters": len(difference.meters_missing + difference.meters_changed)
        + len(difference.meters_foreign),
        "first": named[:_NAMED_MAX],
    }
