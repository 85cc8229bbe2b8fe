"""Ranks over time: who computes and who communicates when, of a run or a recorded program."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etherweave import _core
from etherweave.fidelity import mode_labels
from etherweave.replays import RecordingFacts, facts
from etherweave.report.intervals import Intervals
from etherweave.report.page import Front, Page
from etherweave.report.periods import Period, period
from etherweave.report.section import Builder, Section, Table
from etherweave.report.style import SERIES
from etherweave.results import Result

COMPUTE = ("compute", "sleep")
"""Activities that are no communication."""
CELLS = 400
"""Of the map of all time."""
ITERATIONS = 4
"""Number of iterations of the detailed picture."""
RECTANGLES_MAX = 4_000
"""Of the detailed picture, and as many lines; it is shorter where more would be needed."""
LINE_WIDTHS = (0.2, 0.6)
"""Of messages: many are thin, or they would hide what the ranks do [pt]."""
LINES_WIDE = 300.0
"""Sum of the widths of lines between these [pt]."""
MAP_CAPTION = (
    "A row for each rank. The colour is the part of the time that it spent in communication: in "
    "calls of MPI, or waiting for messages. While one of its streams computes, a rank computes: "
    "communication of its other streams is hidden then."
)
DETAIL_CAPTION = (
    "Blue: computation; orange: communication, waiting included; yellow: messages between two "
    "ranks, from the send to the end of the receive."
)
_COMPUTES, _COMMUNICATES, _MESSAGE = SERIES[0], SERIES[1], "#f0c000"


@dataclass(frozen=True)
class Timeline:
    """What the ranks of one job did, and their messages."""

    job: str
    title: str
    """The job's name, with how it was simulated where not all jobs are alike."""
    activities: pl.DataFrame
    """``rank``, ``activity``, ``start_ns`` and ``end_ns``; those of a rank do not overlap."""
    transfers: pl.DataFrame
    """``source``, ``destination``, ``start_ns`` and ``end_ns``."""

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


def sections(result: Result) -> list[Builder[Result]]:
    """Return the builders of a run's timelines, one after another."""
    return [builder for one in timelines(result) for builder in (_map_of(one), _detail_of(one))]


def _map_of(timeline: Timeline) -> Builder[Result]:
    return lambda _: communication_map(timeline)


def _detail_of(timeline: Timeline) -> Builder[Result]:
    return lambda _: detail(timeline)


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
    axes.invert_yaxis()  # As in the detailed picture, and in viewers of traces.
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(timeline.title)
    name = f"ranks_{timeline.job}"
    return Section(name, "Ranks over time", MAP_CAPTION, figure, [_facts(timeline)])


