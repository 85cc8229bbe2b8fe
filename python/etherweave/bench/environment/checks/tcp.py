"""TCP: buffers, settings that differ, segments sent again."""

from collections.abc import Iterator

from etherweave.bench.environment.checks.looking import interfaces, risen
from etherweave.bench.environment.findings import Evidence, Problem, Severity

ROUND_TRIP_S = 1e-3
"""What a connection's window must bridge: a loaded fabric, not an idle one [s]."""
_SHARE = 1e-4
"""Segments sent again from which on a throughput suffers."""
_BUFFERS = (
    ("ipv4.tcp_rmem", "receive"),
    ("ipv4.tcp_wmem", "send"),
)


def buffers(evidence: Evidence) -> Iterator[Problem]:
    """Find windows that cannot fill the link."""
    latest = evidence.latest
    rates = [one.rate for one in interfaces(evidence, latest).values() if one.rate]
    if not rates:
        return
    needed = max(rates) / 8 * ROUND_TRIP_S
    for name, words in _BUFFERS:
        most = latest.tcp.get(name, "").split()[-1:]
        if most and most[0].isdecimal() and len(most[0]) < 20 and int(most[0]) < needed:
            yield Problem(
                "",
                f"the largest {words} buffer, {int(most[0]):,} bytes, is below the "
                f"{needed:,.0f} bytes that {max(rates) / 1e9:g} Gbit/s sends in 1 ms",
                f"sysctl net.{name}, its third number, and net.core.{name[-4:]}_max",
            )


def settings(evidence: Evidence) -> Iterator[Problem]:
    """Find settings that slow TCP down, or differ between hosts."""
    tcp = evidence.latest.tcp
    for name in ("ipv4.tcp_window_scaling", "ipv4.tcp_sack"):
        if tcp.get(name) == "0":
            yield Problem("", f"net.{name} is off", f"sysctl net.{name}=1")
    if tcp.get("ipv4.tcp_slow_start_after_idle") == "1" and evidence.run.interface:
        yield Problem(
            "",
            "connections start slowly again after each pause (tcp_slow_start_after_idle)",
            "sysctl net.ipv4.tcp_slow_start_after_idle=0, if the application pauses",
            Severity.NOTE,
        )
    for other in evidence.others:
        names = [name for name in tcp if name in other.tcp and tcp[name] != other.tcp[name]]
        if names:
            listed = ", ".join(f"{name} {tcp[name]}/{other.tcp[name]}" for name in names)
            yield Problem("", f"TCP differs from {other.host}: {listed}", "set them alike")


def losses(evidence: Evidence) -> Iterator[Problem]:
    """Find segments that were sent again."""
    if evidence.after is None:
        return
    rises = risen(evidence.before.tcp_counters, evidence.after.tcp_counters)
    again, sent = rises.get("RetransSegs", 0), rises.get("OutSegs", 0)
    if sent and again > _SHARE * sent:
        yield Problem(
            "",
            f"TCP sent {again:,} of {sent:,} segments again during the run",
            "look for drops on hosts and switches; ECN with DCTCP avoids them",
        )
