"""The store of a campaign on disk: each finished launch is there completely, or not at all.

::

    DIR/campaign.json              the campaign
        launches/NAME.json         one launch: words, text, ending; written before the next begins
        environment/0001.json      all hosts before and after one session of the runner, findings
        telemetry/NAME/HOST/       what a host counted during a launch
        work/NAME/                 where a launch runs; empty again afterwards unless it failed
        benchmarks.json, *.parquet, *.csv    results, made anew from the launches at any time

Results come from the raw texts, so that a better parser reads old launches as well.
"""

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from etherweave.api.inputs import decoded, read_json
from etherweave.api.outputs import below, is_part, locked, new_file
from etherweave.bench.campaigns.campaign import Campaign

T = TypeVar("T")

CAMPAIGN = "campaign.json"


class StoreError(ValueError):
    """A directory that is not what a store should be."""


@dataclass(frozen=True)
class LaunchRecord:
    """One launch that has ended."""

    experiment: str  # Its name.
    round: int  # 0 is the warm-up, which does not count.
    ending: str  # Value of :class:`etherweave.bench.launchers.launcher.Ending`.
    text: str
    errors: str
    words: tuple[str, ...]  # Command that was started.
    start_ns: int  # Since 1970 [ns].
    end_ns: int
    launcher: str
    session: int  # Number of the session that made it, from 1.
    version: str  # Version of Etherweave that parsed it first.
    campaign: str  # Identity of the campaign.

    @property
    def is_warm_up(self) -> bool:
        """Whether it does not count."""
        return self.round == 0

    @property
    def name(self) -> str:
        """Names its files, and its epoch in the telemetry."""
        return launch_name(self.experiment, self.round)


def launch_name(experiment: str, turn: int) -> str:
    """Name a launch by its experiment and its round."""
    return f"{experiment}-{turn:03}"


@dataclass(frozen=True)
class Store:
    """A directory with a campaign."""

    directory: Path  # Absolute.
    campaign: Campaign

    @classmethod
    def create(cls, directory: Path, campaign: Campaign) -> "Store":
        """Make a store, or open the one of the very same campaign.

        Raises ``StoreError`` when the directory holds another campaign, or something else.
        """
        path = directory.absolute()
        # As it will be read: in JSON a whole rate may lose its point.
        campaign = decoded(Campaign, json.loads(json.dumps(asdict(campaign))), CAMPAIGN)
        if (path / CAMPAIGN).exists():
            file = cls.open(path)
            if file.campaign.identity != campaign.identity:
                first, other = asdict(file.campaign), asdict(campaign)
                changed = ", ".join(name for name in first if first[name] != other[name])
                raise StoreError(
                    f"{directory}: holds another campaign ({changed} differ); "
                    "expected the same, or another directory"
                )
            return file
        if path.exists() and any(
            file.name != ".lock" and not is_part(file) for file in path.iterdir()
        ):
            raise StoreError(f"{directory}: is not empty, and holds no campaign")
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / CAMPAIGN, asdict(campaign))
        return cls(path, campaign)

    @classmethod
    def open(cls, directory: Path) -> "Store":
        """Open a store; raises ``StoreError`` when there is none."""
        path = directory.absolute()
        return cls(path, _decoded(Campaign, path / CAMPAIGN))

    def records(self) -> list[LaunchRecord]:
        """Read all launches, in the order in which they ended.

        Raises ``StoreError`` when one is damaged, or of another campaign.
        """
        records = [self._record(path) for path in sorted(self._launches.glob("*.json"))]
        return sorted(records, key=lambda record: (record.end_ns, record.name))

    def add(self, record: LaunchRecord) -> None:
        """Write a launch; it is on the disk when this returns."""
        write_json(below(self._launches, f"{record.name}.json"), asdict(record))

    def workplace(self, name: str) -> Path:
        """Return an empty directory for a launch; files of an earlier, killed one are removed."""
        path = below(self.directory, "work", name)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def clear(self, name: str) -> None:
        """Remove the directory of a launch."""
        shutil.rmtree(below(self.directory, "work", name), ignore_errors=True)

    def telemetry(self, name: str) -> Path:
        """Return the directory of the telemetry of a launch."""
        return self.directory / "telemetry" / name

    def new_session(self) -> int:
        """Return the number of a new session, from 1."""
        return 1 + max((int(path.stem) for path in self._sessions()), default=0)

    def keep_environment(self, session: int, facts: Mapping[str, Any]) -> None:
        """Write the inspections of a session."""
        write_json(self.directory / "environment" / f"{session:04}.json", facts)

    def environments(self) -> list[dict[str, Any]]:
        """Read the inspections of each session, in order."""
        return [_environment(path) for path in sorted(self._sessions())]

    def alone(self) -> AbstractContextManager[None]:
        """Lock the store against other sessions; raises ``StoreError`` when one uses it."""
        busy = StoreError(f"{self.directory}: another session uses this directory")
        return locked(self.directory / ".lock", busy)

    @property
    def _launches(self) -> Path:
        return self.directory / "launches"

    def _sessions(self) -> list[Path]:
        return [path for path in self.directory.glob("environment/*.json") if path.stem.isdecimal()]

    def _record(self, path: Path) -> LaunchRecord:
        record = _record(path)
        known = {experiment.name for experiment in self.campaign.experiments}
        if record.campaign != self.campaign.identity or record.experiment not in known:
            raise StoreError(f"{path}: a launch of another campaign")
        if path.stem != record.name:
            raise StoreError(f"{path}: holds the launch {record.name[:80]}")
        return record


