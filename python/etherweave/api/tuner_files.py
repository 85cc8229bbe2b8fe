"""Files of the tuners of NCCL and its relatives: what is written for a library is read for it.

NCCL's is the CSV of the example plug-in in NVIDIA/nccl, ``plugins/tuner/example/plugin.c``, which
RCCL reads, too: a line has a collective, a range of sizes, an algorithm, a protocol and the group
that it is for. The plug-in takes the first line that matches, and Ring with Simple where none does.

NCCLX's is the CSV of its built-in tuner in meta-pytorch/torchcomms, ``comms/ncclx/meta/tuner``
(``README.md`` at 46726f15, ``CsvConfigParse.h``, ``Int64Range.cc``). It differs: sizes are the
share of a rank; sizes, nodes and accelerators of a node are intervals as ``[0,2048)``, 4 or
``*``, whose commas divide no fields; NCCL chooses by itself where no line matches. Columns behind
these seven differ between versions, hence none is written. Its JSON is not read.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from etherweave.api.inputs import InputError, read_text

COLUMNS = (
    *("collective_type", "min_bytes", "max_bytes", "algorithm", "protocol", "channels"),
    *("nNodes", "nRanks", "numPipeOps", "regBuff"),
)
"""Columns of NCCL's file; the last two may be left out."""
NCCLX_COLUMNS = (
    *("collective", "bytesPerRank", "algorithm", "protocol", "channels"),
    *("nNodes", "nLocalRanks", "numPipeOps", "regBuff"),
)
"""Columns of NCCLX's file; the last two may be left out."""
ANY = -1  # Matches any group, and leaves channels to NCCL.
SIZE_END = 2**64 - 1  # End of the last range, the largest number that the plug-in reads [B].
LINES_MAX = 10_000  # Most lines of a file.
COLLECTIVES = ("allreduce", "allgather", "reducescatter", "broadcast", "reduce")
ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
"""Algorithms that the tuners know."""
PROTOCOLS = ("ll", "ll128", "simple")


class Library(StrEnum):
    """Libraries whose tuner reads a file, and AWS's plug-in, which reads none."""

    NCCL = "nccl"
    RCCL = "rccl"
    NCCLX = "ncclx"
    AWS = "aws"


class Group(NamedTuple):
    """Accelerators that call together."""

    nodes: int
    ranks: int


@dataclass(frozen=True)
class Entry:
    """A line of NCCL's file."""

    collective: str
    min_bytes: int
    max_bytes: int  # Last size of the range [B].
    algorithm: str
    protocol: str
    channels: int = ANY
    nodes: int = ANY
    ranks: int = ANY
    pipe_ops: int = ANY
    registered: int = ANY

    def matches(self, collective: str, size: int, group: Group) -> bool:
        """Return whether the plug-in takes it for a call."""
        is_group = self.nodes in (ANY, group.nodes) and self.ranks in (ANY, group.ranks)
        has_size = self.min_bytes <= size <= self.max_bytes
        return self.collective == collective and has_size and is_group

    @property
    def line(self) -> str:
        """The line as the plug-in reads it."""
        sizes, chosen = (self.min_bytes, self.max_bytes), (self.algorithm, self.protocol)
        group = (self.channels, self.nodes, self.ranks, self.pipe_ops, self.registered)
        return ",".join(map(str, (self.collective, *sizes, *chosen, *group)))


class Interval(NamedTuple):
    """Whole numbers from the first to the last, either of which may be open."""

    first: int | None = None
    last: int | None = None

    def __contains__(self, number: object) -> bool:
        """Return whether a number is one of them."""
        is_below = self.first is not None and isinstance(number, int) and number < self.first
        is_above = self.last is not None and isinstance(number, int) and number > self.last
        return isinstance(number, int) and not (is_below or is_above)

    def __str__(self) -> str:
        """Write them as NCCLX reads them."""
        if self == Interval():
            return "*"
        if self.first == self.last:
            return str(self.first)
        first, last = ("" if end is None else end for end in self)
        return (
            f"{'(' if self.first is None else '['}{first},{last}{')' if self.last is None else ']'}"
        )


