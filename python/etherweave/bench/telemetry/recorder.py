"""Samples at a stated period, by a thread, with the cost of taking them."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

from etherweave.bench.telemetry.families import FAMILIES, Family
from etherweave.bench.telemetry.sampling import Sample

PERIOD_S = 1.0
PERIOD_S_MIN = 0.01
SAMPLES_MAX = 100_000  # Then a recorder stops, rather than fill the memory.


@dataclass(frozen=True)
class Recording:
    """An epoch: what a host counted during one run."""

    run: str  # Names the run, and with it the epoch.
    host: str
    period_s: float  # That was wanted, between two samples [s].
    samples: tuple[Sample, ...]  # Samples by time; the first is before the run, the last after it.
    late: int  # Periods in which no sample was taken, as the host was busy.
    processor_s: float  # Processor time of all samples: what the recording cost [s].
    failure: str = ""  # Why it ended before the run, if it did.

    @property
    def duration_s(self) -> float:
        """Time from the first to the last sample [s]."""
        return (self.samples[-1].time_ns - self.samples[0].time_ns) / 1e9

    @property
    def cost(self) -> float:
        """Share of one processor that the recording took, 0..1."""
        return self.processor_s / self.duration_s if self.duration_s else 0.0


class Recorder:
    """Records while it is entered.

    ``look`` takes a sample, each ``period_s`` [s]. Raises ``ValueError`` when the period is too
    short.
    """

    def __init__(
        self, run: str, host: str, look: Callable[[], Sample], period_s: float = PERIOD_S
    ) -> None:
        if not PERIOD_S_MIN <= period_s < float("inf"):
            raise ValueError(f"a period of {period_s} s; expected {PERIOD_S_MIN} s or more")
        self._run, self._host, self._period_s = run, host, period_s
        self._look = look
        self._samples: list[Sample] = []
        self._late = 0
        self._processor_s = 0.0
        self._failure = ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"telemetry {run}", daemon=True)

    def __enter__(self) -> Self:
        self._samples.append(self._look())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._take()

    def recording(self) -> Recording:
        """Give what has been recorded so far."""
        return Recording(
            self._run,
            self._host,
            self._period_s,
            tuple(self._samples),
            self._late,
            self._processor_s,
            self._failure,
        )

    def _work(self) -> None:
        due = time.monotonic() + self._period_s
        while not self._failure:
            missed = max(0, int((time.monotonic() - due) // self._period_s))
            self._late += missed
            due += missed * self._period_s
            if self._end.wait(max(0.0, due - time.monotonic())):
                return
            self._take()
            due += self._period_s

    def _take(self) -> None:
        """Look once; a benchmark does not fail because of its telemetry."""
        start = time.thread_time()
        if len(self._samples) > SAMPLES_MAX:
            self._failure = f"full: {SAMPLES_MAX:,} samples"
            return
        try:
            self._samples.append(self._look())
        except (OSError, ValueError) as error:
            self._failure = str(error)
        self._processor_s += time.thread_time() - start


class Rise(NamedTuple):
    """How one counter of one thing rose."""

    family: str
    thing: str  # Its keys, joined by blanks.
    column: str  # Name with its unit at the end.
    amount: float
    per_s: float | None  # ``None`` when the recording has no length.


def rises(recording: Recording) -> list[Rise]:
    """Return the rise of each counter that exists."""
    return [rise for family in FAMILIES for rise in _rises(family, recording)]


def _rises(family: Family, recording: Recording) -> Iterator[Rise]:
    seconds = recording.duration_s
    series: dict[tuple[tuple[str, ...], int], list[float]] = {}
    for sample in recording.samples:
        for keys, values in sample.rows[family.name]:
            for at, value in enumerate(values):
                if value is not None:
                    series.setdefault((keys, at), []).append(value)
    for (keys, at), counted in series.items():
        amount = risen(counted)
        column = family.columns[at].name
        per_s = amount / seconds if seconds else None
        yield Rise(family.name, " ".join(keys), column, amount, per_s)


def risen(values: Iterable[float]) -> float:
    """Add up what a counter counted; one that was set back counts from zero."""
    return sum(b - a if b >= a else b for a, b in pairwise(values))
