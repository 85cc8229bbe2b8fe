"""A recorder as a process: it records until its standard input ends, and writes as it goes."""

import os
import platform
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from etherweave.bench.environment.readers import take
from etherweave.bench.environment.readers.files import HostFiles
from etherweave.bench.environment.readers.network import names
from etherweave.bench.environment.snapshot import FORMAT, Snapshot
from etherweave.bench.telemetry.recorder import PERIOD_S, Recorder, Recording
from etherweave.bench.telemetry.sampling import Sample, Sampler, driver_counters
from etherweave.bench.telemetry.stream import first_line, last_line, sample_line
from etherweave.bench.telemetry.switches import READERS, SwitchSampler
from etherweave.linux.processes import ending

ROOT = Path("/")
_CHUNK = 1 << 16


@dataclass(frozen=True)
class RecordingOptions:
    """Options of a recording."""

    run: str = ""  # Names the epoch.
    host: str = ""  # Host of these counters; the name of this machine if empty.
    interfaces: tuple[str, ...] = ()  # All but the loopback, those that are up, if there are none.
    period_s: float = PERIOD_S
    limit_s: float = float("inf")  # After which it ends [s].
    switch: str = ""
    """Reader of a switch, whose counters these are; those of this machine if empty."""
    ask: tuple[str, ...] = ()  # First words of each command to the switch.
    root: Path = ROOT


def record(options: RecordingOptions, out: IO[str], ended: Callable[[float], None]) -> Recording:
    """Record, and write lines of a stream.

    ``out`` takes the lines, each at once; ``ended`` returns when it is over, at the latest after so
    many seconds. Raises ``ValueError`` when the period is too short.
    """
    is_host = not options.switch
    interfaces = options.interfaces or tuple(names(HostFiles(options.root, None)))
    host = options.host or platform.node()
    # With the first sample: who sees it knows that counting has begun.
    count = partial(counted, options.root, interfaces) if is_host else partial(_of_switch, host)
    before = count()
    waiting = [first_line(options.run, host, options.period_s, before)]
    switch = None if is_host else SwitchSampler(READERS[options.switch], options.ask)
    take_sample = switch or Sampler(interfaces, options.root)

    def look() -> Sample:
        sample = take_sample()
        out.write("".join([*waiting, sample_line(sample)]))
        out.flush()
        waiting.clear()
        return sample

    recorder = Recorder(options.run, host, look, options.period_s)
    with recorder:
        ended(options.limit_s)
    recording = recorder.recording()
    if switch and switch.failure:
        failure = "; ".join(filter(None, (recording.failure, switch.failure)))
        recording = replace(recording, failure=failure)
    out.write(last_line(recording, count()))
    out.flush()
    return recording


def counted(root: Path, interfaces: Sequence[str]) -> Snapshot:
    """Take a snapshot without starting tools: drivers are asked for their counters directly."""
    snapshot = take(root, interfaces=interfaces, tools=None)
    inspected = {
        name: replace(interface, driver_counters=driver_counters(name) if root == ROOT else {})
        for name, interface in snapshot.interfaces.items()
    }
    return replace(snapshot, interfaces=inspected, gaps=())


def _of_switch(name: str) -> Snapshot:
    """Return what is known of a switch: nothing of the machine that asks it for its counters."""
    return Snapshot(FORMAT, name, boot=name, taken_s=time.time())


@contextmanager
def until_ended(source: int = 0) -> Iterator[Callable[[float], None]]:
    """Give what waits until a descriptor ends, or SIGTERM or SIGINT comes, or a limit."""
    with ending() as stop:
        yield lambda limit_s: _wait(source, stop.fileno(), limit_s)


def _wait(source: int, woken: int, limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while (left := end - time.monotonic()) > 0:
        # An infinite limit is none; select takes no infinity.
        ready, _, _ = select.select([source, woken], [], [], min(left, 3600.0))
        if woken in ready or (source in ready and not os.read(source, _CHUNK)):
            return
