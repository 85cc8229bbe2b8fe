"""The controller: one thread that decides, and the threads of switches that it sets to work."""

import contextlib
import logging
import secrets
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from etherweave.control.controller import drift, replan, roles
from etherweave.control.controller.door import Door
from etherweave.control.controller.figures import figures
from etherweave.control.controller.install import IS_SLAVE, InstallError
from etherweave.control.controller.log import LibraryLog, Log
from etherweave.control.controller.metrics import Exporter
from etherweave.control.controller.options import ListenError, Options, listen
from etherweave.control.controller.probes import beacon_frame, read_beacon
from etherweave.control.controller.reports import ReportError
from etherweave.control.controller.requests import packet_out, wanted_events
from etherweave.control.controller.roles import Role, State
from etherweave.control.controller.session import GoneError, Session, Speaker
from etherweave.control.controller.switch import Order, StaleError, Switch, Teller
from etherweave.control.controller.watch import Watch
from etherweave.control.controller.wire import Channel, RefusedError
from etherweave.control.controller.wiring import Cable
from etherweave.control.rules import CONTROLLER, Plan, SwitchPlan

TICK_S = 0.05
REPLAN_EVERY_S = 1.0
"""Between two plans: a cable that comes and goes must not keep everything busy."""
_BEACONS_MAX = 1000

Planner = Callable[[Sequence[str]], Plan]
"""Makes the plan that goes round cables."""


