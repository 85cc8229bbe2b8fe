"""Results as tables, in memory and on disk.

A result on disk is a directory:

``summary.json``
    the figures of the whole run, version, seed and machine;
``scenario.toml``
    the resolved scenario: running it again gives the same tables;
``NAME.parquet``
    a table each, with version, seed, end and scenario in its metadata.

A directory with a summary is complete: its files are renamed into it together, the summary last.
Columns carry their unit as a suffix (``duration_ns``). A result is frozen.
"""

import itertools
import json
import os
import tomllib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,
    Protocol,
    TypeAlias,
    TypedDict,
    cast,
    runtime_checkable,
)

from etherweave.api import result_schema
from etherweave.api.inputs import parquet_groups, read_parquet
from etherweave.api.outputs import below, new_directory
from etherweave.api.result_schema import ResultError, core_table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from etherweave import _core

FORMAT = 1
GROUP = 2**16
"""Rows of a group: of a row group in Parquet, and of tables that are read group by group."""
LONG_MIN = 2**20 + 1  # Fewest rows of a table on disk that is read group by group [rows].
SUMMARY, SCENARIO, TABLES = "summary.json", "scenario.toml", "*.parquet"

Finished: TypeAlias = Literal["complete", "interrupted", "time_limit", "stuck", "fault"]


class FaultCause(TypedDict):
    """Text of a fault of the core."""

    message: str  # The fault.
    place: str  # File and line of the code.


class Fingerprint(TypedDict):
    """A run by its ingredients, so that a difference says what changed."""

    t: str  # Times at which packets moved.
    p: str  # Ports that they moved through.
    k: str  # Kinds of packets.
    l: str  # noqa: E741 - the ingredient's name
    """Lengths of packets."""


class Measured(TypedDict):
    """How a result was measured, not simulated."""

    launcher: str  # Launcher that started the ranks.
    command: list[str]  # Its arguments, without those of a single launch.
    compiler: str  # Compiler of the executor.
    launches: int  # Number of complete launches.
    ranks: int  # Number of ranks of all jobs.
    hosts: int  # Number of real hosts.
    messages: int  # Number of messages of programs and streams, over all launches.
    payload_bytes: int  # Payload of these messages [B].
    clock_error_ns_max: float
    """Largest error of the clock of a rank against that of the first [ns]."""
    start_missed_ns_max: float
    """Longest time by which a rank started after the agreed instant [ns]."""
    priorities: NotRequired[list[str]]
    """Priorities of jobs and their code points, where any job has one above 0."""


class FidelityError(TypedDict):
    """A figure of flow-level mode against that of packets."""

    job: str  # Name of the job.
    figure: str  # Name of the figure: mean_us, median_us, p99_us, goodput_gbps.
    error: float  # (flow - packet) / packet.


class Skipped(TypedDict):
    """Shares of a run that were not simulated, with ``run.fast_forward``."""

    time_share: float  # Share of the simulated time.
    events_share: float  # Share of the events.
    repetitions: int  # Repetitions of loops.
    message_packets: int  # Packets of the longest messages, where messages were shortened.
    error_share: float
    """Largest difference of repetitions that stand for others from what was expected of them."""
    bound_share: float
    """Bound of the error of the end, while others keep within the times that were compared."""


class Windows(TypedDict):
    """Windows of a run on several threads: each thread serves its shard, then all meet."""

    count: int  # Number of windows.
    lookahead_ns: float  # Simulated time of a window [ns].
    events: list[int]  # Events of each shard.
    served_s: list[float]  # Real time to serve each shard [s].
    taken_s: list[float]
    """Real time of each shard to take in what others have sent [s]."""
    slowest_s: float
    """Real time to serve the slowest shard of every window, summed [s]."""


