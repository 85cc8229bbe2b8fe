"""OTF2 archives for tests: of calls that are listed, and of recordings of ``etherweave record``.

Sums of collectives are those that Score-P writes: what a rank sends to all members and receives
from all, itself included.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

otf2 = pytest.importorskip("otf2", reason="otf2 has wheels for Linux on x86-64 only")
events, CollectiveOp, Paradigm = otf2.events, otf2.CollectiveOp, otf2.Paradigm
GroupType, Comm = otf2.GroupType, otf2.definitions.Comm

ROOT_NONE = 2**32 - 1


@dataclass
class Archive:
    trace: Any
    locations: list[Any]
    world: Any
    regions: dict[str, Any] = field(default_factory=dict)

    def comm(self, members: Sequence[int]) -> Any:
        """Define another communicator."""
        chosen = tuple(self.locations[member] for member in members)
        group = self.trace.definitions.groups.create(
            f"group {members}",
            group_type=GroupType.COMM_GROUP,
            paradigm=Paradigm.MPI,
            members=chosen,
        )
        return self.trace.definitions.comms.create(f"comm {members}", _type=Comm, group=group)

    def write(self, rank: int, *written: Any) -> None:
        writer = self.trace.event_writer_from_location(self.locations[rank])
        for event in written:
            writer(event)

    def call(self, rank: int, name: str, start: int, end: int, *inside: Any) -> None:
        """Write a call of MPI with its events."""
        region = self.region(name)
        self.write(rank, events.Enter(start, region), *inside, events.Leave(end, region))

    def region(self, name: str) -> Any:
        """Return the definition of a region, of MPI or of the program."""
        if name not in self.regions:
            paradigm = Paradigm.MPI if name.startswith("MPI_") else Paradigm.USER
            self.regions[name] = self.trace.definitions.regions.create(
                name, region_role=otf2.RegionRole.FUNCTION, paradigm=paradigm
            )
        return self.regions[name]


@contextmanager
def written(directory: Path, ranks: int, resolution: int = 10**9) -> Iterator[Archive]:
    """Write an archive; its anchor is ``traces.otf2`` in the directory."""
    with otf2.writer.open(str(directory), timer_resolution=resolution) as trace:
        definitions = trace.definitions
        root = definitions.system_tree_nodes.create("machine", class_name="machine")
        locations = []
        for rank in range(ranks):
            node = definitions.system_tree_nodes.create(f"n{rank}", "node", parent=root)
            process = definitions.location_groups.create(
                f"MPI Rank {rank}", system_tree_parent=node
            )
            locations.append(
                definitions.locations.create(
                    "Master thread", type=otf2.LocationType.CPU_THREAD, group=process
                )
            )
        everybody = definitions.groups.create(
            "MPI locations",
            group_type=GroupType.COMM_LOCATIONS,
            paradigm=Paradigm.MPI,
            members=tuple(locations),
        )
        world = definitions.comms.create("MPI_COMM_WORLD", _type=Comm, group=everybody)
        yield Archive(trace, locations, world)


class _File:
    """A file of the recorder, as ``docs/guide/record.md`` has it."""

    def __init__(self, content: bytes) -> None:
        self.bytes = content
        self.at = 24
        (self.start_ns, _) = struct.unpack_from("<qq", content, self.at)
        self.at += 16
        self.text()
        self.text()

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def numbers(self, count: int) -> list[int]:
        return [self.number() for _ in range(count)]

    def text(self) -> None:
        length = self.number()
        self.at += length

    def records(self) -> Iterator[tuple[int, int, int]]:
        """Yield kind, start and end; what follows is for the caller to read."""
        now = self.start_ns
        while True:
            kind = self.bytes[self.at]
            self.at += 1
            start = now + self.number()
            now = start + self.number()
            yield kind, start, now
            if kind == 0:
                return


_OPS = [
    *(CollectiveOp.BARRIER, CollectiveOp.ALLTOALL, CollectiveOp.ALLGATHER, CollectiveOp.ALLREDUCE),
    *(CollectiveOp.BCAST, CollectiveOp.GATHER, CollectiveOp.SCATTER, CollectiveOp.REDUCE),
    *(CollectiveOp.REDUCE_SCATTER, CollectiveOp.REDUCE_SCATTER_BLOCK, CollectiveOp.SCAN),
    *(CollectiveOp.EXSCAN, CollectiveOp.GATHERV, CollectiveOp.SCATTERV, CollectiveOp.ALLGATHERV),
    CollectiveOp.ALLTOALLV,
]


def sums(op: Any, root: int, place: int, count: int, sizes: Sequence[int]) -> Any:
    """Return what a member sends and receives in all, as Score-P counts it."""
    size = sizes[0] if sizes else 0
    is_root = place == root
    match op:
        case CollectiveOp.BCAST | CollectiveOp.SCATTER:
            return (count * size if is_root else 0, size)
        case CollectiveOp.GATHER | CollectiveOp.REDUCE:
            return (size, count * size if is_root else 0)
        case CollectiveOp.REDUCE_SCATTER:
            return (size, size)
        case CollectiveOp.SCAN:
            return ((count - place) * size, (place + 1) * size)
        case CollectiveOp.EXSCAN:
            return ((count - place - 1) * size, place * size)
        case CollectiveOp.ALLGATHERV:
            return (count * sizes[place], sum(sizes))
        case CollectiveOp.ALLTOALLV:
            return (sum(sizes[:count]), sum(sizes[count:]))
        case _:
            return (count * size, count * size)


def of_recording(recording: Path, directory: Path) -> Path:
    """Write an archive of a recorded program; returns its anchor."""
    files = sorted(recording.glob("*.ewr"), key=lambda path: int(path.stem))
    first = min(_File(file.read_bytes()).start_ns for file in files)
    with written(directory, len(files)) as archive:
        known: dict[tuple[tuple[int, ...], int], Any] = {}
        for rank, file in enumerate(files):
            _copy(_File(file.read_bytes()), archive, rank, known, first)
    return directory / "traces.otf2"


def _copy(file: _File, archive: Archive, rank: int, known: dict[Any, Any], first_ns: int) -> None:
    comms: list[tuple[Any, list[int]]] = []
    turns: dict[tuple[int, ...], int] = {}
    open_: dict[int, Any] = {}
    archive.call(rank, "MPI_Init", file.start_ns - first_ns, file.start_ns - first_ns)

    def message() -> tuple[Any, ...]:
        number, peer, tag, size = file.numbers(4)
        comm, members = comms[number]
        return members.index(peer), comm, tag, size

    for kind, start, end in file.records():
        inside: list[Any] = []
        begin, now = start - first_ns, end - first_ns
        match kind:
            case 0:
                file.numbers(3)
                archive.call(rank, "MPI_Finalize", now, now)
                return
            case 1:
                _, count = file.numbers(2)
                members = file.numbers(count)
                turn = turns[tuple(members)] = turns.get(tuple(members), 0) + 1
                key = (tuple(members), turn)
                if key not in known:
                    is_world = members == list(range(len(archive.locations))) and turn == 1
                    known[key] = archive.world if is_world else archive.comm(members)
                comms.append((known[key], members))
                continue
            case 2 | 12:
                pass
            case 3:
                file.number()
                inside = [events.MpiSend(begin, *message())]
            case 4:
                inside = [events.MpiRecv(now, *message())]
            case 5:
                file.number()
                inside = [events.MpiSend(begin, *message()), events.MpiRecv(now, *message())]
            case 6:
                request, _ = file.numbers(2)
                inside = [events.MpiIsend(begin, *message(), request)]
            case 7:
                request, comm, *_ = file.numbers(5)
                inside = [events.MpiIrecvRequest(begin, request)]
                open_[request] = comms[comm]
            case 8:
                while request := file.number():
                    inside.append(_completion(file, request - 1, now, open_))
            case 9:
                file.number()
            case 10 | 11:
                inside = _collective(file, kind == 11, rank, (begin, now), comms, open_)
        archive.call(rank, "MPI_Call", begin, now, *inside)


def _completion(file: _File, request: int, now: int, open_: dict[int, Any]) -> Any:
    state = file.number()
    if state == 0:
        left = open_.pop(request, None)
        return left(now) if left else events.MpiIsendComplete(now, request)
    comm, members = open_.pop(request)
    if state == 2:
        return events.MpiRequestCancelled(now, request)
    peer, tag, size = file.numbers(3)
    return events.MpiIrecv(now, members.index(peer), comm, tag, size, request)


def _collective(
    file: _File,
    goes_on: bool,
    rank: int,
    times: tuple[int, int],
    comms: list[Any],
    open_: dict[int, Any],
) -> list[Any]:
    kind, number = file.numbers(2)
    request = file.number() if goes_on else 0
    root, count = file.numbers(2)
    sizes = file.numbers(count)
    op, (comm, members) = _OPS[kind], comms[number]
    sent, received = sums(op, root, members.index(rank), len(members), sizes)
    is_rooted = op in (
        *(CollectiveOp.BCAST, CollectiveOp.GATHER, CollectiveOp.SCATTER, CollectiveOp.REDUCE),
        *(CollectiveOp.GATHERV, CollectiveOp.SCATTERV),
    )
    facts = (op, comm, root if is_rooted else ROOT_NONE, sent, received)
    if goes_on:
        open_[request] = lambda now: events.NonBlockingCollectiveComplete(now, *facts, request)
        return [events.NonBlockingCollectiveRequest(times[0], request)]
    return [events.MpiCollectiveBegin(times[0]), events.MpiCollectiveEnd(times[1], *facts)]
