"""Ports for daemons that tests start, and that have no option to choose one themselves."""

import errno
import random
import socket
from contextlib import ExitStack

RANGE = range(10_000, 32_000)
"""Ports outside the range that Linux by default gives to programs which ask for any."""


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nobody has bound, at random: two tests rarely draw the same."""
    with ExitStack() as stack:
        return [_bound(stack) for _ in range(count)]


def _bound(stack: ExitStack) -> int:
    while True:
        port = random.SystemRandom().choice(RANGE)
        try:
            stack.enter_context(socket.create_server(("127.0.0.1", port)))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return port
