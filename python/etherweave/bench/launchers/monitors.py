"""Monitors: programs on each host of a job, started before its command and ended after it.

A monitor prints its first line when it is ready, and ends when its standard input ends. It never
delays or fails the job: one that cannot start, is late or dies only leaves less output.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import Popen, TimeoutExpired

from etherweave.api.outputs import below
from etherweave.bench.launchers.launcher import LaunchJob, Monitor
from etherweave.bench.launchers.processes import ProcessGroup, read
from etherweave.bench.site.values import ClusterSite, SiteFabric, address, interface

READY_S = 15.0  # Longest time until all monitors are ready; ssh gives a host up after ten [s].
END_S = 10.0  # Longest time until all monitors have ended [s].
SLACK_S = READY_S + END_S  # Longest time for which a monitor may outlive its job [s].
_PAUSE_S = 0.01

StartOnHost = Callable[[str, str, Sequence[str]], Popen[bytes]]
"""Starts a program: takes the name of its files, a host, and words."""


@dataclass(frozen=True)
class MonitorTimes:
    """When a monitor started, was ready and ended, on the clock of the starting machine."""

    host: str
    interface: str  # The tested one of this host; empty where the site names none.
    started_ns: int  # Since 1970 [ns].
    ready_ns: int | None = None  # When its first line was seen; ``None``: not before the job began.
    closed_ns: int | None = None  # When its input was closed; ``None``: it had ended by itself.
    ended_ns: int | None = None  # When it was seen to have ended; ``None``: not in time.
    status: int | None = None  # Zero if it ended well.


@dataclass(frozen=True)
class MonitorOutput:
    """The output of a monitor."""

    times: MonitorTimes
    text: str
    errors: str  # The end of its standard error.

    @property
    def reason(self) -> str:
        """Return why it left nothing: its last line of standard error, if any."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        if lines:
            return lines[-1][:200]
        status = self.times.status
        return "was not done in time" if status is None else f"ended with {status}"


def monitor_outputs(job: LaunchJob, name: str) -> list[MonitorOutput]:
    """Read the output of the monitors of one name, in the order of the job's hosts."""
    outputs = [_monitor_output(job.directory, f"{name}-{place}") for place in places(job, name)]
    return [output for output in outputs if output is not None]


def places(job: LaunchJob, name: str) -> list[str]:
    """Return where the monitors of one name run: hosts of the job, then switches."""
    others = [monitor.place for monitor in job.monitors if monitor.name == name and monitor.place]
    return [*dict.fromkeys([*job.hosts, *others])]


def _monitor_output(directory: Path, stem: str) -> MonitorOutput | None:
    try:
        facts = json.loads(below(directory, f"{stem}.json").read_text(encoding="utf-8"))
        text = read(below(directory, f"{stem}.out"))
    except FileNotFoundError:
        return None
    return MonitorOutput(MonitorTimes(**facts), text, ProcessGroup(directory, 0).errors(stem))


@contextlib.contextmanager
def monitored(
    job: LaunchJob,
    group: ProcessGroup,
    start_on_host: StartOnHost,
    site: ClusterSite,
    link: SiteFabric | None,
) -> Iterator[None]:
    """Run the monitors of a job while the block lasts; the job's limit begins with it."""
    left = group.left_s
    running = [
        _RunningMonitor(monitor, host, job, start_on_host, site, link)
        for monitor in job.monitors
        for host in ([monitor.place] if monitor.place else dict.fromkeys(job.hosts))
    ]
    _await(running)
    group.limit(left)
    is_over = True
    try:
        yield
    except KeyboardInterrupt:
        is_over = False  # Their output is not read.
        raise
    finally:
        if is_over:
            _end(running)


def _await(running: Sequence["_RunningMonitor"]) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and [monitor for monitor in running if monitor.is_awaited()]:
        time.sleep(_PAUSE_S)


def _end(running: Sequence["_RunningMonitor"]) -> None:
    for monitor in running:
        monitor.close()
    end = time.monotonic() + END_S
    for monitor in running:
        monitor.write(monitor.times(end))


class _RunningMonitor:
    """One monitor on one host."""

    def __init__(
        self,
        wanted: Monitor,
        host: str,
        job: LaunchJob,
        start_on_host: StartOnHost,
        site: ClusterSite,
        link: SiteFabric | None,
    ) -> None:
        self._stem = f"{wanted.name}-{host}"
        self._directory = job.directory
        values = {
            "host": host,
            "interface": "" if wanted.place else interface(site, link, host) or "",
            "server": address(site, link, job.hosts[0]),
        }
        self._values = values
        self._ready_ns: int | None = None
        self._closed_ns: int | None = None
        self._started_ns = time.time_ns()
        words = [_filled(word, values) for word in wanted.words]
        self._process = start_on_host(self._stem, host, words)

    def is_awaited(self) -> bool:
        """Whether it is not ready yet; records when it is."""
        if self._ready_ns is None and below(self._directory, f"{self._stem}.out").stat().st_size:
            self._ready_ns = time.time_ns()
        return self._ready_ns is None and self._process.poll() is None

    def close(self) -> None:
        """Close its input, on which it ends."""
        if self._process.poll() is None:
            self._closed_ns = time.time_ns()
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def times(self, end: float) -> MonitorTimes:
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

    def write(self, times: MonitorTimes) -> None:
        """Write its times beside its output."""
        file = below(self._directory, f"{self._stem}.json")
        file.write_text(json.dumps(asdict(times)), encoding="utf-8")


def _filled(word: str, values: dict[str, str]) -> str:
    """Put values for the words in braces; other braces, as of a path, stay."""
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word
