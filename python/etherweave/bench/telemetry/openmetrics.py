"""Recordings for Prometheus, in the OpenMetrics text format (openmetrics.io, version 1.0.0)."""

import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.telemetry.counters import Value
from etherweave.bench.telemetry.families import FAMILIES, PREFIX, Column, Family
from etherweave.bench.telemetry.recorder import Recording
from etherweave.bench.telemetry.sampling import Sample

Labels = tuple[tuple[str, str], ...]


class Gauge(NamedTuple):
    """A figure about a whole run."""

    name: str
    meaning: str


RUN = f"{PREFIX}_run"
STARTED = Gauge(f"{PREFIX}_run_started_timestamp_seconds", "When the run began, since 1970.")
ENDED = Gauge(f"{PREFIX}_run_ended_timestamp_seconds", "When the run ended, since 1970.")
PERIOD = Gauge(f"{PREFIX}_sampling_period_seconds", "Wanted between two samples.")
COST = Gauge(f"{PREFIX}_sampling_processor_seconds", "Processor time that the samples took.")


def metrics() -> list[str]:
    """Name every series that is ever written."""
    counters = [f"{family.metric(one)}_total" for family in FAMILIES for one in family.columns]
    return [f"{RUN}_info", *(gauge.name for gauge in (STARTED, ENDED, PERIOD, COST)), *counters]


def history(recording: Recording) -> str:
    """Write all samples with their times, for ``promtool tsdb create-blocks-from openmetrics``.

    Prometheus counts milliseconds, and rejects two samples of one: the later one is written.
    """
    samples = {_time(sample.time_ns): sample for sample in recording.samples}
    return _exposition(recording, samples.values(), has_times=True)


def latest(recording: Recording) -> str:
    """Write the last sample without its time, as the textfile collector of node_exporter wants."""
    return _exposition(recording, recording.samples[-1:], has_times=False)


def write_textfile(recording: Recording, path: Path) -> None:
    """Replace a file of the textfile collector at once; its name must end in ``.prom``.

    Raises
    ------
    ValueError
        When the collector would not read a file of this name.
    """
    if path.suffix != ".prom":
        raise ValueError(f"{path}: expected a name that ends in .prom")
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(latest(recording))
    fresh.replace(path)


def _exposition(recording: Recording, samples: Iterable[Sample], *, has_times: bool) -> str:
    samples = tuple(samples)
    common: Labels = (("run", recording.run), ("host", recording.host))
    lines = [*_about_run(recording, common)]
    for family in FAMILIES:
        series = _series(family, samples)
        for at, column in enumerate(family.columns):
            lines += _counter(family, column, _points(series, at, has_times), common)
    return "\n".join([*lines, "# EOF", ""])


def _about_run(recording: Recording, common: Labels) -> Iterator[str]:
    yield f"# TYPE {RUN} info"
    yield f"# HELP {RUN} The runs that were recorded."
    yield f"{RUN}_info{_braces(common)} 1"
    values = {
        STARTED: recording.samples[0].time_ns / 1e9,
        ENDED: recording.samples[-1].time_ns / 1e9,
        PERIOD: recording.period_s,
        COST: recording.processor_s,
    }
    for gauge, value in values.items():
        yield f"# TYPE {gauge.name} gauge"
        yield f"# UNIT {gauge.name} seconds"
        yield f"# HELP {gauge.name} {gauge.meaning}"
        yield f"{gauge.name}{_braces(common)} {value!r}"


Series = Mapping[tuple[str, ...], list[tuple[int, tuple[Value, ...]]]]


def _series(family: Family, samples: Iterable[Sample]) -> Series:
    found: dict[tuple[str, ...], list[tuple[int, tuple[Value, ...]]]] = {}
    for sample in samples:
        for keys, values in sample.rows[family.name]:
            found.setdefault(keys, []).append((sample.time_ns, values))
    return found


def _points(series: Series, at: int, has_times: bool) -> Iterator[tuple[tuple[str, ...], str]]:
    """Give a counter's values as text, each series in order of time, as the format wants."""
    for keys, points in series.items():
        for time_ns, values in points:
            if values[at] is not None:
                yield keys, f"{values[at]!r}" + (f" {_time(time_ns)}" if has_times else "")


def _time(time_ns: int) -> str:
    return f"{time_ns / 1e9:.3f}"


def _counter(
    family: Family, column: Column, points: Iterable[tuple[tuple[str, ...], str]], common: Labels
) -> list[str]:
    name = family.metric(column)
    lines = [
        f"{name}_total{_braces((*common, *zip(family.keys, keys, strict=True)))} {point}"
        for keys, point in points
    ]
    if not lines:
        return []
    unit = [f"# UNIT {name} {column.unit}"] if column.unit else []
    return [f"# TYPE {name} counter", *unit, f"# HELP {name} {column.meaning}", *lines]


def _braces(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def dashboard() -> str:
    """Give the dashboard as JSON, to be imported in Grafana or put into its provisioning folder."""
    return (files(__package__) / "dashboard.json").read_text(encoding="utf-8")
