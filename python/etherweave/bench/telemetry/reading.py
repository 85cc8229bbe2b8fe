"""Recordings from where they were kept: tables of a directory, or lines of a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from etherweave.bench.telemetry.counters import Row
from etherweave.bench.telemetry.families import FAMILIES, PROCESSOR, Family
from etherweave.bench.telemetry.recorder import Recording
from etherweave.bench.telemetry.sampling import Sample
from etherweave.bench.telemetry.stream import StreamError, stream
from etherweave.bench.telemetry.tables import file_name


class ReadingError(ValueError):
    """What is kept somewhere is no recording."""


def recordings(path: Path) -> list[Recording]:
    """Read the recording of a file, or all that are kept at or below a directory.

    Raises
    ------
    ReadingError
        When there is none, or it is damaged.
    OSError
        When it cannot be read.
    """
    if path.is_file():
        try:
            return [stream(path.read_text(errors="replace")).recording]
        except StreamError as error:
            raise ReadingError(f"{path}: {error}") from None
    homes = sorted({one.parent for one in path.rglob(file_name(PROCESSOR.name))})
    if not homes:
        raise ReadingError(
            f"{path}: holds no recording; expected what `bench run` or `bench telemetry record` "
            "writes"
        )
    return [_recording(home) for home in homes]


def _recording(home: Path) -> Recording:
    try:
        tables = {one.name: _table(home, one) for one in FAMILIES}
        return _joined(tables, pyarrow.parquet.read_table(home / file_name(PROCESSOR.name)))
    except (KeyError, ValueError, pyarrow.ArrowException) as error:
        raise ReadingError(f"{home}: {error}; expected tables of telemetry") from None


def _table(home: Path, family: Family) -> pyarrow.Table | None:
    path = home / file_name(family.name)
    return pyarrow.parquet.read_table(path) if path.is_file() else None


def _joined(tables: dict[str, pyarrow.Table | None], processors: pyarrow.Table) -> Recording:
    rows: dict[int, dict[str, list[Row]]] = {}
    for family in FAMILIES:
        for time_ns, row in _rows(family, tables[family.name]):
            rows.setdefault(time_ns, {one.name: [] for one in FAMILIES})[family.name].append(row)
    metadata = {key.decode(): text.decode() for key, text in processors.schema.metadata.items()}
    hosts = processors["host"].unique().to_pylist()
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


def _rows(family: Family, table: pyarrow.Table | None) -> Iterator[tuple[int, Row]]:
    for facts in table.to_pylist() if table is not None else ():
        yield facts["time_ns"], _row(family, facts)


def _row(family: Family, facts: dict[str, Any]) -> Row:
    keys = tuple(str(facts[name]) for name in family.keys)
    return Row(keys, tuple(facts[column.name] for column in family.columns))
