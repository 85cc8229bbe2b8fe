"""Some of the time of ranks in detail: every call and every message."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from etherweave.report.run.timeline import COMPUTE, Timeline
from etherweave.report.section import Section
from etherweave.report.style import SERIES, WholeNumbers

ITERATIONS = 4  # Number of iterations that are drawn, as in Figure 8 of Benito et al. 2015.
RECTANGLES_MAX = 10_000
"""Number of rectangles, and of lines; fewer iterations are drawn where more would be needed."""
HALVINGS = 40  # Halvings of the share of a window that can be drawn.
LINE_WIDTHS = (0.2, 0.6)  # Widths of messages: many are thin, not to hide the ranks [pt].
LINES_WIDE = 300.0  # Sum of the widths of lines between these [pt].
CAPTION = (
    "Blue: computation; orange: communication, waiting included; yellow: messages between two "
    "ranks, from the send to the end of the receive."
)
_COMPUTES, _COMMUNICATES, _MESSAGE = SERIES[0], SERIES[1], "#f0c000"


@dataclass(frozen=True)
class Window:
    """A window of time."""

    from_ns: float  # Its beginning [ns].
    until_ns: float  # Its end, behind that [ns].

    def shortened(self, part: float, anchor_ns: float) -> "Window":
        """Keep a part of it around a time."""
        start, end = (part * (time_ns - anchor_ns) for time_ns in (self.from_ns, self.until_ns))
        return Window(anchor_ns + start, anchor_ns + end)


@dataclass(frozen=True)
class WindowRequest:
    """A window that a reader asks for."""

    from_ns: float | None = None  # Its beginning [ns]; None: that of the ranks.
    until_ns: float | None = None  # Its end [ns]; None: that of the ranks.

    def __post_init__(self) -> None:
        start, end = self.from_ns, self.until_ns
        if start is not None and end is not None and start >= end:
            raise ValueError(
                f"a window from {_ms(start)} until {_ms(end)}: expected the earlier time first"
            )

    def within(self, timeline: Timeline) -> Window | None:
        """Choose what the ranks of a job have of it; None when they have nothing."""
        low, high = timeline.bounds_ns
        start = low if self.from_ns is None else max(low, self.from_ns)
        end = high if self.until_ns is None else min(high, self.until_ns)
        return Window(start, end) if start < end else None

    def check(self, jobs: Sequence[Timeline]) -> None:
        """Reject a window in which no job has ranks.

        Raises ``ValueError`` with the times that there are.
        """
        if not jobs:
            raise ValueError(
                "no ranks over time, of which a window could be drawn; expected a recording, or a "
                "run with observe.ranks"
            )
        if not any(map(self.within, jobs)):
            times = ", ".join(" to ".join(map(_ms, job.bounds_ns)) for job in jobs)
            raise ValueError(f"{self}: outside of the time of the ranks; expected some of {times}")

    def __str__(self) -> str:
        """Name it by what was given."""
        ends = (("from", self.from_ns), ("until", self.until_ns))
        return "a window " + " ".join(f"{word} {_ms(end)}" for word, end in ends if end is not None)


def _ms(time_ns: float) -> str:
    return f"{time_ns / 1e6:,.6g} ms"


def detail(timeline: Timeline, request: WindowRequest | None = None) -> Section | None:
    """Draw some of the time as bars of each rank, with their messages.

    ``request`` is the window that is wanted; some iterations, or the middle of the time, by
    default. Returns ``None`` when the ranks have no time in the window.
    """
    wanted = request.within(timeline) if request else None
    if request and wanted is None:
        return None
    shown = (
        _fitting(wanted, wanted.from_ns, _counter(timeline)) if wanted else _in_the_middle(timeline)
    )
    name = f"iterations_{timeline.job}"
    figure = _drawn(timeline, shown)
    caption = CAPTION
    if wanted and shown != wanted:
        caption += f" Drawn is the time until {_ms(shown.until_ns)}: what is behind it is too much."
    is_of_iterations = request is None and timeline.period is not None
    return Section(
        name, "Some iterations" if is_of_iterations else "Some of the time", caption, figure
    )


def _drawn(timeline: Timeline, shown: Window) -> Figure:
    from_ns, until_ns = shown.from_ns, shown.until_ns
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
    axes.yaxis.set_major_locator(WholeNumbers())
    legend = axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    for line in legend.get_lines():
        line.set_linewidth(1.5)
    axes.grid(visible=False)
    return figure


def _in_the_middle(timeline: Timeline) -> Window:
    """Choose some iterations from the middle, or as much of it as can be drawn."""
    period, count = timeline.period, _counter(timeline)
    if not period:
        return _from_the_middle(Window(*timeline.bounds_ns), count)
    middle = (period.from_ns + period.until_ns) / 2
    most = max(1, min(ITERATIONS, period.iterations))
    windows = [
        Window(middle - number * period.ns / 2, middle + number * period.ns / 2)
        for number in range(most, 0, -1)
    ]
    fitting = (window for window in windows if count(window) <= RECTANGLES_MAX)
    return next(fitting, None) or _from_the_middle(windows[-1], count)


def _from_the_middle(window: Window, count: "Count") -> Window:
    return _fitting(window, (window.from_ns + window.until_ns) / 2, count)


Count = Callable[[Window], int]  # The rectangles, or lines, of a window, whichever are more.


def _fitting(window: Window, anchor_ns: float, count: Count) -> Window:
    """Shorten a window to what can be drawn, towards a time in it."""
    if count(window) <= RECTANGLES_MAX:
        return window
    fits, fails = 0.0, 1.0
    for _ in range(HALVINGS):
        part = (fits + fails) / 2
        if count(window.shortened(part, anchor_ns)) <= RECTANGLES_MAX:
            fits = part
        else:
            fails = part
    # Even an instant has more where ranks are more.
    return window.shortened(fits or fails, anchor_ns)


def _counter(timeline: Timeline) -> Count:
    ordered = [
        tuple(np.sort(table[name].to_numpy()) for name in ("start_ns", "end_ns"))
        for table in (timeline.activities, timeline.transfers)
    ]

    def count(window: Window) -> int:
        return max(
            int(np.searchsorted(starts, window.until_ns) - np.searchsorted(ends, window.from_ns))
            for starts, ends in ordered
        )

    return count


def _bars(axes: Axes, rows: pl.DataFrame, label: str, colour: str) -> None:
    bars = [
        _rectangle(rank, low / 1e6, high / 1e6)
        for rank, low, high in rows.select("rank", "start_ns", "end_ns").rows()
    ]
    axes.add_collection(PolyCollection(bars, facecolors=colour, linewidths=0, label=label))


def _rectangle(rank: int, left: float, right: float) -> list[tuple[float, float]]:
    return [(left, rank - 0.4), (right, rank - 0.4), (right, rank + 0.4), (left, rank + 0.4)]
