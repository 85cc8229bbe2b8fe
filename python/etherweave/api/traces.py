"""Runs and recorded programs as traces that Perfetto and Chrome show: JSON, streamed to a file.

Hosts are processes, ranks their threads. Activities and iterations are complete events (``X``),
messages are flows (``s`` and ``f``) that end at an instant (``i``), queues, rates and pauses of
sampled ports are counters (``C``). Times are microseconds, in whole nanoseconds: Perfetto rounds
the start and the duration of a slice each for itself, and slices of fractions would overlap.

References
----------
"Trace Event Format", the document of the Chromium project at the address in :data:`FORMAT`.
"""

import gzip
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from etherweave import _core
from etherweave.api.outputs import new_file
from etherweave.api.result_schema import core_table
from etherweave.api.results import Result

if TYPE_CHECKING:
    import pyarrow

FORMAT = "https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU"
EDGE_NS = 1  # Before the end of a slice, so that an arrow there belongs to that slice [ns].

ROWS = 1 << 16  # Rows of a table that are in memory as Python's values at once.
ABSENT = {"job": "recorded", "stream": 0}
"""Values of columns that tables of a recorded program, which is one job of one thread, lack."""

Event: TypeAlias = dict[str, Any]
Tables: TypeAlias = "Mapping[str, pyarrow.Table]"  # Tables by name.


class _Numbers(dict[str, int]):
    """Numbers of names, from 1 in the order in which they are asked for."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self) + 1
        return self[name]


def write_trace(source: Result | _core.Recording, file: Path) -> None:
    """Write a run or a recorded program as a trace; compressed if the name ends in ``.gz``.

    Of a run with ``observe.ranks`` ranks have activities and messages, with ``observe.ports`` ports
    have counters. It is written event by event, and tables are read part by part. Raises
    ``OSError``.
    """
    tables = _of_result(source) if isinstance(source, Result) else _of_recording(source)
    with _opened(file) as out:
        out.write('{"displayTimeUnit": "ns", "traceEvents": [')
        for number, event in enumerate(events(tables)):
            out.write(",\n" if number else "\n")
            out.write(json.dumps(event, separators=(",", ":")))
        out.write("\n]}\n")


def events(tables: Tables) -> Iterator[Event]:
    """Make the events of some tables of a result; those that are missing have none."""
    hosts, threads = _Numbers(), _Numbers()
    place = _places(tables, hosts, threads)
    for host, number in hosts.items():
        yield from _process(host, number)
    for (job, rank), (process, thread) in place.items():
        yield _named("thread_name", process, thread, f"{job} rank {rank}")
        yield _sorted("thread", process, thread, rank)
    yield from _iterations(tables, place)
    yield from _activities(tables, place, threads)
    messages = _of_messages(place, threads)
    for (job, rank), (process, thread) in messages.items():
        yield _named("thread_name", process, thread, f"{job} rank {rank} messages")
    # A simulated message is sent at the end of an activity, a recorded one when its call begins.
    activities = tables.get("activities")
    is_simulated = activities is not None and "stream" in activities.column_names
    yield from _transfers(tables, place, messages, EDGE_NS if is_simulated else 0)
    yield from _ports(tables, hosts)


_Places: TypeAlias = dict[tuple[str, int], tuple[int, int]]
"""Process and thread of a rank, by job and rank."""


def _places(tables: Tables, hosts: _Numbers, threads: _Numbers) -> _Places:
    place: _Places = {}
    for name in ("iterations", "activities"):
        for job, rank, host in _rows(tables, name, "job", "rank", "host"):
            place.setdefault((job, rank), (hosts[host], threads[f"{job} {rank}"]))
    return place


def _rows(tables: Tables, name: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Read rows of a table, part by part; none of one that is missing."""
    if name not in tables:
        return
    table = tables[name]
    known = set(table.column_names)
    for start in range(0, table.num_rows, ROWS):
        part = table.slice(start, ROWS)
        yield from zip(
            *(
                part[column].to_pylist() if column in known else [ABSENT[column]] * len(part)
                for column in columns
            ),
            strict=True,
        )


