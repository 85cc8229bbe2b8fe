"""Recordings of each host of a launch, stored under the launch's name.

::

    telemetry/LAUNCH/HOST/epoch.json     how it was recorded, its counters before and after
                          *.parquet      all samples
"""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from etherweave.api.inputs import decoded, read_json, reason
from etherweave.api.outputs import below
from etherweave.bench.campaigns.store import Store, StoreError, write_json
from etherweave.bench.environment.snapshot import Snapshot
from etherweave.bench.launchers.launcher import LaunchJob, Monitor
from etherweave.bench.launchers.monitors import MonitorOutput, MonitorTimes, monitor_outputs, places
from etherweave.bench.site.values import SiteSwitch
from etherweave.bench.telemetry.recorder import PERIOD_S, Recording
from etherweave.bench.telemetry.stream import Stream, StreamError, stream
from etherweave.bench.telemetry.tables import save

NAME = "telemetry"
EPOCH = "epoch.json"
_NOTHING = "the launch ended without output of its recorder"


@dataclass(frozen=True)
class Offset:
    """Lead of a host's clock over the clock of who started the launch: from, to [ns].

    Known from what must have happened before what: a recorder reads its clock after it was started
    and before its first line was seen, and again after its input was closed and before it ended.
    """

    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class Epoch:
    """How one host was recorded during one launch."""

    run: str  # The launch.
    host: str  # Name of the host in the site.
    interface: str  # The tested one; empty where the site names none.
    failure: str  # Why nothing, or not everything, was recorded; empty if everything was.
    period_s: float | None = None
    duration_s: float | None = None  # Time from the first to the last sample [s].
    samples: int = 0
    late: int = 0  # Periods without a sample, as the host was busy.
    processor_s: float | None = None  # Processor time of all samples [s].
    cost: float | None = None  # Share of one processor that the samples took, 0..1.
    offset: Offset | None = None
    before: Snapshot | None = None  # Its counters, read without tools.
    after: Snapshot | None = None


def recorder(python: str, period_s: float = PERIOD_S) -> Monitor:
    """Return the monitor that records each host of a job.

    ``python`` has Etherweave on the hosts; ``period_s`` lies between two samples [s].
    """
    words = (python, "-m", "etherweave.bench.telemetry", "--host={host}")
    return Monitor(NAME, (*words, "--interface={interface}", f"--period={period_s!r}"))


def switch_recorder(switch: SiteSwitch, period_s: float = PERIOD_S) -> Monitor:
    """Return the monitor that records a switch, from this machine."""
    module = (sys.executable, "-m", "etherweave.bench.telemetry", "--host={host}")
    options = (f"--switch={switch.reader}", f"--period={period_s!r}", "--")
    return Monitor(NAME, (*module, *options, *switch.ask), switch.name)


def keep(store: Store, name: str, job: LaunchJob) -> None:
    """Store the recordings of a launch, in place of earlier ones of the same launch."""
    home = store.telemetry(name)
    shutil.rmtree(home, ignore_errors=True)
    left = {output.times.host: output for output in monitor_outputs(job, NAME)}
    for host in places(job, NAME):
        own = below(home, host)
        own.mkdir(parents=True)
        epoch = _kept(own, name, left[host]) if host in left else Epoch(name, host, "", _NOTHING)
        write_json(own / EPOCH, asdict(epoch))


def _kept(home: Path, run: str, output: MonitorOutput) -> Epoch:
    times = output.times
    try:
        samples = stream(output.text)
    except StreamError as error:
        failure = output.reason if output.errors.strip() or not output.text else str(error)
        return Epoch(run, times.host, times.interface, failure)
    recording = replace(samples.recording, run=run, host=times.host)
    save(recording, home)
    return _epoch(recording, samples, times)


def _epoch(recording: Recording, samples: Stream, times: MonitorTimes) -> Epoch:
    late = "" if times.ready_ns else "was not ready before the launch began"
    return Epoch(
        run=recording.run,
        host=times.host,
        interface=times.interface,
        failure=recording.failure or late,
        period_s=recording.period_s,
        duration_s=recording.duration_s,
        samples=len(recording.samples),
        late=recording.late,
        processor_s=recording.processor_s if samples.after else None,
        cost=recording.cost if samples.after else None,
        offset=offset(samples, times),
        before=samples.before,
        after=samples.after,
    )


def offset(samples: Stream, times: MonitorTimes) -> Offset | None:
    """Return how far a host's clock is ahead; ``None`` when the bounds contradict: it was set."""
    first = round(samples.before.taken_s * 1e9)
    highs = [first - times.started_ns]
    lows = [first - times.ready_ns] if times.ready_ns else []
    if samples.after:
        last = round(samples.after.taken_s * 1e9)
        lows += [last - times.ended_ns] if times.ended_ns else []
        highs += [last - times.closed_ns] if times.closed_ns else []
    if not lows or max(lows) > min(highs):
        return None
    return Offset(max(lows), min(highs))


def epochs(store: Store) -> Iterator[Epoch]:
    """Read how each host was recorded during each launch.

    Raises ``StoreError`` when a file is damaged.
    """
    for path in sorted(store.telemetry("").glob(f"*/*/{EPOCH}")):
        yield epoch(path)


def epoch(path: Path) -> Epoch:
    """Read one.

    Raises ``StoreError`` when the file is damaged and ``OSError`` when it is not there.
    """
    try:
        return decoded(Epoch, read_json(path), path.name)
    except ValueError as error:
        raise StoreError(f"{path}: {reason(error)}; expected what `bench run` keeps") from None