@dataclass(frozen=True)
class NcclxEntry:
    """A line of NCCLX's file."""

    collective: str
    share: Interval  # Bytes of a call over its ranks, rounded down [B].
    algorithm: str
    protocol: str
    channels: int
    nodes: Interval
    in_node: Interval  # Accelerators of a node.

    def matches(self, collective: str, size: int, group: Group) -> bool:
        """Return whether the tuner takes it for a call."""
        is_group = group.nodes in self.nodes and group.ranks // group.nodes in self.in_node
        has_size = size // group.ranks in self.share
        return self.collective == collective and has_size and is_group

    @property
    def line(self) -> str:
        """The line as the tuner reads it."""
        chosen = (self.algorithm, self.protocol, self.channels)
        cells = (self.collective, self.share, *chosen, self.nodes, self.in_node)
        return ",".join(map(str, cells))


AnyEntry: TypeAlias = Entry | NcclxEntry


def for_library(entries: Iterable[AnyEntry], library: Library) -> Sequence[AnyEntry]:
    """Give entries the form of a library.

    Raises ``ValueError`` for an entry that this form cannot have, such as one of any group, which
    has no share of a rank.
    """
    if library is not Library.NCCLX:
        return list(entries)
    return [_ncclx(entry) if isinstance(entry, Entry) else entry for entry in entries]


def _ncclx(entry: Entry) -> NcclxEntry:
    if ANY in (entry.nodes, entry.ranks):
        expected = "nNodes and nRanks, by which NCCLX has sizes"
        raise ValueError(f"{entry.line}: any group; expected {expected}")
    if (entry.pipe_ops, entry.registered) != (ANY, ANY):
        expected = f"{ANY} for both, as versions of NCCLX differ in these columns"
        raise ValueError(f"{entry.line}: numPipeOps or regBuff; expected {expected}")
    first, after = (end // entry.ranks for end in (entry.min_bytes, entry.max_bytes + 1))
    last = None if entry.max_bytes >= SIZE_END else after - 1
    if last is not None and last < first:
        expected = f"a range of {entry.ranks} B or more, one for each rank"
        raise ValueError(f"{entry.line}: no share of a rank; expected {expected}")
    chosen = (entry.algorithm, entry.protocol, entry.channels)
    nodes, in_node = entry.nodes, entry.ranks // entry.nodes
    group = (Interval(nodes, nodes), Interval(in_node, in_node))
    return NcclxEntry(entry.collective, Interval(first, last), *chosen, *group)


def tuner_text(entries: Iterable[AnyEntry], library: Library = Library.NCCL) -> str:
    """Write entries as the file of a library's tuner."""
    columns = NCCLX_COLUMNS[:NCCLX_FIELDS] if library is Library.NCCLX else COLUMNS
    lines = [entry.line for entry in for_library(entries, library)]
    return "\n".join([f"# {','.join(columns)}", *lines, ""])


def read_tuner(path: str | Path, library: Library = Library.NCCL) -> list[AnyEntry]:
    """Read the file of a library's tuner; raises :class:`InputError` with the line of a mistake.

    NCCL's plug-in takes what it does not know for Ring, Simple or an all-reduce, skips lines with
    too few fields, and takes a file without any; here all of these are mistakes.
    """
    is_ncclx = library is Library.NCCLX
    columns, read = (NCCLX_COLUMNS, _ncclx_entry) if is_ncclx else (COLUMNS, _entry)
    lines = read_text(path).splitlines()
    if len(lines) > LINES_MAX:
        raise InputError(path, f"{len(lines):,} lines; expected at most {LINES_MAX:,}")
    numbered = ((number, line.strip()) for number, line in enumerate(lines, 1))
    entries: list[AnyEntry] = [
        read(line, partial(_mistake, path, number))
        for number, line in numbered
        if line and not line.startswith("#")
    ]
    if not entries:
        raise InputError(path, f"no entry; expected a line or more of {','.join(columns)}")
    return entries


_Mistake = Callable[[str, str, str], InputError]


def _mistake(path: str | Path, number: int, column: str, cell: str, expected: str) -> InputError:
    return InputError(path, f"line {number}: {column}: {cell[:80]!r}; expected {expected}")


def _cells(cells: list[str], columns: Sequence[str], fewest: int, mistake: _Mistake) -> list[str]:
    """Check the number of fields, and the names in them; adds what is left out."""
    if not fewest <= len(cells) <= len(columns):
        expected = f"{fewest} to {len(columns)}: {','.join(columns)}"
        raise mistake("fields", str(len(cells)), expected)
    names = {columns[0]: COLLECTIVES, "algorithm": ALGORITHMS, "protocol": PROTOCOLS}
    for column, known in names.items():
        if (cell := cells[columns.index(column)]) not in known:
            raise mistake(column, cell, f"one of {', '.join(known)}")
    return cells + [str(ANY)] * (len(columns) - len(cells))


def _entry(line: str, mistake: _Mistake) -> Entry:
    cells = _cells([cell.strip() for cell in line.split(",")], COLUMNS, NCCL_FIELDS, mistake)
    first, last = (_number(COLUMNS[place], cells[place], 0, mistake) for place in (1, 2))
    if first > last:
        raise mistake(COLUMNS[2], cells[2], f"{first} or more, where the range begins")
    group = (_number(COLUMNS[at], cells[at], ANY, mistake) for at in range(5, len(COLUMNS)))
    return Entry(cells[0], first, last, cells[3], cells[4], *group)


def _number(column: str, cell: str, least: int, mistake: _Mistake) -> int:
    digits = cell.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) <= 20 and least <= int(cell) < 2**64:
        return int(cell)
    raise mistake(column, cell, f"a whole number from {least} to {2**64 - 1}")


