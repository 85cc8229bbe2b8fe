"""A host that has no Etherweave: its files, printed by ``grep`` and read here.

``grep`` prints the name of each file, a zero octet, and a line: no shell, no archive (``tar`` asks
``/proc`` for sizes, and it has none), and names cannot be mistaken for contents.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from etherweave.bench.environment.readers import take
from etherweave.bench.environment.readers.network import SETTINGS
from etherweave.bench.environment.snapshot import Gap, Snapshot

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
WORDS = ("grep", "-a", "-H", "-Z", "-r", "-s", "", *_FILES)
"""Complete but for ``{interface}``."""
_ROOTS = (("proc",), ("sys",))
_NOT_CAPTURED = ("rdma", "placement")
_MOST = 10_000
"""Files of a capture."""


def captured(text: str, interface: str) -> Snapshot:
    """Make a snapshot from what ``grep`` printed.

    Parameters
    ----------
    text
        Lines of files.
    interface
        The interface to read; none if empty.

    Raises
    ------
    ValueError
        When it holds no host.
    """
    with TemporaryDirectory(prefix="etherweave-capture-") as name:
        root = Path(name)
        for path, content in list(_files(text).items())[:_MOST]:
            _write(root, path, content)
        names = [interface] if interface else []
        found = take(root, interfaces=names, tools=None, variables={})
    if not found.boot:
        raise ValueError("no files of a host; expected what grep prints of /proc and /sys")
    gaps = (Gap(topic, "grep", "is not captured") for topic in _NOT_CAPTURED)
    return replace(found, gaps=(*found.gaps, *gaps))


def _files(text: str) -> dict[PurePosixPath, str]:
    """Gather lines by file; those of other places are left out."""
    found: dict[PurePosixPath, list[str]] = {}
    for name, line in _lines(text):
        path = PurePosixPath(name)
        if path.parts[:1] == ("/",) and path.parts[1:2] in _ROOTS and ".." not in path.parts:
            found.setdefault(path.relative_to("/"), []).append(line)
    return {path: "".join(f"{line}\n" for line in lines) for path, lines in found.items()}


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        name, zero, rest = line.partition("\0")
        if zero:
            yield name, rest


def _write(root: Path, path: PurePosixPath, content: str) -> None:
    """Write a file; one that cannot be written is missing later, as on a host without it."""
    try:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    except (OSError, ValueError):
        return
