"""The program of a guest, which its ``init`` starts."""

import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

from etherweave.control.dmp.client import request_addresses
from etherweave.control.dmp.interface import DmpInterface
from etherweave.control.dmp.request import AssignedAddress, RequestTiming
from etherweave.control.lab.announcements import AnnouncedService, AnnouncingHost, exchange
from etherweave.control.text import mac_text
from etherweave.linux.namespaces import separate_interfaces
from guests import reports

INTERFACES = Path("/sys/class/net")
ROUNDS = 200  # Rounds of announcements after all others have reached this guest, ten seconds.
PATIENCE_S = 60.0  # Longest wait for the other guest, which may still be booting [s].
_PATIENT = ("-u", "20")
"""Timeout of a queue pair, 4 us times 2^20: an emulated processor answers late."""
LATENCY = ("ib_send_lat", "-x", "1", "-F", "-n", "100", "-s", "64", *_PATIENT)
BANDWIDTH = ("ib_write_bw", "-x", "1", "-F", "-n", "50", "--report_gbits", *_PATIENT)
"""The GID of index 1 is that of the IPv4 address."""


def main() -> None:
    """Boot, and announce, or measure with the other guest."""
    order = reports.order(Path("/proc/cmdline").read_text())
    try:
        names = [_interface(port["mac"]) for port in order["ports"]]
        _boot(names, order["ports"], order["requests"])
        if "announces" in order:
            _announce(names, order["announces"])
        else:
            _measure(names, order["peers"])
        report("done")
    except Exception as error:
        report("failed", error=f"{type(error).__name__}: {error}")


def report(step: str, **figures: object) -> None:
    """Write to the console."""
    # The kernel may be in the middle of a line.
    print(f"\n{reports.write(step, **figures)}", flush=True)


def _interface(mac: str) -> str:
    """Return the name of the interface with a MAC address, which the kernel may still look for."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        for address in INTERFACES.glob("*/address"):
            if address.read_text().strip() == mac:
                return address.parent.name
        time.sleep(0.1)
    raise RuntimeError(f"no interface with the address {mac}")


def _boot(names: Sequence[str], ports: Sequence[dict[str, Any]], requests: bool) -> None:
    if len(names) > 1:
        separate_interfaces()
    with ExitStack() as stack:
        interfaces = [stack.enter_context(DmpInterface(name)) for name in names]
        for interface in interfaces:
            interface.set_up()
        timing = RequestTiming(limit_s=PATIENCE_S)
        outcomes = request_addresses(interfaces, timing) if requests else {}
        for interface, port in zip(interfaces, ports, strict=True):
            outcome = outcomes.get(interface.name, AssignedAddress(interface.address, 0, 0.0))
            if not isinstance(outcome, AssignedAddress):
                raise RuntimeError(f"{interface.name}: {outcome.reason}: {outcome.detail}")
            if requests:
                interface.assign(outcome.mac)
            if port["address"]:
                _give(interface.name, port, len(ports) > 1)
            report(
                "addressed",
                factory=port["mac"],
                mac=mac_text(interface.address),
                requests=outcome.requests,
                round_trip_ms=outcome.round_trip_s * 1e3,
            )


def _give(name: str, port: dict[str, Any], is_of_several: bool) -> None:
    """Give a port its IPv4 address; of several, each sends from its own, and into its own plane.

    By busybox: pyroute2 would not be worth its place in the image.
    """
    address = IPv4Interface(port["address"])
    own, table = str(address.ip), str(port["table"])
    ip: list[tuple[str, ...]] = [("address", "add", str(address), "dev", name)]
    if is_of_several:
        network = str(address.network)
        ip.append(("route", "add", network, "dev", name, "src", own, "table", table))
        ip.append(("rule", "add", "from", own, "table", table))
        if port["plane"]:
            ip.append(("route", "add", port["plane"], "dev", name, "src", own))
    for words in ip:
        _run(("ip", *words))


def _announce(names: Sequence[str], order: dict[str, Any]) -> None:
    """Announce until the others are done as well: guests do not boot at the same time."""
    services = [AnnouncedService(name) for name in order["services"]]
    with ExitStack() as stack:
        hosts = [
            stack.enter_context(
                AnnouncingHost(name, port["number"], order["hosts"], port["plane"], services)
            )
            for name, port in zip(names, order["ports"], strict=True)
        ]
        exchange(hosts, ROUNDS, 2 * PATIENCE_S)
        report("announced", recordings=[row for host in hosts for row in host.recordings()])


def _measure(names: Sequence[str], peers: Sequence[str]) -> None:
    """Measure port by port, from the guest that knows the addresses of its peer's ports."""
    # After DMP: the GID is made of the MAC address of that moment.
    for number, name in enumerate(names):
        _run(("rdma", "link", "add", f"rxe{number}", "type", "rxe", "netdev", name))
    for number in range(len(names)):
        latency, bandwidth = ((*words, "-d", f"rxe{number}") for words in (LATENCY, BANDWIDTH))
        if peers:
            _await(peers[number])
            report("latency", **reports.latency(_client(latency, peers[number]))._asdict())
            report("bandwidth", **reports.bandwidth(_client(bandwidth, peers[number]))._asdict())
        else:
            _run(latency)
            _run(bandwidth)


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