def is_store(directory: Path) -> bool:
    """Whether a directory holds a campaign."""
    return (directory / CAMPAIGN).is_file()


def write_json(path: Path, facts: Mapping[str, Any]) -> None:
    """Write a file so that it is there whole or not at all, also after a loss of power."""
    write_atomically(path, json.dumps(facts, indent=1).encode())


def write_atomically(path: Path, octets: bytes) -> None:
    """Write a new file, wait for the disk, and replace the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path, "wb") as file:
        file.write(octets)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _decoded(kind: type[T], path: Path) -> T:
    try:
        return decoded(kind, _read(path), path.name)
    except StoreError:
        raise
    except ValueError as error:
        raise StoreError(f"{path}: {error}") from None


def _record(path: Path) -> LaunchRecord:
    try:
        record = decoded(LaunchRecord, _read(path), path.name)
        if not 0 <= record.start_ns <= record.end_ns < 2**63 or not 0 <= record.round < 10**6:
            raise ValueError(f"{path.name}: start_ns, end_ns or round: out of range")
        return record
    except ValueError as error:
        raise StoreError(f"{path}: {error}") from None


def _environment(path: Path) -> dict[str, Any]:
    facts = _read(path)
    findings = facts.get("findings", [])
    if not isinstance(findings, list) or not all(isinstance(finding, dict) for finding in findings):
        raise StoreError(f"{path}: findings: expected a list of objects")
    return facts


def _read(path: Path) -> dict[str, Any]:
    try:
        facts = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"{path}: no such file; expected what `bench run -o` wrote") from None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None
    if not isinstance(facts, dict):
        raise StoreError(f"{path}: expected an object")
    return facts


SWITCHES = "switches.json"


def keep_switches(directory: Path, switches: Mapping[str, str]) -> None:
    """Write the switches of hosts into a store; nothing where the site names none."""
    if switches:
        write_json(directory / SWITCHES, dict(switches))


def kept_switches(directory: Path) -> dict[str, str]:
    """Read them; empty where there are none; raises ``ValueError`` when the file is damaged."""
    path = directory / SWITCHES
    if not path.exists():
        return {}
    facts = read_json(path)
    if not isinstance(facts, dict) or not all(isinstance(fact, str) for fact in facts.values()):
        raise ValueError(f"{path}: expected switches by host")
    return facts
