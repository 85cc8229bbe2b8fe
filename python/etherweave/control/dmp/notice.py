"""Tells systemd how a service fares: the datagrams of ``sd_notify(3)``, written by hand."""

import os
import socket


def notify(*facts: str) -> None:
    """Send facts such as ``READY=1`` to whoever started this process, if anybody wants them.

    A listener that is gone is none: the daemon has work to do.
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
