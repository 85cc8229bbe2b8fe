"""How a controller runs, and where it listens."""

import ipaddress
import socket
from dataclasses import dataclass, field

from etherweave.control.controller.door import Tls
from etherweave.control.controller.roles import Pace
from etherweave.control.controller.wire import Limits


class ListenError(ValueError):
    """The controller may not, or cannot, listen there."""


@dataclass(frozen=True)
class Options:
    """How the controller runs."""

    host: str = "127.0.0.1"
    port: int = 6653
    """TCP; 0: whichever is free."""
    tls: Tls | None = None
    """None: plain TCP, on the loopback interface only."""
    metrics_port: int | None = None
    """None: no metrics; 0: whichever is free."""
    audit_s: float = 60.0
    """Between two readings of a switch's tables [s]."""
    probe_s: float = 1.0
    """Between two probes of a port [s]."""
    leave_foreign: bool = False
    """Whether entries that the plan does not know stay."""
    only_watches: bool = False
    """Whether nothing is changed in switches."""
    limits: Limits = field(default_factory=Limits)
    pace: Pace = field(default_factory=Pace)


def listen(options: Options) -> socket.socket:
    """Open the socket that switches connect to.

    Raises
    ------
    ListenError
        Without TLS on another interface than loopback, or where the address is taken.
    """
    try:
        address = ipaddress.ip_address(options.host)
    except ValueError:
        raise ListenError(f"{options.host}: expected an IP address") from None
    if options.tls is None and not address.is_loopback:
        raise ListenError(
            f"{options.host}: plain TCP only on the loopback interface; expected --tls-key, "
            "--tls-certificate and --tls-ca"
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, backlog=128)
    except OSError as error:
        raise ListenError(f"{options.host}:{options.port}: {error.strerror}") from None
