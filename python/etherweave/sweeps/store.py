"""The directory of a sweep.

::

    DIR/sweep.json            the runs of the sweep as it was last started, in order
        journal/0001.jsonl    a line for each finished run, appended by one session each
        runs/AXIS=VALUE/part-0.parquet    the dataset, made anew from the journal at any time
        slurm/                tasks and answers of an array, while there is one

A line that a kill has torn is not read, and its run is carried out again. Lines of runs that are no
longer part of the sweep stay: they are found when it has them again.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from etherweave import _core
from etherweave.api import toml
from etherweave.api.inputs import read_json
from etherweave.api.machine import build, machine
from etherweave.api.outputs import below, locked, write_text
from etherweave.api.results import SUMMARY, Result
from etherweave.api.toml import differences
from etherweave.sweeps.points import Run, Sweep, SweepError

if TYPE_CHECKING:
    import polars
    import pyarrow

Record: TypeAlias = dict[str, Any]
"""Record of a run: ``ended``, ``message``, ``fidelity``, ``figures``, and what it took."""
PLAN, DATASET = "sweep.json", "runs"
NAME_MAX = 64  # Most characters of a value in the name of its folder, before its hash.
ERROR = "fidelity_error_max"
"""Column of the largest error of a figure of flow-level mode; null: not measured."""
FAILED = ("mistake", "stuck", "fault")  # Endings of runs that have no figures to compare.
LOST = "lost"
TABLES = "tables"  # Directory of whole results, by the hashes of runs.
"""Ending of a run that its worker or its machine failed: carried out again at the next start."""


def is_sweep(home: Path) -> bool:
    """Return whether a directory has the runs of a sweep."""
    return (home / PLAN).is_file()


@dataclass(frozen=True)
class SweepStatus:
    """How far a sweep is."""

    name: str
    runs: int  # Different runs of the sweep.
    finished: int  # Those that will not be carried out again.
    failed: int
    """Those of them that failed, by a mistake, without progress or by a fault of the core."""
    lost: int  # Those that a worker or a machine failed, and that are carried out again.
    seconds: float  # Processor time of the finished ones [s].
    is_running: bool  # Whether a process works on it.


@dataclass(frozen=True)
class SweepStore:
    """A directory that keeps runs."""

    home: Path

    def alone(self) -> AbstractContextManager[None]:
        """Lock the directory against other sweeps; raises ``SweepError`` when one uses it."""
        self.home.mkdir(parents=True, exist_ok=True)
        busy = f"{self.home}: another sweep uses this directory; expected its end, or another"
        return locked(self.home / ".lock", SweepError(busy))

    def records(self) -> dict[str, Record]:
        """Read the journal: runs by their hash, of each the last line."""
        records: dict[str, Record] = {}
        for path in sorted(self.home.glob("journal/*.jsonl")):
            for line in path.read_bytes().splitlines():
                try:
                    run, record = json.loads(line)
                    records[run] = {"ended": record["ended"], **record}
                except (ValueError, TypeError, LookupError):
                    continue  # Torn.
        return records

    def lacks(self, record: Record | None, run: str, tables: bool) -> bool:
        """Return whether a run is to be carried out: it has no record, or lacks wanted tables."""
        if record is None or record["ended"] == LOST:
            return True
        has_tables = (self.home / TABLES / run / SUMMARY).exists()
        return tables and record["ended"] != "mistake" and not has_tables

    @contextmanager
    def journal(self) -> Iterator["Journal"]:
        """Open a journal of its own for a session."""
        folder = self.home / "journal"
        folder.mkdir(exist_ok=True)
        number = 1 + max((int(path.stem) for path in folder.glob("*.jsonl")), default=0)
        path = folder / f"{number:04}.jsonl"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        try:
            yield Journal(descriptor, path)
        finally:
            os.close(descriptor)

    def keep_plan(self, sweep: Sweep, runs: Sequence[Run]) -> None:
        """Write what the sweep consists of, for its status."""
        facts = {"name": sweep.name, "build": build(), "machine": machine(), "axes": sweep.axes}
        self._replace(PLAN, json.dumps({**facts, "runs": [run.id for run in runs]}))

    def axes(self) -> Sequence[str]:
        """Read the keys of the sweep's axes; raises ``SweepError`` where there is no sweep."""
        return [*self._plan()["axes"]]

    def _plan(self) -> dict[str, Any]:
        path = self.home / PLAN
        if not path.exists():
            raise SweepError(f"{self.home}: no sweep; expected a directory with {PLAN}")
        plan = dict(read_json(path))
        if missing := {"name", "axes", "runs"} - plan.keys():
            names = ", ".join(sorted(missing))
            raise SweepError(f"{path}: no {names}; expected a plan that this version has written")
        return plan

    def status(self) -> SweepStatus:
        """Read how far the sweep is; raises ``SweepError`` when the directory holds none."""
        plan, records = self._plan(), self.records()
        wanted = dict.fromkeys(plan["runs"])
        rows = [records[run] for run in wanted if run in records]
        lost = sum(record["ended"] == LOST for record in rows)
        try:
            with self.alone():
                is_running = False
        except SweepError:
            is_running = True
        return SweepStatus(
            plan["name"],
            len(wanted),
            len(rows) - lost,
            sum(record["ended"] in FAILED for record in rows),
            lost,
            sum(record.get("seconds", 0.0) for record in rows),
            is_running,
        )

    def write_dataset(
        self, sweep: Sweep, runs: Sequence[Run], records: Mapping[str, Record]
    ) -> Path:
        """Write the rows of all runs that have a record, in order, in place of the dataset."""
        from pyarrow import parquet

        fresh, old = self.home / f".{DATASET}.fresh", self.home / f".{DATASET}.old"
        for left in (fresh, old):
            shutil.rmtree(left, ignore_errors=True)
        fresh.mkdir()
        kept = [run for run in runs if run.id in records]
        groups: dict[str, list[int]] = {}
        for number, run in enumerate(kept):
            parts = (f"{key}={folder_name(run.point[key])}" for key in sweep.partition)
            groups.setdefault("/".join(parts), []).append(number)
        dataset = _table(sweep, kept, records) if kept else None
        # A folder of a table does not have all of its text.
        short = {
            key: f"{key}.toml"
            for key in sweep.partition
            if any(folder_name(run.point[key]) != _quoted(run.point[key]) for run in kept)
        }
        dropped = [key for key in sweep.partition if key not in short]
        for folder, numbers in groups.items():
            assert dataset is not None, "a group has a run"
            table = dataset.take(numbers)
            part = below(fresh, *filter(None, folder.split("/")), "part-0.parquet")
            part.parent.mkdir(parents=True, exist_ok=True)
            try:
                names = [short.get(name, name) for name in table.column_names]
                rows = table.rename_columns(names).drop_columns(dropped)
                parquet.write_table(rows, part, write_page_checksum=True)
            except OSError as error:  # pyarrow does not say which file
                raise OSError(error.errno, error.strerror, str(part)) from None
        if (self.home / DATASET).exists():
            (self.home / DATASET).rename(old)
        fresh.rename(self.home / DATASET)
        shutil.rmtree(old, ignore_errors=True)
        return self.home / DATASET

    def table(self) -> "polars.DataFrame":
        """Read the dataset; raises ``SweepError`` when there is none."""
        import polars

        if not any((self.home / DATASET).rglob("*.parquet")):
            raise SweepError(f"{self.home}: no dataset; expected what `etherweave sweep` wrote")
        return polars.read_parquet(self.home / DATASET / "**/*.parquet", hive_partitioning=True)

    def results(self, rows: "polars.DataFrame | None" = None) -> dict[str, list[Result]]:
        """Load kept results by what differs between points, those of all seeds of a point.

        ``rows`` are those of the dataset whose results are loaded; by default all.
        """
        table = self.table() if rows is None else rows
        texts = {
            key: f"{key}.toml" if f"{key}.toml" in table.columns else key
            for key in self.axes()
            if key != "seed" and table[key].n_unique() > 1
        }
        columns = {key: table[text].unique(maintain_order=True) for key, text in texts.items()}
        names = {
            key: dict(zip(values, differences(values.to_list()), strict=True))
            for key, values in columns.items()
        }
        results: dict[str, list[Result]] = {}
        for row in table.iter_rows(named=True):
            home = self.home / TABLES / row["run"]
            if row["ended"] not in FAILED and (home / SUMMARY).exists():
                parts = (_part(key, row[texts[key]], names[key]) for key in texts)
                results.setdefault(", ".join(parts), []).append(Result.load(home))
        return results

    def _replace(self, name: str, text: str) -> None:
        write_text(below(self.home, name), text)


