"""Programs beside a job: one on each of its hosts, started before it and ended after it.

A companion writes its first line when it is ready, and ends itself when its standard input does.
It never keeps the job from its course: one that cannot be started, is late or dies leaves less.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import Popen, TimeoutExpired

from etherweave.bench.launchers.launcher import LaunchJob, Monitor
from etherweave.bench.launchers.processes import ProcessGroup, read
from etherweave.bench.site.values import ClusterSite, SiteFabric, address, interface

READY_S = 15.0
"""For all companions together to be ready: an ssh that finds no host gives up after ten [s]."""
END_S = 10.0
"""For all of them together to end themselves [s]."""
SLACK_S = READY_S + END_S
"""By which a companion may outlive its job [s]."""
_PAUSE_S = 0.01

StartOnHost = Callable[[str, str, Sequence[str]], Popen[bytes]]
"""Starts a program: takes the name of its files, a host, and words."""


@dataclass(frozen=True)
class MonitorTimes:
    """How a companion stood by, on the clock of the machine that started it."""

    host: str
    interface: str
    """The tested one of this host; empty where the site names none."""
    started_ns: int
    """Since 1970 [ns]."""
    ready_ns: int | None = None
    """When its first line was seen; ``None``: not before the job began."""
    closed_ns: int | None = None
    """When it was told to end; ``None``: it had ended by itself."""
    ended_ns: int | None = None
    """When it was seen to have ended; ``None``: not in time."""
    status: int | None = None
    """Zero if it ended well."""


@dataclass(frozen=True)
class MonitorOutput:
    """What a companion left."""

    attendance: MonitorTimes
    text: str
    errors: str
    """The end of its standard error."""

    @property
    def reason(self) -> str:
        """Tell why it left nothing, in its own last words if there are any."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        if lines:
            return lines[-1][:200]
        status = self.attendance.status
        return "was not done in time" if status is None else f"ended with {status}"


def monitor_outputs(job: LaunchJob, name: str) -> list[MonitorOutput]:
    """Read what companions of one name left on the hosts of a job, in the hosts' order."""
    found = [_monitor_output(job.directory, f"{name}-{host}") for host in dict.fromkeys(job.hosts)]
    return [one for one in found if one is not None]


def _monitor_output(directory: Path, stem: str) -> MonitorOutput | None:
    try:
        facts = json.loads((directory / f"{stem}.json").read_text(encoding="utf-8"))
        text = read(directory / f"{stem}.out")
    except FileNotFoundError:
        return None
    return MonitorOutput(MonitorTimes(**facts), text, ProcessGroup(directory, 0).errors(stem))


@contextlib.contextmanager
def monitored(
    job: LaunchJob,
    family: ProcessGroup,
    bring: StartOnHost,
    site: ClusterSite,
    link: SiteFabric | None,
) -> Iterator[None]:
    """Let the companions of a job stand by while the block lasts; its limit begins with it."""
    left = family.left_s
    standing = [
        _RunningMonitor(one, host, job, bring, site, link)
        for one in job.companions
        for host in dict.fromkeys(job.hosts)
    ]
    _await(standing)
    family.limit(left)
    is_over = True
    try:
        yield
    except KeyboardInterrupt:
        is_over = False  # Nobody will read what they say.
        raise
    finally:
        if is_over:
            _end(standing)


def _await(standing: Sequence["_RunningMonitor"]) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and [one for one in standing if one.is_awaited()]:
        time.sleep(_PAUSE_S)


def _end(standing: Sequence["_RunningMonitor"]) -> None:
    for one in standing:
        one.close()
    end = time.monotonic() + END_S
    for one in standing:
        one.write(one.attended(end))


class _RunningMonitor:
    """One companion on one host."""

    def __init__(
        self,
        wanted: Monitor,
        host: str,
        job: LaunchJob,
        bring: StartOnHost,
        site: ClusterSite,
        link: SiteFabric | None,
    ) -> None:
        self._stem = f"{wanted.name}-{host}"
        self._directory = job.directory
        values = {
            "host": host,
            "interface": interface(site, link, host) or "",
            "server": address(site, link, job.hosts[0]),
        }
        self._values = values
        self._ready_ns: int | None = None
        self._closed_ns: int | None = None
        self._started_ns = time.time_ns()
        words = [_filled(word, values) for word in wanted.words]
        self._process = bring(self._stem, host, words)

    def is_awaited(self) -> bool:
        """Whether it still has to become ready; takes note when it has."""
        if self._ready_ns is None and (self._directory / f"{self._stem}.out").stat().st_size:
            self._ready_ns = time.time_ns()
        return self._ready_ns is None and self._process.poll() is None

    def close(self) -> None:
        """Tell it to end."""
        if self._process.poll() is None:
            self._closed_ns = time.time_ns()
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def attended(self, end: float) -> MonitorTimes:
        """Wait until it has ended, or a moment of the monotonic clock has come."""
        try:
            status: int | None = self._process.wait(max(end - time.monotonic(), 0.0))
        except TimeoutExpired:
            status = None
        return MonitorTimes(
            host=self._values["host"],
            interface=self._values["interface"],
            started_ns=self._started_ns,
            ready_ns=self._ready_ns,
            closed_ns=self._closed_ns,
            ended_ns=None if status is None else time.time_ns(),
            status=status,
        )

    def write(self, attended: MonitorTimes) -> None:
        """Leave how it stood by, beside its output."""
        file = self._directory / f"{self._stem}.json"
        file.write_text(json.dumps(asdict(attended)), encoding="utf-8")


def _filled(word: str, values: dict[str, str]) -> str:
    """Put values for the words in braces; other braces, as of a path, stay."""
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word