class Summary(TypedDict):
    """The figures of a whole run. Those of the simulator are missing when it was measured."""

    name: str
    """Name of the scenario."""
    seed: int
    """Seed of all random streams."""
    version: str
    """Version of the core."""
    finished: Finished
    """Why it ended: jobs done, stopped, end of time, no event could make progress, or a fault."""
    stuck_report: NotRequired[str | None]
    """Ranks that wait, and for which, when stuck."""
    fault: NotRequired[FaultCause]
    """The fault of Etherweave that ended it."""
    end_ns: float
    """Simulated time of the last event, at most a lookahead after the last job of a complete run.

    Measured: when the last rank was done, from the start. In ns.
    """
    wall_s: float
    """Real time of the simulation, or of the launches [s]."""
    setup_s: float
    """Real time before it [s]."""
    events: NotRequired[int]
    """Number of events."""
    packet_hops: NotRequired[int]
    """Packets that crossed a link, each link counted."""
    packets_created: NotRequired[int]
    """Packets that hosts made."""
    packets_delivered: NotRequired[int]
    """Packets that reached their host."""
    packets_dropped: NotRequired[int]
    """Packets dropped for lack of buffer."""
    packets_damaged: NotRequired[int]
    """Packets discarded because their frame check sequence was wrong."""
    packets_lost: NotRequired[int]
    """Packets lost on links that were down."""
    packets_in_flight: NotRequired[int]
    """Packets under way at the end."""
    packets_max: NotRequired[int]
    """Largest number of packets at once."""
    memory_bytes_estimated: NotRequired[int]
    """Memory that the run was expected to take at most [B]."""
    fingerprint: Fingerprint | None
    """Equal for equal runs, on any number of threads."""
    threads: int
    """Threads of the core."""
    windows: NotRequired[Windows]
    """Where the time of several threads went."""
    skipped: NotRequired[Skipped]
    """Shares that were not simulated, with ``run.fast_forward``."""
    warnings: list[str]
    """Warnings that a reader must not overlook, such as losses in a lossless priority."""
    measured: NotRequired[Measured]
    """How it was measured, when it was not simulated."""
    fidelity_errors: NotRequired[list[FidelityError]]
    """Errors of flow-level mode, when packets were simulated beside it."""


def parse_summary(text: str) -> Summary:
    """Read a summary from the core's JSON."""
    return cast(Summary, json.loads(text))


class LazyTables(Mapping[str, "pyarrow.Table"]):
    """Tables by name, of which each is read when it is asked for."""

    _tables: Mapping[str, Any]

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    @abstractmethod
    def groups_of(self, name: str) -> "Iterator[pyarrow.Table] | None":
        """Read a table that need not be in memory as a whole; ``None`` of any other."""


class CoreTables(LazyTables):
    """Tables of the core by name, which become Arrow's when they are first read."""

    _tables: "Mapping[str, _core.Table]"

    def __init__(self, tables: "Mapping[str, _core.Table]") -> None:
        self._tables = tables
        self._read: dict[str, pyarrow.Table] = {}

    def __getitem__(self, name: str) -> "pyarrow.Table":
        if name not in self._read:
            self._read[name] = core_table(self._tables[name])
        return self._read[name]

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, "pyarrow.Table"]]]:
        return dict, (dict(self),)

    def columns_of(self, name: str) -> list[str]:
        """Name the columns of a table."""
        return self._tables[name].columns

    def values_of(self, name: str, column: str) -> list[Any]:
        """Read a column as a list."""
        return self._tables[name].values(column)

    def groups_of(self, name: str) -> "Iterator[pyarrow.Table] | None":
        """Read a table that need not be in memory as a whole; ``None`` of any other."""
        if name in self._read or not self._tables[name].is_long:
            return None
        import pyarrow

        groups = pyarrow.RecordBatchReader.from_stream(self._tables[name])
        return (pyarrow.Table.from_batches([group]) for group in groups)


