"""Files of recorded ranks, as the recorder in ``mpi`` writes them, from other sources.

The layout is that of ``docs/guide/record.md``. Records are written in their order, once all before
them are known: what waits in memory is what is in flight.
"""

import struct
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

_MAGIC, _VERSION = b"EWRECORD", 1
_BUFFER_BYTES = 1 << 16


class RecordKind(IntEnum):
    """Kind of a record."""

    END = 0
    COMMUNICATOR = 1
    SEND = 3
    RECEIVE = 4
    SEND_RECEIVE = 5
    SEND_REQUEST = 6
    RECEIVE_REQUEST = 7
    COMPLETE = 8
    COLLECTIVE = 10
    COLLECTIVE_REQUEST = 11
    OTHER = 12
    UNSUPPORTED = 13


@dataclass(slots=True)
class Record:
    """A call of a rank."""

    kind: RecordKind
    numbers: Sequence[int] | None  # Numbers by kind; none while they are not known.
    start_ns: int = 0
    end_ns: int = 0


class RankFile:
    """The file of a rank, which is written record by record.

    ``start_ns`` is when its recording begins, by the clock of rank 0 [ns]; ``communicators`` are
    members of each, as ranks of the world, in the order of their numbers.
    """

    def __init__(
        self,
        directory: Path,
        rank: int,
        ranks: int,
        start_ns: int,
        host: str,
        library: str,
        communicators: Iterable[Sequence[int]],
    ) -> None:
        self._path = directory / f"{rank}.ewr"
        head = struct.pack("<8sIIIIqq", _MAGIC, _VERSION, rank, ranks, 0, start_ns, 0)
        self._bytes = bytearray(head)
        for text in (host, library):
            encoded = text.encode()[:255]
            self._put((len(encoded),))
            self._bytes += encoded
        self._records = 0
        self._last_ns = start_ns
        self._waiting: deque[Record] = deque()
        self._path.write_bytes(b"")
        for number, members in enumerate(communicators):
            numbers = (number, len(members), *members)
            self.add(Record(RecordKind.COMMUNICATOR, numbers, start_ns, start_ns))

    def add(self, record: Record) -> None:
        """Append a record, by the same clock as the start."""
        self._waiting.append(record)
        self.advance()

    def advance(self) -> None:
        """Write what is known."""
        while self._waiting and self._waiting[0].numbers is not None:
            record = self._waiting.popleft()
            spans = (record.start_ns - self._last_ns, record.end_ns - record.start_ns)
            self._bytes.append(record.kind)
            self._put((*spans, *(record.numbers or ())))
            self._last_ns = record.end_ns
            self._records += 1
        if len(self._bytes) > _BUFFER_BYTES:
            self._flush()

    @property
    def waiting(self) -> Record | None:
        """The first record that is not known."""
        return self._waiting[0] if self._waiting else None

    def end(self, end_ns: int) -> None:
        """Write the end of the recording, for which everything must be known."""
        self.add(Record(RecordKind.END, (self._records + 1, 0, 0), end_ns, end_ns))
        self._flush()

    def _put(self, numbers: Iterable[int]) -> None:
        """Append numbers with seven bits in a byte, the lowest first."""
        for number in numbers:
            rest = number
            while rest > 127:
                self._bytes.append(rest & 127 | 128)
                rest >>= 7
            self._bytes.append(rest)

    def _flush(self) -> None:
        with self._path.open("ab") as file:
            file.write(self._bytes)
        self._bytes.clear()
