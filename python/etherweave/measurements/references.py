"""Published figures to compare a result with, each with its source and conditions.

A second-hand figure is never one that a result must reach.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from etherweave.measurements.benchmark_report import BenchmarkReport, Measurement

_TESTS = ("test", "benchmark", "operation", "algorithm")
"""Labels by which programs name the test that a measurement belongs to."""
SECOND_HAND = "secondary"  # Provenance of a figure that the source itself did not measure.
PROVENANCES = (
    *("primary", "primary-copy", "artefact", "vendor-doc", "code-threshold", "derived"),
    *("issue-thread", SECOND_HAND),
)
"""Provenances of figures, the most trusted first."""
_KINDS = {"code-threshold": "limit", "derived": "derived"}  # Kinds of figures by provenance.
_DOUBTS = (("target quoted", "target"), ("reported as too low", "too low"))
"""Words of the conditions of a figure that no good system has measured, and its kind."""
_COUNTED = ("node", "host", "rank", "gpu", "process", "pair", "byte", "b", "kib", "mib", "gib")
"""Units of numbers in a search, in the singular."""
_WITHIN_A_NODE = ("intra-node", "loopback", "same node")


@dataclass(frozen=True)
class Reference:
    """A figure that was published."""

    benchmark: str  # Name in the catalogue, where it is there.
    program: str
    test: str  # One of the program's tests; empty if it has only one.
    table: str  # Table of the test: GPCNeT's ``isolated``, ``congested`` or ``impact``.
    metric: str
    statistic: str  # Statistic of a measurement, or ``threshold``.
    size_bytes: int | None
    bound: str  # ``eq``, ``approx``, ``gt`` or ``lt``: how the source puts it.
    value: float  # Value in the base unit.
    unit: str
    printed: str  # Figure as the source has it.
    fabric: str
    link_bits_per_s: float | None
    system: str
    year: str
    provenance: str  # One of :data:`PROVENANCES`.
    conditions: str
    source: str
    place: str  # Page, table or thread.

    @property
    def kind(self) -> str:
        """Kind of the figure: ``measured``, ``limit``, ``derived``, ``target`` or ``too low``."""
        if self.provenance in _KINDS:
            return _KINDS[self.provenance]
        return next((kind for words, kind in _DOUBTS if words in self.conditions), "measured")

    @property
    def may_accept(self) -> bool:
        """Whether it may serve as a bound of results."""
        return self.provenance != SECOND_HAND and self.kind not in ("target", "too low")

    @property
    def crosses_a_network(self) -> bool:
        """Whether its messages left a host."""
        return not any(word in self.conditions.lower() for word in _WITHIN_A_NODE)

    def contains(self, words: Iterable[str]) -> bool:
        """Whether each of these words occurs somewhere in it, in any case.

        A number is no part of another, and stands before its unit where one follows: ``8 nodes``.
        """
        text = "\n".join(map(str, vars(self).values())).casefold()
        return all(re.search(pattern, text) for pattern in _patterns(tuple(words)))


@dataclass(frozen=True)
class PublishedComparison:
    """A measurement beside a published figure of the same kind."""

    measurement: Measurement
    reference: Reference

    @property
    def ratio(self) -> float:
        """Measured over published."""
        return self.measurement.value / self.reference.value


@cache
def _patterns(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a pattern for each word; for a number and its unit, one for both."""
    patterns, left = list[str](), [word.casefold() for word in words]
    while left:
        word = left.pop(0)
        begin = r"(?<!\d)(?<!\d[.,])" if word[:1].isdigit() else ""
        end = r"(?!\d|,\d|\.[1-9])" if word[-1:].isdigit() else ""
        unit = left[0].removesuffix("s") if left else ""
        has_unit = word.isdecimal() and unit in _COUNTED
        if has_unit:
            left.pop(0)
        joined = rf"[ -]?{re.escape(unit)}(?!\w{{2}})" if has_unit else end
        patterns.append(begin + re.escape(word) + joined)
    return tuple(patterns)


@cache
def references() -> tuple[Reference, ...]:
    """Read the figures that come with Etherweave."""
    table = files("etherweave.measurements").joinpath("references.csv").read_text(encoding="utf-8")
    return tuple(_reference(row) for row in csv.DictReader(table.splitlines()))


def _reference(row: dict[str, str]) -> Reference:
    link, size = row["link_bits_per_s"], row["size_bytes"]
    texts: dict[str, Any] = dict(row)
    texts["value"] = float(row["value"])
    texts["size_bytes"] = int(size) if size else None
    texts["link_bits_per_s"] = float(link) if link else None
    return Reference(**texts)


def search(
    words: Iterable[str] = (), *, fabric: str | None = None, metric: str | None = None
) -> list[Reference]:
    """Find figures.

    All ``words`` must occur, anywhere, numbers as numbers; ``fabric`` has words of the fabric
    alone, and ``metric`` is the metric's name.
    """
    wanted = (fabric or "").casefold().split()
    return [
        reference
        for reference in references()
        if reference.contains(words)
        and all(word in reference.fabric.casefold() for word in wanted)
        and metric in (None, reference.metric)
    ]


def compare(report: BenchmarkReport, among: Iterable[Reference]) -> list[PublishedComparison]:
    """Compare a result with figures of the same metric, statistic, size and test.

    Those of the same program come first, then the most trusted. Figures from within a node are left
    out, as are those of other tests and sizes.
    """
    known = [reference for reference in among if reference.crosses_a_network and reference.value]
    pairs = [
        PublishedComparison(measurement, reference)
        for measurement in report.measurements
        for reference in known
        if _is_alike(report, measurement, reference)
    ]
    return sorted(pairs, key=lambda pair: _trust(report, pair.reference))


def _is_alike(report: BenchmarkReport, measurement: Measurement, reference: Reference) -> bool:
    labels = dict(measurement.labels)
    mean_for_threshold = (measurement.statistic, reference.statistic) == ("mean", "threshold")
    return (
        measurement.metric.name == reference.metric
        and measurement.metric.unit == reference.unit
        and (measurement.statistic == reference.statistic or mean_for_threshold)
        and measurement.size_bytes == reference.size_bytes
        and (measurement.size_bytes is not None or report.program == reference.program)
        and (not reference.test or reference.test in map(labels.get, _TESTS))
        and (not reference.table or labels.get("table") == reference.table)
    )


def _trust(report: BenchmarkReport, reference: Reference) -> tuple[bool, int]:
    return report.program != reference.program, PROVENANCES.index(reference.provenance)
