"""Counters of hosts during launches, over time: read from where ``bench run`` keeps them.

Times are those of the clock of who started the launches: half way between the bounds of a host's
clock. Left out: drawing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from etherweave.api.inputs import read_parquet
from etherweave.bench.campaigns.store import StoreError
from etherweave.bench.telemetry.epochs import EPOCH, NAME, Epoch, epoch
from etherweave.bench.telemetry.families import INTERFACE, PRIORITY, PROCESSOR, RDMA, Family
from etherweave.bench.telemetry.tables import file_name
from etherweave.report.bounds import Floats

_FAMILIES = (INTERFACE, PRIORITY, RDMA)  # Families shown thing by thing; processors are added up.
_IDLE = "idle_s"


class RecordedLaunch(NamedTuple):
    """A launch that was kept."""

    name: str
    experiment: str
    is_warm_up: bool
    start_ns: int  # Since 1970 [ns].
    seconds: float  # Until it ended [s].


class CounterKey(NamedTuple):
    """A counter of a thing."""

    family: str
    thing: str  # Empty where there is one only: the tested interface, all processors.
    column: str


class CounterSteps(NamedTuple):
    """How a counter rose."""

    times: Floats  # Since the launch began [s].
    risen: Floats  # Since the first sample.


@dataclass(frozen=True)
class HostRecording:
    """One host during one launch."""

    launch: RecordedLaunch
    host: str
    failure: str  # Why nothing, or not everything, was recorded; empty if everything was.
    epoch: Epoch | None = None  # ``None`` when it cannot be read.
    steps: Mapping[CounterKey, CounterSteps] = field(default_factory=dict)
    processors: int = 0
    busiest: float | None = None  # Share of its time that the busiest processor worked, 0..1.

    def total(self, family: Family, *columns: str) -> float | None:
        """Add up by how much counters rose; ``None`` where they are not counted."""
        risen = [
            float(steps.risen[-1])
            for key, steps in self.steps.items()
            if key.family == family.name and key.column in columns
        ]
        return sum(risen) if risen else None

    @property
    def sent_again(self) -> int | None:
        """TCP segments; ``None`` where they are not counted."""
        ends = (self.epoch.before, self.epoch.after) if self.epoch else (None, None)
        counts = [end.tcp_counters.get("RetransSegs") for end in ends if end]
        first, last = (*counts, None, None)[:2]
        return None if first is None or last is None else max(0, last - first)

    @property
    def trouble(self) -> float:
        """Weigh what deserves attention: lost, paused, sent again, not recorded."""
        counted = sum(self.total(family, *columns) or 0.0 for family, columns in _TROUBLES)
        return counted + (self.sent_again or 0) + (1.0 if self.failure else 0.0)


_PAUSES = ("received_pauses", "sent_pauses")
LOSSES = ("out_of_sequence", "sequence_errors", "timeouts", "out_of_buffer")  # Counters of RDMA.
_TROUBLES = (
    (INTERFACE, ("received_drops", "sent_drops", "received_errors", *_PAUSES)),
    (PRIORITY, _PAUSES),
    (RDMA, LOSSES),
)


def launches(table: pl.DataFrame) -> list[RecordedLaunch]:
    """List the launches of a run's table, in the order of time."""
    if not table.height:
        return []
    names = ("launch", "experiment", "is_warm_up", "start_ns", "end_ns")
    rows = table.sort("start_ns", "launch").select(names).iter_rows()
    return [
        RecordedLaunch(name, experiment, is_warm_up, start, (end - start) / 1e9)
        for name, experiment, is_warm_up, start, end in rows
    ]


def homes(source: Path, launch: RecordedLaunch) -> list[Path]:
    """List the directories of the hosts of a launch, in the order of their names."""
    return sorted(path.parent for path in (source / NAME / launch.name).glob(f"*/{EPOCH}"))


def track(home: Path, launch: RecordedLaunch) -> HostRecording:
    """Read one host; what is damaged is a track that says so."""
    try:
        recorded = epoch(home / EPOCH)
    except (StoreError, OSError) as error:
        return HostRecording(launch, home.name, f"cannot be read: {_short(error)}")
    try:
        return _track(home, launch, recorded)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        return HostRecording(launch, home.name, f"cannot be read: {_short(error)}", recorded)


