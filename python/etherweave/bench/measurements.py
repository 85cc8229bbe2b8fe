"""Measurements in a text, and how far they can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from etherweave.bench.metrics import Metric


class TextLine(NamedTuple):
    """A line of a text."""

    number: int
    """From 1."""
    text: str


Labels = Sequence[tuple[str, str]]
"""Names and values that distinguish a measurement from its neighbours."""


@dataclass(frozen=True)
class Measurement:
    """One number of a benchmark."""

    metric: Metric
    value: float
    """In the metric's base unit."""
    statistic: str
    """Over iterations or ranks: ``mean``, ``min``, ``max``, ``stdev``, ``p50``, ``p99.9``…"""
    size_bytes: int | None
    """Of a message, a block or a request; ``None`` where there is no such thing."""
    labels: tuple[tuple[str, str], ...]
    """Names and values that distinguish it from others: ``operation``, ``from``, ``side``."""
    printed: str
    """The number and its unit as the tool means them: ``20.60 us``."""
    line: int
    """Where it is in the text, from 1."""


class Completeness(StrEnum):
    """Whether all that a run should print is there."""

    COMPLETE = "complete"
    """The tool's own closing line is there."""
    OPEN = "open"
    """The tool prints no closing line: the text may be complete or cut."""
    PARTIAL = "partial"
    """Something is known to be missing; what is here is right."""


@dataclass(frozen=True)
class BenchmarkReport:
    """The results of one run of one benchmark."""

    benchmark: str
    """The adapter that read it."""
    program: str
    version: str | None
    line: int
    """Where its text begins, from 1."""
    measurements: tuple[Measurement, ...]
    completeness: Completeness
    valid: bool | None
    """Whether the benchmark's own verification passed; ``None`` if it made none."""
    facts: tuple[tuple[str, str], ...]
    """Facts about the run that it printed: ranks, window, protocol."""
    warnings: tuple[str, ...]
    leftover: tuple[tuple[int, str], ...]
    """Lines that were not understood, with their numbers."""

    @property
    def is_sound(self) -> bool:
        """Nothing is known to be missing or wrong."""
        return self.completeness != Completeness.PARTIAL and self.valid is not False


@dataclass(frozen=True)
class Failure:
    """A benchmark's text that gives no number."""

    benchmark: str
    line: int
    reason: str


class GarbledError(ValueError):
    """A benchmark's text is not what that benchmark writes, or reports that the run failed."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