class FileTables(LazyTables):
    """Tables by name, of which long ones stay in their files until all of them is asked for."""

    def __init__(self, tables: "Mapping[str, pyarrow.Table | Path]") -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> "pyarrow.Table":
        table = self._tables[name]
        return read_parquet(table) if isinstance(table, Path) else table

    def groups_of(self, name: str) -> "Iterator[pyarrow.Table] | None":
        """Read a table that need not be in memory as a whole; ``None`` of any other."""
        path = self._tables[name]
        return parquet_groups(path) if isinstance(path, Path) else None


@dataclass(frozen=True)
class Result:
    """The tables and the figures of a run."""

    tables: "Mapping[str, pyarrow.Table]"
    """The tables by name; they share the core's memory."""
    summary: Summary
    """The figures of the whole run."""
    resolved: str
    """The scenario with every default filled in, as TOML."""
    machine: Mapping[str, str]
    """Machine that it was computed on."""

    def __repr__(self) -> str:
        facts = self.summary
        ended = f"{facts['finished']} after {facts['end_ns'] * 1e-6:.3f} ms"
        return f"<Result of {facts['name']}: {ended}; tables {', '.join(self.tables)}>"

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """Read the scenario with every default filled in, once."""
        return tomllib.loads(self.resolved)

    @property
    def is_partial(self) -> bool:
        """Whether the run ended before its jobs or its time did."""
        return self.summary["finished"] in ("interrupted", "stuck", "fault")

    def values(self, name: str, column: str) -> list[Any]:
        """Read a column as a list, without importing a library for tables.

        Parameters
        ----------
        name
            Of the table, such as ``"iterations"``.
        column
            Of its columns, such as ``"duration_ns"``.

        Raises
        ------
        KeyError
            When there is no such table or column.
        """
        if isinstance(self.tables, CoreTables):
            return self.tables.values_of(name, column)
        values: list[Any] = self._table(name)[column].to_pylist()
        return values

    def rows(self, name: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Read columns row by row; of a table with millions of rows, a group is in memory."""
        if (groups := self._groups(name)) is None:
            yield from zip(*(self.values(name, column) for column in columns), strict=True)
            return
        for group in groups:
            yield from zip(*(group[column].to_pylist() for column in columns), strict=True)

    def frames(self, name: str) -> "Iterator[polars.DataFrame]":
        """Read a table with polars, group by group where it has millions of rows."""
        import polars

        groups = self._groups(name) or (self._table(name),)
        return (cast(polars.DataFrame, polars.from_arrow(group)) for group in groups)

    def columns(self, name: str) -> list[str]:
        """Name the columns of a table; none when there is no such table."""
        if name not in self.tables:
            return []
        if isinstance(self.tables, CoreTables):
            return self.tables.columns_of(name)
        return list(self.tables[name].column_names)

    def to_polars(self, name: str) -> "polars.DataFrame":
        """Read a table with polars, without copying.

        Parameters
        ----------
        name
            Of the table, such as ``"iterations"``.

        Returns
        -------
        polars.DataFrame
            The same memory as polars columns.

        Raises
        ------
        KeyError
            When there is no such table; names those that exist.
        """
        import polars

        return cast(polars.DataFrame, polars.from_arrow(self._table(name)))

    def to_pandas(self, name: str) -> "pandas.DataFrame":
        """Read a table with pandas, without copying: its columns stay Arrow's.

        Parameters
        ----------
        name
            Of the table.

        Raises
        ------
        KeyError
            When there is no such table.
        """
        import pandas

        return self._table(name).to_pandas(types_mapper=pandas.ArrowDtype)

    def save(self, directory: str | Path) -> Path:
        """Write the result into a directory, replacing a result that is there.

        A save that fails or is interrupted leaves the result that was there before.

        Parameters
        ----------
        directory
            Made when missing. Files of other kinds stay.

        Returns
        -------
        pathlib.Path
            The directory.
        """
        from pyarrow import parquet

        home = Path(directory)
        saved = {"format": FORMAT, "summary": self.summary, "machine": dict(self.machine)}
        with _replacing(home) as fresh:
            for name in self.tables:
                groups = self._groups(name) or iter((self.tables[name],))
                first = self._signed(next(groups))
                path = below(fresh, f"{name}.parquet")
                with parquet.ParquetWriter(path, first.schema, write_page_checksum=True) as file:
                    for group in itertools.chain((first,), map(self._signed, groups)):
                        file.write_table(group, GROUP)
            (fresh / SCENARIO).write_text(self.resolved, encoding="utf-8")
            (fresh / SUMMARY).write_text(json.dumps(saved, indent=2) + "\n", encoding="utf-8")
        return home

    @classmethod
    def load(cls, directory: str | Path) -> "Result":
        """Read a result that :meth:`save` wrote.

        Raises
        ------
        FileNotFoundError
            When the directory holds no result.
        ResultError
            When a file is damaged or not as this version writes it: says which, what stands there,
            and what was expected.
        """
        home = Path(directory)
        saved = _saved(home)
        summary = saved["summary"]
        is_measured = "measured" in summary
        paths = sorted(home.glob(TABLES))
        tables = {
            path.stem: result_schema.read_table(path, is_measured, LONG_MIN) for path in paths
        }
        result_schema.check_tables(home, tables, is_measured)
        return cls(
            FileTables(tables),
            summary,
            result_schema.read_scenario(home / SCENARIO),
            saved["machine"],
        )

    def _groups(self, name: str) -> "Iterator[pyarrow.Table] | None":
        tables = self.tables
        return tables.groups_of(name) if isinstance(tables, LazyTables) else None

    def _table(self, name: str) -> "pyarrow.Table":
        if name not in self.tables:
            raise KeyError(f"no table {name!r}; known: {', '.join(sorted(self.tables))}")
        return self.tables[name]

    def _signed(self, table: "pyarrow.Table") -> "pyarrow.Table":
        signature = {
            "etherweave.version": self.summary["version"],
            "etherweave.seed": str(self.summary["seed"]),
            "etherweave.finished": self.summary["finished"],
            "etherweave.scenario": self.resolved,
        }
        return table.replace_schema_metadata({**(table.schema.metadata or {}), **signature})


@runtime_checkable
class HasResults(Protocol):
    """A sweep, or replications, that kept results."""

    def results(self) -> Mapping[str, Sequence[Result]]:
        """Load kept results by what differs between points, those of all seeds of a point."""


@contextmanager
def _replacing(home: Path) -> Iterator[Path]:
    """Collect the files of a result; only when all are written do they replace the old ones."""
    from tempfile import TemporaryDirectory

    with new_directory(home), TemporaryDirectory(prefix=".saving-", dir=home) as collected:
        fresh = Path(collected)
        try:
            yield fresh
        except OSError as error:
            if error.filename or not error.errno:
                raise
            raise OSError(error.errno, os.strerror(error.errno), str(home)) from None
        # Without its summary the directory is no result; so a kill between two renames leaves none.
        (home / SUMMARY).unlink(missing_ok=True)
        for stale in home.glob(TABLES):
            stale.unlink()
        for path in sorted(fresh.iterdir(), key=lambda path: path.name == SUMMARY):
            path.replace(home / path.name)


class _Saved(TypedDict):
    """The content of ``summary.json``."""

    format: int
    summary: Summary
    machine: dict[str, str]


def _saved(home: Path) -> _Saved:
    path = home / SUMMARY
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{home}: no result here; expected a directory with {SUMMARY}")
    saved = result_schema.read_summary(path)
    if saved.get("format") != FORMAT:
        raise ResultError(path, f"format {saved.get('format')}; expected {FORMAT}")
    result_schema.check_shape(path, saved.get("summary"), Summary, "summary")
    result_schema.check_shape(path, saved.get("machine"), dict[str, str], "machine")
    return cast(_Saved, saved)
