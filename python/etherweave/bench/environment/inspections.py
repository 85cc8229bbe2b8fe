"""Inspections of all hosts of a run at once, through the launcher of the run.

Where Etherweave is installed it takes the snapshot there; where it is not, ``grep`` prints the
files that matter; where neither works, the host is a gap. ``grep`` prints the name of each file, a
zero octet, and a line: no shell, no archive (``tar`` asks ``/proc`` for sizes, and it has none),
and names cannot be mistaken for contents.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from etherweave.bench.environment.checks import examine
from etherweave.bench.environment.findings import EnvironmentFinding, Evidence, Run, Severity
from etherweave.bench.environment.readers import take
from etherweave.bench.environment.readers.network import SETTINGS
from etherweave.bench.environment.snapshot import Gap, Snapshot, snapshot
from etherweave.bench.launchers.launcher import Ending, Launcher, LaunchJob, Monitor
from etherweave.bench.launchers.monitors import MonitorOutput, monitor_outputs
from etherweave.bench.programs.plans import BenchmarkCommand, Start

NAME = "environment"
_CAPTURE = "capture"
LIMIT_S = 30.0  # Limit of the command that does nothing; monitors have limits of their own [s].
_DO = "install Etherweave there, and name its Python in the site's file: python, of the launcher"


@dataclass(frozen=True)
class HostInspection:
    """The state of one host on one fabric."""

    host: str  # Name of the host in the site.
    fabric: str
    interface: str  # The tested one; empty where the site names none.
    snapshot: Snapshot | None
    reason: str  # Why it is incomplete; empty if it is complete.


def inspect_hosts(
    launcher: Launcher, fabric: str, hosts: Sequence[str], python: str, directory: Path
) -> list[HostInspection]:
    """Inspect hosts.

    Hosts of the site are named once each, and the others try to reach the first. ``python`` has
    Etherweave on the hosts; ``directory`` is empty, and shared by all hosts where the launcher
    requires that. Raises ``KeyboardInterrupt`` when the user ended it.
    """
    words = (python, "-m", "etherweave.bench.environment", "--interface={interface}")
    monitors = (Monitor(NAME, (*words, "--to={server}")), Monitor(_CAPTURE, WORDS))
    nothing = BenchmarkCommand(Start.ALONE, ("true",))
    job = LaunchJob(nothing, tuple(hosts), 1, directory, LIMIT_S, monitors=monitors)
    outcome = launcher.launch(job)
    if outcome.ending is Ending.INTERRUPTED:
        raise KeyboardInterrupt
    seen = {output.times.host: output for output in monitor_outputs(job, NAME)}
    files = {output.times.host: output for output in monitor_outputs(job, _CAPTURE)}
    message = " ".join(outcome.errors.split())[:200] or "nothing was started there"
    return [_inspection(host, fabric, seen.get(host), files.get(host), message) for host in hosts]


def _inspection(
    host: str, fabric: str, seen: MonitorOutput | None, files: MonitorOutput | None, message: str
) -> HostInspection:
    if seen is None:
        return HostInspection(host, fabric, "", None, message)
    interface = seen.times.interface
    try:
        # Findings name hosts as the site does.
        taken = replace(snapshot(seen.text), host=host)
        return HostInspection(host, fabric, interface, taken, "")
    except ValueError:
        reason = seen.reason
    try:
        taken = replace(captured(files.text if files else "", interface), host=host)
        return HostInspection(host, fabric, interface, taken, f"only files were read: {reason}")
    except ValueError:
        return HostInspection(host, fabric, interface, None, reason)


def inspection_findings(
    before: Sequence[HostInspection], after: Sequence[HostInspection] = ()
) -> list[EnvironmentFinding]:
    """Examine all hosts, and each against those that follow it on the same fabric."""
    later = {(inspection.host, inspection.fabric): inspection for inspection in after}
    findings = [
        finding
        for number, host in enumerate(before)
        for finding in _findings(host, later.get((host.host, host.fabric)), before[number + 1 :])
    ]
    order = list(Severity)
    return sorted(dict.fromkeys(findings), key=lambda fromkey: order.index(fromkey.severity))


def _findings(
    before: HostInspection, after: HostInspection | None, following: Sequence[HostInspection]
) -> Iterator[EnvironmentFinding]:
    for host in (before, after):
        if host and host.reason:
            what = f"could not be inspected{' in full' if host.snapshot else ''}: {host.reason}"
            yield EnvironmentFinding("host", Severity.GAP, before.host, what, _DO)
    if before.snapshot:
        others = [inspection for inspection in following if inspection.fabric == before.fabric]
        yield from examine(
            Evidence(
                before.snapshot,
                after.snapshot if after else None,
                tuple(_aligned(other, before.interface) for other in others if other.snapshot),
                Run(before.interface),
            )
        )


def _aligned(other: HostInspection, interface: str) -> Snapshot:
    """Rename another host's tested interface to this host's, so that the two are compared."""
    assert other.snapshot, "hosts without a snapshot are left out"
    own = other.snapshot.interfaces
    if not interface or other.interface not in own:
        return other.snapshot
    return replace(other.snapshot, interfaces={interface: own[other.interface]})


def inspection_facts(
    before: Sequence[HostInspection], after: Sequence[HostInspection]
) -> list[Mapping[str, Any]]:
    """Return inspections as JSON values: for each host, before and after."""
    later = {(inspection.host, inspection.fabric): inspection for inspection in after}
    return [
        {
            "host": inspection.host,
            "fabric": inspection.fabric,
            "interface": inspection.interface,
            "before": _facts(inspection),
            "after": _facts(later.get((inspection.host, inspection.fabric))),
        }
        for inspection in before
    ]


def _facts(inspection: HostInspection | None) -> Mapping[str, Any] | None:
    return inspection.snapshot.facts() if inspection and inspection.snapshot else None


_NET = "/sys/class/net/{interface}"
_CPU = "/sys/devices/system/cpu"
_FILES = (
    *(f"/proc/sys/kernel/{name}" for name in ("hostname", "osrelease", "random/boot_id")),
    *("/proc/loadavg", "/proc/cpuinfo", "/proc/net/dev", "/proc/net/snmp", "/proc/self/status"),
    *(f"/proc/sys/net/{name.replace('.', '/')}" for name in SETTINGS),
    "/proc/sys/kernel/numa_balancing",
    # Of the first processor only: a large host has thousands of such files.
    *(f"{_CPU}/cpu0/cpufreq/{name}" for name in ("scaling_governor", "scaling_cur_freq")),
    *(f"{_CPU}/{name}" for name in ("cpu0/cpufreq/cpuinfo_max_freq", "smt/active", "online")),
    *(f"{_NET}/{name}" for name in ("operstate", "mtu", "speed", "duplex", "statistics")),
    f"{_NET}/device/numa_node",
    *(
        f"{_NET}/device/{end}_link_{what}"
        for end in ("current", "max")
        for what in ("width", "speed")
    ),
)
WORDS = ("grep", "-a", "-H", "-Z", "-r", "-s", "", *_FILES)  # Complete but for ``{interface}``.
_ROOTS = (("proc",), ("sys",))
_NOT_CAPTURED = ("rdma", "placement")
_MAX = 10_000  # Files of a capture.


def captured(text: str, interface: str) -> Snapshot:
    """Make a snapshot from what ``grep`` printed.

    ``interface`` is the one to read; none if empty. Raises ``ValueError`` when it holds no host.
    """
    with TemporaryDirectory(prefix="etherweave-capture-") as name:
        root = Path(name)
        for path, content in list(_files(text).items())[:_MAX]:
            _write(root, path, content)
        names = [interface] if interface else []
        capture = take(root, interfaces=names, tools=None, variables={})
    if not capture.boot:
        raise ValueError("no files of a host; expected what grep prints of /proc and /sys")
    gaps = (Gap(topic, "grep", "is not captured") for topic in _NOT_CAPTURED)
    return replace(capture, gaps=(*capture.gaps, *gaps))


def _files(text: str) -> dict[PurePosixPath, str]:
    """Gather lines by file; those of other places are left out."""
    texts: dict[PurePosixPath, list[str]] = {}
    for line in text.split("\n"):
        name, zero, rest = line.partition("\0")
        path = PurePosixPath(name)
        is_below = path.parts[:1] == ("/",) and path.parts[1:2] in _ROOTS
        if zero and is_below and ".." not in path.parts:
            texts.setdefault(path.relative_to("/"), []).append(rest)
    return {path: "".join(f"{line}\n" for line in lines) for path, lines in texts.items()}


def _write(root: Path, path: PurePosixPath, content: str) -> None:
    """Write a file; one that cannot be written is missing later, as on a host without it."""
    try:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    except (OSError, ValueError):
        return
