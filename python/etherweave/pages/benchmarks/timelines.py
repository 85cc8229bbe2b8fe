"""The launches of an experiment over time: a column for each host, or one of their medians."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etherweave.bench.telemetry.families import INTERFACE, PRIORITY, PROCESSOR, RDMA
from etherweave.pages.benchmarks.recordings import (
    LOSSES,
    CounterKey,
    HostRecording,
    RecordedLaunch,
    rates,
)
from etherweave.report.bounds import Floats
from etherweave.report.style import ASIDE, DASHES, GIGABITS, INK, SERIES, literal

HOSTS_MAX = 4  # That have a column of their own.
CELLS_MAX = 160  # Cells of a line: what a column of the page can show.
SERIES_MAX = 8  # Lines of a panel: those that rose most.
_MARGIN = 0.25  # Share of a launch's time that is shown before and after it.
_NAMES_MAX = 16
"""Launches that are named above the columns of a figure, each time all columns together."""
_SHADE, _WARM_UP = "#e8eef4", "#faf3d8"


class TimelinePanel(NamedTuple):
    """A row of the figure."""

    label: str  # Label of its axis.
    family: str
    columns: tuple[str, ...]
    scale: float = 1.0  # Factor from rises per second to the axis.
    is_always: bool = False  # Whether it is shown when nothing rose.
    is_least_worst: bool = False  # Whether the host that counts least is the one to be named.


_PAUSES = ("received_pauses", "sent_pauses")
_BYTES = ("received_bytes", "sent_bytes")
PANELS = (
    TimelinePanel(
        "processors busy", PROCESSOR.name, ("user_s", "system_s", "softirq_s"), is_always=True
    ),
    TimelinePanel("link [Gb/s]", INTERFACE.name, _BYTES, GIGABITS, True, True),
    TimelinePanel(
        "lost [1/s]", INTERFACE.name, ("received_drops", "sent_drops", "received_errors")
    ),
    TimelinePanel("pauses [1/s]", INTERFACE.name, _PAUSES),
    TimelinePanel("priorities [Gb/s]", PRIORITY.name, _BYTES, GIGABITS, is_least_worst=True),
    TimelinePanel("PFC [1/s]", PRIORITY.name, _PAUSES),
    TimelinePanel("paused [share]", PRIORITY.name, ("paused_s", "pausing_s")),
    TimelinePanel("RDMA [Gb/s]", RDMA.name, _BYTES, GIGABITS, is_least_worst=True),
    TimelinePanel(
        "RDMA congestion [1/s]", RDMA.name, ("sent_cnps", "handled_cnps", "marked_packets")
    ),
    TimelinePanel("RDMA losses [1/s]", RDMA.name, LOSSES),
)


class TimelineAxis(NamedTuple):
    """Launches beside each other on one axis."""

    launches: Sequence[RecordedLaunch]
    edges: Sequence[Floats]  # Edges of the cells of each, since it began [s].
    places: Sequence[float]  # Where each begins on the axis [s].


class CounterLines(NamedTuple):
    """A counter of several hosts over all launches, a row each, at the ends of cells."""

    key: CounterKey
    values: Floats


def draw(
    launches: Sequence[RecordedLaunch], tracks: Sequence[HostRecording], rate: float
) -> Figure:
    """Draw an experiment.

    ``rate`` is that of the fabric's links [bytes/s].
    """
    hosts = list(dict.fromkeys(track.host for track in tracks))
    by_place = {(track.host, track.launch.name): track for track in tracks}
    where = lay(launches, tracks)
    rows = [(panel, lines) for panel in PANELS if (lines := _lines(panel, hosts, by_place, where))]
    columns = [[host] for host in hosts] if len(hosts) <= HOSTS_MAX else [hosts]
    figure = Figure(figsize=(9, 0.6 + 1.7 * len(rows)))
    grid = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey="row")
    for (panel, lines), own in zip(rows, grid, strict=True):
        for axes, names in zip(own, columns, strict=True):
            members = [hosts.index(name) for name in names]
            _panel(axes, where, [line._replace(values=line.values[members]) for line in lines])
            if len(members) > 1:
                _name_worst(axes, panel, lines, names, where)
        _limits(own, panel, lines, rate, is_crowd=len(columns) < len(hosts))
    for axes, names in zip(grid[0], columns, strict=True):
        if len(names) == 1:
            _mark_gaps(axes, names[0], by_place, where)
    _name(grid, columns, where)
    return figure


def lay(launches: Sequence[RecordedLaunch], tracks: Sequence[HostRecording]) -> TimelineAxis:
    """Put launches beside each other, each cut into cells of a sample's period, or longer."""
    spans = [_span(launch, [row for row in tracks if row.launch == launch]) for launch in launches]
    total = sum(high - low for low, high in spans)
    periods = [track.epoch.period_s for track in tracks if track.epoch and track.epoch.period_s]
    step = max(min(periods, default=total), total / CELLS_MAX)
    gap = 0.02 * total
    edges, places, at = [], [], 0.0
    for low, high in spans:
        cells = max(1, int((high - low) / step))
        edges.append(np.linspace(low, high, cells + 1))
        places.append(at - low)
        at += high - low + gap
    return TimelineAxis(launches, edges, places)


