"""The program of a guest, which its ``init`` starts."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etherweave.control.dmp.client import request_addresses
from etherweave.control.dmp.interface import DmpInterface
from etherweave.control.dmp.request import AssignedAddress, RequestTiming
from etherweave.control.lab.announcements import AnnouncedService, AnnouncingHost, exchange
from etherweave.control.text import mac_text
from guests import reports

INTERFACE = "eth0"
ROUNDS = 200
"""Rounds of announcements after all others have reached this guest, ten seconds."""
PATIENCE_S = 60.0
"""Longest wait for the other guest, which may still be booting [s]."""
LATENCY = ("ib_send_lat", "-d", "rxe0", "-x", "1", "-F", "-n", "100", "-s", "64")
BANDWIDTH = ("ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "50", "--report_gbits")
"""The GID of index 1 is that of the IPv4 address."""


def main() -> None:
    """Boot, and announce, or measure with the other guest."""
    order = reports.order(Path("/proc/cmdline").read_text())
    try:
        _boot(order["address"], order.get("requests", True))
        if "announces" in order:
            _announce(order["announces"])
            report("done")
            return
        # After DMP: the GID is made of the MAC address of that moment.
        _run(("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", INTERFACE))
        if order["peer"]:
            _await(order["peer"])
            report("latency", **reports.latency(_client(LATENCY, order["peer"]))._asdict())
            report("bandwidth", **reports.bandwidth(_client(BANDWIDTH, order["peer"]))._asdict())
        else:
            _run(LATENCY)
            _run(BANDWIDTH)
        report("done")
    except Exception as error:
        report("failed", error=f"{type(error).__name__}: {error}")


def report(step: str, **figures: object) -> None:
    """Write to the console."""
    # The kernel may be in the middle of a line.
    print(f"\n{reports.write(step, **figures)}", flush=True)


def _boot(address: str, requests: bool) -> None:
    with DmpInterface(INTERFACE) as interface:
        factory = interface.address
        interface.set_up()
        if requests:
            outcome = request_addresses([interface], RequestTiming(limit_s=PATIENCE_S))[INTERFACE]
            if not isinstance(outcome, AssignedAddress):
                raise RuntimeError(f"{outcome.reason}: {outcome.detail}")
            interface.assign(outcome.mac)
        else:
            outcome = AssignedAddress(factory, 0, 0.0)
        if address:
            # busybox: pyroute2 would not be worth its place in the image.
            _run(("ip", "address", "add", address, "dev", INTERFACE))
        report(
            "addressed",
            factory=mac_text(factory),
            mac=mac_text(interface.address),
            requests=outcome.requests,
            round_trip_ms=outcome.round_trip_s * 1e3,
        )


def _announce(order: dict[str, Any]) -> None:
    """Announce until the others are done as well: guests do not boot at the same time."""
    services = [AnnouncedService(name) for name in order["services"]]
    with AnnouncingHost(INTERFACE, order["number"], order["hosts"], services) as host:
        exchange([host], ROUNDS, 2 * PATIENCE_S)
        report("announced", recordings=host.recordings())


def _await(peer: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        done = subprocess.run(["ping", "-c", "1", "-W", "1", peer], capture_output=True)
        if done.returncode == 0:
            return
    raise RuntimeError(f"{peer}: no answer to pings")


def _client(command: Sequence[str], peer: str) -> str:
    """Run a client until its server listens."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return _run((*command, peer))
        except subprocess.CalledProcessError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.5)


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE_S)
    if done.returncode:
        report("rejected", command=" ".join(command), output=(done.stderr + done.stdout)[-400:])
        raise subprocess.CalledProcessError(done.returncode, command)
    return done.stdout


if __name__ == "__main__":
    main()
