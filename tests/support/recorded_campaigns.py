"""Campaigns with made-up telemetry, as `bench run` keeps it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from etherweave.bench.campaigns.store import LaunchRecord, write_json
from etherweave.bench.telemetry.counters import CounterRow, Value
from etherweave.bench.telemetry.epochs import EPOCH, Epoch, Offset
from etherweave.bench.telemetry.families import (
    ENERGY,
    FAMILIES,
    INTERFACE,
    PRIORITY,
    PROCESSOR,
    RDMA,
    Family,
)
from etherweave.bench.telemetry.recorder import Recording
from etherweave.bench.telemetry.sampling import Sample
from etherweave.bench.telemetry.tables import save


@dataclass(frozen=True)
class Speeds:
    """How fast counters of a host rise [1/s]; counters that are not named are not counted."""

    cpus: Sequence[dict[str, float]] = ({"user_s": 0.5, "system_s": 0.25, "idle_s": 0.25},)
    interface: dict[str, float] | None = None
    other: dict[str, float] | None = None  # Speeds of an interface that is not tested.
    priorities: dict[str, dict[str, float]] | None = None
    rdma: dict[str, float] | None = None

    def rows(self, seconds: float) -> dict[str, list[CounterRow]]:
        """Give counters that began somewhere, after so long."""
        cpus = [_row(PROCESSOR, (str(at),), cpu, seconds) for at, cpu in enumerate(self.cpus)]
        cards = {"eth0": self.interface, "eth1": self.other}
        return {
            PROCESSOR.name: cpus,
            INTERFACE.name: [
                _row(INTERFACE, (name,), card, seconds) for name, card in cards.items() if card
            ],
            PRIORITY.name: [
                _row(PRIORITY, ("eth0", name), priority, seconds)
                for name, priority in (self.priorities or {}).items()
            ],
            RDMA.name: [_row(RDMA, ("mlx5_0", "1"), self.rdma, seconds)] if self.rdma else [],
            ENERGY.name: [],
        }


def _row(
    family: Family, keys: tuple[str, ...], speeds: dict[str, float], seconds: float
) -> CounterRow:
    return CounterRow(keys, tuple(_value(kind.name, speeds, seconds) for kind in family.columns))


def _value(name: str, speeds: dict[str, float], seconds: float) -> Value:
    if name not in speeds:
        return None
    value = 1000 + speeds[name] * seconds
    return value if name.endswith("_s") else round(value)


def keep_recording(
    home: Path,
    record: LaunchRecord,
    host: str,
    speeds: Speeds,
    *,
    seconds: float = 10.0,
    period_s: float = 1.0,
    ahead_ms: tuple[float, float] | None = (-5.0, 5.0),
    failure: str = "",
) -> None:
    """Keep what a host counted from the start of a launch on; its clock is ahead by the middle."""
    ahead_ns = round(sum(ahead_ms) / 2 * 1e6) if ahead_ms else 0
    times = [at * period_s for at in range(round(seconds / period_s) + 1)]
    samples = tuple(
        Sample(record.start_ns + ahead_ns + round(at * 1e9), speeds.rows(at)) for at in times
    )
    save(Recording(record.name, host, period_s, samples, 0, 0.004), home)
    bounds = Offset(*(round(end * 1e6) for end in ahead_ms)) if ahead_ms else None
    reported = Epoch(
        record.name, host, "eth0", failure, period_s, seconds, len(samples), 0, 0.004, 0.002, bounds
    )
    write_json(home / EPOCH, asdict(reported))


def keep_recordings(
    directory: Path,
    records: Sequence[LaunchRecord],
    hosts: Sequence[str],
    of: Callable[[str], Speeds],
) -> None:
    for record in records:
        for host in hosts:
            keep_recording(directory / "telemetry" / record.name / host, record, host, of(host))


assert {family.name for family in FAMILIES} == set(Speeds().rows(0.0))