@dataclass(frozen=True)
class Journal:
    """A file to which finished runs are appended."""

    descriptor: int
    path: Path

    def add(self, run: str, record: Record) -> None:
        """Append a run, in one write.

        Raises ``OSError`` when the line is not written whole, as on a full disk.
        """
        line = (json.dumps([run, record]) + "\n").encode()
        try:
            written = os.write(self.descriptor, line)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        if written < len(line):
            raise OSError(28, os.strerror(28), str(self.path))


def _table(sweep: Sweep, runs: Sequence[Run], records: Mapping[str, Record]) -> "pyarrow.Table":
    """Make a row of each run: axes, hash, ending, message, fidelity with its error, figures."""
    import pyarrow

    rows = [records[run.id] for run in runs]
    columns = {key: _axis([run.point[key] for run in runs]) for key in sweep.axes}
    columns["run"] = pyarrow.array([run.id for run in runs])
    for key in ("ended", "message", "fidelity"):
        columns[key] = pyarrow.array([record.get(key) for record in rows], pyarrow.string())
    errors = [record.get(ERROR) for record in rows]
    columns[ERROR] = pyarrow.array(errors, pyarrow.float64())
    names = dict.fromkeys(name for record in rows for name in record["figures"])
    for name in sorted(names):
        columns[name] = pyarrow.array([record["figures"].get(name) for record in rows])
    facts = {"etherweave.version": _core.version(), "etherweave.build": build()}
    return pyarrow.table(columns, metadata={**facts, "etherweave.scenario": sweep.text})


def _part(key: str, value: object, names: Mapping[object, str]) -> str:
    """Name a value of an axis: a table by what distinguishes it, another value with its key."""
    is_table = str(value).startswith("{")
    return names[value] if is_table else f"{key.rpartition('.')[2]} = {names[value]}"


def _axis(values: Sequence[object]) -> "pyarrow.Array":
    """Make a column; values of several types, lists and tables become TOML."""
    import pyarrow

    kinds = {type(value) for value in values}
    if kinds <= {int, float} or (len(kinds) == 1 and kinds <= {bool, str}):
        return pyarrow.array(values, pyarrow.float64() if float in kinds else None)
    return pyarrow.array([_text(value) for value in values])


def folder_name(value: object) -> str:
    """Name the folder of a value: as it is, or by the words of a table and a hash of its text."""
    text, quoted = _text(value), _quoted(value)
    if not isinstance(value, Mapping | list) and len(quoted) <= NAME_MAX:
        return quoted
    words = "-".join(re.findall(r"[A-Za-z0-9.+]+", text))[:NAME_MAX].rstrip("-")
    return f"{words}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _quoted(value: object) -> str:
    return quote(_text(value), safe="")


def _text(value: object) -> str:
    return value if isinstance(value, str) else toml.literal(value)
