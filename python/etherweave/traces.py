"""Runs and recorded programs as traces that Perfetto and Chrome show: JSON, streamed to a file.

Hosts are processes, ranks their threads. Activities and iterations are complete events (``X``),
messages are flows (``s`` and ``f``), queues, rates and pauses of sampled ports are counters
(``C``). Times are microseconds.

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
from typing import IO, Any, TypeAlias

from etherweave import _core
from etherweave.results import Result

FORMAT = "https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU"
EDGE_US = 1e-3
"""Before the end of a slice, so that an arrow there belongs to that slice [us]."""

Event: TypeAlias = dict[str, Any]
Columns: TypeAlias = Mapping[str, list[Any]]
"""Of a table, by name."""


class _Numbers(dict[str, int]):
    """Numbers of names, from 1 in the order in which they are asked for."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self) + 1
        return self[name]


def write_trace(source: Result | _core.Recording, file: Path) -> None:
    """Write a run or a recorded program as a trace; compressed if the name ends in ``.gz``.

    Parameters
    ----------
    source
        Of a run with ``observe.ranks`` ranks have activities and messages, with ``observe.ports``
        ports have counters.
    file
        Is written event by event.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    tables = _of_result(source) if isinstance(source, Result) else _of_recording(source)
    with _opened(file) as out:
        out.write('{"displayTimeUnit": "ns", "traceEvents": [')
        for number, event in enumerate(events(tables)):
            out.write(",\n" if number else "\n")
            out.write(json.dumps(event, separators=(",", ":")))
        out.write("\n]}\n")


def events(tables: Mapping[str, Columns]) -> Iterator[Event]:
    """Make the events of some tables; those that are missing have none.

    Parameters
    ----------
    tables
        ``activities``, ``transfers``, ``iterations`` and ``port_samples`` of a result.
    """
    hosts, threads = _Numbers(), _Numbers()
    place = _places(tables, hosts, threads)
    for host, number in hosts.items():
        yield from _process(host, number)
    for (job, rank), (process, thread) in place.items():
        yield _named("thread_name", process, thread, f"{job} rank {rank}")
        yield _sorted("thread", process, thread, rank)
    yield from _iterations(tables.get("iterations", {}), place)
    yield from _activities(tables.get("activities", {}), place, threads)
    # A simulated message is sent at the end of an activity, a recorded one when its call begins.
    edge_us = EDGE_US if "stream" in tables.get("activities", {}) else 0.0
    yield from _transfers(tables.get("transfers", {}), place, edge_us)
    yield from _ports(tables.get("port_samples", {}), hosts)


_Places: TypeAlias = dict[tuple[str, int], tuple[int, int]]
"""Process and thread of a rank, by job and rank."""


def _places(tables: Mapping[str, Columns], hosts: _Numbers, threads: _Numbers) -> _Places:
    place: _Places = {}
    for name in ("iterations", "activities"):
        for row in _rows(tables.get(name, {}), "job", "rank", "host"):
            job, rank, host = row
            place.setdefault((job, rank), (hosts[host], threads[f"{job} {rank}"]))
    return place


def _rows(columns: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    if columns:
        yield from zip(*(columns[name] for name in names), strict=True)


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
    return {"ph": "X", "name": name, "cat": category, "pid": process, "tid": thread} | {
        "ts": start_ns / 1e3,
        "dur": (end_ns - start_ns) / 1e3,
    }


def _iterations(columns: Columns, place: _Places) -> Iterator[Event]:
    names = ("job", "rank", "iteration", "start_ns", "duration_ns")
    for job, rank, iteration, start, duration in _rows(columns, *names):
        name = f"iteration {iteration}"
        yield _complete(name, "iteration", place[job, rank], start, start + duration)


def _activities(columns: Columns, place: _Places, threads: _Numbers) -> Iterator[Event]:
    """Yield activities; each stream of a rank beyond the first has a thread of its own."""
    streams = columns.get("stream") or [0] * len(columns.get("job", []))
    names = ("job", "rank", "activity", "start_ns", "end_ns")
    known: set[str] = set()
    for stream, (job, rank, activity, start, end) in zip(
        streams, _rows(columns, *names), strict=True
    ):
        process, thread = place[job, rank]
        if stream:
            key = f"{job} {rank} stream {stream}"
            if key not in known:
                known.add(key)
                yield _named("thread_name", process, threads[key], f"{job} rank {rank}.{stream}")
            thread = threads[key]
        yield _complete(activity, "activity", (process, thread), start, end)


def _transfers(columns: Columns, place: _Places, edge_us: float) -> Iterator[Event]:
    names = ("job", "source", "destination", "tag", "bytes", "start_ns", "end_ns")
    for number, row in enumerate(_rows(columns, *names)):
        job, source, destination, tag, size, start, end = row
        common = {"name": "message", "cat": "message", "id": number}
        about = {"bytes": size, "tag": tag, "source": source, "destination": destination}
        from_, to = place.get((job, source)), place.get((job, destination))
        if from_ and to:
            start_us, end_us = start / 1e3 - edge_us, end / 1e3 - EDGE_US
            sent = {"ph": "s", **common, "pid": from_[0], "tid": from_[1], "args": about}
            yield {**sent, "ts": max(0.0, start_us)}
            yield {"ph": "f", "bp": "e", **common, "pid": to[0], "tid": to[1]} | {
                "ts": max(0.0, start_us, end_us)
            }


_COUNTERS = (
    ("queue", "occupancy_bytes", "bytes"),
    ("throughput", "throughput_gbps", "Gb/s"),
    ("paused", "rx_pause_duration_ns", "part"),
)
"""Track, column and unit of what is counted at a port."""


def _ports(columns: Columns, hosts: _Numbers) -> Iterator[Event]:
    """Yield counters of ports at the end of each period; a pause is a part of the period."""
    names = ("time_ns", "duration_ns", "node", "port", "priority")
    known: set[str] = set()
    values = [columns[column] for _, column, _ in _COUNTERS] if columns else []
    for index, row in enumerate(_rows(columns, *names)):
        time_ns, duration_ns, node, port, priority = row
        process = hosts[node]
        if node not in known:
            known.add(node)
            yield from _process(node, process)
        for (track, _, unit), column in zip(_COUNTERS, values, strict=True):
            value = column[index] / duration_ns if unit == "part" else column[index]
            name = f"port {port} priority {priority} {track}"
            yield {"ph": "C", "name": name, "pid": process, "tid": 0} | {
                "ts": time_ns / 1e3,
                "args": {unit: value},
            }


def _of_result(result: Result) -> dict[str, Columns]:
    return {
        name: {column: result.values(name, column) for column in result.columns(name)}
        for name in ("activities", "transfers", "iterations", "port_samples")
    }


def _of_recording(recording: _core.Recording) -> dict[str, Columns]:
    """Read the tables of a recorded program, which is one job."""
    return {
        name: {column: table.values(column) for column in table.columns}
        | {"job": ["recorded"] * len(table)}
        for name, table in recording.tables().items()
    }


@contextmanager
def _opened(file: Path) -> Iterator[IO[str]]:
    """Open a file for text; a compressed one without the time of writing, which would differ."""
    if file.suffix != ".gz":
        with file.open("w", encoding="utf-8") as out:
            yield out
        return
    with (
        file.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as out,
    ):
        yield out
