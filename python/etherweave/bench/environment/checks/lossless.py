"""Checks of lossless Ethernet and RDMA: pauses, priorities, GIDs, losses, ECN marks."""

from collections.abc import Iterator

from etherweave.bench.environment.findings import (
    Evidence,
    Problem,
    Severity,
    counted,
    interfaces,
    largest_counters,
    neighbours,
    risen,
)
from etherweave.bench.environment.snapshot import RdmaPort, Snapshot


def pauses(evidence: Evidence) -> Iterator[Problem]:
    """Find pause frames during the run."""
    for name, rises, is_during in counted(evidence):
        pause_frames = {counter: rise for counter, rise in rises.items() if _is_pause(counter)}
        if is_during and pause_frames:
            yield Problem(
                f"pause frames during the run: {largest_counters(pause_frames)}",
                "received: the fabric was congested, the numbers are those of a stopped sender; "
                "sent: this host could not keep up",
                Severity.NOTE,
                where=name,
            )


def _is_pause(counter: str) -> bool:
    words = counter.lower()
    return any(part in words for part in ("pause", "xoff", "pfc")) and "duration" not in words


def lossless(evidence: Evidence) -> Iterator[Problem]:
    """Find links with contradictory pause settings, or RoCE without pauses."""
    latest = evidence.latest
    roce = {
        port.interface
        for device in latest.rdma.values()
        for port in device.ports.values()
        if port.link_layer == "Ethernet"
    }
    for name, interface in interfaces(evidence, latest).items():
        has_global = bool(interface.pause_received or interface.pause_sent)
        if interface.pfc and has_global:
            yield Problem(
                f"PFC on priorities {_list(interface.pfc)}, and global pause as well",
                f"ethtool -A {name} rx off tx off",
                where=name,
            )
        if interface.pfc is not None and len(interface.pfc) == 8:
            yield Problem(
                "PFC on all eight priorities: one congested flow stops all traffic",
                f"dcb pfc set dev {name} prio-pfc all:off 3:on, as on the switches",
                where=name,
            )
        if name in roce and interface.pfc == () and not has_global and not interface.ecn:
            yield Problem(
                "RoCE without PFC, global pause or ECN: what the fabric drops is sent again slowly",
                f"dcb pfc set dev {name} prio-pfc 3:on, as on the switches; or be sure of ECN",
                where=name,
            )
        if (
            interface.pfc
            and interface.ecn is not None
            and not set(interface.pfc) <= set(interface.ecn)
        ):
            yield Problem(
                f"PFC on priorities {_list(interface.pfc)}, ECN on {_list(interface.ecn)}",
                "turn ECN on for the lossless priorities (roce_np and roce_rp), so that pauses "
                "stay rare",
                Severity.NOTE,
                where=name,
            )
    for name, first, host, other in neighbours(evidence):
        if None not in (first.pfc, other.pfc) and first.pfc != other.pfc:
            yield Problem(
                f"PFC on priorities {_list(first.pfc)}; {host} has {_list(other.pfc)}",
                "set the same priorities on all hosts and switches",
                where=name,
            )


def mappings(evidence: Evidence) -> Iterator[Problem]:
    """Find hosts that put the same packets into different queues."""
    for name, first, host, other in neighbours(evidence):
        if (first.classes, first.dscp) != (other.classes, other.dscp):
            yield Problem(
                f"traffic classes and DSCP differ from {host}: "
                f"{_pairs(first.classes)} / {_pairs(other.classes)}; "
                f"{_pairs(first.dscp)} / {_pairs(other.dscp)}",
                "set the same on all hosts and switches (dcb ets, dcb app)",
                where=name,
            )


def _pairs(mapping: dict[str, int]) -> str:
    return " ".join(f"{key}:{value}" for key, value in list(mapping.items())[:8]) or "none"


def _list(priorities: tuple[int, ...] | None) -> str:
    return ", ".join(map(str, priorities or ())) or "none"


_INDICES = ("UCX_IB_GID_INDEX", "NCCL_IB_GID_INDEX", "OMPI_MCA_btl_openib_gid_index")
_LOSSES = (
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "implied_nak_seq_err",
    "out_of_buffer",
    "rnr_nak_retry_err",
    "retransmit",
    "rto",
    "roce_adp_retrans",
)
_MARKS = ("cnp", "ecn_marked")


def gid(evidence: Evidence) -> Iterator[Problem]:
    """Find addresses that are not there, or of RoCE's first version."""
    for source, index in _indices(evidence):
        for name, port in _ports(evidence, evidence.latest):
            kind = port.gids.get(str(index))
            types = ", ".join(f"{at} {gid_type}" for at, gid_type in list(port.gids.items())[:8])
            if kind is None:
                what = f"{source} {index} is not set on this port; there are: {types or 'none'}"
                yield Problem(what, "choose one of them (show_gids)", where=name)
            elif kind != "RoCE v2":
                yield Problem(
                    f"{source} {index} is {kind or 'of unknown type'}, which is not routed and "
                    "carries no ECN",
                    f"choose one of RoCE v2; there are: {types}",
                    where=name,
                )
    if not list(_indices(evidence)):
        for name, port in _ports(evidence, evidence.latest):
            if len(set(port.gids.values())) > 1:
                yield Problem(
                    "the GID index is left to the library, and the port has several types",
                    "name one of RoCE v2 (UCX_IB_GID_INDEX, NCCL_IB_GID_INDEX, ib_write_bw -x)",
                    Severity.NOTE,
                    where=name,
                )


def losses(evidence: Evidence) -> Iterator[Problem]:
    """Find packets that were lost and sent again."""
    do = "check the switches for drops; PFC and ECN of this priority along the path"
    yield from _risen(evidence, _LOSSES, "packets lost or out of order", do, Severity.WARNING)


def marks(evidence: Evidence) -> Iterator[Problem]:
    """Find notifications of congestion."""
    do = "expected when congestion is measured; otherwise check for other traffic"
    yield from _risen(evidence, _MARKS, "congestion was notified", do, Severity.NOTE)


def _indices(evidence: Evidence) -> Iterator[tuple[str, int]]:
    if evidence.run.gid_index is not None:
        yield "GID index", evidence.run.gid_index
    for name in _INDICES:
        value = evidence.latest.placement.variables.get(name, "")
        if value.isascii() and value.isdigit() and len(value) < 6:
            yield name, int(value)


def _ports(evidence: Evidence, snapshot: Snapshot) -> Iterator[tuple[str, RdmaPort]]:
    chosen = evidence.run.interface
    for device, nic in snapshot.rdma.items():
        for number, port in nic.ports.items():
            if port.link_layer == "Ethernet" and chosen in ("", port.interface):
                yield f"{device}:{number}", port


def _risen(
    evidence: Evidence, parts: tuple[str, ...], words: str, do: str, severity: Severity
) -> Iterator[Problem]:
    if evidence.after is None:
        return
    before = dict(_ports(evidence, evidence.before))
    for name, port in _ports(evidence, evidence.after):
        first = before[name].hardware_counters if name in before else {}
        rises = risen(first, port.hardware_counters)
        own = {key: rise for key, rise in rises.items() if any(part in key for part in parts)}
        if own:
            yield Problem(
                f"{words} during the run: {largest_counters(own)}", do, severity, where=name
            )
