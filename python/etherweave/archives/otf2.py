"""OTF2 archives as recordings: definitions say who the ranks are, events what they do."""

import signal
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import otf2
from otf2 import GroupType, Paradigm
from otf2.definitions import Comm, Group, InterComm, Location

from etherweave.archives.errors import DAMAGED, ArchiveError
from etherweave.archives.ranks import NANOSECONDS, OF_MESSAGES, Archive, Rank

OPEN_LIMIT_S = 60
"""Time limit to open an archive, plus 1 s for each :data:`_DEFINITION_BYTES` of definitions [s]."""
_DEFINITION_BYTES = 100_000


def convert(anchor: Path, directory: Path) -> None:
    """Write the recording of an archive, a file for each rank; event by event.

    Raises ``ArchiveError`` when it has what a recording cannot have. The library has errors of its
    own for damage; a damaged anchor can make it search for ever, after which SIGALRM ends the
    process.
    """
    signal.alarm(OPEN_LIMIT_S + anchor.with_suffix(".def").stat().st_size // _DEFINITION_BYTES)
    with closing(otf2.reader.Reader(str(anchor))) as trace:
        signal.alarm(0)
        _convert(trace, directory)


def _convert(trace: otf2.reader.Reader, directory: Path) -> None:
    definitions = trace.definitions
    locations = _world(definitions.groups)
    worlds = {location: rank for rank, location in enumerate(locations)}
    offset: int = definitions.clock_properties.global_offset
    resolution: int = definitions.clock_properties.timer_resolution
    if resolution < 1:
        raise ArchiveError(f"a clock of {resolution} ticks a second")

    def ticks(time: int) -> int:
        return (time - offset) * NANOSECONDS // resolution

    comms = {comm: _members(comm, worlds) for comm in definitions.comms if _is_usable(comm)}
    archive = Archive(directory, "an OTF2 archive", ticks, comms)
    archive.ranks += [Rank(archive, location, rank) for rank, location in enumerate(locations)]
    for location, event in trace.events:
        rank = worlds.get(location)
        if rank is not None:
            archive.ranks[rank].take(event)
        elif isinstance(event, OF_MESSAGES):
            raise ArchiveError(
                f"{location.name} of {location.group.name} exchanges messages, but is no rank; "
                "expected messages of one thread of each rank"
            )
    for member in archive.ranks:
        expected = member.location.number_of_events
        if member.seen == 0 or member.seen != expected:
            raise ArchiveError(
                f"rank {member.rank} has {member.seen} of {expected} events; expected all of them, "
                "and a program that was recorded on every rank"
            )
        member.end()


def _world(groups: Iterable[Group]) -> tuple[Location, ...]:
    of_mpi = [
        group
        for group in groups
        if group.group_type == GroupType.COMM_LOCATIONS and group.paradigm == Paradigm.MPI
    ]
    if len(of_mpi) != 1 or not of_mpi[0].members:
        raise ArchiveError(
            f"{len(of_mpi)} groups of MPI's locations; expected one with a location for each rank"
        )
    members: tuple[Location, ...] = tuple(of_mpi[0].members)
    return members


def _is_usable(comm: Comm) -> bool:
    return not isinstance(comm, InterComm) and comm.group.paradigm == Paradigm.MPI


def _members(comm: Comm, worlds: dict[Location, int]) -> tuple[int, ...]:
    if comm.group.group_type == GroupType.COMM_SELF:
        return ()
    return tuple(worlds[location] for location in comm.group.members)


def main() -> None:
    """Convert the archive of the first argument into the directory of the second.

    Ends with :data:`DAMAGED` after an error, which it prints.
    """
    anchor, directory = map(Path, sys.argv[1:])
    try:
        convert(anchor, directory)
    except ArchiveError as error:
        print(error)
        sys.exit(DAMAGED)


if __name__ == "__main__":
    main()