def _span(launch: RecordedLaunch, tracks: Sequence[HostRecording]) -> tuple[float, float]:
    """Return what is shown of a launch: what was recorded, and little more than it lasted [s]."""
    length = max(launch.seconds, 1e-3)
    margin = max(_MARGIN * length, 0.5)
    times = [steps.times for track in tracks for steps in track.steps.values()]
    first = min((float(own[0]) for own in times), default=0.0)
    last = max((float(own[-1]) for own in times), default=length)
    return max(-margin, min(0.0, first)), min(length + margin, max(length, last))


def _lines(
    panel: TimelinePanel,
    hosts: Sequence[str],
    tracks: Mapping[tuple[str, str], HostRecording],
    where: TimelineAxis,
) -> list[CounterLines]:
    """Gather what a panel shows; nothing if nothing rose that must not be shown anyhow."""
    totals: dict[CounterKey, float] = {}
    for track in tracks.values():
        for key, steps in track.steps.items():
            if key.family == panel.family and key.column in panel.columns:
                totals[key] = totals.get(key, 0.0) + float(steps.risen[-1])
    risen = [key for key in totals if totals[key] > 0 or panel.is_always]
    most = sorted(sorted(risen, key=lambda key: -totals[key])[:SERIES_MAX], key=_order)
    return [CounterLines(key, _values(key, hosts, tracks, where) * panel.scale) for key in most]


def _order(key: CounterKey) -> tuple[str, int]:
    columns = [name for panel in PANELS for name in panel.columns]
    return key.thing, columns.index(key.column)


def _values(
    key: CounterKey,
    hosts: Sequence[str],
    tracks: Mapping[tuple[str, str], HostRecording],
    where: TimelineAxis,
) -> Floats:
    """Give a row for each host: rates of all cells, the last held to its end, then a hole."""
    rows: list[Floats] = []
    for host in hosts:
        parts: list[Floats] = []
        for launch, edges in zip(where.launches, where.edges, strict=True):
            track = tracks.get((host, launch.name))
            steps = track.steps.get(key) if track else None
            cells = np.full(len(edges) - 1, np.nan) if steps is None else rates(steps, edges)
            parts += [cells, cells[-1:], np.array([np.nan])]
        rows.append(np.concatenate(parts))
    return np.array(rows)


def _places(where: TimelineAxis) -> Floats:
    pairs = zip(where.edges, where.places, strict=True)
    return np.concatenate([np.append(edges, edges[-1]) + place for edges, place in pairs])


def _panel(axes: Axes, where: TimelineAxis, lines: Sequence[CounterLines]) -> None:
    for launch, place in zip(where.launches, where.places, strict=True):
        colour = _WARM_UP if launch.is_warm_up else _SHADE
        axes.axvspan(place, place + launch.seconds, color=colour, linewidth=0, zorder=0)
    places = _places(where)
    for number, line in enumerate(lines):
        look = _look(number)
        middle = _known(np.nanmedian, line.values)
        axes.plot(places, middle, label=_label(line.key), linewidth=1.1, **look)
        if len(line.values) > 1:
            low, high = (_known(end, line.values) for end in (np.nanmin, np.nanmax))
            band: dict[str, Any] = {"alpha": 0.18, "linewidth": 0, "color": look["color"]}
            axes.fill_between(places, low, high, step="post", **band)