class Controller:
    """Keeps switches at a plan.

    Parameters
    ----------
    planner
        Makes plans; asked in a thread of its own.
    plan
        The plan without failures.
    """

    def __init__(self, planner: Planner, plan: Plan, options: Options, log: Log) -> None:
        self._planner = planner
        self._whole = plan
        self._options = options
        self._log = log
        self._names = {switch.datapath_id: switch.name for switch in plan.switches}
        self.switches = {switch.name: Switch(switch.name) for switch in plan.switches}
        self.watch = Watch(plan, options.probe_s, log)
        self._standing = roles.start(secrets.randbits(64), time.monotonic())
        self._failed: frozenset[Cable] = frozenset()
        self._planning: threading.Thread | None = None
        self._planned_s = 0.0
        self._made: tuple[frozenset[Cable], Plan | None] | None = None
        self._beacons: deque[roles.Beacon] = deque(maxlen=_BEACONS_MAX)
        self._generations: deque[int] = deque(maxlen=_BEACONS_MAX)
        self._demotions: deque[int] = deque(maxlen=_BEACONS_MAX)
        self._beacon_s = 0.0
        self._judge_s = 0.0
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._replans = 0
        self._use(plan)
        self._speaker = Speaker()
        _quiet(log)
        self._tls = _tls_context(options)
        listener = listen(options)
        self.port: int = listener.getsockname()[1]
        self._door = Door(listener, self._tls, options.limits, log, self._serve)
        self._exporter: Exporter | None = None

    # What threads of switches call.

    def connected(self, session: Session) -> None:
        """Take a switch, if the plan has it and it is not there already."""
        name = self._names.get(session.id)
        if name is None:
            raise RefusedError(
                f"datapath id {session.id:#x} is not in the plan; expected one of 1 to "
                f"{len(self._names)}"
            )
        session.send(wanted_events())
        with self._lock:
            other = self._sessions.get(name)
            if other and other.wire.silent_s < self._options.limits.silent_s / 2:
                raise RefusedError(f"{name} is connected already, from {other.address}")
            if other:
                other.drop()
            self._sessions[name] = session
        self._log.tell("connected", switch=name, address=session.address)
        self._wake.set()

    def ended(self, session: Session) -> None:
        """Take the end of a switch."""
        name = self._names[session.id]
        with self._lock:
            if self._sessions.get(name) is session:
                del self._sessions[name]
        self._log.tell("disconnected", switch=name)
        self._wake.set()

    def packet_in(self, session: Session, port: int, frame: bytes) -> None:
        """Take a frame: of another controller, or from a port."""
        if port != CONTROLLER:
            self.watch.take(self._names[session.id], port, frame)
            return
        beacon = read_beacon(frame)
        if beacon:
            self._beacons.append(beacon)

    def port_changed(self, session: Session) -> None:
        """Take a change of ports."""
        self._judge_s = 0.0
        self._wake.set()

    def demoted(self, session: Session, generation: int) -> None:
        """Take a switch's word that another controller is its master."""
        self._demotions.append(generation)
        self._wake.set()

    # The thread that decides.

    def run(self, stop: threading.Event) -> None:
        """Serve until told to stop."""
        with self.serving():
            while not stop.is_set():
                self.turn()
                self._wake.wait(TICK_S)
                self._wake.clear()
        self._log.tell("stopped")

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Listen to switches, and let go of them at the end."""
        try:
            if self._options.metrics_port is not None:
                self._exporter = Exporter(self._options.metrics_port, lambda: figures(self))
        except OSError as error:
            self._door.lock()
            reason = f"127.0.0.1:{self._options.metrics_port}: {error.strerror}"
            raise ListenError(reason) from None
        self._door.open()
        metrics = self._exporter.port if self._exporter else None
        self._log.tell(
            "listening", host=self._options.host, port=self.port, tls=self._tls is not None,
            metrics_port=metrics, plan=f"{self.fingerprint:08x}", switches=len(self.switches),
        )  # fmt: skip
        try:
            yield
        finally:
            if self._exporter:
                self._exporter.close()
            self._door.close()
            workers = [switch.worker for switch in self.switches.values()]
            for worker in (*workers, self._planning):
                if worker:
                    worker.join()

    def turn(self) -> None:
        """Look at everything once, and set to work what has work."""
        self._meet()
        self.watch.look()
        if self._options.only_watches:
            self.watch.probe(self.connected_switches())
            return
        self._settle_roles()
        if self._standing.state is State.MASTER:
            self.watch.probe(self.connected_switches())
            self._judge()
        for switch in self.switches.values():
            if switch.session and not switch.is_busy:
                self._assign(switch, switch.session)

    @property
    def fingerprint(self) -> int:
        """Of the plan that is in force."""
        return self._fingerprint

    @property
    def standing(self) -> roles.Standing:
        """What it knows of itself and of other controllers."""
        return self._standing

    @property
    def facts(self) -> dict[str, int]:
        """What is counted beside switches."""
        return {
            "connections": self._door.connections,
            "master": self._standing.state is State.MASTER,
            "role_generation": self._standing.generation,
            "cables_failed": len(self._failed),
            "replans_total": self._replans,
        }

    @property
    def desired(self) -> dict[str, SwitchPlan]:
        """What switches are to do now."""
        return self._desired

    def connected_switches(self) -> dict[str, Session]:
        """Give the switches that are connected now."""
        with self._lock:
            return dict(self._sessions)

    def _meet(self) -> None:
        """Take note of switches that have come and gone."""
        sessions = self.connected_switches()
        for name, switch in self.switches.items():
            session = sessions.get(name)
            if session is not switch.session and not switch.is_busy:
                if session:
                    switch.connected(session)
                    self.watch.forget(name)
                else:
                    switch.ended()

    def _settle_roles(self) -> None:
        now_s = time.monotonic()
        before = self._standing
        standing = before
        if standing.state is State.LISTENING and not self.connected_switches():
            standing = replace(standing, since_s=now_s)
        while self._beacons:
            standing = roles.heard(standing, self._beacons.popleft(), now_s)
        while self._demotions:
            standing = roles.demoted(standing, self._demotions.popleft(), now_s)
        while self._generations:
            generation = self._generations.popleft()
            is_master = standing.state is State.MASTER
            standing = (
                roles.outbid(standing, generation, now_s)
                if is_master
                else roles.saw_generation(standing, generation)
            )
        self._standing = roles.tick(standing, now_s, self._options.pace)
        self._announce(before, now_s)

    def _announce(self, before: roles.Standing, now_s: float) -> None:
        """Tell the log, and the other controllers."""
        now = self._standing
        if (now.state, now.master) != (before.state, before.master):
            other = f"{now.master:016x}" if now.master is not None else None
            self._log.tell(now.state.name.lower(), generation=now.generation, master=other)
        if now.state is State.STANDBY or now_s < self._beacon_s:
            return
        self._beacon_s = now_s + self._options.pace.beacon_s
        octets = packet_out(CONTROLLER, beacon_frame(roles.beacon(now)))
        for session in self.connected_switches().values():
            session.post(octets)

    def _judge(self) -> None:
        """Plan anew when cables fail or come back."""
        self._take_plan()
        now_s = time.monotonic()
        if now_s < self._judge_s:
            return
        self._judge_s = now_s + self.watch.every_s / 4
        ready_s = {
            name: switch.ready_s
            for name, switch in self.switches.items()
            if switch.ready_s is not None
        }
        seen = self.watch.seen(self.connected_switches(), ready_s)
        self.watch.report(seen)
        failed = replan.failed_cables(self._whole, seen)
        is_due = now_s - self._planned_s >= REPLAN_EVERY_S
        if failed == self._failed or self._planning or not is_due:
            return
        self._planned_s, self._failed = now_s, failed
        self._planning = threading.Thread(target=self._plan, args=(failed,), daemon=True)
        self._planning.start()

    def _plan(self, failed: frozenset[Cable]) -> None:
        names = replan.names(self._whole, failed)
        try:
            made = self._planner(names) if names else self._whole
        except Exception as error:
            # Whatever the reason, switches go on with the plan that they have.
            self._log.tell("not_replanned", cables=names, reason=str(error))
            made = None
        self._made = (failed, made)
        self._wake.set()

    def _take_plan(self) -> None:
        if not self._made:
            return
        (failed, plan), self._made, self._planning = self._made, None, None
        if plan:
            self._use(plan)
            self._replans += 1
            cables = replan.names(self._whole, failed)
            seconds = round(time.monotonic() - self._planned_s, 3)
            self._log.tell(
                "replanned", cables=cables, plan=f"{self.fingerprint:08x}", seconds=seconds
            )

    def _use(self, plan: Plan) -> None:
        self._desired = {switch.name: switch for switch in plan.switches}
        self._fingerprint = drift.fingerprint(plan)

    def _assign(self, switch: Switch, session: Session) -> None:
        """Give a switch's thread what comes next, if anything."""
        now_s = time.monotonic()
        standing = self._standing
        teller = Teller(switch, session, self._log)
        if now_s < switch.retry_s:
            return
        if not switch.is_asked:
            switch.work(self._careful(switch, lambda: self._ask(switch, teller)))
        elif standing.state is State.STANDBY and not switch.is_standing_by:
            switch.work(self._careful(switch, lambda: self._stand_by(switch, teller)))
        elif (
            standing.state is State.MASTER and now_s - switch.since_s >= self._options.pace.listen_s
        ):
            self._command(switch, teller, now_s)

    def _command(self, switch: Switch, teller: Teller, now_s: float) -> None:
        generation = self._standing.generation
        desired = self._desired[switch.name]
        audit = now_s - switch.audited_s >= self._options.audit_s
        if switch.claimed == generation and switch.does is desired and not audit:
            return
        order = Order(desired, self._fingerprint, generation, self._options.leave_foreign)
        switch.work(self._careful(switch, lambda: self._bring(switch, teller, order, audit)))

    # What threads that tell switches do.

    def _ask(self, switch: Switch, teller: Teller) -> None:
        self._generations.append(teller.ask_role(Role.NO_CHANGE, 0))
        switch.is_asked = True

    def _stand_by(self, switch: Switch, teller: Teller) -> None:
        self._generations.append(teller.ask_role(Role.SLAVE, self._standing.generation))
        switch.is_standing_by, switch.claimed, switch.does = True, None, None

    def _bring(self, switch: Switch, teller: Teller, order: Order, audit: bool) -> None:
        if switch.claimed != order.generation:
            teller.ask_role(Role.MASTER, order.generation)
            switch.claimed, switch.is_standing_by = order.generation, False
        teller.bring(order, audit)
        if switch.ready_s is None:
            switch.ready_s = time.monotonic()

    def _careful(self, switch: Switch, act: Callable[[], None]) -> Callable[[], None]:
        """Let a switch's thread survive what a switch does."""

        def careful() -> None:
            try:
                act()
            except StaleError as error:
                switch.is_asked = False
                self._log.tell_of_peer("not_master", switch=switch.name, reason=str(error))
            except InstallError as error:
                self._refused(switch, error)
            except (GoneError, ReportError) as error:
                switch.does = None
                switch.refused()
                self._log.tell_of_peer("not_told", switch=switch.name, reason=str(error))
            except Exception as error:
                # A mistake of ours about one switch must not leave it without a thread.
                switch.does = None
                switch.refused()
                self._log.tell_of_peer("failed", switch=switch.name, reason=repr(error))
            self._wake.set()

        return careful

    def _refused(self, switch: Switch, error: InstallError) -> None:
        switch.does = None
        switch.refused()
        if error.code == IS_SLAVE:
            self._demotions.append(self._standing.generation)
            return
        switch.counts["refusals"] += 1
        self._log.tell("refused_by_switch", switch=switch.name, reason=str(error))

    def _serve(self, channel: Channel, address: str, known: Callable[[], None]) -> None:
        session = Session(channel, address, self._speaker, _Introduced(self, known),
                          self._options.limits)  # fmt: skip
        session.serve()


def _tls_context(options: Options) -> ssl.SSLContext | None:
    if options.tls is None:
        return None
    try:
        return options.tls.context()
    except OSError as error:
        raise ListenError(
            f"TLS: {error.strerror or error}; expected PEM files: a key, the certificate of that "
            "key, and certificates of an authority"
        ) from None


class _Introduced:
    """Tells the door when a stranger has become a switch."""

    def __init__(self, controller: Controller, known: Callable[[], None]) -> None:
        self._controller = controller
        self._known = known
        self.ended = controller.ended
        self.packet_in = controller.packet_in
        self.port_changed = controller.port_changed
        self.demoted = controller.demoted

    def connected(self, session: Session) -> None:
        """Take a switch."""
        self._controller.connected(session)
        self._known()


def _quiet(log: Log) -> None:
    """Let os-ken's log go into ours."""
    for name in ("os_ken", "Speaker"):
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.handlers = [LibraryLog(log)]
