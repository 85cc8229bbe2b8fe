"""Recordings as tables: counters as columns with their units, one row for each thing and time."""

from pathlib import Path

import pyarrow
import pyarrow.parquet

from etherweave.bench.telemetry.families import FAMILIES, Column, Family
from etherweave.bench.telemetry.recorder import Recording


def tables(recording: Recording) -> dict[str, pyarrow.Table]:
    """Give a table for each family that has rows, by its name.

    Columns are ``run``, ``host``, ``time_ns`` (since 1970), what tells things apart, and counters;
    what nobody counts is null. Epochs of several runs can be put together.
    """
    made = {family.name: _table(family, recording) for family in FAMILIES}
    return {name: table for name, table in made.items() if table.num_rows}


def save(recording: Recording, directory: Path) -> list[Path]:
    """Write a recording beside the result that it belongs to: ``telemetry_NAME.parquet`` each."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in tables(recording).items():
        path = directory / file_name(name)
        fresh = path.with_suffix(".fresh")
        pyarrow.parquet.write_table(table, fresh)
        paths.append(fresh.replace(path))
    return paths


def file_name(family: str) -> str:
    """Name the file of a family's table."""
    return f"telemetry_{family}.parquet"


def _table(family: Family, recording: Recording) -> pyarrow.Table:
    rows = [(one.time_ns, row) for one in recording.samples for row in one.rows[family.name]]
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
    fields = [pyarrow.field(name, one.type, metadata=_unit(name)) for name, one in columns.items()]
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
    return pyarrow.float64() if column.unit == "seconds" else pyarrow.uint64()


def _unit(name: str) -> dict[str, str] | None:
    unit = {"s": "s", "ns": "ns", "bytes": "B"}.get(name.rpartition("_")[2])
    return {"unit": unit} if unit else None
