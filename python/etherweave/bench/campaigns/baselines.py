"""Baselines: results that a user stores under a name, in a file of the user's."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from etherweave.api.inputs import decoded, read_json
from etherweave.api.units import Unit
from etherweave.bench.campaigns.comparisons import numbers_of
from etherweave.bench.campaigns.points import DataPoint
from etherweave.bench.campaigns.store import Store, write_json
from etherweave.measurements.metrics import Better

FORMAT = 1


class BaselineError(ValueError):
    """A file without baselines, or without the one that is wanted."""


@dataclass(frozen=True)
class _BaselineRow:
    point: DataPoint
    launches: tuple[float, ...]  # One number of each, in the base unit.

    def __post_init__(self) -> None:
        unit, better = self.point.unit, self.point.better
        if unit not in set(Unit) or better not in set(Better):
            raise ValueError(f"unit {unit[:20]!r} or direction {better[:20]!r}: unknown")
        if not self.launches:
            raise ValueError("a point without a launch")


@dataclass(frozen=True)
class Baseline:
    """Stored results of a campaign."""

    site: str
    identity: str  # Identity of the campaign.
    start_ns: int  # Time of its first launch, since 1970 [ns].
    rows: tuple[_BaselineRow, ...]

    @property
    def numbers(self) -> dict[DataPoint, tuple[float, ...]]:
        """The numbers, as a comparison takes them."""
        return {row.point: row.launches for row in self.rows}


@dataclass(frozen=True)
class _BaselineFile:
    format: int = FORMAT
    baselines: dict[str, Baseline] = field(default_factory=dict)


def add(file: Path, name: str, store: Store) -> Baseline:
    """Store a campaign's numbers under a name; an older baseline of the name is replaced.

    Raises ``BaselineError`` when the store has no numbers, or the file holds something else.
    """
    numbers = numbers_of(store)
    if not numbers:
        raise BaselineError(
            f"{store.directory}: no launch is valid; expected a result with valid launches"
        )
    start = min(record.start_ns for record in store.records())
    rows = tuple(_BaselineRow(point, tuple(values)) for point, values in numbers.items())
    kept = Baseline(store.campaign.site, store.campaign.identity, start, rows)
    others = baselines(file) if file.exists() else {}
    write_json(file, asdict(_BaselineFile(FORMAT, {**others, name: kept})))
    return kept


def baseline(file: Path, name: str) -> Baseline:
    """Find a baseline; raises ``BaselineError`` when there is none of that name."""
    kept = baselines(file)
    if name not in kept:
        raise BaselineError(f"{file}: no baseline {name}; expected {', '.join(kept) or 'any'}")
    return kept[name]


def baselines(file: Path) -> Mapping[str, Baseline]:
    """Read all baselines of a file, by name; raises ``BaselineError`` when it holds none."""
    expected = "expected what `etherweave bench baseline add` writes"
    try:
        shelf = decoded(_BaselineFile, read_json(file), "baselines")
    except OSError as error:
        raise BaselineError(f"{file}: {error.strerror}; {expected}") from None
    except ValueError as error:
        raise BaselineError(f"{file}: {error}; {expected}") from None
    if shelf.format != FORMAT:
        raise BaselineError(f"{file}: format {shelf.format}; {expected}")
    return shelf.baselines
