"""A recording as lines of JSON, each written at once: a killed recorder leaves its samples.

::

    {"format": 1, "run": …, "host": …, "period_s": …, "snapshot": …}      first
    {"time_ns": …, "rows": {family: [[keys, values], …]}}                 each sample
    {"late": …, "processor_s": …, "failure": …, "snapshot": …}            last

Snapshots have only what can be read without starting a tool.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from etherweave.api.inputs import decoded
from etherweave.bench.environment.snapshot import Snapshot
from etherweave.bench.telemetry.counters import CounterRow, Value
from etherweave.bench.telemetry.families import FAMILIES, Family
from etherweave.bench.telemetry.recorder import SAMPLES_MAX, Recording
from etherweave.bench.telemetry.sampling import Sample

T = TypeVar("T")

FORMAT = 1
EARLY = "ended before its input did"
_NAME_MAX = 256  # Longest key of a thing [characters].


class StreamError(ValueError):
    """Lines that are no recording: which one, and what is expected."""


@dataclass(frozen=True)
class Stream:
    """Output of a recorder."""

    recording: Recording
    before: Snapshot
    after: Snapshot | None  # ``None`` when it did not come to its end.


@dataclass(frozen=True)
class _First:
    format: int
    run: str
    host: str
    period_s: float
    snapshot: Snapshot


@dataclass(frozen=True)
class _Last:
    late: int
    processor_s: float
    failure: str
    snapshot: Snapshot


def first_line(run: str, host: str, period_s: float, before: Snapshot) -> str:
    """Write the first line, which names the run and the host."""
    facts = {"format": FORMAT, "run": run, "host": host, "period_s": period_s}
    return _line(facts | {"snapshot": before.facts()})


def sample_line(sample: Sample) -> str:
    """Write a sample."""
    return _line({"time_ns": sample.time_ns, "rows": sample.rows})


def last_line(recording: Recording, after: Snapshot) -> str:
    """Write what is known when a recording has ended."""
    facts = {name: getattr(recording, name) for name in ("late", "processor_s", "failure")}
    return _line(facts | {"snapshot": after.facts()})


def _line(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, separators=(",", ":")) + "\n"


def stream(text: str) -> Stream:
    """Read a recording; a last line that was cut is left out.

    Raises ``StreamError`` when the text is none.
    """
    if not text.strip():
        raise StreamError("empty; expected a recording, as `bench telemetry record` prints it")
    whole, _, _ = text.rpartition("\n")
    lines = [_object(number, line) for number, line in enumerate(whole.split("\n"), 1)]
    first = _decoded(_First, lines[0], 1)
    if first.format != FORMAT:
        raise StreamError(f"line 1: format {first.format}; expected {FORMAT}")
    last = _decoded(_Last, lines[-1], len(lines)) if "late" in lines[-1] else None
    samples = _samples(lines[1 : -1 if last else None])
    recording = Recording(first.run, first.host, first.period_s, samples, 0, 0.0, EARLY)
    if last is None:
        return Stream(recording, first.snapshot, None)
    ended = replace(recording, late=last.late, processor_s=last.processor_s, failure=last.failure)
    return Stream(ended, first.snapshot, last.snapshot)


def _object(number: int, line: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise StreamError(f"line {number}: no JSON; expected a recording") from None
    if not isinstance(document, dict):
        raise StreamError(f"line {number}: no object; expected a recording")
    return document


def _decoded(kind: type[T], facts: object, number: int) -> T:
    try:
        return decoded(kind, facts, f"line {number}")
    except ValueError as error:
        raise StreamError(f"{error}; expected a recording") from None


def _samples(lines: list[dict[str, Any]]) -> tuple[Sample, ...]:
    if not 0 < len(lines) <= SAMPLES_MAX + 2:
        raise StreamError(f"{len(lines):,} samples; expected 1 to {SAMPLES_MAX + 2:,}")
    samples = tuple(_sample(facts, number) for number, facts in enumerate(lines, 2))
    if list(samples) != sorted(samples, key=lambda sample: sample.time_ns):
        raise StreamError("samples are not in the order of time")
    return samples


def _sample(facts: dict[str, Any], number: int) -> Sample:
    time_ns, rows = facts.get("time_ns"), facts.get("rows")
    if type(time_ns) is not int or not 0 <= time_ns < 2**63 or not isinstance(rows, dict):
        raise StreamError(f"line {number}: expected a time and rows")
    try:
        return Sample(
            time_ns,
            {family.name: [_row(family, *row) for row in rows[family.name]] for family in FAMILIES},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StreamError(f"line {number}: {error}; expected rows of counters") from None


def _row(family: Family, keys: list[object], values: list[object]) -> CounterRow:
    """Take a row apart.

    Raises ``ValueError`` when it is not one of this family.
    """
    if (len(keys), len(values)) != (len(family.keys), len(family.columns)):
        raise ValueError(f"a row of {family.name} has other columns")
    counted = [
        _value(value, column.is_whole) for value, column in zip(values, family.columns, strict=True)
    ]
    return CounterRow(tuple(str(key)[:_NAME_MAX] for key in keys), tuple(counted))


def _value(value: object, is_whole: bool) -> Value:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**64:
        raise ValueError(f"{str(value)[:40]!r} is no counter")
    if not is_whole:
        return float(value) if math.isfinite(value) else None
    if isinstance(value, float):
        raise ValueError(f"{value!r} is no whole number")
    return value