NCCL_FIELDS, NCCLX_FIELDS = 8, 7  # Fewest fields of a line.
_FIELD = re.compile(r"(?:[^,()\[\]]|[(\[][^()\[\]]*[)\]])*")  # Commas within brackets divide none.
_INTERVAL = re.compile(r"([(\[])\s*(\d{0,18})\s*,\s*(\d{0,18})\s*([)\]])")


def _ncclx_entry(line: str, mistake: _Mistake) -> NcclxEntry:
    cells, place = [], 0
    while place <= len(line):
        field = _FIELD.match(line, place)
        end = field.end() if field else place
        if end < len(line) and line[end] != ",":
            raise mistake("brackets", line[end:], "each closed within its field")
        cells.append(line[place:end].strip())
        place = end + 1
    cells = _cells(cells, NCCLX_COLUMNS, NCCLX_FIELDS, mistake)
    for at in range(NCCLX_FIELDS, len(NCCLX_COLUMNS)):
        if cells[at] != str(ANY):
            raise mistake(NCCLX_COLUMNS[at], cells[at], f"{ANY}, any; others are not simulated")
    share, nodes, in_node = (_interval(NCCLX_COLUMNS[at], cells[at], mistake) for at in (1, 5, 6))
    channels = _number(NCCLX_COLUMNS[4], cells[4], ANY, mistake)
    return NcclxEntry(cells[0], share, cells[2], cells[3], channels, nodes, in_node)


def _interval(column: str, cell: str, mistake: _Mistake) -> Interval:
    """Read all numbers, one or an interval, whose round brackets leave out its ends."""
    if cell == "*":
        return Interval()
    if cell.isascii() and cell.isdecimal() and len(cell) <= 18:
        return Interval(int(cell), int(cell))
    if not (parts := _INTERVAL.fullmatch(cell)):
        raise mistake(column, cell, "*, a number, or an interval such as [0,1048576] or [4,)")
    first = int(parts[2]) + (parts[1] == "(") if parts[2] else None
    last = int(parts[3]) - (parts[4] == ")") if parts[3] else None
    if last is not None and (first or 0) > last:
        raise mistake(column, cell, "an interval with a number in it")
    return Interval(first, last)
