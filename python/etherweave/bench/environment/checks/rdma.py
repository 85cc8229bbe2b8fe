"""RDMA over Ethernet: addresses, losses, marks."""

from collections.abc import Iterator

from etherweave.bench.environment.checks.looking import risen, told
from etherweave.bench.environment.findings import Evidence, Problem, Severity
from etherweave.bench.environment.snapshot import RdmaPort, Snapshot

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
            types = ", ".join(f"{at} {one}" for at, one in list(port.gids.items())[:8])
            if kind is None:
                what = f"{source} {index} is not set on this port; there are: {types or 'none'}"
                yield Problem(name, what, "choose one of them (show_gids)")
            elif kind != "RoCE v2":
                yield Problem(
                    name,
                    f"{source} {index} is {kind or 'of unknown type'}, which is not routed and "
                    "carries no ECN",
                    f"choose one of RoCE v2; there are: {types}",
                )
    if not list(_indices(evidence)):
        for name, port in _ports(evidence, evidence.latest):
            if len(set(port.gids.values())) > 1:
                yield Problem(
                    name,
                    "the GID index is left to the library, and the port has several types",
                    "name one of RoCE v2 (UCX_IB_GID_INDEX, NCCL_IB_GID_INDEX, ib_write_bw -x)",
                    Severity.NOTE,
                )


def losses(evidence: Evidence) -> Iterator[Problem]:
    """Find packets that were lost and sent again."""
    do = "look for drops on the switches; PFC and ECN of this priority along the path"
    yield from _risen(evidence, _LOSSES, "packets lost or out of order", do, Severity.WARNING)


def marks(evidence: Evidence) -> Iterator[Problem]:
    """Find notifications of congestion."""
    do = "nothing is wrong if congestion is what you measure; else look for other traffic"
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
    for device, one in snapshot.rdma.items():
        for number, port in one.ports.items():
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
        found = {one: rise for one, rise in rises.items() if any(part in one for part in parts)}
        if found:
            yield Problem(name, f"{words} during the run: {told(found)}", do, severity)