def rates(steps: CounterSteps, edges: Floats) -> Floats:
    """Return how fast a counter rose between edges [1/s], as far as samples lie between them.

    Not a number where there are none.
    """
    own = np.clip(edges, steps.times[0], steps.times[-1])
    seconds = np.diff(own)
    risen = np.diff(np.interp(own, steps.times, steps.risen))
    return np.divide(risen, seconds, out=np.full_like(seconds, np.nan), where=seconds > 0)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


def _track(home: Path, launch: RecordedLaunch, recorded: Epoch) -> HostRecording:
    samples = _table(home, PROCESSOR)
    if samples is None:
        return HostRecording(launch, home.name, recorded.failure or "no samples", recorded)
    first = int(samples["time_ns"].to_numpy().min())
    middle = (recorded.offset.low_ns + recorded.offset.high_ns) // 2 if recorded.offset else None
    # A host whose clock is not known began with its launch.
    zero = launch.start_ns + middle if middle is not None else first
    steps = dict(_steps(samples.with_columns(thing=pl.lit("")), PROCESSOR, zero))
    for family in _FAMILIES:
        table = _table(home, family)
        if table is not None:
            steps |= _steps(_things(table, family, recorded), family, zero)
    count, busiest = _processors(samples)
    return HostRecording(launch, home.name, recorded.failure, recorded, steps, count, busiest)


def _table(home: Path, family: Family) -> pl.DataFrame | None:
    """Read samples as rises since the sample before; a counter that was set back is from zero."""
    path = home / file_name(family.name)
    if not path.is_file():
        return None
    columns = [column.name for column in family.columns]
    table = pl.DataFrame(read_parquet(path)).select("time_ns", *family.keys, *columns)
    table = table.with_columns(pl.col("time_ns").cast(pl.Int64), pl.col(columns).cast(pl.Float64))
    counted = [_kept(pl.col(name)).over(family.keys) for name in columns]
    before = [pl.col(name).shift().over(family.keys) for name in columns]
    table = table.sort("time_ns").with_columns(counted)
    return table.with_columns(
        pl.when(pl.col(name) >= last)
        .then(pl.col(name) - last)
        .when(last.is_null())
        .then(pl.when(pl.col(name).is_not_null()).then(0.0))
        .otherwise(pl.col(name))
        for name, last in zip(columns, before, strict=True)
    )


def _kept(counter: pl.Expr) -> pl.Expr:
    """Hold a counter where a sample lacks it."""
    return pl.when(counter.is_finite()).then(counter).forward_fill()


def _things(table: pl.DataFrame, family: Family, recorded: Epoch) -> pl.DataFrame:
    """Name things, and keep those of the tested interface; the busiest where none was named."""
    if family is RDMA:
        return table.with_columns(thing=pl.concat_str(*family.keys, separator=" port "))
    carried = table.group_by("interface", maintain_order=True).agg(pl.col("sent_bytes").sum())
    busiest = carried.sort("sent_bytes", descending=True, nulls_last=True)["interface"].to_list()
    named = recorded.interface if recorded.interface in busiest else next(iter(busiest), "")
    own = table.filter(pl.col("interface") == named)
    return own.with_columns(thing=pl.col("priority") if family is PRIORITY else pl.lit(""))


def _steps(
    table: pl.DataFrame, family: Family, zero: int
) -> Iterator[tuple[CounterKey, CounterSteps]]:
    columns = [column.name for column in family.columns]
    summed = table.group_by("thing", "time_ns").agg(pl.col(columns).sum()).sort("time_ns")
    counted = table.group_by("thing", maintain_order=True).agg(pl.col(columns).count())
    known = {str(row.pop("thing")): row for row in counted.iter_rows(named=True)}
    for (thing,), own in summed.group_by("thing", maintain_order=True):
        times = (own["time_ns"] - zero).to_numpy() / 1e9
        for name in columns:
            if known[str(thing)][name]:
                risen = own[name].cum_sum().to_numpy()
                yield CounterKey(family.name, str(thing), name), CounterSteps(times, risen)


def _processors(samples: pl.DataFrame) -> tuple[int, float | None]:
    """Count processors, and measure how busy the busiest was."""
    columns = [column.name for column in PROCESSOR.columns]
    sums = samples.group_by("cpu", maintain_order=True).agg(pl.col(columns).sum())
    total = sums.select(pl.sum_horizontal(columns)).to_series()
    known = sums.filter(total > 0).select(1 - pl.col(_IDLE) / pl.sum_horizontal(columns))
    busiest = known.to_series().max()
    return sums.height, float(busiest) if isinstance(busiest, float) else None
