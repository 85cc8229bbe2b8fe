"""Ranks of an OTF2 archive: events of MPI become the calls that the recorder would write.

A call is the time from the entry of a region of MPI to its end; its events say what it did.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otf2 import events
from otf2.definitions import Comm, Location

from etherweave.archives.collectives import NUMBERS, PAIRED, ROOTED, PairedCollective, sizes
from etherweave.archives.errors import ArchiveError
from etherweave.archives.recorder_files import RankFile, Record, RecordKind

NANOSECONDS = 10**9
_SPAN_MAX_NS = 366 * 86_400 * NANOSECONDS
_POLLS = ("mpi_test", "mpi_iprobe", "mpi_improbe", "mpi_request_get_status", "mpi_initialized")
"""Calls whose time counts as computation where they find nothing."""
_STARTS = ("mpi_init", "mpi_init_thread")
_MESSAGE_ID_NONE = 2**64 - 1


@dataclass
class _Request:
    number: int
    record: Record
    comm: Comm | None = None


@dataclass
class Archive:
    """State that all ranks share."""

    directory: Path
    tool: str
    ticks: Callable[[int], int]  # Nanoseconds of a time stamp.
    communicators: dict[Comm, tuple[int, ...]]
    """Members as ranks of the world; nobody of those that each rank has for itself."""
    ranks: list["Rank"] = field(default_factory=list)
    paired: dict[tuple[Comm, int], PairedCollective] = field(default_factory=dict)


class Rank:
    """Turns the events of a rank into records."""

    def __init__(self, archive: Archive, location: Location, rank: int) -> None:
        self.archive, self.location, self.rank = archive, location, rank
        self.seen = 0
        # In the order of their definitions, which is the same for all ranks.
        own = {comm: members or (rank,) for comm, members in archive.communicators.items()}
        self._communicators = {comm: all_ for comm, all_ in own.items() if rank in all_}
        self._numbers = {comm: number for number, comm in enumerate(self._communicators)}
        self._file: RankFile | None = None
        self._start_ns = self._now_ns = 0
        self._is_over = False
        self._depth = 0
        self._call = ("", 0)
        self._parts: list[Record] = []
        self._requests: dict[int, _Request] = {}
        self._request_count = 0
        self._paired_counts: dict[Comm, int] = {}

    def take(self, event: Any) -> None:
        """Take the next event."""
        self.seen += 1
        if self._is_over:
            return
        now_ns = self.archive.ticks(event.time)
        if self.seen == 1:
            self._start_ns = self._now_ns = now_ns
        if not 0 <= now_ns - self._now_ns < _SPAN_MAX_NS:
            raise ArchiveError(f"rank {self.rank}: an event at {now_ns} ns after {self._now_ns} ns")
        self._now_ns = now_ns
        handler = _HANDLERS.get(type(event))
        if handler:
            handler(self, event)
        elif self._depth and type(event).__name__.startswith("Rma"):
            self._refuse(type(event).__name__)

    def end(self) -> None:
        """Write the end; what still goes on is known to do so."""
        if self._parts:
            raise ArchiveError(f"rank {self.rank}: the archive ends within a call")
        for request in self._requests.values():
            if request.record.numbers is None:
                if request.record.kind == RecordKind.COLLECTIVE_REQUEST:
                    raise ArchiveError(f"rank {self.rank}: a collective that never completes")
                request.record.numbers = (request.number, 0, 0, 0, 0)
        file = self._opened()
        file.advance()
        if file.waiting:
            raise ArchiveError(f"rank {self.rank}: a collective that not all members called")
        file.end(self._now_ns)

    def advance(self) -> None:
        """Write what has become known."""
        if self._file:
            self._file.advance()

    def _opened(self) -> RankFile:
        if self._file is None:
            host = self.location.group.system_tree_parent
            self._file = RankFile(
                self.archive.directory,
                self.rank,
                len(self.archive.ranks),
                self._start_ns,
                host.name if host else "",
                self.archive.tool,
                self._communicators.values(),
            )
        return self._file

    def _enter(self, event: events.Enter | events.CallingContextEnter) -> None:
        name = _mpi_name(event)
        if not name:
            return
        if self._depth == 0:
            self._call = (name, self._now_ns)
            self._is_over = name == "mpi_finalize"
        self._depth += 1

    def _leave(self, event: events.Leave | events.CallingContextLeave) -> None:
        if not _mpi_name(event):
            return
        if self._depth == 0:
            raise ArchiveError(f"rank {self.rank}: a call ends that did not begin")
        self._depth -= 1
        if self._depth:
            return
        name, start_ns = self._call
        parts, self._parts = self._parts, []
        if name in _STARTS and self._file is None:
            self._start_ns = self._now_ns
            return
        if not parts:
            if name.startswith(_POLLS):
                return
            parts = [Record(RecordKind.OTHER, ())]
        for record in parts:
            record.start_ns, record.end_ns = start_ns, self._now_ns
            start_ns = self._now_ns
            self._opened().add(record)

    def _add(self, kind: RecordKind, numbers: tuple[int, ...] | None) -> Record:
        """Add what a call did; completions that follow each other are one."""
        if self._depth == 0:
            raise ArchiveError(
                f"rank {self.rank}: a message outside of a call; expected regions of MPI around "
                "events of MPI"
            )
        record = Record(kind, numbers)
        last = self._parts[-1] if self._parts else None
        if kind == RecordKind.RECEIVE and last and last.kind == RecordKind.SEND:
            last.kind, last.numbers = RecordKind.SEND_RECEIVE, (*_known(last), *_known(record))
        elif kind == RecordKind.COMPLETE and last and last.kind == kind:
            last.numbers = (*_known(last)[:-1], *_known(record))
        else:
            self._parts.append(record)
        return record

    def _refuse(self, name: str) -> None:
        """Leave the name of what is not recorded, which a replay refuses."""
        self._add(*_unsupported(name))

    def _message(self, comm: Comm, peer: int, tag: int, bytes_: int) -> tuple[int, ...] | None:
        members = self._communicators.get(comm)
        if members is None:
            self._refuse("an intercommunicator")
            return None
        return (self._numbers[comm], self._world(members, peer), tag, bytes_)

    def _world(self, members: tuple[int, ...], peer: int) -> int:
        if peer >= len(members):
            raise ArchiveError(
                f"rank {self.rank}: member {peer} of a communicator of {len(members)}"
            )
        return members[peer]

    def _open(self, identifier: int, request: _Request) -> None:
        self._requests[identifier] = request

    def _number(self) -> int:
        self._request_count += 1
        return self._request_count - 1

    def _send(self, event: events.MpiSend) -> None:
        message = self._message(event.communicator, event.receiver, event.msg_tag, event.msg_length)
        if message:
            self._add(RecordKind.SEND, (0, *message))

    def _receive(self, event: events.MpiRecv) -> None:
        message = self._message(event.communicator, event.sender, event.msg_tag, event.msg_length)
        if message:
            self._add(RecordKind.RECEIVE, message)

    def _send_request(self, event: events.MpiIsend) -> None:
        message = self._message(event.communicator, event.receiver, event.msg_tag, event.msg_length)
        if message:
            number = self._number()
            record = self._add(RecordKind.SEND_REQUEST, (number, 0, *message))
            self._open(event.request_id, _Request(number, record))

    def _receive_request(self, event: events.MpiIrecvRequest) -> None:
        record = self._add(RecordKind.RECEIVE_REQUEST, None)
        self._open(event.request_id, _Request(self._number(), record))

    def _send_complete(self, event: events.MpiIsendComplete) -> None:
        request = self._completed(event.request_id, RecordKind.SEND_REQUEST)
        self._add(RecordKind.COMPLETE, (request.number + 1, 0, 0))

    def _receive_complete(self, event: events.MpiIrecv) -> None:
        request = self._completed(event.request_id, RecordKind.RECEIVE_REQUEST)
        message = self._message(event.communicator, event.sender, event.msg_tag, event.msg_length)
        if not message:
            request.record.numbers = (request.number, 0, 0, 0, 0)
            return
        comm, peer, tag, length = message
        request.record.numbers = (request.number, comm, peer + 1, tag + 1, length)
        self._add(RecordKind.COMPLETE, (request.number + 1, 1, peer, tag, length, 0))
        self.advance()

    def _cancelled(self, event: events.MpiRequestCancelled) -> None:
        request = self._requests.pop(event.request_id, None)
        if request is None or request.record.kind != RecordKind.RECEIVE_REQUEST:
            self._refuse("MPI_Cancel of a send")
            return
        request.record.numbers = (request.number, 0, 0, 0, 0)
        self._add(RecordKind.COMPLETE, (request.number + 1, 2, 0))
        self.advance()

    def _completed(self, identifier: int, kind: RecordKind) -> _Request:
        request = self._requests.pop(identifier, None)
        if request is None or request.record.kind != kind:
            raise ArchiveError(f"rank {self.rank}: request {identifier} completes, but is not open")
        return request

    def _collective(self, event: events.MpiCollectiveEnd) -> None:
        if event.collective_op not in NUMBERS:
            return
        if self._call[0].startswith(("mpi_neighbor", "mpi_ineighbor")):
            self._refuse(self._call[0])
        else:
            self._settle(self._add(RecordKind.COLLECTIVE, None), event, ())

    def _collective_request(self, event: events.NonBlockingCollectiveRequest) -> None:
        record = self._add(RecordKind.COLLECTIVE_REQUEST, None)
        self._open(event.request_id, _Request(self._number(), record))

    def _collective_complete(self, event: events.NonBlockingCollectiveComplete) -> None:
        request = self._completed(event.request_id, RecordKind.COLLECTIVE_REQUEST)
        if event.collective_op in NUMBERS:
            self._settle(request.record, event, (request.number,))
            self._add(RecordKind.COMPLETE, (request.number + 1, 0, 0))
        else:
            request.record.kind, request.record.numbers = RecordKind.OTHER, ()
        self.advance()

    def _settle(self, record: Record, event: Any, request: tuple[int, ...]) -> None:
        """Set what a collective is, once that is known."""
        op, comm = event.collective_op, event.communicator
        members = self._communicators.get(comm)
        if members is None:
            record.kind, record.numbers = _unsupported("an intercommunicator")
            return
        root = event.root if op in ROOTED else 0
        self._world(members, root)
        head = (NUMBERS[op], self._numbers[comm], *request, root)
        place, count = members.index(self.rank), len(members)
        if op not in PAIRED:
            counts = sizes(op, place, count, event.size_sent, event.size_received)
            record.numbers = (*head, len(counts), *counts)
            return
        turn = self._paired_counts.get(comm, 0)
        self._paired_counts[comm] = turn + 1
        key = (comm, turn if len(members) > 1 else -1 - self.rank)
        paired = self.archive.paired.setdefault(key, PairedCollective(count))
        paired.sums[place] = (event.size_sent, event.size_received)
        paired.records[place] = (record, head)
        if paired.is_complete:
            del self.archive.paired[key]
            paired.settle()
            for member in members:
                self.archive.ranks[member].advance()

    def _probe(self, event: events.MpiProbe) -> None:
        if event.message_id != _MESSAGE_ID_NONE:
            self._refuse("MPI_Mprobe")
        elif self._depth:
            self._add(RecordKind.OTHER, ())

    def _matched(self, event: Any) -> None:
        self._refuse(type(event).__name__)


def _unsupported(name: str) -> tuple[RecordKind, tuple[int, ...]]:
    encoded = name.encode()
    return RecordKind.UNSUPPORTED, (len(encoded), *encoded)


def _known(record: Record) -> tuple[int, ...]:
    assert record.numbers is not None
    return tuple(record.numbers)


def _mpi_name(event: Any) -> str:
    """Return the name of a region of MPI in small letters; nothing for any other."""
    context = getattr(event, "calling_context", None)
    region = context.region if context else event.region
    name: str = region.name.lower()
    return name.removeprefix("p") if name.startswith(("mpi_", "pmpi_")) else ""


_HANDLERS: dict[type, Callable[[Rank, Any], None]] = {
    events.Enter: Rank._enter,
    events.Leave: Rank._leave,
    events.CallingContextEnter: Rank._enter,
    events.CallingContextLeave: Rank._leave,
    events.MpiSend: Rank._send,
    events.MpiRecv: Rank._receive,
    events.MpiIsend: Rank._send_request,
    events.MpiIsendComplete: Rank._send_complete,
    events.MpiIrecvRequest: Rank._receive_request,
    events.MpiIrecv: Rank._receive_complete,
    events.MpiRequestCancelled: Rank._cancelled,
    events.MpiCollectiveEnd: Rank._collective,
    events.NonBlockingCollectiveRequest: Rank._collective_request,
    events.NonBlockingCollectiveComplete: Rank._collective_complete,
    events.MpiProbe: Rank._probe,
    events.MpiMrecv: Rank._matched,
    events.MpiImrecvRequest: Rank._matched,
}
OF_MESSAGES = tuple(kind for kind in _HANDLERS if kind.__name__.startswith(("Mpi", "NonBlocking")))
