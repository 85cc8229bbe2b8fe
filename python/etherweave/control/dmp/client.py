"""Asks once, on several interfaces at a time."""

import secrets
import select
import time
from collections.abc import Iterable

from etherweave.control.dmp.interface import Interface, InterfaceError
from etherweave.control.dmp.request import Failed, Outcome, Patience, Reason, Request, Send, Step


def ask(interfaces: Iterable[Interface], patience: Patience) -> dict[str, Outcome]:
    """Ask the switch of each interface for its address; changes nothing.

    Returns
    -------
    dict
        By the name of the interface; no longer than ``patience.limit_s`` and a little later.
    """
    now_s = time.monotonic()
    asked = [
        (interface, Request(interface.address, secrets.token_bytes, patience, now_s))
        for interface in interfaces
    ]
    outcomes: dict[str, Outcome] = {}
    while open_ones := [pair for pair in asked if pair[0].name not in outcomes]:
        for interface, request in _ready(open_ones):
            outcome = _outcome(interface, _step(interface, request))
            if outcome:
                outcomes[interface.name] = outcome
    return {interface.name: outcomes[interface.name] for interface, _ in asked}


def _ready(asked: list[tuple[Interface, Request]]) -> list[tuple[Interface, Request]]:
    """Wait for frames or for the next deadline."""
    wait_s = min(request.deadline_s for _, request in asked) - time.monotonic()
    heard, _, _ = select.select([interface for interface, _ in asked], [], [], max(0.0, wait_s))
    now_s = time.monotonic()
    return [pair for pair in asked if pair[0] in heard or pair[1].deadline_s <= now_s]


def _step(interface: Interface, request: Request) -> Step:
    """Serve the deadline first: frames without end must not hold it up."""
    step = request.wake(time.monotonic())
    if step is not None:
        return step
    heard = interface.hear()
    return request.hear(heard, time.monotonic()) if heard else None


def _outcome(interface: Interface, step: Step) -> Outcome | None:
    if not isinstance(step, Send):
        return step
    try:
        interface.send(step.octets)
    except InterfaceError as error:
        return Failed(Reason.INTERFACE, str(error), 0)
    return None
