"""The daemon: keeps the addresses of interfaces up to date while it runs."""

import math
import os
import secrets
import select
import socket
import time
from collections.abc import Callable, Iterable

from etherweave.control.dmp import request
from etherweave.control.dmp.interface import DmpInterface, InterfaceError, NoInterfaceError
from etherweave.control.dmp.links import LinkChange, open_links, received_links
from etherweave.control.dmp.monitor import AddressMonitor, MonitorTiming
from etherweave.control.text import mac_text

LogLine = Callable[[str], None]  # Writes a line of the log.


def serve(
    names: Iterable[str],
    timing: request.RequestTiming,
    schedule: MonitorTiming,
    log: LogLine,
    stop: socket.socket,
) -> None:
    """Keep the addresses of interfaces up to date until ``stop`` is readable.

    ``READY=1`` is sent to systemd when every interface has had its first outcome, or after the time
    limit of one, so that a host boots without its switch, too.

    Raises ``InterfaceError`` if an interface that exists cannot be served at all.
    """
    with open_links() as links:
        interfaces = [_MonitoredInterface(name, timing, schedule, log) for name in names]
        try:
            for monitored in interfaces:
                monitored.open()
            _EventLoop(interfaces, links, stop, time.monotonic() + timing.limit_s).run()
        finally:
            notify("STOPPING=1")
            for monitored in interfaces:
                monitored.close()


class _MonitoredInterface:
    """An interface, which may appear and disappear, and its state machine."""

    def __init__(
        self, name: str, timing: request.RequestTiming, schedule: MonitorTiming, log: LogLine
    ) -> None:
        self.name = name
        self.watch = AddressMonitor(secrets.token_bytes, timing, schedule)
        self.interface: DmpInterface | None = None
        self._log = log

    @property
    def status(self) -> str:
        """Its name and present address."""
        address = mac_text(self.interface.address) if self.interface else "missing"
        return f"{self.name} {address}"

    @property
    def listens_at(self) -> int | None:
        """The descriptor to read from while a request is under way, else None."""
        if self.interface is None or not self.watch.is_asking:
            return None
        return self.interface.fileno()

    def open(self) -> None:
        """Open the interface if it exists."""
        try:
            self.interface = DmpInterface(self.name)
            if not self.interface.is_up:
                self.interface.set_up()
            self.watch.link(self.interface.is_running, None, time.monotonic())
        except NoInterfaceError as error:
            self.close()
            self._log(f"{error}; waiting for it")

    def close(self) -> None:
        """Close the interface."""
        if self.interface:
            self.interface.close()
        self.interface = None
        self.watch.link(False, None, time.monotonic())

    def link_changed(self, link: LinkChange) -> None:
        """Handle a change of the link."""
        if link.is_gone and self.interface:
            self._log(f"{self.name}: disappeared; waiting for it")
            self.close()
        elif not link.is_gone and self.interface is None:
            self.open()
        elif self.interface:
            self.watch.link(link.is_running, link.changes, time.monotonic())

    def reopen(self) -> None:
        """Open the interface again, because changes of the link were lost."""
        self.close()
        self.open()

    def wake(self) -> None:
        """Handle the deadline if it is due."""
        if self.interface:
            self._apply(self.watch.wake(self.interface.address, time.monotonic()), self.interface)

    def receive(self) -> None:
        """Receive one frame."""
        received = self.interface.receive() if self.interface else None
        if self.interface and received:
            self._apply(self.watch.receive(received, time.monotonic()), self.interface)

    def _apply(self, step: request.RequestStep, interface: DmpInterface) -> None:
        try:
            if isinstance(step, request.SendFrame):
                interface.send(step.octets)
            elif isinstance(step, request.AssignedAddress):
                self._assign(step, interface)
            elif isinstance(step, request.FailedRequest):
                current = mac_text(interface.address)
                self._log(f"{self.name}: {step.reason}: {step.detail}; keeps {current}")
        except InterfaceError as error:
            self._log(str(error))

    def _assign(self, answer: request.AssignedAddress, interface: DmpInterface) -> None:
        before, new = mac_text(interface.address), mac_text(answer.mac)
        if before == new:
            return
        stayed_up = interface.assign(answer.mac)
        how = "" if stayed_up else "; was set down for this, routes and IPv6 addresses are lost"
        self._log(f"{self.name}: address {new} (was {before}){how}")


class _EventLoop:
    """Waits for frames, for changes of links, for deadlines and for the end."""

    def __init__(
        self,
        interfaces: list[_MonitoredInterface],
        links: socket.socket,
        stop: socket.socket,
        ready_s: float,
    ) -> None:
        self._interfaces = interfaces
        self._links = links
        self._stop = stop
        self._ready_s: float | None = ready_s

    def run(self) -> None:
        """Run until the end."""
        while True:
            readable = self._wait()
            if self._stop.fileno() in readable:
                return
            if self._links.fileno() in readable:
                self._process_link_changes()
            for monitored in self._interfaces:
                monitored.wake()
                if monitored.listens_at in readable:
                    monitored.receive()
            self._report()

    def _wait(self) -> list[int]:
        """Wait for a descriptor or a deadline; return the readable descriptors."""
        listening = [monitored.listens_at for monitored in self._interfaces]
        sources = [number for number in listening if number is not None]
        deadlines = [monitored.watch.deadline_s for monitored in self._interfaces]
        deadlines += [] if self._ready_s is None else [self._ready_s]
        wait_s = min(deadlines) - time.monotonic()
        limit_s = None if wait_s == math.inf else max(0.0, wait_s)
        ends = [self._stop.fileno(), self._links.fileno()]
        return select.select([*ends, *sources], [], [], limit_s)[0]

    def _process_link_changes(self) -> None:
        changes = received_links(self._links)
        for monitored in self._interfaces:
            if changes is None:
                monitored.reopen()
            for link in changes or ():
                if link.name == monitored.name:
                    monitored.link_changed(link)

    def _report(self) -> None:
        """Notify systemd once that other services may start."""
        if self._ready_s is None:
            return
        settled = all(monitored.watch.is_settled for monitored in self._interfaces)
        if settled or time.monotonic() >= self._ready_s:
            self._ready_s = None
            notify("READY=1", f"STATUS={', '.join(port.status for port in self._interfaces)}")


def notify(*facts: str) -> None:
    """Send facts such as ``READY=1`` to systemd by datagrams of ``sd_notify(3)``, if it listens.

    Errors are ignored: the daemon works without systemd, too.
    """
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    address = f"\0{path[1:]}" if path.startswith("@") else path
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
        notice.setblocking(False)
        try:
            notice.sendto("\n".join(facts).encode(), address)
        except OSError:
            return
