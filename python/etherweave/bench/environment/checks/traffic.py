"""Checks of traffic: the interface that carried it, TCP buffers, settings and losses."""

from collections.abc import Iterator

from etherweave.bench.environment.findings import Evidence, Problem, Severity, interfaces, risen
from etherweave.bench.environment.snapshot import Snapshot

_ENOUGH = 0.5  # Share of the bytes expected: less is not explained by rounding.
_LOCAL = frozenset({"sm", "shm", "posix", "sysv", "cma", "xpmem", "knem", "all", "shared_memory"})
_DOUBT = "by TCP: --mca btl_tcp_if_include, UCX_NET_DEVICES, FI_TCP_IFACE, NCCL_SOCKET_IFNAME"


def wrong_interface(evidence: Evidence) -> Iterator[Problem]:
    """Find a link that is measured though the bytes did not cross it."""
    run, after = evidence.run, evidence.after
    if after is None or not run.interface or not run.bytes_expected:
        return
    count = crossed(evidence)
    if count is None:
        yield Problem(
            "its counters are not known", "name an interface of the host", where=run.interface
        )
    elif count < _ENOUGH * run.bytes_expected:
        rises = risen(evidence.before.traffic, after.traffic)
        others = {
            name: count
            for name, count in rises.items()
            if name != run.interface and count > _ENOUGH * run.bytes_expected
        }
        most = max(others, key=lambda name: others[name], default="")
        went = f"{most} carried {others[most]:,}" if most else "no interface did: shared memory?"
        yield Problem(
            f"{count:,} bytes crossed it, at least {run.bytes_expected:,.0f} expected; {went}",
            f"name the interface; {_DOUBT}; by UCX UCX_TLS, see the check shared memory",
            where=run.interface,
        )


def crossed(evidence: Evidence) -> int | None:
    """Count the bytes of the run's interface in both directions; ``None`` without counters."""
    assert evidence.after, "counters are compared"
    name = evidence.run.interface
    if name not in evidence.before.interfaces or name not in evidence.after.interfaces:
        return None
    first, last = evidence.before.interfaces[name], evidence.after.interfaces[name]
    kernel = risen(first.counters, last.counters)
    nic = risen(first.driver_counters, last.driver_counters)
    return max(
        kernel.get("rx_bytes", 0) + kernel.get("tx_bytes", 0),
        nic.get("rx_bytes_phy", 0) + nic.get("tx_bytes_phy", 0),
        _crossed_by_rdma(evidence.before, evidence.after, name),
    )


def _crossed_by_rdma(before: Snapshot, after: Snapshot, interface: str) -> int:
    """Count what bypasses the kernel; the counters are in words of four bytes."""
    first, last = (
        [
            port.counters
            for device in snapshot.rdma.values()
            for port in device.ports.values()
            if port.interface == interface
        ]
        for snapshot in (before, after)
    )
    rises = [risen(first, other) for first, other in zip(first, last, strict=False)]
    return sum(4 * (ris.get("port_rcv_data", 0) + ris.get("port_xmit_data", 0)) for ris in rises)


def shared_memory(evidence: Evidence) -> Iterator[Problem]:
    """Find UCX about to use shared memory between processes of one machine."""
    variables = evidence.latest.placement.variables
    transports = {word.strip() for word in variables.get("UCX_TLS", "").split(",") if word.strip()}
    same = [other.host for other in evidence.others if other.boot == evidence.latest.boot]
    if same and (not transports or transports & _LOCAL or any("^" in name for name in transports)):
        yield Problem(
            f"{same[0]} is the same machine: UCX takes shared memory between its processes, "
            "whatever their host names (it compares boot ids)",
            "UCX_TLS=tcp,self (or rc,self), or processes on different machines",
            Severity.WARNING if variables.get("UCX_TLS") else Severity.NOTE,
        )
    elif transports & _LOCAL and evidence.run.interface:
        yield Problem(
            f"UCX_TLS={variables['UCX_TLS']} allows shared memory",
            "leave it out when the network is to be measured: UCX_TLS=tcp,self or rc,self",
            Severity.NOTE,
        )


ROUND_TRIP_S = 1e-3  # Round trip that a window must cover, of a loaded fabric [s].
_SHARE = 1e-4  # Segments sent again from which on a throughput suffers.
_BUFFERS = (("ipv4.tcp_rmem", "receive"), ("ipv4.tcp_wmem", "send"))


def buffers(evidence: Evidence) -> Iterator[Problem]:
    """Find windows that cannot fill the link."""
    latest = evidence.latest
    rates = [port.rate for port in interfaces(evidence, latest).values() if port.rate]
    if not rates:
        return
    needed = max(rates) / 8 * ROUND_TRIP_S
    for name, words in _BUFFERS:
        most = latest.tcp.get(name, "").split()[-1:]
        if most and most[0].isdecimal() and len(most[0]) < 20 and int(most[0]) < needed:
            yield Problem(
                f"the largest {words} buffer, {int(most[0]):,} bytes, is below the "
                f"{needed:,.0f} bytes that {max(rates) / 1e9:g} Gbit/s sends in 1 ms",
                f"sysctl net.{name}, its third number, and net.core.{name[-4:]}_max",
            )


def settings(evidence: Evidence) -> Iterator[Problem]:
    """Find settings that slow TCP down, or differ between hosts."""
    tcp = evidence.latest.tcp
    for name in ("ipv4.tcp_window_scaling", "ipv4.tcp_sack"):
        if tcp.get(name) == "0":
            yield Problem(f"net.{name} is off", f"sysctl net.{name}=1")
    if tcp.get("ipv4.tcp_slow_start_after_idle") == "1" and evidence.run.interface:
        yield Problem(
            "connections start slowly again after each pause (tcp_slow_start_after_idle)",
            "sysctl net.ipv4.tcp_slow_start_after_idle=0, if the application pauses",
            Severity.NOTE,
        )
    for other in evidence.others:
        names = [name for name in tcp if name in other.tcp and tcp[name] != other.tcp[name]]
        if names:
            listed = ", ".join(f"{name} {tcp[name]}/{other.tcp[name]}" for name in names)
            yield Problem(f"TCP differs from {other.host}: {listed}", "set them alike")


def losses(evidence: Evidence) -> Iterator[Problem]:
    """Find segments that were sent again."""
    if evidence.after is None:
        return
    rises = risen(evidence.before.tcp_counters, evidence.after.tcp_counters)
    again, sent = rises.get("RetransSegs", 0), rises.get("OutSegs", 0)
    if sent and again > _SHARE * sent:
        yield Problem(
            f"TCP sent {again:,} of {sent:,} segments again during the run",
            "check hosts and switches for drops; ECN with DCTCP avoids them",
        )
