"""Ranks over time: who computes and who communicates when, of a run or a recorded program."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.figure import Figure

from etherweave import _core
from etherweave.api.fidelity import mode_labels
from etherweave.api.results import Result
from etherweave.report.intervals import Intervals
from etherweave.report.periods import Period, period
from etherweave.report.section import Section, Table
from etherweave.report.style import WholeNumbers

COMPUTE = ("compute", "sleep")  # Activities that are no communication.
CELLS = 400  # Cells of the map of all time.
MAP_CAPTION = (
    "A row for each rank. The colour is the part of the time that it spent in communication: in "
    "calls of MPI, or waiting for messages. While one of its streams computes, a rank computes: "
    "communication of its other streams is hidden then."
)


@dataclass(frozen=True)
class Timeline:
    """Activities of the ranks of one job, and their messages."""

    job: str
    title: str  # The job's name, with how it was simulated where not all jobs are alike.
    activities: pl.DataFrame
    """``rank``, ``activity``, ``start_ns`` and ``end_ns``; those of a rank do not overlap."""
    transfers: pl.DataFrame  # ``source``, ``destination``, ``start_ns`` and ``end_ns``.

    @property
    def bounds_ns(self) -> tuple[float, float]:
        """The first start and the last end [ns]."""
        low, high = self.activities["start_ns"].min(), self.activities["end_ns"].max()
        assert isinstance(low, float)
        assert isinstance(high, float)
        return low, high

    @property
    def communication(self) -> pl.DataFrame:
        """Activities that are communication."""
        return self.activities.filter(~pl.col("activity").is_in(COMPUTE))

    @cached_property
    def period(self) -> Period | None:
        """Find the time of an iteration; None when nothing repeats."""
        own = self.communication
        return period(own["start_ns"].to_numpy(), own["end_ns"].to_numpy())


def timelines(result: Result) -> list[Timeline]:
    """Split the activities of a run by job; none where the run did not observe its ranks."""
    if not result.columns("activities"):
        return []
    activities, transfers = result.to_polars("activities"), result.to_polars("transfers")
    labels = mode_labels(result)
    return [
        Timeline(
            str(job),
            labels.get(str(job), str(job)),
            _of_ranks(own),
            transfers.filter(pl.col("job") == job),
        )
        for (job,), own in activities.group_by("job", maintain_order=True)
    ]


def _of_ranks(activities: pl.DataFrame) -> pl.DataFrame:
    """Join the streams of each rank; a rank of one stream stays as it is."""
    if activities["stream"].n_unique() == 1:
        return activities
    return pl.concat(_exposed(own) for own in activities.partition_by("rank"))


def _exposed(streams: pl.DataFrame) -> pl.DataFrame:
    """Say when any stream of a rank computes, and when one communicates while none computes."""
    computes = streams["activity"].is_in(COMPUTE).to_numpy()
    starts, ends = streams["start_ns"].to_numpy(), streams["end_ns"].to_numpy()
    times = np.concatenate([starts, ends])
    order = np.argsort(times, kind="stable")
    steps = np.where(np.concatenate([computes, computes]), len(streams) + 1, 1)
    steps[len(streams) :] *= -1
    # Below the step of a stream that computes are only those that communicate.
    open_steps = np.cumsum(steps[order])
    state = np.where(open_steps > len(streams), 2, np.minimum(open_steps, 1))
    times = times[order]
    lasts = np.append(times[1:] > times[:-1], [False])  # The last of equal instants counts.
    times, state = times[lasts], state[lasts]
    changes = np.append([True], state[1:] != state[:-1])
    times, state = np.append(times[changes], ends.max()), state[changes]
    made = pl.DataFrame(
        {
            "rank": np.full(len(state), streams["rank"][0], dtype=np.uint64),
            "activity": np.array(["", "communication", COMPUTE[0]])[state],
            "start_ns": times[:-1],
            "end_ns": times[1:],
        }
    )
    return made.filter(pl.col("activity") != "")


def recorded_timeline(recording: _core.Recording) -> Timeline:
    """Read the activities of a recorded program."""
    tables = recording.tables()
    activities, transfers = (pl.DataFrame(tables[name]) for name in ("activities", "transfers"))
    return Timeline("recorded", "recorded", activities, transfers)


def communication_map(timeline: Timeline) -> Section:
    """Draw the part of the time that each rank communicates, and name the time of an iteration."""
    from_ns, until_ns = timeline.bounds_ns
    edges = np.linspace(from_ns, until_ns, CELLS + 1)
    own = timeline.communication.partition_by("rank", as_dict=True)
    ranks = sorted(timeline.activities["rank"].unique())
    shares = [_share(own.get((rank,)), from_ns, until_ns) for rank in ranks]
    figure = Figure(figsize=(9, 2.4 + 0.06 * min(len(ranks), 64)))
    axes = figure.subplots()
    look: dict[str, Any] = {"cmap": "cividis", "vmin": 0, "vmax": 1, "rasterized": True}
    mesh = axes.pcolormesh(edges / 1e6, np.arange(len(ranks) + 1) - 0.5, np.array(shares), **look)
    figure.colorbar(mesh, ax=axes, label="communication")
    axes.set_xlabel("time [ms]")
    axes.set_ylabel("rank")
    axes.invert_yaxis()  # Rank 0 is on top, as in the detailed picture and viewers of traces.
    axes.yaxis.set_major_locator(WholeNumbers())
    axes.set_title(timeline.title)
    name = f"ranks_{timeline.job}"
    return Section(name, "Ranks over time", MAP_CAPTION, figure, [_facts(timeline)])


def _share(rows: pl.DataFrame | None, from_ns: float, until_ns: float) -> npt.NDArray[np.float64]:
    if rows is None:
        return np.zeros(CELLS)
    intervals = Intervals(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
    return np.clip(intervals.share(from_ns, until_ns, CELLS), 0, 1)


def _facts(timeline: Timeline) -> Table:
    span, (from_ns, until_ns) = timeline.period, timeline.bounds_ns
    time = pl.col("end_ns") - pl.col("start_ns")
    spent = float(timeline.communication.select(time.sum()).item() or 0)
    ranks = timeline.activities["rank"].n_unique()
    cells = [f"{ranks:,}", f"{(until_ns - from_ns) / 1e6:,.3f}"]
    cells.append(f"{spent / ranks / (until_ns - from_ns):.1%}")
    cells += _iteration(span) if span else ["none found", "–", "–", "–"]
    head = ("ranks", "time [ms]", "communication", "iteration [ms]", "correlation")
    of_part = ("where [ms]", "iterations there")
    caption = (
        "The iteration is the shortest time after which communication, summed over ranks, "
        "correlates with itself nearly as well as after any other, in the longest part of the "
        "time in which it repeats. Where it does not repeat, iterations are not counted."
    )
    return Table((*head, *of_part), [cells], caption)


def _iteration(span: Period) -> list[str]:
    where = f"{span.from_ns / 1e6:,.3f} to {span.until_ns / 1e6:,.3f}"
    return [f"{span.ns / 1e6:,.4g}", f"{span.correlation:.2f}", where, f"{span.iterations:,}"]
