"""The controller: one thread that decides, and threads that program switches."""

import contextlib
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from etherweave.control.controller import drift, resolver, roles, server, wiring
from etherweave.control.controller.discovery import LinkDiscovery, beacon_frame, read_beacon
from etherweave.control.controller.install import IS_SLAVE, InstallError
from etherweave.control.controller.log import EventLog, LibraryLogHandler
from etherweave.control.controller.message_stream import PeerRejectedError
from etherweave.control.controller.metrics import Exporter
from etherweave.control.controller.reports import SwitchReportError
from etherweave.control.controller.roles import ControllerState, Role
from etherweave.control.controller.session import DisconnectedError, SwitchSession, switch_server
from etherweave.control.controller.switch import (
    ManagedSwitch,
    StaleRoleError,
    SwitchProgrammer,
    SwitchTarget,
)
from etherweave.control.controller.wiring import Cable
from etherweave.control.messages import packet_out, set_async
from etherweave.control.rules import CONTROLLER, FabricPlan

TICK_S = 0.05
REPLAN_EVERY_S = 1.0
"""Shortest time between two plans [s]: a flapping cable must not cause plans without pause."""
_BEACONS_MAX = 1000

Planner = Callable[[Sequence[str]], FabricPlan]  # Makes the plan that avoids the named cables.


