"""Collectives of OTF2 archives: sizes of each member from the sums that Score-P writes.

Of a collective, an archive has what a rank sends to all members and receives from all of them,
itself included; in place, without its own part. The vectors and blocks of the recording follow
from that, except that a collective in place between two members looks like one of half its size.
"""

from dataclasses import dataclass, field

from otf2 import CollectiveOp

from etherweave.archives.recorder_files import Record

NUMBERS = {
    CollectiveOp.BARRIER: 0,
    CollectiveOp.ALLTOALL: 1,
    CollectiveOp.ALLGATHER: 2,
    CollectiveOp.ALLREDUCE: 3,
    CollectiveOp.BCAST: 4,
    CollectiveOp.GATHER: 5,
    CollectiveOp.SCATTER: 6,
    CollectiveOp.REDUCE: 7,
    CollectiveOp.REDUCE_SCATTER: 8,
    CollectiveOp.REDUCE_SCATTER_BLOCK: 9,
    CollectiveOp.SCAN: 10,
    CollectiveOp.EXSCAN: 11,
    CollectiveOp.GATHERV: 12,
    CollectiveOp.SCATTERV: 13,
    CollectiveOp.ALLGATHERV: 14,
    CollectiveOp.ALLTOALLV: 15,
    CollectiveOp.ALLTOALLW: 15,
}
"""Numbers in the files; other operations make or free handles."""
ROOTED = {
    CollectiveOp.BCAST,
    CollectiveOp.GATHER,
    CollectiveOp.GATHERV,
    CollectiveOp.SCATTER,
    CollectiveOp.SCATTERV,
    CollectiveOp.REDUCE,
}
PAIRED = {CollectiveOp.ALLTOALLV, CollectiveOp.ALLTOALLW}
"""Each pair has a size of its own, of which an archive has sums."""
_RECEIVED = {CollectiveOp.BCAST, CollectiveOp.SCATTER, CollectiveOp.SCATTERV}
_SENT = {
    CollectiveOp.GATHER,
    CollectiveOp.GATHERV,
    CollectiveOp.REDUCE,
    CollectiveOp.REDUCE_SCATTER,
}
_LISTS = {CollectiveOp.GATHERV, CollectiveOp.SCATTERV, CollectiveOp.ALLGATHERV}


def sizes(op: CollectiveOp, place: int, members: int, sent: int, received: int) -> list[int]:
    """Return the sizes that a member's record has.

    ``op`` is none of :data:`PAIRED`; ``sent`` and ``received`` are sums of the member [B].
    """
    if op in _RECEIVED:
        own = received
    elif op in _SENT:
        own = sent
    elif op == CollectiveOp.SCAN:
        own = sent // (members - place)
    elif op == CollectiveOp.EXSCAN:
        own = (sent + received) // max(1, members - 1)
    else:
        own = _share(sent, members)
    if op not in _LISTS:
        return [own]
    return [own if member == place else 0 for member in range(members)]


def _share(total: int, members: int) -> int:
    """Divide by the members, or by the others where only that has no remainder: in place."""
    if total % members and members > 1 and total % (members - 1) == 0:
        return total // (members - 1)
    return -(-total // members)


@dataclass
class PairedCollective:
    """An exchange of pairs whose members have not all ended yet."""

    members: int
    sums: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Bytes that a member sends and receives [B], by its place."""
    records: dict[int, tuple[Record, tuple[int, ...]]] = field(default_factory=dict)
    """Record of each member, with the numbers before its sizes."""

    @property
    def is_complete(self) -> bool:
        """Whether all members have ended."""
        return len(self.sums) == self.members

    def settle(self) -> None:
        """Give each pair a part of what is sent, by what its receiver receives of all."""
        places = range(self.members)
        everything = max(1, sum(received for _, received in self.sums.values()))

        def pair(source: int, destination: int) -> int:
            return self.sums[source][0] * self.sums[destination][1] // everything

        for place, (record, head) in self.records.items():
            to = [pair(place, other) for other in places]
            from_ = [pair(other, place) for other in places]
            record.numbers = (*head, 2 * self.members, *to, *from_)
