"""The report of a calibration, from what ``calibrate -o`` left."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from etherweave.api.inputs import decoded, read_json, reason
from etherweave.bench.calibration import CalibratedConstant, Calibration, ComparedWorkload
from etherweave.bench.calibration.collecting import LAUNCHES
from etherweave.bench.calibration.measured import loaded
from etherweave.bench.calibration.plans import directory_of
from etherweave.bench.calibration.prediction import table
from etherweave.measurements.files import CALIBRATION_FILE

T = TypeVar("T", CalibratedConstant, ComparedWorkload)
_MAX = 1e15  # More than any time or size of a calibration.
_DERIVED = {"error", "error_of_median", "is_covered"}
"""Fields of a workload in the file, which follow from its times."""


@dataclass(frozen=True)
class Calibrated:
    """A calibration, and where its launches are."""

    directory: Path
    calibration: Calibration

    @property
    def compared(self) -> tuple[ComparedWorkload, ...]:
        """All workloads, held-out ones first."""
        return (*self.calibration.held_out, *self.calibration.micro_benchmarks)

    @cached_property
    def iterations(self) -> Mapping[str, list[pl.Series]]:
        """Iterations of each launch of held-out workloads, where launches are kept [s]."""
        iterations = {row.name: self._iterations(row.name) for row in self.calibration.held_out}
        return {name: own for name, own in iterations.items() if own}

    def _iterations(self, name: str) -> list[pl.Series]:
        home = self.directory / LAUNCHES
        places = [
            path for path in home.glob(f"{directory_of(name)}.*") if path.suffix[1:].isdecimal()
        ]
        tables = [table(loaded(place), "iterations") for place in sorted(places, key=_turn)]
        return [own["duration_ns"] / 1e9 for own in tables if not own.is_empty()]


def _turn(place: Path) -> int:
    return int(place.suffix[1:])


def load_calibration(source: Path) -> Calibrated:
    """Read a calibration.

    Raises ``ValueError`` when it is damaged and ``OSError`` when it cannot be read.
    """
    path = source / CALIBRATION_FILE
    try:
        facts = read_json(path)
        parts = [facts[name] for name in ("constants", "micro_benchmarks", "held_out")]
        constants = tuple(_read(CalibratedConstant, part) for part in parts[0])
        micro_benchmarks, held_out = (
            tuple(_read(ComparedWorkload, row) for row in part) for part in parts[1:]
        )
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: {reason(error)}; expected what `calibrate -o` wrote") from None
    if lost := [row.name for row in (*micro_benchmarks, *held_out) if not _are_times(_times(row))]:
        raise ValueError(f"{path}: {lost[0]}: is no time; expected seconds above zero")
    if lost := [constant.key for constant in constants if not _are_times(_values(constant))]:
        raise ValueError(f"{path}: {lost[0]}: is no value; expected numbers above zero")
    return Calibrated(source, Calibration(constants, micro_benchmarks, held_out))


def _are_times(values: list[float]) -> bool:
    return all(0 < value < _MAX for value in values)


def _values(constant: CalibratedConstant) -> list[float]:
    """List a constant and its intervals; it may have been zero before."""
    return [
        constant.value,
        constant.low,
        constant.high,
        constant.prior_low,
        constant.prior_high,
        constant.before or 1,
    ]


def _times(workload: ComparedWorkload) -> list[float]:
    """List all times of a workload [s]."""
    return [
        *(getattr(workload, part.name) for part in fields(ComparedWorkload) if part.type is float),
        *workload.launches_s,
        *workload.predicted_iterations_s,
        workload.size_bytes or 1,
        workload.window,
    ]


def _read(kind: type[T], facts: Any) -> T:
    if not isinstance(facts, dict):
        raise ValueError("expected an object")
    own = {name: value for name, value in facts.items() if name not in _DERIVED}
    return decoded(kind, own, kind.__name__.lower())