class Controller:
    """Keeps switches at a plan.

    ``planner`` makes plans, in a thread of its own; ``plan`` is the one without failures.
    """

    def __init__(
        self, planner: Planner, plan: FabricPlan, options: server.ControllerOptions, log: EventLog
    ) -> None:
        self._planner = planner
        self._complete = plan
        self._options = options
        self._log = log
        self._names = {switch.datapath_id: switch.name for switch in plan.switches}
        self._directory = resolver.directory(plan.hosts)
        self.switches = {switch.name: ManagedSwitch(switch.name) for switch in plan.switches}
        self.discovery = LinkDiscovery(plan, options.probe_s, log)
        self.role = roles.RoleState(secrets.randbits(64), since_s=time.monotonic())
        """State of this controller and of the others."""
        self._failed: frozenset[Cable] = frozenset()
        self._planning: threading.Thread | None = None
        self._planned_s = 0.0
        self._replanned: tuple[frozenset[Cable], FabricPlan | None] | None = None
        self._beacons: deque[roles.Beacon] = deque(maxlen=_BEACONS_MAX)
        self._generations: deque[int] = deque(maxlen=_BEACONS_MAX)
        self._demotions: deque[int] = deque(maxlen=_BEACONS_MAX)
        self._beacon_s = 0.0
        self._next_check_s = 0.0
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._sessions: dict[str, SwitchSession] = {}
        self._replans = 0
        self._resolved = 0
        self._use(plan)
        _redirect_library_log(log)
        self._server = switch_server(options, self, log)
        self.port = self._server.port

    # Called by the threads of sessions.

    def connected(self, session: SwitchSession) -> None:
        """Accept a switch that is in the plan and not connected already."""
        name = self._names.get(session.id)
        if name is None:
            raise PeerRejectedError(
                f"datapath id {session.id:#x} is not in the plan; expected one of 1 to "
                f"{len(self._names)}"
            )
        session.send(set_async())
        with self._lock:
            other = self._sessions.get(name)
            if other and other.wire.silent_s < self._options.limits.silent_s / 2:
                raise PeerRejectedError(f"{name} is connected already, from {other.address}")
            if other:
                other.drop()
            self._sessions[name] = session
        self._log.write("connected", switch=name, address=session.address)
        self._wake.set()

    def ended(self, session: SwitchSession) -> None:
        """Remove a switch whose connection has ended."""
        name = self._names[session.id]
        with self._lock:
            if self._sessions.get(name) is session:
                del self._sessions[name]
        self._log.write("disconnected", switch=name)
        self._wake.set()

    def packet_in(self, session: SwitchSession, port: int, frame: bytes) -> None:
        """Receive a frame: from another controller, or from a port."""
        if port != CONTROLLER:
            if not self._resolves(session, port, frame):
                self.discovery.receive(self._names[session.id], port, frame)
            return
        beacon = read_beacon(frame)
        if beacon:
            self._beacons.append(beacon)

    def _resolves(self, session: SwitchSession, port: int, frame: bytes) -> bool:
        """Answer a frame as the fabric manager if it is an ARP request for a host of the plan."""
        answer = resolver.reply(self._directory, frame)
        if answer and self.role.state is ControllerState.MASTER:
            session.post(packet_out(port, answer))
            with self._lock:
                self._resolved += 1
        return answer is not None

    def port_changed(self, session: SwitchSession) -> None:
        """Check the cables again after a change of ports."""
        self._next_check_s = 0.0
        self._wake.set()

    def demoted(self, session: SwitchSession, generation: int) -> None:
        """Receive a switch's message that another controller is its master."""
        self._demotions.append(generation)
        self._wake.set()

    # Run by the thread that decides.

    def run(self, stop: threading.Event) -> None:
        """Serve until the event is set."""
        with self.serving():
            while not stop.is_set():
                self.step()
                self._wake.wait(TICK_S)
                self._wake.clear()
        self._log.write("stopped")

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Listen for switches; end their connections afterwards."""
        exporter: Exporter | None = None
        try:
            if self._options.metrics_port is not None:
                exporter = Exporter(self._options.metrics_port, self)
        except OSError as error:
            self._server.close_sockets()
            reason = f"127.0.0.1:{self._options.metrics_port}: {error.strerror}"
            raise server.ListenError(reason) from None
        self._server.open()
        metrics = exporter.port if exporter else None
        self._log.write(
            "listening", host=self._options.host, port=self.port, tls=self._options.tls is not None,
            metrics_port=metrics, plan=f"{self.fingerprint:08x}", switches=len(self.switches),
        )  # fmt: skip
        try:
            yield
        finally:
            if exporter:
                exporter.close()
            self._server.close()
            workers = [switch.worker for switch in self.switches.values()]
            for worker in (*workers, self._planning):
                if worker:
                    worker.join()

    def step(self) -> None:
        """Process everything that has arrived, and start what is due."""
        self._update_sessions()
        self.discovery.process()
        if self._options.is_dry_run:
            self.discovery.probe(self.connected_switches())
            return
        self._update_role()
        if self.role.state is ControllerState.MASTER:
            self.discovery.probe(self.connected_switches())
            self._check_cables()
        for switch in self.switches.values():
            if switch.session and not switch.is_busy:
                self._assign(switch, switch.session)

    @property
    def facts(self) -> dict[str, int]:
        """Gauges and counters of the controller as a whole."""
        return {
            "connections": self._server.connections,
            "master": self.role.state is ControllerState.MASTER,
            "role_generation": self.role.generation,
            "cables_failed": len(self._failed),
            "replans_total": self._replans,
            "arp_replies_total": self._resolved,
        }

    @property
    def is_settled(self) -> bool:
        """Whether every switch of the plan is connected and has its rules."""
        return all(node.installed is self.desired[node.name] for node in self.switches.values())

    def connected_switches(self) -> dict[str, SwitchSession]:
        """Return the switches that are connected now."""
        with self._lock:
            return dict(self._sessions)

    def _update_sessions(self) -> None:
        sessions = self.connected_switches()
        for name, switch in self.switches.items():
            session = sessions.get(name)
            if session is not switch.session and not switch.is_busy:
                if session:
                    switch.connected(session)
                    self.discovery.forget(name)
                else:
                    switch.ended()

    def _update_role(self) -> None:
        now_s = time.monotonic()
        before = self.role
        role = before
        if role.state is ControllerState.LISTENING and not self.connected_switches():
            role = replace(role, since_s=now_s)
        while self._beacons:
            role = roles.receive_beacon(role, self._beacons.popleft(), now_s)
        while self._demotions:
            role = roles.demoted(role, self._demotions.popleft(), now_s)
        while self._generations:
            generation = self._generations.popleft()
            is_master = role.state is ControllerState.MASTER
            role = (
                roles.claim_above(role, generation, now_s)
                if is_master
                else roles.with_generation(role, generation)
            )
        self.role = roles.tick(role, now_s, self._options.pace)
        self._announce(before, now_s)

    def _announce(self, before: roles.RoleState, now_s: float) -> None:
        """Return the log, and the other controllers."""
        now = self.role
        if (now.state, now.master) != (before.state, before.master):
            other = f"{now.master:016x}" if now.master is not None else None
            self._log.write(now.state.name.lower(), generation=now.generation, master=other)
        if now.state is ControllerState.STANDBY or now_s < self._beacon_s:
            return
        self._beacon_s = now_s + self._options.pace.beacon_s
        beacon = roles.Beacon(now.controller, now.state, now.generation)
        octets = packet_out(CONTROLLER, beacon_frame(beacon))
        for session in self.connected_switches().values():
            session.post(octets)

    def _check_cables(self) -> None:
        """Plan anew when cables fail or come back."""
        self._adopt_plan()
        now_s = time.monotonic()
        if now_s < self._next_check_s:
            return
        self._next_check_s = now_s + self.discovery.every_s / 4
        ready_s = {
            name: node.ready_s for name, node in self.switches.items() if node.ready_s is not None
        }
        observed = self.discovery.observed(self.connected_switches(), ready_s)
        self.discovery.report(observed)
        failed = wiring.failed_cables(self._complete, observed)
        is_due = now_s - self._planned_s >= REPLAN_EVERY_S
        if failed == self._failed or self._planning or not is_due:
            return
        self._planned_s, self._failed = now_s, failed
        self._planning = threading.Thread(target=self._plan, args=(failed,), daemon=True)
        self._planning.start()

    def _plan(self, failed: frozenset[Cable]) -> None:
        names = wiring.names(self._complete, failed)
        try:
            made = self._planner(names) if names else self._complete
        except Exception as error:
            # Whatever the reason, switches keep the plan that they have.
            self._log.write("not_replanned", cables=names, reason=str(error))
            made = None
        self._replanned = (failed, made)
        self._wake.set()

    def _adopt_plan(self) -> None:
        if not self._replanned:
            return
        (failed, plan), self._replanned, self._planning = self._replanned, None, None
        if plan:
            self._use(plan)
            self._replans += 1
            cables = wiring.names(self._complete, failed)
            seconds = round(time.monotonic() - self._planned_s, 3)
            self._log.write(
                "replanned", cables=cables, plan=f"{self.fingerprint:08x}", seconds=seconds
            )

    def _use(self, plan: FabricPlan) -> None:
        self.desired = {switch.name: switch for switch in plan.switches}
        """Plans of switches as they should be now."""
        self.fingerprint = drift.fingerprint(plan)
        """Fingerprint of the plan that is active."""

    def _assign(self, switch: ManagedSwitch, session: SwitchSession) -> None:
        """Start what is due next for a switch, if anything, in its thread."""
        now_s = time.monotonic()
        role = self.role
        programmer = SwitchProgrammer(switch, session, self._log)
        if now_s < switch.retry_s:
            return
        if not switch.is_role_known:
            switch.start(self._guarded(switch, lambda: self._query_role(switch, programmer)))
        elif role.state is ControllerState.STANDBY and not switch.is_standing_by:
            switch.start(self._guarded(switch, lambda: self._stand_by(switch, programmer)))
        elif (
            role.state is ControllerState.MASTER
            and now_s - switch.since_s >= self._options.pace.listen_s
        ):
            self._program(switch, programmer, now_s)

    def _program(self, switch: ManagedSwitch, programmer: SwitchProgrammer, now_s: float) -> None:
        generation = self.role.generation
        desired = self.desired[switch.name]
        audit = now_s - switch.audited_s >= self._options.audit_s
        if switch.claimed_generation == generation and switch.installed is desired and not audit:
            return
        target = SwitchTarget(desired, self.fingerprint, generation, self._options.leave_foreign)
        switch.start(self._guarded(switch, lambda: self._apply(switch, programmer, target, audit)))

    # Run by the threads that program switches.

    def _query_role(self, switch: ManagedSwitch, programmer: SwitchProgrammer) -> None:
        self._generations.append(programmer.ask_role(Role.NO_CHANGE, 0))
        switch.is_role_known = True

    def _stand_by(self, switch: ManagedSwitch, programmer: SwitchProgrammer) -> None:
        self._generations.append(programmer.ask_role(Role.SLAVE, self.role.generation))
        switch.is_standing_by, switch.claimed_generation, switch.installed = True, None, None

    def _apply(
        self, switch: ManagedSwitch, programmer: SwitchProgrammer, target: SwitchTarget, audit: bool
    ) -> None:
        if switch.claimed_generation != target.generation:
            programmer.ask_role(Role.MASTER, target.generation)
            switch.claimed_generation, switch.is_standing_by = target.generation, False
        programmer.apply(target, audit)
        if switch.ready_s is None:
            switch.ready_s = time.monotonic()

    def _guarded(self, switch: ManagedSwitch, action: Callable[[], None]) -> Callable[[], None]:
        """Wrap an action so that no error of a switch ends its thread without a log line."""

        def guarded() -> None:
            try:
                action()
            except StaleRoleError as error:
                switch.is_role_known = False
                self._log.write_limited("not_master", switch=switch.name, reason=str(error))
            except InstallError as error:
                self._change_rejected(switch, error)
            except (DisconnectedError, SwitchReportError) as error:
                switch.installed = None
                switch.delay_retry()
                self._log.write_limited("not_programmed", switch=switch.name, reason=str(error))
            except Exception as error:
                # A bug that concerns one switch must not end its thread.
                switch.installed = None
                switch.delay_retry()
                self._log.write_limited("failed", switch=switch.name, reason=repr(error))
            self._wake.set()

        return guarded

    def _change_rejected(self, switch: ManagedSwitch, error: InstallError) -> None:
        switch.installed = None
        switch.delay_retry()
        if error.code == IS_SLAVE:
            self._demotions.append(self.role.generation)
            return
        switch.counts["refusals"] += 1
        self._log.write("rejected_by_switch", switch=switch.name, reason=str(error))


def _redirect_library_log(log: EventLog) -> None:
    """Write os-ken's log into the event log."""
    for name in ("os_ken", "OpenFlowHandshake"):
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.handlers = [LibraryLogHandler(log)]
