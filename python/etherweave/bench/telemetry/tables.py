"""Recordings as tables: counters as columns with their units, one row for each thing and time."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from etherweave.api.inputs import read_bytes, read_parquet
from etherweave.api.outputs import below, written
from etherweave.bench.telemetry.counters import CounterRow
from etherweave.bench.telemetry.families import FAMILIES, PROCESSOR, Column, Family
from etherweave.bench.telemetry.recorder import Recording
from etherweave.bench.telemetry.sampling import Sample
from etherweave.bench.telemetry.stream import StreamError, stream


def tables(recording: Recording) -> dict[str, pyarrow.Table]:
    """Give a table for each family that has rows, by its name.

    Columns are ``run``, ``host``, ``time_ns`` (since 1970), the keys of things, and counters;
    a counter that does not exist is null. Epochs of several runs can be put together.
    """
    made = {family.name: _table(family, recording) for family in FAMILIES}
    return {name: table for name, table in made.items() if table.num_rows}


def save(recording: Recording, directory: Path) -> list[Path]:
    """Write a recording beside the result that it belongs to: ``telemetry_NAME.parquet`` each."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in tables(recording).items():
        path = below(directory, file_name(name))
        written(path, partial(pyarrow.parquet.write_table, table))
        paths.append(path)
    return paths


def file_name(family: str) -> str:
    """Name the file of a family's table."""
    return f"telemetry_{family}.parquet"


def _table(family: Family, recording: Recording) -> pyarrow.Table:
    rows = [(step.time_ns, row) for step in recording.samples for row in step.rows[family.name]]
    columns: dict[str, pyarrow.Array] = {
        "run": _repeated(recording.run, len(rows)),
        "host": _repeated(recording.host, len(rows)),
        "time_ns": pyarrow.array([time for time, _ in rows], pyarrow.int64()),
    }
    for at, key in enumerate(family.keys):
        columns[key] = pyarrow.array([keys[at] for _, (keys, _) in rows], pyarrow.string())
    for at, column in enumerate(family.columns):
        values = [values[at] for _, (_, values) in rows]
        columns[column.name] = pyarrow.array(values, _kind(column))
    fields = [pyarrow.field(key, array.type, metadata=_unit(key)) for key, array in columns.items()]
    metadata = {
        "run": recording.run,
        "period_s": repr(recording.period_s),
        "late": str(recording.late),
        "processor_s": repr(recording.processor_s),
        "failure": recording.failure,
    }
    return pyarrow.table(list(columns.values()), schema=pyarrow.schema(fields, metadata))


def _repeated(text: str, count: int) -> pyarrow.Array:
    return pyarrow.array([text] * count, pyarrow.string()).dictionary_encode()


def _kind(column: Column) -> pyarrow.DataType:
    return pyarrow.uint64() if column.is_whole else pyarrow.float64()


def _unit(name: str) -> dict[str, str] | None:
    unit = {"s": "s", "ns": "ns", "j": "J", "bytes": "B"}.get(name.rpartition("_")[2])
    return {"unit": unit} if unit else None


class ReadingError(ValueError):
    """A file or a directory is no recording."""


def recordings(path: Path) -> list[Recording]:
    """Read the recording of a file, or all that are kept at or below a directory.

    Raises ``ReadingError`` when there is none, or it is damaged; ``OSError`` when it cannot be
    read.
    """
    if path.exists() and not path.is_dir():
        try:
            return [stream(read_bytes(path).decode(errors="replace")).recording]
        except StreamError as error:
            raise ReadingError(f"{path}: {error}") from None
    homes = sorted({file.parent for file in path.rglob(file_name("*"))})
    if not homes:
        raise ReadingError(
            f"{path}: holds no recording; expected what `bench run` or `bench telemetry record` "
            "writes"
        )
    return [_recording(home) for home in homes]


def _recording(home: Path) -> Recording:
    try:
        families = {family.name: _read_table(home, family) for family in FAMILIES}
        return _joined(families)
    except (KeyError, ValueError, TypeError) as error:
        raise ReadingError(f"{home}: {error}; expected tables of telemetry") from None


def _read_table(home: Path, family: Family) -> pyarrow.Table | None:
    path = home / file_name(family.name)
    if not path.exists():
        return None
    table = read_parquet(path, has_metadata=True)
    _check_schema(family, table)
    return table


def _check_schema(family: Family, table: pyarrow.Table) -> None:
    """Check the columns of a table and their types; ValueError names the first that is wrong."""
    file, texts = file_name(family.name), ("host", *family.keys)
    numbers = {"time_ns": pyarrow.int64(), **{kept.name: _kind(kept) for kept in family.columns}}
    for name in (*texts, *numbers):
        if name not in table.column_names:
            raise ValueError(f"{file}: no column {name}")
        kind = table.schema.field(name).type
        if name in numbers and kind != numbers[name]:
            raise ValueError(f"{file}: {name} is {kind}; expected {numbers[name]}")
        plain = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
        if name in texts and plain != pyarrow.string():
            raise ValueError(f"{file}: {name} is {kind}; expected texts")
        if name in (*texts, "time_ns") and table[name].null_count:
            raise ValueError(f"{file}: {name} is empty in a row")


def _joined(tables: dict[str, pyarrow.Table | None]) -> Recording:
    # Hosts have processors, switches only ports.
    first = next((table for table in tables.values() if table is not None and table.num_rows), None)
    if first is None:
        raise ValueError(f"no rows in {file_name(PROCESSOR.name)}")
    rows: dict[int, dict[str, list[CounterRow]]] = {}
    for family in FAMILIES:
        for time_ns, row in _rows(family, tables[family.name]):
            rows.setdefault(time_ns, {part.name: [] for part in FAMILIES})[family.name].append(row)
    metadata = {key.decode(): text.decode() for key, text in (first.schema.metadata or {}).items()}
    hosts = first["host"].unique().to_pylist()
    if len(hosts) != 1:
        raise ValueError(f"rows of {len(hosts)} hosts")
    return Recording(
        run=metadata["run"],
        host=hosts[0],
        period_s=float(metadata["period_s"]),
        samples=tuple(Sample(time_ns, rows[time_ns]) for time_ns in sorted(rows)),
        late=int(metadata["late"]),
        processor_s=float(metadata["processor_s"]),
        failure=metadata.get("failure", ""),
    )


def _rows(family: Family, table: pyarrow.Table | None) -> Iterator[tuple[int, CounterRow]]:
    for facts in table.to_pylist() if table is not None else ():
        yield facts["time_ns"], _row(family, facts)


def _row(family: Family, facts: dict[str, Any]) -> CounterRow:
    keys = tuple(str(facts[name]) for name in family.keys)
    return CounterRow(keys, tuple(facts[column.name] for column in family.columns))
