"""A switch of the plan: what it is to do, what it is known to do, and the thread that tells it."""

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from etherweave.control.controller import drift
from etherweave.control.controller.drift import Drift, Stamp
from etherweave.control.controller.install import IS_SLAVE, InstallError, install, read_tables
from etherweave.control.controller.log import Log
from etherweave.control.controller.reports import ReportError, Tables
from etherweave.control.controller.requests import role
from etherweave.control.controller.roles import Role
from etherweave.control.controller.session import GoneError, Session
from etherweave.control.messages import Kind
from etherweave.control.rules import SwitchPlan

ROLE_S = 10.0
RETRY_S = (1.0, 60.0)
"""After a refusal: first and longest wait, doubled in between [s]."""
_NAMED_MAX = 10
"""Rules that a line of the log names."""


COUNTS = ("rules_installed", "rules_removed", "audits", "drifts", "refusals")
"""What is counted per switch."""


class StaleError(Exception):
    """A switch knows a greater generation than ours."""


@dataclass
class Switch:
    """A switch of the plan, and what is known of it; the controller's thread changes it."""

    name: str
    session: Session | None = None
    since_s: float = 0.0
    """When it connected."""
    claimed: int | None = None
    """The generation under which it takes us for its master."""
    is_asked: bool = False
    """Whether it has told its generation."""
    is_standing_by: bool = False
    does: SwitchPlan | None = None
    """What it is known to do; none: not read yet."""
    entries: int = 0
    stamp: int = 0
    """Generation of its latest change."""
    ready_s: float | None = None
    """When it began to hand over probes."""
    audited_s: float = 0.0
    retry_s: float = 0.0
    wait_s: float = RETRY_S[0]
    stubborn: Drift | None = None
    """What was still different right after it had been mended."""
    worker: threading.Thread | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    @property
    def is_busy(self) -> bool:
        """Whether its thread is at work."""
        return self.worker is not None and self.worker.is_alive()

    def connected(self, session: Session) -> None:
        """Take a new connection: nothing is known."""
        self.session, self.since_s = session, time.monotonic()
        self.claimed, self.is_asked, self.is_standing_by = None, False, False
        self.does, self.ready_s, self.retry_s = None, None, 0.0

    def ended(self) -> None:
        """Take the end of the connection."""
        self.session, self.claimed, self.does, self.ready_s = None, None, None, None

    def refused(self) -> None:
        """Wait longer and longer before the next attempt."""
        self.retry_s = time.monotonic() + self.wait_s
        self.wait_s = min(2 * self.wait_s, RETRY_S[1])

    def work(self, act: Callable[[], None]) -> None:
        """Let its thread do something."""
        self.worker = threading.Thread(target=act, name=f"tell {self.name}", daemon=True)
        self.worker.start()


@dataclass(frozen=True)
class Order:
    """What a switch's thread is to achieve."""

    plan: SwitchPlan
    fingerprint: int
    """Of the whole plan."""
    generation: int
    """Of the master."""
    leave_foreign: bool


class Teller:
    """Tells a switch what to do; runs in the switch's thread.

    Parameters
    ----------
    switch
        Nobody else changes what it is known to do meanwhile.
    """

    def __init__(self, switch: Switch, session: Session, log: Log) -> None:
        self._switch = switch
        self._session = session
        self._log = log

    def ask_role(self, wanted: Role, generation: int) -> int:
        """Ask for a role, and return the generation that the switch knows.

        Raises
        ------
        StaleError
            When a controller with a greater generation is its master.
        GoneError
            When it is gone.
        """
        with self._session.talk(1) as talk:
            talk.send(role(wanted, generation, talk.first))
            answer = talk.answer(ROLE_S)
            if answer.kind is not Kind.ROLE_REPLY or len(answer.octets) < 24:
                raise StaleError(f"generation {generation} is not taken")
            known: int = struct.unpack_from("!Q", answer.octets, 16)[0]
            return known

    def bring(self, order: Order, audit: bool) -> None:
        """Make the switch do what the plan says, changing no more than differs."""
        switch = self._switch
        known = None if audit else switch.does
        told = drift.as_reported(known) if known else read_tables(self._session)
        if known is None:
            switch.entries = len(told.entries)
            switch.stamp = drift.generation(told.entries)
            switch.counts["audits"] += 1
        found = drift.compare(order.plan, told)
        found = found.without_foreign() if order.leave_foreign else found
        if audit and switch.does:
            self._tell_of_drift(found)
        if found and found != switch.stubborn:
            self._mend(found, told, order)
            switch.stubborn = self._left(order) if known is None else None
        switch.does = order.plan
        switch.audited_s = time.monotonic()
        switch.wait_s = RETRY_S[0]

    def _mend(self, found: Drift, told: Tables, order: Order) -> None:
        switch = self._switch
        stamp = Stamp(order.fingerprint, (switch.stamp + 1) % drift.GENERATIONS)
        begun_s = time.monotonic()
        install(self._session, drift.steps(found, told, stamp))
        written, removed = len(found.missing) + len(found.changed), len(found.foreign)
        switch.stamp = stamp.generation
        switch.entries += len(found.missing) - removed
        switch.counts["rules_installed"] += written
        switch.counts["rules_removed"] += removed
        self._log.tell(
            "installed", switch=switch.name, rules=written, removed=removed,
            generation=stamp.generation, seconds=round(time.monotonic() - begun_s, 3),
        )  # fmt: skip

    def _left(self, order: Order) -> Drift | None:
        """Read again what was changed: a switch may report it in other words than it was told."""
        left = drift.compare(order.plan, read_tables(self._session))
        left = left.without_foreign() if order.leave_foreign else left
        if left:
            self._log.tell("still_different", switch=self._switch.name, **facts(left))
        return left or None

    def _tell_of_drift(self, found: Drift) -> None:
        if found and found != self._switch.stubborn:
            self._switch.counts["drifts"] += 1
            self._log.tell("drift", switch=self._switch.name, **facts(found))


def facts(found: Drift) -> dict[str, object]:
    """Count what differs, and name the first of it."""
    named = [
        *(f"missing {drift.describe(rule)}" for rule in found.missing[:_NAMED_MAX]),
        *(f"changed {drift.describe(rule)}" for rule in found.changed[:_NAMED_MAX]),
        *(drift.describe(entry) for entry in found.foreign[:_NAMED_MAX]),
    ]
    return {
        "missing": len(found.missing),
        "changed": len(found.changed),
        "foreign": len(found.foreign),
        "groups": len(found.groups_missing + found.groups_changed) + len(found.groups_foreign),
        "meters": len(found.meters_missing + found.meters_changed) + len(found.meters_foreign),
        "first": named[:_NAMED_MAX],
    }


__all__ = [
    "COUNTS", "IS_SLAVE", "GoneError", "InstallError", "Order", "ReportError", "StaleError",
    "Switch", "Teller", "facts",
]  # fmt: skip
