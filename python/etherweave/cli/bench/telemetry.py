"""The verbs of ``bench telemetry``."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etherweave.api.units import amount, time_of
from etherweave.bench.telemetry import openmetrics as exposition
from etherweave.bench.telemetry.families import PROCESSOR
from etherweave.bench.telemetry.openmetrics import dashboard as dashboard_text
from etherweave.bench.telemetry.process import RecordingOptions, until_ended
from etherweave.bench.telemetry.process import record as recorded
from etherweave.bench.telemetry.recorder import Recording, Rise, rises
from etherweave.cli.bench.amounts import existing
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes, notice, reject
from etherweave.cli.parameters import AsJson, directory, seconds
from etherweave.cli.verbs import nested

if TYPE_CHECKING:
    from etherweave.bench.telemetry.epochs import Epoch


telemetry = nested(
    "Record counters of hosts while benchmarks run, show them, export them to Prometheus."
)

RecordingPath = Annotated[
    Path,
    typer.Argument(
        help="Directory of recordings, as of `bench run -o`, file of `record`, or result of a run "
        "that observes hosts."
    ),
]


@telemetry.command()
def record(
    *,
    interface: list[str] | None = None,
    period: str = "1s",
    time_limit: str | None = None,
    run: str = "",
    output: Path | None = None,
) -> None:
    """Record this host's counters until standard input ends, or Ctrl-C.

    Prints a line of JSON at each sample, or writes tables at the end with --output. The share of a
    processor that it took is printed on standard error.

    Parameters
    ----------
    interface : -i NAME
        Record this interface; repeatable. Default: all that are up.
    period : TIME
        Time between two samples.
    time_limit : TIME
        End after this time. Default: never.
    run : NAME
        Name of the recorded run.
    output : -o DIRECTORY
        Write Parquet tables here instead.
    """
    existing(interface or ())
    with mistakes(ValueError):
        limit_s = seconds("--time-limit", time_limit) if time_limit else RecordingOptions.limit_s
        options = RecordingOptions(run, "", tuple(interface or ()), time_of(period), limit_s)
        recordings = _recorded(options, directory(output) if output else None)
    notice(_words(recordings))


def _recorded(options: RecordingOptions, output: Path | None) -> Recording:
    from etherweave.bench.telemetry.tables import save

    with until_ended() as ended:
        if output is None:
            return recorded(options, sys.stdout, ended)
        with Path(os.devnull).open("w") as nowhere:
            recordings = recorded(options, nowhere, ended)
    save(recordings, output)
    return recordings


def _words(recording: Recording) -> str:
    late = f", {recording.late:,} late" if recording.late else ""
    failure = f"; {recording.failure}" if recording.failure else ""
    return (
        f"{recording.host}: {len(recording.samples):,} samples "
        f"in {recording.duration_s:.3g} s{late}, {recording.cost:.2%} of a processor{failure}"
    )


@telemetry.command()
def show(path: RecordingPath, as_json: AsJson = False) -> None:
    """Print by how much counters rose, and at what rate, and what was not recorded."""
    from etherweave.bench.telemetry.tables import file_name

    gaps = _gaps(path)
    recordings = [] if gaps and not any(path.rglob(file_name("*"))) else _read(path)
    if as_json:
        facts = [_facts(recording) for recording in recordings]
        print(json.dumps(facts + [_gap_facts(gap) for gap in gaps], indent=2))
        return
    for recording in recordings:
        print(f"{recording.run} {_words(recording)}".lstrip())
        print_table(("", "", ">rise", ">per second"), [*map(_row, _shown(rises(recording)))])
        print()
    for gap in gaps:
        print(f"{gap.run} {gap.host}: not recorded: {gap.failure}")


def _gaps(path: Path) -> "list[Epoch]":
    """Return hosts and switches of launches without any counter."""
    from etherweave.bench.campaigns.store import StoreError
    from etherweave.bench.telemetry.epochs import EPOCH, epoch
    from etherweave.bench.telemetry.tables import file_name

    files = sorted(path.rglob(EPOCH)) if path.is_dir() else []
    with mistakes(StoreError):
        return [epoch(file) for file in files if not any(file.parent.glob(file_name("*")))]


def _gap_facts(gap: "Epoch") -> dict[str, object]:
    facts = {name: getattr(gap, name) for name in (*_FACTS, "samples")}
    return facts | {"start_ns": None, "rises": []}


_FACTS = ("run", "host", "period_s", "duration_s", "late", "processor_s", "cost", "failure")


def _facts(recording: Recording) -> dict[str, object]:
    facts = {name: getattr(recording, name) for name in _FACTS}
    return facts | {
        "start_ns": recording.samples[0].time_ns,
        "samples": len(recording.samples),
        "rises": [rise._asdict() for rise in rises(recording)],
    }


def _shown(increases: Iterable[Rise]) -> list[Rise]:
    """Add processors up, and leave out what did not rise."""
    kept: dict[tuple[str, str, str], Rise] = {}
    for rise in increases:
        thing = "all" if rise.family == PROCESSOR.name else rise.thing
        key = (rise.family, thing, rise.column)
        before = kept.get(key, rise._replace(thing=thing, amount=0.0, per_s=0.0))
        per_s = None if rise.per_s is None else rise.per_s + (before.per_s or 0.0)
        kept[key] = before._replace(amount=before.amount + rise.amount, per_s=per_s)
    return [total for total in kept.values() if total.amount]


def _row(rise: Rise) -> tuple[str, ...]:
    stem, _, last = rise.column.rpartition("_")
    unit = {"s": "s", "j": "J", "bytes": "B"}.get(last, "")
    name = stem if unit else rise.column
    speed = {"s": "cores", "J": "W", "B": "B/s"}.get(unit, "1/s")
    per_s = "" if rise.per_s is None else _amount(rise.per_s, speed)
    return f"{rise.family} {rise.thing}", name, _amount(rise.amount, unit), per_s


def _amount(value: float, unit: str) -> str:
    return amount(value, unit) if unit in ("s", "B", "B/s") else f"{value:,.4g} {unit}".rstrip()


@telemetry.command()
def openmetrics(path: RecordingPath, *, history: bool = False, output: Path | None = None) -> None:
    """Export recordings to Prometheus: their last samples, or with --history all.

    Parameters
    ----------
    history
        Print all samples with their times, for promtool.
    output : -o FILE
        Write this file of the textfile collector: NAME.prom.
    """
    if history and output:
        reject("--output takes the last sample only; expected --history > FILE")
    recordings = _read(path)
    _check_series(path, recordings)
    with mistakes(ValueError):
        if output:
            exposition.write_textfile(recordings[0], output, *recordings[1:])
            return
    print((exposition.history if history else exposition.latest)(*recordings), end="")


def _check_series(path: Path, recordings: Sequence[Recording]) -> None:
    """Reject two recordings of a host in a run, whose series have one name."""
    series = Counter((recording.run, recording.host) for recording in recordings)
    (run, host), count = series.most_common(1)[0]
    if count > 1:
        reject(f"{path}: {count:,} recordings of {host} in run {run!r}; expected one")


@telemetry.command()
def dashboard() -> None:
    """Print the Grafana dashboard as JSON."""
    print(dashboard_text(), end="")


def _read(path: Path) -> list[Recording]:
    from etherweave.api.result_schema import ResultError
    from etherweave.api.results import SUMMARY, Result
    from etherweave.bench.telemetry.simulated import simulated_hosts
    from etherweave.bench.telemetry.tables import ReadingError, recordings

    with mistakes(ReadingError, ResultError):
        if (path / SUMMARY).exists():
            return simulated_hosts(Result.load(path)) or reject(
                f"{path}: a result without samples of hosts; expected one of `run` with "
                """observe.hosts, such as -s 'observe.hosts=["*"]' -s observe.until=10ms"""
            )
        return recordings(path)
