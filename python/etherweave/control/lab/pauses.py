"""Pauses ports of a lab by real PAUSE frames from the other end of their cables."""

import contextlib
import socket
import threading
from collections.abc import Iterator

from etherweave.control.lab.layout import End, Layout, LayoutError, interface
from etherweave.control.lab.namespaces import inside
from etherweave.control.pause.frame import QUANTA_MAX, Pause, encode

EVERY_S = 0.05
"""Between two PAUSE frames [s]; each lasts 0.34 s at the rate of a lab's cables."""
SOURCE = 0x00005E0053FF
"""The last of the MAC addresses for documentation: no host's, which are the first."""


class PauseError(LayoutError):
    """A port that cannot be paused; a sentence says why."""


@contextlib.contextmanager
def paused(layout: Layout, end: End) -> Iterator[None]:
    """Pause a port for as long as the block lasts, as a full neighbour does; then resume it.

    Raises
    ------
    PauseError
        If the port leads to no switch.
    """
    other = layout.across.get(end)
    if not isinstance(other, End):
        name = layout.plan.switches[end.switch].name
        raise PauseError(f"port {end.port} of {name}: expected one that leads to a switch")
    stop = threading.Event()
    with _at(layout, other) as one:
        one.send(encode(Pause(SOURCE, QUANTA_MAX)))
        thread = threading.Thread(target=_repeat, args=(one, stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            one.send(encode(Pause(SOURCE, 0)))


def _at(layout: Layout, end: End) -> socket.socket:
    with inside(layout.fabric):
        one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            one.bind((interface(end), 0))
        except BaseException:
            one.close()
            raise
        return one


def _repeat(one: socket.socket, stop: threading.Event) -> None:
    while not stop.wait(EVERY_S):
        one.send(encode(Pause(SOURCE, QUANTA_MAX)))