def _share(rows: pl.DataFrame | None, from_ns: float, until_ns: float) -> npt.NDArray[np.float64]:
    if rows is None:
        return np.zeros(CELLS)
    intervals = Intervals(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
    return np.clip(intervals.share(from_ns, until_ns, CELLS), 0, 1)


def _facts(timeline: Timeline) -> Table:
    found, (from_ns, until_ns) = timeline.period, timeline.bounds_ns
    time = pl.col("end_ns") - pl.col("start_ns")
    spent = float(timeline.communication.select(time.sum()).item() or 0)
    ranks = timeline.activities["rank"].n_unique()
    cells = [f"{ranks:,}", f"{(until_ns - from_ns) / 1e6:,.3f}"]
    cells.append(f"{spent / ranks / (until_ns - from_ns):.1%}")
    cells += _iteration(found, from_ns) if found else ["none found", "–", "–", "–"]
    head = ("ranks", "time [ms]", "communication", "iteration [ms]", "correlation")
    of_part = ("where [ms]", "iterations there")
    caption = (
        "The iteration is the shortest time after which communication, summed over ranks, "
        "correlates with itself nearly as well as after any other, in the longest part of the "
        "time in which it repeats. Where it does not repeat, iterations are not counted."
    )
    return Table((*head, *of_part), [cells], caption)


def _iteration(found: Period, origin_ns: float) -> list[str]:
    start, end = ((one - origin_ns) / 1e6 for one in (found.from_ns, found.until_ns))
    where = f"{start:,.3f} to {end:,.3f}"
    return [
        f"{found.ns / 1e6:,.4g}",
        f"{found.correlation:.2f}",
        where,
        f"{found.iterations:,}",
    ]


def detail(timeline: Timeline) -> Section:
    """Draw some iterations from the middle, as bars of each rank, with their messages."""
    from_ns, until_ns = _window(timeline)
    within = (pl.col("end_ns") > from_ns) & (pl.col("start_ns") < until_ns)
    rows, messages = timeline.activities.filter(within), timeline.transfers.filter(within)
    ranks = sorted(timeline.activities["rank"].unique())
    figure = Figure(figsize=(9, 1.6 + 0.12 * min(len(ranks), 64)))
    axes = figure.subplots()
    computes = pl.col("activity").is_in(COMPUTE)
    _bars(axes, rows.filter(computes), "computation", _COMPUTES)
    _bars(axes, rows.filter(~computes), "communication", _COMMUNICATES)
    columns = ("start_ns", "end_ns", "source", "destination")
    ends = messages.select(columns).rows()
    lines = [[(start / 1e6, a), (end / 1e6, b)] for start, end, a, b in ends]
    width = min(LINE_WIDTHS[1], max(LINE_WIDTHS[0], LINES_WIDE / max(1, len(lines))))
    axes.add_collection(LineCollection(lines, colors=_MESSAGE, linewidths=width, label="messages"))
    axes.set_xlim(from_ns / 1e6, until_ns / 1e6)
    axes.set_ylim(ranks[-1] + 0.6, ranks[0] - 0.6)
    axes.set_xlabel("time [ms]")
    axes.set_ylabel("rank")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    legend = axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    for line in legend.get_lines():
        line.set_linewidth(1.5)
    axes.grid(visible=False)
    return Section(f"iterations_{timeline.job}", "Some iterations", DETAIL_CAPTION, figure)


def _window(timeline: Timeline) -> tuple[float, float]:
    """Choose some iterations in the middle, or as much of it as can be drawn."""
    found = timeline.period
    from_ns, until_ns = (found.from_ns, found.until_ns) if found else timeline.bounds_ns
    span = until_ns - from_ns
    wanted = min(span, ITERATIONS * found.ns) if found else span
    most = max(1, len(timeline.activities), len(timeline.transfers))
    drawn = span * min(1.0, RECTANGLES_MAX / most)
    length = min(wanted, drawn)
    start = from_ns + (span - length) / 2
    return start, start + length


def _bars(axes: Axes, rows: pl.DataFrame, label: str, colour: str) -> None:
    bars = [
        _rectangle(rank, low / 1e6, high / 1e6)
        for rank, low, high in rows.select("rank", "start_ns", "end_ns").rows()
    ]
    axes.add_collection(PolyCollection(bars, facecolors=colour, linewidths=0, label=label))


def _rectangle(rank: int, left: float, right: float) -> list[tuple[float, float]]:
    return [(left, rank - 0.4), (right, rank - 0.4), (right, rank + 0.4), (left, rank + 0.4)]


def is_recording(source: Path) -> bool:
    """Return whether a directory has files of the recorder."""
    return any(source.glob("*.ewr"))


def write_recording(source: Path, out: Path) -> Path:
    """Write the page of a recorded program into a directory; returns the page's path."""
    try:
        recording = _core.Recording.read(source)
    except _core.ScenarioError as error:
        raise ValueError(error) from None
    page, timeline = Page(out), recorded_timeline(recording)
    page.show([communication_map, detail], timeline)
    return page.write(_front(source, facts(recording)), [])


def _front(source: Path, described: RecordingFacts) -> Front:
    lead = (
        f"{described['ranks']} ranks ran for {described['span_ns'] / 1e6:,.6g} ms with "
        f"{described['library']}."
    )
    rows = [
        ("hosts", ", ".join(described["hosts"])),
        ("calls", f"{described['calls']:,}"),
        ("computation", f"{described['compute_share']:.1%} of the time"),
        ("recorder", f"{described['recorder_share']:.2%} of the time"),
        ("clocks within", f"{described['clock_error_ns_max'] / 1e3:,.3g} us"),
    ]
    if lost := described["not_recorded"]:
        rows.append(("not recorded", ", ".join(lost)))
    return Front(source.absolute().name, lead, rows)
