"""Campaigns of one cluster over time: what became worse, and when."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from etherweave.bench.comparing import Difference, Numbers, Verdict, differences, numbers_of
from etherweave.bench.store import Store, is_store

DEPTH = 4
"""Folders below the one named in which results are looked for."""


@dataclass(frozen=True)
class Entry:
    """A campaign in a history."""

    directory: Path
    site: str
    start_ns: int
    """Of its first launch, since 1970 [ns]."""
    numbers: Numbers


@dataclass(frozen=True)
class Step:
    """From one campaign to the next, or from a baseline to one."""

    before: str
    """What the entry is held against."""
    entry: Entry
    differences: tuple[Difference, ...]

    @property
    def regressions(self) -> tuple[Difference, ...]:
        """What became worse."""
        return tuple(one for one in self.differences if one.verdict is Verdict.WORSE)


def entries(directory: Path, site: str | None = None) -> list[Entry]:
    """Find the campaigns below a directory that have launches that count, the oldest first.

    Raises
    ------
    StoreError
        When one is damaged.
    """
    found = [entry for path in _stores(directory, DEPTH) if (entry := _entry(path))]
    wanted = [entry for entry in found if site in (None, entry.site)]
    return sorted(wanted, key=lambda entry: (entry.start_ns, str(entry.directory)))


def steps(found: Iterable[Entry], baseline: tuple[str, Numbers] | None = None) -> list[Step]:
    """Compare each campaign with the one before it on its cluster, or all with a baseline."""
    if baseline:
        name, numbers = baseline
        return [_step(name, numbers, entry) for entry in found]
    sites: dict[str, list[Entry]] = {}
    for entry in found:
        sites.setdefault(entry.site, []).append(entry)
    made = [
        _step(str(before.directory), before.numbers, entry)
        for own in sites.values()
        for before, entry in pairwise(own)
    ]
    return sorted(made, key=lambda step: step.entry.start_ns)


def _step(name: str, before: Numbers, entry: Entry) -> Step:
    return Step(name, entry, tuple(differences(before, entry.numbers)))


def _stores(directory: Path, depth: int) -> Iterator[Path]:
    if is_store(directory):
        yield directory
    elif depth:
        for path in sorted(directory.iterdir()):
            if path.is_dir() and not path.is_symlink():
                yield from _stores(path, depth - 1)


def _entry(path: Path) -> Entry | None:
    store = Store.open(path)
    numbers = numbers_of(store)
    if not numbers:
        return None
    start = min(one.start_ns for one in store.records())
    return Entry(path, store.campaign.site, start, numbers)
