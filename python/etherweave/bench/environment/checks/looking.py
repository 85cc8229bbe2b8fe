"""What checks share: lists of processors, interfaces of interest, differences of counters."""

import re
from collections.abc import Iterator, Mapping

from etherweave.bench.environment.findings import Evidence
from etherweave.bench.environment.snapshot import Interface, Snapshot

_MOST = 65_536
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def cpus(text: str) -> frozenset[int]:
    """Read a list of processors as Linux writes it: ``0-3,8``; what is none is left out."""
    ranges = [_RANGE.fullmatch(part.strip()) for part in text.split(",")[:_MOST]]
    ends = [(int(found[1]), int(found[2] or found[1])) for found in ranges if found]
    return frozenset(
        cpu for first, last in ends for cpu in range(min(first, _MOST), min(last, _MOST) + 1)
    )


def interfaces(evidence: Evidence, snapshot: Snapshot) -> dict[str, Interface]:
    """Give the interface of the run, or all if it is not known."""
    chosen = evidence.run.interface
    return {name: one for name, one in snapshot.interfaces.items() if not chosen or name == chosen}


def risen(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Tell which counters rose, and by how much; one that was reset counts from zero."""
    rises = {
        name: value - before.get(name, 0) if value >= before.get(name, 0) else value
        for name, value in after.items()
    }
    return {name: value for name, value in rises.items() if value > 0}


def counted(evidence: Evidence) -> Iterator[tuple[str, dict[str, int], bool]]:
    """Give the counters of each interface that rose, and whether during the run or since boot."""
    after = evidence.after
    for name, one in interfaces(evidence, evidence.before).items():
        first = one.counters | one.driver_counters
        if after is None:
            yield name, risen({}, first), False
        elif name in after.interfaces:
            last = after.interfaces[name]
            yield name, risen(first, last.counters | last.driver_counters), True


def when(is_during: bool) -> str:
    """Name the time in which counters rose."""
    return "during the run" if is_during else "since the host started"


def told(counters: Mapping[str, int]) -> str:
    """Write counters, the largest first, at most four."""
    largest = sorted(counters.items(), key=lambda pair: -pair[1])[:4]
    more = f" and {len(counters) - 4} more" if len(counters) > 4 else ""
    return ", ".join(f"{name} {value:,}" for name, value in largest) + more