def _named(kind: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _process(node: str, number: int) -> Iterator[Event]:
    """Name a process; it stands where its first rank does, and not by its name."""
    yield _named("process_name", number, 0, node)
    yield _sorted("process", number, 0, number)


def _sorted(kind: str, process: int, thread: int, place: int) -> Event:
    arguments = {"sort_index": place}
    return {"ph": "M", "name": f"{kind}_sort_index", "pid": process, "tid": thread} | {
        "args": arguments
    }


def _complete(
    name: str, category: str, place: tuple[int, int], start_ns: float, end_ns: float
) -> Event:
    process, thread = place
    start = _whole(start_ns)
    return {"ph": "X", "name": name, "cat": category, "pid": process, "tid": thread} | {
        "ts": start / 1e3,
        "dur": (_whole(end_ns) - start) / 1e3,
    }


def _whole(time_ns: float) -> int:
    """Round to nanoseconds what is known to the picosecond: halves of ends that meet alike."""
    return round(round(time_ns, 3))


def _iterations(tables: Tables, place: _Places) -> Iterator[Event]:
    names = ("job", "rank", "iteration", "start_ns", "duration_ns")
    for job, rank, iteration, start, duration in _rows(tables, "iterations", *names):
        name = f"iteration {iteration}"
        yield _complete(name, "iteration", place[job, rank], start, start + duration)


def _activities(tables: Tables, place: _Places, threads: _Numbers) -> Iterator[Event]:
    """Yield activities; each stream of a rank beyond the first has a thread of its own."""
    names = ("job", "rank", "stream", "activity", "start_ns", "end_ns")
    known: set[str] = set()
    for job, rank, stream, activity, start, end in _rows(tables, "activities", *names):
        process, thread = place[job, rank]
        if stream:
            key = f"{job} {rank} stream {stream}"
            if key not in known:
                known.add(key)
                yield _named("thread_name", process, threads[key], f"{job} rank {rank}.{stream}")
            thread = threads[key]
        yield _complete(activity, "activity", (process, thread), start, end)


def _of_messages(place: _Places, threads: _Numbers) -> _Places:
    """Find threads for messages of ranks of several streams: tables do not say whose they are."""
    return {
        (job, rank): (process, threads[f"{job} {rank} messages"])
        for (job, rank), (process, _) in place.items()
        if f"{job} {rank} stream 1" in threads
    }


def _transfers(tables: Tables, threads: _Places, messages: _Places, end_ns: int) -> Iterator[Event]:
    """Yield an arrow for each message, and its arrival, where Perfetto ends the arrow."""
    names = ("job", "source", "destination", "tag", "bytes", "start_ns", "end_ns")
    place = threads | messages
    for number, row in enumerate(_rows(tables, "transfers", *names)):
        job, source, destination, tag, size, start, end = row
        common = {"name": "message", "cat": "message", "id": number}
        about = {"bytes": size, "tag": tag, "source": source, "destination": destination}
        from_, to = place.get((job, source)), place.get((job, destination))
        if from_ and to:
            sent_ns = max(0, _whole(start) - end_ns)
            arrived_ns = max(sent_ns, _whole(end) - EDGE_NS)
            sent = {"pid": from_[0], "tid": from_[1], "ts": sent_ns / 1e3}
            arrived = {"pid": to[0], "tid": to[1], "ts": arrived_ns / 1e3}
            if (job, source) in messages:
                yield _instant("send", sent)
            yield {"ph": "s", **common, **sent, "args": about}
            yield _instant("arrival", arrived)
            yield {"ph": "f", "bp": "e", **common, **arrived}


def _instant(name: str, at: Event) -> Event:
    """Make what an arrow begins or ends at."""
    return {"ph": "i", "s": "t", "name": name, "cat": "message", **at}


_COUNTERS = (
    ("queue", "occupancy_bytes", "bytes"),
    ("throughput", "throughput_gbps", "Gb/s"),
    ("paused", "rx_pause_duration_ns", "part"),
)
"""Track, column and unit of what is counted at a port."""


def _ports(tables: Tables, hosts: _Numbers) -> Iterator[Event]:
    """Yield counters of ports at the end of each period; a pause is a part of the period."""
    names = ("time_ns", "duration_ns", "node", "port", "priority")
    known: set[str] = set()
    counted = (column for _, column, _ in _COUNTERS)
    for row in _rows(tables, "port_samples", *names, *counted):
        time_ns, duration_ns, node, port, priority, *values = row
        process = hosts[node]
        if node not in known:
            known.add(node)
            yield from _process(node, process)
        for (track, _, unit), counted_value in zip(_COUNTERS, values, strict=True):
            value = counted_value / duration_ns if unit == "part" else counted_value
            name = f"port {port} priority {priority} {track}"
            yield {"ph": "C", "name": name, "pid": process, "tid": 0} | {
                "ts": time_ns / 1e3,
                "args": {unit: value},
            }


def _of_result(result: Result) -> Tables:
    names = ("activities", "transfers", "iterations", "port_samples")
    return {name: result.tables[name] for name in names if name in result.tables}


def _of_recording(recording: _core.Recording) -> Tables:
    return {name: core_table(table) for name, table in recording.tables().items()}


@contextmanager
def _opened(file: Path) -> Iterator[IO[str]]:
    """Open a file for text; a compressed one without the time of writing, which would differ."""
    if file.suffix != ".gz":
        with new_file(file) as out:
            yield out
        return
    with (
        new_file(file, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as out,
    ):
        yield out