def _look(number: int) -> dict[str, Any]:
    dash = "-" if number < len(SERIES) else "--"
    colour = SERIES[number % len(SERIES)]
    return {"color": colour, "linestyle": dash, "drawstyle": "steps-post"}


def _known(across: Callable[..., Any], values: Floats) -> Floats:
    """Put hosts together, where any was recorded."""
    known = np.isfinite(values).any(axis=0)
    combined = np.full(values.shape[1], np.nan)
    combined[known] = across(values[:, known], axis=0)
    return combined


def _label(key: CounterKey) -> str:
    stem, _, end = key.column.rpartition("_")
    name = stem if end in ("s", "bytes", "pauses") else key.column.replace("_", " ")
    name = name.replace("cnps", "CNPs")
    thing = f"priority {key.thing}" if key.family == PRIORITY.name else key.thing
    return literal(f"{thing} {name}".strip())


def _name_worst(
    axes: Axes,
    panel: TimelinePanel,
    lines: Sequence[CounterLines],
    hosts: Sequence[str],
    where: TimelineAxis,
) -> None:
    """Dot the lines of the host that counted most, or least, and name it."""
    sums = np.nansum([line.values for line in lines], axis=(0, 2))
    at = int(np.argmin(sums) if panel.is_least_worst else np.argmax(sums))
    for number, line in enumerate(lines):
        dotted = _look(number) | {"linestyle": DASHES[1]}
        axes.plot(_places(where), line.values[at], linewidth=1.4, **dotted)
    what = "least" if panel.is_least_worst else "most"
    place: dict[str, Any] = {"xy": (0, 1), "xycoords": "axes fraction", "fontsize": 8}
    offset: dict[str, Any] = {"xytext": (2, -2), "textcoords": "offset points", "va": "top"}
    axes.annotate(f"dotted: {literal(hosts[at])}, the {what}", **place, **offset)


def _limits(
    row: Sequence[Axes],
    panel: TimelinePanel,
    lines: Sequence[CounterLines],
    rate: float,
    *,
    is_crowd: bool,
) -> None:
    """Begin at nothing, leave room for words above many hosts, show the line rate if it is near."""
    highest = max(float(np.nanmax(line.values, initial=0.0)) for line in lines)
    line = rate * panel.scale
    is_near = panel.family == INTERFACE.name and panel.columns == _BYTES and highest * 3 > line
    top = max(highest, line) if is_near else highest
    row[0].set_ylim(0, top * (1.25 if is_crowd else 1.1) or 1)
    row[0].set_ylabel(panel.label)
    for axes in row if is_near else ():
        axes.axhline(line, color=INK, linewidth=0.9, linestyle=DASHES[0], label="line rate")
    row[-1].legend(**ASIDE)


def _name(grid: Any, columns: Sequence[Sequence[str]], where: TimelineAxis) -> None:
    """Name columns, axes and launches."""
    for hosts, top, bottom in zip(columns, grid[0], grid[-1], strict=True):
        top.set_title(
            literal(hosts[0]) if len(hosts) == 1 else f"median of {len(hosts)} hosts", pad=14
        )
        bottom.set_xlabel("recorded time [s]")
        bottom.xaxis.set_major_locator(MaxNLocator(8 // len(columns) + 2))
        step = -(-len(where.launches) * len(columns) // _NAMES_MAX)
        shown = list(zip(where.launches, where.places, strict=True))[::step]
        for launch, place in shown:
            _above(top, place + launch.seconds / 2, launch.name.rpartition("-")[2])


def _above(axes: Axes, place: float, text: str) -> None:
    where: dict[str, Any] = {"xy": (place, 1), "xycoords": ("data", "axes fraction")}
    offset: dict[str, Any] = {"xytext": (0, 2), "textcoords": "offset points", "ha": "center"}
    axes.annotate(text, **where, **offset, fontsize=7, color=INK, annotation_clip=False)


def _mark_gaps(
    axes: Axes, host: str, tracks: Mapping[tuple[str, str], HostRecording], where: TimelineAxis
) -> None:
    """Say in the launches of which nothing was recorded that this is so."""
    for launch, place in zip(where.launches, where.places, strict=True):
        track = tracks.get((host, launch.name))
        if track is None or not track.steps:
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "rotation": 90}
            look["transform"] = axes.get_xaxis_transform()
            axes.text(place + launch.seconds / 2, 0.5, "nothing recorded", **look)
