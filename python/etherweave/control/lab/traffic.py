"""Ordinary programs in hosts of a lab: ping and iperf3."""

import json
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from etherweave.control.lab.layout import Layout
from etherweave.linux.namespaces import inside

PINGS = 5
PATIENCE_S = 5.0
"""Longest wait for a server to listen [s]."""
_LISTENING = "0A"
"""State of a socket in ``/proc/net/tcp``, proc(5)."""


@dataclass(frozen=True)
class Traffic:
    """Ordinary programs; this shows function, not speed."""

    source: str
    destination: str
    pings: int
    answered: int
    round_trip_ms: float
    tcp_gbps: float | None
    """By iperf3; None: not installed."""


def traffic(layout: Layout) -> Traffic | None:
    """Ping from the first host to the last, and send by TCP for a second; None without ping."""
    if shutil.which("ping") is None:
        return None
    first, last = layout.plan.hosts[0], layout.plan.hosts[-1]
    address = layout.address(last).partition("/")[0]
    enter = ["ip", "netns", "exec", layout.host(first.name)]
    ping = [*enter, "ping", "-q", "-c", str(PINGS), "-i", "0.05", "-w", "5", address]
    done = subprocess.run(ping, capture_output=True, text=True, timeout=30)
    received = re.search(r"(\d+) received", done.stdout)
    times = re.search(r"= [\d.]+/([\d.]+)/", done.stdout)
    return Traffic(
        first.name,
        last.name,
        PINGS,
        int(received[1]) if received else 0,
        float(times[1]) if times else float("nan"),
        _tcp_gbps(enter, layout.host(last.name), address),
    )


def _tcp_gbps(enter: list[str], server: str, address: str) -> float | None:
    if shutil.which("iperf3") is None:
        return None
    listen = ["ip", "netns", "exec", server, "iperf3", "--server", "--one-off"]
    with subprocess.Popen(listen, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as waiting:
        try:
            _await_listener(server)
            send = [*enter, "iperf3", "--client", address, "--time", "1", "--json"]
            done = subprocess.run(send, capture_output=True, text=True, timeout=30)
            output = json.loads(done.stdout)
            return float(output["end"]["sum_received"]["bits_per_second"]) / 1e9
        except (ValueError, KeyError):
            return None
        finally:
            waiting.kill()


def _await_listener(namespace: str) -> None:
    """Wait for a listening socket in a namespace."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        with inside(namespace):
            tables = [Path(f"/proc/thread-self/net/{name}").read_text() for name in ("tcp", "tcp6")]
        if any(line.split()[3] == _LISTENING for text in tables for line in text.splitlines()[1:]):
            return
        time.sleep(0.01)
