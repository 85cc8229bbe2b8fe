"""Counters of hosts during launches: over time, as totals, and where nothing was recorded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from etherweave.bench.telemetry.families import INTERFACE, PRIORITY, PROCESSOR, RDMA, Family
from etherweave.pages.benchmarks import timelines
from etherweave.pages.benchmarks.data import Benchmarks
from etherweave.pages.benchmarks.recordings import (
    LOSSES,
    HostRecording,
    RecordedLaunch,
    homes,
    launches,
    track,
)
from etherweave.report.section import FOLDED_FROM, Builder, Section, Table

READ_MAX = 1_000  # Recordings (a host in a launch) that are read, unless a single launch has more.
EXPERIMENTS_MAX = 8  # That are drawn.
LAUNCHES_MAX = 12  # Launches of an experiment, that are drawn.
ROWS_MAX = 200  # Rows of the table.
CHOICE = "those that lost, paused or failed most go first, then those that came first"
CAPTION = (
    "What each host counted from shortly before a launch until it had ended. Processors busy is "
    "a mean; the busiest is one processor's share of the time, and 100 % there may be what holds "
    "a transfer back. Bytes are those of the tested interface; sent again are TCP segments of the "
    "whole host. The recorder's cost is a share of one processor; a clock is ahead of that of who "
    "started the launch by no less and no more than its bounds. A dash: not counted. "
)
T = TypeVar("T")


@dataclass(frozen=True)
class RecordingOverview:
    """All recordings of a run, or as many as are read."""

    benchmarks: Benchmarks
    tracks: Sequence[HostRecording]  # Recordings by time; launches are read whole or not at all.
    left_out: int  # Launches that were not read.
    silent: int  # Launches that were kept without any recording.


def builders(benchmarks: Benchmarks) -> list[Builder[Benchmarks]]:
    """Make the sections of a run, which depend on its experiments; none without telemetry."""
    overview = look(benchmarks)
    if overview is None:
        return []
    return [*(partial(_drawn, overview, name) for name in _drawn_most(overview)), table(overview)]


def look(benchmarks: Benchmarks) -> RecordingOverview | None:
    """Read the recordings of a run; ``None`` where there are none."""
    if benchmarks.directory is None:
        return None
    kept = launches(benchmarks.launches)
    places = [(launch, homes(benchmarks.directory, launch)) for launch in kept]
    known = [(place, own) for place, own in places if own]
    if not known:
        return None
    recordings = sum(len(own) for _, own in known)
    read = _even(known, max(1, READ_MAX * len(known) // recordings))
    return RecordingOverview(
        benchmarks,
        [track(home, file) for file, own in read for home in own],
        len(known) - len(read),
        len(places) - len(known),
    )


def _even(items: Sequence[T], most: int) -> Sequence[T]:
    """Keep at most so many, evenly spread."""
    if len(items) <= most:
        return items
    return [items[at * len(items) // most] for at in range(most)]


def worst(items: Sequence[T], trouble: Callable[[T], float], most: int) -> list[T]:
    """Choose those with the most trouble, the first of equals, and keep their order."""
    ranked = sorted(range(len(items)), key=lambda at: -trouble(items[at]))
    return [items[at] for at in sorted(ranked[:most])]


def _drawn_most(overview: RecordingOverview) -> list[str]:
    """Name the experiments that are drawn, in the order of the campaign."""
    troubles: dict[str, float] = {}
    for recorder in overview.tracks:
        name = recorder.launch.experiment
        troubles[name] = troubles.get(name, 0.0) + recorder.trouble
    planned = [experiment["name"] for experiment in overview.benchmarks.facts["experiments"]]
    known = [name for name in planned if name in troubles]
    return worst(known, lambda name: troubles[name], EXPERIMENTS_MAX)


def _drawn(overview: RecordingOverview, experiment: str, benchmarks: Benchmarks) -> Section | None:
    """Draw one experiment."""
    own = [recorder for recorder in overview.tracks if recorder.launch.experiment == experiment]
    troubles: dict[RecordedLaunch, float] = {}
    for entry in own:
        troubles[entry.launch] = troubles.get(entry.launch, 0.0) + entry.trouble
    shown = worst(list(troubles), lambda launch: troubles[launch], LAUNCHES_MAX)
    (facts,) = [own for own in benchmarks.facts["experiments"] if own["name"] == experiment]
    rate = float(benchmarks.networks[facts["fabric"]]["rate"])
    figure = timelines.draw(shown, [setting for setting in own if setting.launch in shown], rate)
    hosts = facts["hosts"]
    who = " and ".join(hosts) if len(hosts) <= 2 else f"{len(hosts)} hosts"
    title = f"{facts['program']} on {facts['fabric']}, as {who} saw it"
    return Section(
        f"telemetry_{experiment}".replace("-", "_"),
        title,
        _words(hosts, experiment, len(shown), len(troubles)),
        figure,
    )


def _words(hosts: Sequence[str], experiment: str, shown: int, known: int) -> str:
    """Say what a figure shows."""
    crowd = (
        f" Of {len(hosts)} hosts the median is drawn, the band reaches from the least to the most, "
        "and the dotted line is the host that is named."
        if len(hosts) > timelines.HOSTS_MAX
        else ""
    )
    part = f" {shown} of {known} launches are drawn: {CHOICE}." if shown < known else ""
    return (
        f"The launches of {experiment}, shaded and named by the end of their run id, one beside "
        "another; the warm-up, which does not count, is yellow. White is what was recorded before "
        f"and after.{crowd}{part}"
    )


class _TotalsColumn(NamedTuple):
    head: str
    cell: Callable[[HostRecording], str]  # Empty where it is not counted.


def table(overview: RecordingOverview) -> Builder[Benchmarks]:
    """List totals, and gaps."""

    def made(benchmarks: Benchmarks) -> Section:
        tables = [*_totals(overview), *_gaps(overview)]
        words = CAPTION + _left_out(overview)
        return Section("telemetry", "What hosts counted", words, tables=tables)

    return made


def _left_out(overview: RecordingOverview) -> str:
    drawn = _drawn_most(overview)
    known = {recorder.launch.experiment for recorder in overview.tracks}
    notes = []
    if len(drawn) < len(known):
        notes.append(f"{len(drawn)} of {len(known)} experiments are drawn: {CHOICE}.")
    if overview.left_out:
        notes.append(
            f"Of {overview.left_out:,} launches, evenly over time, nothing was read; "
            "`bench telemetry show` prints all."
        )
    if overview.silent:
        notes.append(f"{overview.silent:,} launches have no recording.")
    return " ".join(notes)


def _totals(overview: RecordingOverview) -> Iterator[Table]:
    """List recordings, in a table for each group of columns of which anything is counted."""
    rows = worst(overview.tracks, lambda own: own.trouble, ROWS_MAX)
    part = f", {len(rows)} shown: {CHOICE}" if len(rows) < len(overview.tracks) else ""
    for name, columns in _GROUPS.items():
        cells = {column: [column.cell(row) for row in rows] for column in columns}
        shown = {column: own for column, own in cells.items() if any(own)}
        if shown:
            named = {column: [column.cell(row) for row in rows] for column in _NAMES} | shown
            table = [[cell or "–" for cell in row] for row in zip(*named.values(), strict=True)]
            caption = f"{name}, {len(overview.tracks):,} recordings{part}"
            heads = [column.head for column in named]
            yield Table(heads, table, caption, is_folded=len(rows) > FOLDED_FROM)


def _gaps(overview: RecordingOverview) -> Iterator[Table]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for recorder in overview.tracks:
        if recorder.failure:
            reasons.setdefault((recorder.host, recorder.failure), []).append(recorder.launch.name)
    rows = [
        (host, reason, str(len(names)), names[0])
        for (host, reason), names in list(reasons.items())[:ROWS_MAX]
    ]
    if rows:
        caption = "Where nothing was recorded, or not everything"
        yield Table(("host", "because", "launches", "first"), rows, caption)


def _count(family: Family, *columns: str) -> Callable[[HostRecording], str]:
    return lambda row: _text(row.total(family, *columns), "{:,.0f}")


def _megabytes(family: Family, column: str) -> Callable[[HostRecording], str]:
    return lambda row: _text(row.total(family, column), "{:,.4g}", 1e-6)


def _text(value: float | None, form: str, scale: float = 1.0) -> str:
    return "" if value is None else form.format(value * scale)


def _busy(recording: HostRecording) -> str:
    busy = recording.total(PROCESSOR, "user_s", "system_s", "softirq_s", "irq_s")
    seconds = recording.epoch.duration_s if recording.epoch else None
    return f"{busy / seconds:.2f} of {recording.processors}" if busy is not None and seconds else ""


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3%}" if value < 0.01 else f"{value:.0%}"


def _clock(host_recording: HostRecording) -> str:
    ahead = host_recording.epoch.offset if host_recording.epoch else None
    return f"{ahead.low_ns / 1e6:+.1f} to {ahead.high_ns / 1e6:+.1f}" if ahead else ""


_NAMES = (
    _TotalsColumn("launch", lambda row: row.launch.name),
    _TotalsColumn("host", lambda row: row.host),
)
_GROUPS = {
    "Processors and the tested interface": (
        _TotalsColumn("processors busy", _busy),
        _TotalsColumn("the busiest", lambda row: _share(row.busiest)),
        _TotalsColumn("received [MB]", _megabytes(INTERFACE, "received_bytes")),
        _TotalsColumn("sent [MB]", _megabytes(INTERFACE, "sent_bytes")),
        _TotalsColumn("drops", _count(INTERFACE, "received_drops", "sent_drops")),
        _TotalsColumn(
            "sent again", lambda row: "" if row.sent_again is None else f"{row.sent_again:,}"
        ),
    ),
    "Pauses and RDMA": (
        _TotalsColumn("pauses received", _count(INTERFACE, "received_pauses")),
        _TotalsColumn("pauses sent", _count(INTERFACE, "sent_pauses")),
        _TotalsColumn("PFC received", _count(PRIORITY, "received_pauses")),
        _TotalsColumn("PFC sent", _count(PRIORITY, "sent_pauses")),
        _TotalsColumn("paused [s]", lambda row: _text(row.total(PRIORITY, "paused_s"), "{:.4g}")),
        _TotalsColumn("pausing [s]", lambda row: _text(row.total(PRIORITY, "pausing_s"), "{:.4g}")),
        _TotalsColumn("RDMA received [MB]", _megabytes(RDMA, "received_bytes")),
        _TotalsColumn("RDMA sent [MB]", _megabytes(RDMA, "sent_bytes")),
        _TotalsColumn("RDMA losses", _count(RDMA, *LOSSES)),
    ),
    "The recorder": (
        _TotalsColumn("samples", lambda row: f"{row.epoch.samples:,}" if row.epoch else ""),
        _TotalsColumn("late", lambda row: f"{row.epoch.late:,}" if row.epoch else ""),
        _TotalsColumn("cost", lambda row: _share(row.epoch.cost if row.epoch else None)),
        _TotalsColumn("clock ahead [ms]", _clock),
    ),
}
