"""Pauses and priorities: whether a fabric is lossless where it should be."""

from collections.abc import Iterator

from etherweave.bench.environment.checks.looking import counted, interfaces, told
from etherweave.bench.environment.findings import Evidence, Problem, Severity


def pauses(evidence: Evidence) -> Iterator[Problem]:
    """Find pause frames during the run."""
    for name, rises, is_during in counted(evidence):
        found = {counter: rise for counter, rise in rises.items() if _is_pause(counter)}
        if is_during and found:
            yield Problem(
                name,
                f"pause frames during the run: {told(found)}",
                "received: the fabric was congested, the numbers are those of a stopped sender; "
                "sent: this host could not keep up",
                Severity.NOTE,
            )


def _is_pause(counter: str) -> bool:
    words = counter.lower()
    return any(part in words for part in ("pause", "xoff", "pfc")) and "duration" not in words


def lossless(evidence: Evidence) -> Iterator[Problem]:
    """Find links whose pauses are at odds, or RoCE without them."""
    latest = evidence.latest
    roce = {
        port.interface
        for device in latest.rdma.values()
        for port in device.ports.values()
        if port.link_layer == "Ethernet"
    }
    for name, one in interfaces(evidence, latest).items():
        has_global = bool(one.pause_received or one.pause_sent)
        if one.pfc and has_global:
            yield Problem(
                name,
                f"PFC on priorities {_list(one.pfc)}, and global pause as well",
                f"ethtool -A {name} rx off tx off",
            )
        if one.pfc is not None and len(one.pfc) == 8:
            yield Problem(
                name,
                "PFC on all eight priorities: one congested flow stops all traffic",
                f"dcb pfc set dev {name} prio-pfc all:off 3:on, as on the switches",
            )
        if name in roce and one.pfc == () and not has_global:
            yield Problem(
                name,
                "RoCE without PFC or global pause: what the fabric drops is sent again slowly",
                f"dcb pfc set dev {name} prio-pfc 3:on, as on the switches; or be sure of ECN",
            )
        for other in evidence.others:
            theirs = other.interfaces.get(name)
            if theirs and None not in (one.pfc, theirs.pfc) and one.pfc != theirs.pfc:
                yield Problem(
                    name,
                    f"PFC on priorities {_list(one.pfc)}; {other.host} has {_list(theirs.pfc)}",
                    "set the same priorities on all hosts and switches",
                )


def _list(priorities: tuple[int, ...] | None) -> str:
    return ", ".join(map(str, priorities or ())) or "none"
