"""The verbs ``control dmp request``, ``daemon`` and ``decode``."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from etherweave.api.inputs import read_bytes
from etherweave.cli.exits import FAILED, mistakes, notice, print_error
from etherweave.cli.parameters import AsJson, seconds
from etherweave.cli.verbs import nested
from etherweave.control.dmp.capture import CapturedFrame, CaptureError, explain, frames
from etherweave.control.dmp.client import request_addresses
from etherweave.control.dmp.daemon import serve
from etherweave.control.dmp.frame import FrameFault
from etherweave.control.dmp.interface import DmpInterface, InterfaceError
from etherweave.control.dmp.monitor import MonitorTiming
from etherweave.control.dmp.request import (
    AssignedAddress,
    FailedRequest,
    FailureReason,
    RequestOutcome,
    RequestTiming,
)
from etherweave.control.text import mac_text
from etherweave.linux.processes import ending

NO_ANSWER = 4  # Exit code if no switch answered in time.
LIMIT = f"{RequestTiming().limit_s:g}s"
CHECK = f"{MonitorTiming().check_s:g}s"


dmp = nested("Request a host's hierarchical MAC address from its switch (Dynamic MAC Protocol).")

Interfaces = Annotated[
    list[str],
    typer.Option("--interface", "-i", metavar="NAME", help="Interface of this host; repeatable."),
]
TimeLimit = Annotated[
    str,
    typer.Option(
        "--time-limit", metavar="TIME", help="Longest wait for an answer, with repeated requests."
    ),
]


@dmp.command()
def request(
    *,
    interface: Interfaces,
    dry_run: bool = False,
    time_limit: TimeLimit = LIMIT,
    as_json: AsJson = False,
) -> None:
    """Request an address from the switch once, print it and set it.

    Requires root, or CAP_NET_RAW and CAP_NET_ADMIN. An interface that is down is set up. Exit code
    4: no answer; 1: contradicting answers, a flood, or an error of the interface; 2: a mistake.

    Parameters
    ----------
    dry_run
        Print the address; change nothing.
    """
    with ExitStack() as stack:
        with mistakes(InterfaceError):
            opened = {name: stack.enter_context(DmpInterface(name)) for name in interface}
            for each in opened.values():
                _set_up(each, dry_run)
        before = {name: each.address for name, each in opened.items()}
        outcomes = request_addresses(opened.values(), RequestTiming(limit_s=_limit_s(time_limit)))
        if not dry_run:
            outcomes = {name: _assigned(opened[name], outcomes[name]) for name in outcomes}
    rows = [_row(name, outcomes[name], before[name]) for name in outcomes]
    print(json.dumps(rows, indent=2)) if as_json else _print(outcomes)
    _end(outcomes)


@dmp.command()
def daemon(*, interface: Interfaces, check: str = CHECK, time_limit: TimeLimit = LIMIT) -> None:
    """Keep addresses up to date: request them when a link comes up, and periodically.

    Writes a line to standard error for every change and failure. Interfaces may appear later.
    Notifies systemd by sd_notify. Exit code 0: after SIGTERM; 2: a mistake.

    Parameters
    ----------
    check : TIME
        Time from an answer to the next request.
    """
    with ending() as stop, mistakes(InterfaceError):
        schedule = MonitorTiming(check_s=seconds("--check", check, (1, 86400)))
        serve(
            dict.fromkeys(interface),
            RequestTiming(limit_s=_limit_s(time_limit)),
            schedule,
            notice,
            stop,
        )


@dmp.command()
def decode(source: str, *, as_json: AsJson = False) -> None:
    """Decode the frames of the protocol in a capture.

    Exit code 1: there is no frame of the protocol; 2: a mistake.

    Parameters
    ----------
    source : FILE.pcap|HEX
        Capture of tcpdump -w, or a frame in hexadecimal digits.
    """
    with mistakes(), mistakes(CaptureError, before=f"{source}: "):
        lines = list(explain(_frames(source)))
    if as_json:
        print(json.dumps([_facts(line) for line in lines], indent=2))
    else:
        for line in lines:
            print(" ".join(f"{value}" for value in _facts(line).values()))
    if all(isinstance(line.frame, FrameFault) for line in lines):
        raise typer.Exit(FAILED)


def _limit_s(time_limit: str) -> float:
    return seconds("--time-limit", time_limit, (0.1, 3600))


def _set_up(interface: DmpInterface, dry_run: bool) -> None:
    if interface.is_up:
        return
    if dry_run:
        raise InterfaceError(f"{interface.name}: is down; expected up (ip link set up)")
    interface.set_up()


def _assigned(interface: DmpInterface, outcome: RequestOutcome) -> RequestOutcome:
    """Set the address; return a failure if it cannot be set."""
    if not isinstance(outcome, AssignedAddress) or outcome.mac == interface.address:
        return outcome
    try:
        if not interface.assign(outcome.mac):
            notice(f"{interface.name}: was set down for this, routes and IPv6 addresses are lost")
    except InterfaceError as error:
        return FailedRequest(FailureReason.INTERFACE, str(error), outcome.requests)
    return outcome


def _row(name: str, outcome: RequestOutcome, before: int) -> dict[str, Any]:
    facts = outcome._asdict()
    if isinstance(outcome, AssignedAddress):
        facts["mac"] = mac_text(outcome.mac)
    return {"interface": name, "mac_before": mac_text(before), **facts}


def _print(outcomes: dict[str, RequestOutcome]) -> None:
    for name, outcome in outcomes.items():
        if isinstance(outcome, AssignedAddress):
            print(name, mac_text(outcome.mac))


def _end(outcomes: dict[str, RequestOutcome]) -> None:
    failures = {name: each for name, each in outcomes.items() if isinstance(each, FailedRequest)}
    for name, failure in failures.items():
        print_error(f"{name}: {failure.reason} after {failure.requests} requests: {failure.detail}")
    reasons = {failure.reason for failure in failures.values()}
    if reasons:
        raise typer.Exit(NO_ANSWER if reasons == {FailureReason.NO_ANSWER} else FAILED)


def _frames(source: str) -> list[bytes]:
    """Read digits, or a file; a file whose name is hexadecimal needs its folder, as in ./beef."""
    try:
        return [bytes.fromhex(source.replace(":", ""))]
    except ValueError:
        return list(frames(read_bytes(Path(source))))


def _facts(line: CapturedFrame) -> dict[str, Any]:
    if isinstance(line.frame, FrameFault):
        return {"number": line.number, "kind": f"rejected: {line.frame}"}
    return {
        "number": line.number,
        "kind": "answer" if line.is_answer else "request",
        "source": mac_text(line.frame.source),
        "destination": mac_text(line.frame.destination),
        "nonce": line.frame.nonce.hex(),
    }
