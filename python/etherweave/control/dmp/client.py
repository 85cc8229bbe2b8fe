"""Requests addresses once, on several interfaces at a time."""

import secrets
import select
import time
from collections.abc import Iterable

from etherweave.control.dmp.interface import DmpInterface, InterfaceError
from etherweave.control.dmp.request import (
    AddressRequest,
    FailedRequest,
    FailureReason,
    RequestOutcome,
    RequestStep,
    RequestTiming,
    SendFrame,
)


def request_addresses(
    interfaces: Iterable[DmpInterface], timing: RequestTiming
) -> dict[str, RequestOutcome]:
    """Request the address of each interface from its switch; changes nothing.

    Outcomes are by the name of the interface. It takes ``timing.limit_s`` at most, and a little.
    """
    now_s = time.monotonic()
    requests = [
        (interface, AddressRequest(interface.address, secrets.token_bytes, timing, now_s))
        for interface in interfaces
    ]
    outcomes: dict[str, RequestOutcome] = {}
    while pending := [pair for pair in requests if pair[0].name not in outcomes]:
        for interface, request in _ready(pending):
            outcome = _outcome(interface, _step(interface, request))
            if outcome:
                outcomes[interface.name] = outcome
    return {interface.name: outcomes[interface.name] for interface, _ in requests}


def _ready(
    requests: list[tuple[DmpInterface, AddressRequest]],
) -> list[tuple[DmpInterface, AddressRequest]]:
    """Wait for frames or for the next deadline."""
    wait_s = min(request.deadline_s for _, request in requests) - time.monotonic()
    received, _, _ = select.select([port for port, _ in requests], [], [], max(0.0, wait_s))
    now_s = time.monotonic()
    return [pair for pair in requests if pair[0] in received or pair[1].deadline_s <= now_s]


def _step(interface: DmpInterface, request: AddressRequest) -> RequestStep:
    """Handle the deadline first: a flood of frames must not delay it."""
    step = request.wake(time.monotonic())
    if step is not None:
        return step
    received = interface.receive()
    return request.receive(received, time.monotonic()) if received else None


def _outcome(interface: DmpInterface, step: RequestStep) -> RequestOutcome | None:
    if not isinstance(step, SendFrame):
        return step
    try:
        interface.send(step.octets)
    except InterfaceError as error:
        return FailedRequest(FailureReason.INTERFACE, str(error), 0)
    return None
