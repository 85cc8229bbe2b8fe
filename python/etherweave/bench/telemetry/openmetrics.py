"""Recordings for Prometheus, in the OpenMetrics text format (openmetrics.io, version 1.0.0)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from etherweave.api.outputs import write_text
from etherweave.bench.telemetry.counters import Value
from etherweave.bench.telemetry.families import FAMILIES, PREFIX, Family
from etherweave.bench.telemetry.recorder import Recording
from etherweave.bench.telemetry.sampling import Sample

if TYPE_CHECKING:
    from prometheus_client.core import Metric


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
    counters = [f"{family.metric(name)}_total" for family in FAMILIES for name in family.columns]
    return [f"{RUN}_info", *(gauge.name for gauge in (STARTED, ENDED, PERIOD, COST)), *counters]


def history(*recordings: Recording) -> str:
    """Write all samples with their times, for ``promtool tsdb create-blocks-from openmetrics``.

    Prometheus counts milliseconds, and rejects two samples of one: the later one is written.
    """
    by_time = [{_milliseconds(row.time_ns): row for row in host.samples} for host in recordings]
    samples = [tuple(kept.values()) for kept in by_time]
    return _exposition(list(zip(recordings, samples, strict=True)), has_times=True)


def latest(*recordings: Recording) -> str:
    """Write the last sample without its time, as the textfile collector of node_exporter wants."""
    return _exposition([(host, host.samples[-1:]) for host in recordings], has_times=False)


def write_textfile(recording: Recording, path: Path, *others: Recording) -> None:
    """Replace a file of the textfile collector at once; its name must end in ``.prom``.

    Raises ``ValueError`` when the collector would not read a file of this name.
    """
    if path.suffix != ".prom":
        raise ValueError(f"{path}: expected a name that ends in .prom")
    write_text(path, latest(recording, *others))


class _Registry(NamedTuple):
    """Metrics of a recording, as ``prometheus_client`` collects them."""

    metrics: tuple["Metric", ...]

    def collect(self) -> tuple["Metric", ...]:
        """Return all metrics."""
        return self.metrics


_Kept = Sequence[tuple[Recording, tuple[Sample, ...]]]
"""Recordings, and those of their samples that are written."""


def _exposition(kept: _Kept, *, has_times: bool) -> str:
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = _Registry((*_run_metrics([host for host, _ in kept]), *_counters(kept, has_times)))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text.decode()


def _run_metrics(recordings: Sequence[Recording]) -> Iterator["Metric"]:
    from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily

    run = InfoMetricFamily(RUN, "The runs that were recorded.", labels=())
    for host in recordings:
        run.add_metric((), {"run": host.run, "host": host.host})
    yield run
    values: dict[Gauge, Callable[[Recording], float]] = {
        STARTED: lambda host: host.samples[0].time_ns / 1e9,
        ENDED: lambda host: host.samples[-1].time_ns / 1e9,
        PERIOD: lambda host: host.period_s,
        COST: lambda host: host.processor_s,
    }
    for gauge, value in values.items():
        family = GaugeMetricFamily(
            gauge.name, gauge.meaning, labels=["run", "host"], unit="seconds"
        )
        for host in recordings:
            family.add_metric([host.run, host.host], value(host))
        yield family


def _counters(kept: _Kept, has_times: bool) -> Iterator["Metric"]:
    """Yield the counters that exist, each series in order of time, as the format requires."""
    from prometheus_client.core import CounterMetricFamily

    for family in FAMILIES:
        hosts = [((host.run, host.host), _series(family, samples)) for host, samples in kept]
        for at, row in enumerate(family.columns):
            metric = CounterMetricFamily(
                family.metric(row), row.meaning, labels=("run", "host", *family.keys), unit=row.unit
            )
            for common, keys, time_ns, values in _points(hosts):
                if (value := values[at]) is not None:
                    time_s = _milliseconds(time_ns) / 1e3 if has_times else None
                    metric.add_metric((*common, *keys), value, timestamp=time_s)
            if metric.samples:
                yield metric


Series = Mapping[tuple[str, ...], list[tuple[int, tuple[Value, ...]]]]


def _series(family: Family, samples: Iterable[Sample]) -> Series:
    series: dict[tuple[str, ...], list[tuple[int, tuple[Value, ...]]]] = {}
    for sample in samples:
        for keys, values in sample.rows[family.name]:
            series.setdefault(keys, []).append((sample.time_ns, values))
    return series


def _points(
    hosts: Iterable[tuple[tuple[str, str], Series]],
) -> Iterator[tuple[tuple[str, str], tuple[str, ...], int, tuple[Value, ...]]]:
    for common, series in hosts:
        for keys, points in series.items():
            for time_ns, values in points:
                yield common, keys, time_ns, values


def _milliseconds(time_ns: int) -> int:
    """Return the end of the millisecond that a time is in: what is written there has come."""
    return -(-time_ns // 1_000_000)


def dashboard() -> str:
    """Give the dashboard as JSON, to be imported in Grafana or put into its provisioning folder."""
    return (files(__package__) / "dashboard.json").read_text(encoding="utf-8")
