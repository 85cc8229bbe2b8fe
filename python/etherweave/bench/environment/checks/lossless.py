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
        if name in roce and one.pfc == () and not has_global and not one.ecn:
            yield Problem(
                name,
                "RoCE without PFC, global pause or ECN: what the fabric drops is sent again slowly",
                f"dcb pfc set dev {name} prio-pfc 3:on, as on the switches; or be sure of ECN",
            )
        if one.pfc and one.ecn is not None and not set(one.pfc) <= set(one.ecn):
            yield Problem(
                name,
                f"PFC on priorities {_list(one.pfc)}, ECN on {_list(one.ecn)}",
                "turn ECN on for the lossless priorities (roce_np and roce_rp), so that pauses "
                "stay rare",
                Severity.NOTE,
            )
        for other in evidence.others:
            theirs = other.interfaces.get(name)
            if theirs and None not in (one.pfc, theirs.pfc) and one.pfc != theirs.pfc:
                yield Problem(
                    name,
                    f"PFC on priorities {_list(one.pfc)}; {other.host} has {_list(theirs.pfc)}",
                    "set the same priorities on all hosts and switches",
                )


def mappings(evidence: Evidence) -> Iterator[Problem]:
    """Find hosts that put the same packets into different queues."""
    for name, one in interfaces(evidence, evidence.latest).items():
        for other in evidence.others:
            theirs = other.interfaces.get(name, one)
            if (one.classes, one.dscp) != (theirs.classes, theirs.dscp):
                yield Problem(
                    name,
                    f"traffic classes and DSCP differ from {other.host}: "
                    f"{_pairs(one.classes)} / {_pairs(theirs.classes)}; "
                    f"{_pairs(one.dscp)} / {_pairs(theirs.dscp)}",
                    "set the same on all hosts and switches (dcb ets, dcb app)",
                )


def _pairs(mapping: dict[str, int]) -> str:
    return " ".join(f"{key}:{value}" for key, value in list(mapping.items())[:8]) or "none"


def _list(priorities: tuple[int, ...] | None) -> str:
    return ", ".join(map(str, priorities or ())) or "none"
