"""The daemon: keeps the addresses of interfaces right for as long as it runs."""

import math
import secrets
import select
import socket
import time
from collections.abc import Callable, Iterable

from etherweave.control.dmp.interface import Interface, InterfaceError, NoInterfaceError
from etherweave.control.dmp.links import Link, heard_links, open_links
from etherweave.control.dmp.notice import notify
from etherweave.control.dmp.request import Assigned, Failed, Patience, Send, Step
from etherweave.control.dmp.watch import Rhythm, Watch
from etherweave.control.text import mac_text

Tell = Callable[[str], None]
"""Takes a line for the log."""


def serve(
    names: Iterable[str], patience: Patience, rhythm: Rhythm, tell: Tell, stop: socket.socket
) -> None:
    """Keep the addresses of interfaces right until something can be read from ``stop``.

    systemd is told ``READY=1`` when every interface had its first outcome, or when there was time
    enough for one: a host boots without its switch, too.

    Raises
    ------
    InterfaceError
        If an interface that exists cannot be served at all.
    """
    with open_links() as links:
        stations = [_Station(name, patience, rhythm, tell) for name in names]
        try:
            for station in stations:
                station.open()
            _Loop(stations, links, stop, time.monotonic() + patience.limit_s).run()
        finally:
            notify("STOPPING=1")
            for station in stations:
                station.close()


class _Station:
    """An interface, which may come and go, and what is done about it."""

    def __init__(self, name: str, patience: Patience, rhythm: Rhythm, tell: Tell) -> None:
        self.name = name
        self.watch = Watch(secrets.token_bytes, patience, rhythm)
        self.interface: Interface | None = None
        self._tell = tell

    @property
    def status(self) -> str:
        """Say in a few words how it is."""
        address = mac_text(self.interface.address) if self.interface else "missing"
        return f"{self.name} {address}"

    @property
    def listens_at(self) -> int | None:
        """The descriptor to read from while frames are wanted; others stay in the kernel."""
        if self.interface is None or not self.watch.is_asking:
            return None
        return self.interface.fileno()

    def open(self) -> None:
        """Begin, if the interface is there."""
        try:
            self.interface = Interface(self.name)
            if not self.interface.is_up:
                self.interface.set_up()
            self.watch.link(self.interface.is_running, None, time.monotonic())
        except NoInterfaceError as error:
            self.close()
            self._tell(f"{error}; waiting for it")

    def close(self) -> None:
        """Let the interface go."""
        if self.interface:
            self.interface.close()
        self.interface = None
        self.watch.link(False, None, time.monotonic())

    def take(self, link: Link) -> None:
        """Take news of the link."""
        if link.is_gone and self.interface:
            self._tell(f"{self.name}: is gone; waiting for it")
            self.close()
        elif not link.is_gone and self.interface is None:
            self.open()
        elif self.interface:
            self.watch.link(link.is_running, link.changes, time.monotonic())

    def doubt(self) -> None:
        """Begin anew: news of the link were lost."""
        self.close()
        self.open()

    def wake(self) -> None:
        """Serve the deadline, if it has come."""
        if self.interface:
            self._apply(self.watch.wake(self.interface.address, time.monotonic()), self.interface)

    def hear(self) -> None:
        """Take one frame."""
        heard = self.interface.hear() if self.interface else None
        if self.interface and heard:
            self._apply(self.watch.hear(heard, time.monotonic()), self.interface)

    def _apply(self, step: Step, interface: Interface) -> None:
        try:
            if isinstance(step, Send):
                interface.send(step.octets)
            elif isinstance(step, Assigned):
                self._assign(step, interface)
            elif isinstance(step, Failed):
                kept = mac_text(interface.address)
                self._tell(f"{self.name}: {step.reason}: {step.detail}; keeps {kept}")
        except InterfaceError as error:
            self._tell(str(error))

    def _assign(self, answer: Assigned, interface: Interface) -> None:
        before, new = mac_text(interface.address), mac_text(answer.mac)
        if before == new:
            return
        stayed_up = interface.assign(answer.mac)
        how = "" if stayed_up else "; was set down for it, routes and IPv6 addresses are lost"
        self._tell(f"{self.name}: address {new} (was {before}){how}")


class _Loop:
    """Waits for frames, for news of links, for deadlines and for the end."""

    def __init__(
        self,
        stations: list[_Station],
        links: socket.socket,
        stop: socket.socket,
        ready_s: float,
    ) -> None:
        self._stations = stations
        self._links = links
        self._stop = stop
        self._ready_s: float | None = ready_s

    def run(self) -> None:
        """Go round until the end."""
        while True:
            readable = self._wait()
            if self._stop.fileno() in readable:
                return
            if self._links.fileno() in readable:
                self._news()
            for station in self._stations:
                station.wake()
                if station.listens_at in readable:
                    station.hear()
            self._report()

    def _wait(self) -> list[int]:
        """Wait until something can be read, or a deadline has come; tell which descriptors."""
        listening = [station.listens_at for station in self._stations]
        sources = [number for number in listening if number is not None]
        deadlines = [station.watch.deadline_s for station in self._stations]
        deadlines += [] if self._ready_s is None else [self._ready_s]
        wait_s = min(deadlines) - time.monotonic()
        limit_s = None if wait_s == math.inf else max(0.0, wait_s)
        ends = [self._stop.fileno(), self._links.fileno()]
        return select.select([*ends, *sources], [], [], limit_s)[0]

    def _news(self) -> None:
        found = heard_links(self._links)
        for station in self._stations:
            if found is None:
                station.doubt()
            for link in found or ():
                if link.name == station.name:
                    station.take(link)

    def _report(self) -> None:
        """Tell systemd once that other services may start."""
        if self._ready_s is None:
            return
        settled = all(station.watch.is_settled for station in self._stations)
        if settled or time.monotonic() >= self._ready_s:
            self._ready_s = None
            notify("READY=1", f"STATUS={', '.join(station.status for station in self._stations)}")
