"""Spreads of the same figure among documents: what the basis of a figure is worth.

Two kinds of documents are in hand. Profiles of interconnects state a figure for several NICs,
switches and libraries; who takes it for another from them is wrong by what they differ. Published
benchmarks state one size on one interconnect by several libraries or on several systems; a figure
that is fitted to one of them is wrong by what these differ. Spreads are standard deviations of
natural logarithms. Equal values count once: a figure that is copied is no document of its own.
"""

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from etherweave.api.interconnects import names
from etherweave.api.simulation import figures
from etherweave.api.units import rate_of, time_of
from etherweave.measurements.references import SECOND_HAND, Reference, references
from etherweave.uncertainty.declared import UncertaintyError

LATENCY, RATE, BANDWIDTH = "latency", "message rate", "bandwidth"  # Kinds of measurements.
SMALL_MAX, LARGE_MIN = 64, 4096
"""Sizes of messages whose time is that of a message, and of those whose time is that of bytes
[bytes]."""
APART = frozenset({"ethernet-1-tcp", "iwarp-40", "efa-100", "infiniband-qdr", "infiniband-fdr"})
"""Profiles without a share in spreads: a part of theirs stands for more than it does elsewhere, as
TCP in a NIC, virtual machines of a cloud, or systems of another decade."""
_PROGRAMS = {"osu_latency": "latency", "osu_bw": "bandwidth"}
_CONDITION = re.compile(r"\s*(\(.*\)|\+PFC)")
"""Suffixes of the name of a fabric: library, flow control."""


@dataclass(frozen=True)
class Spread:
    """How far documents differ in a figure."""

    figure: str  # A key of scenarios, the beginning of several (``nic``), or a kind of measurement.
    documents: int  # Different values, of all figures that it is the spread of.
    degrees: int  # Documents beyond the first of each figure.
    sigma: float  # Standard deviation of the natural logarithm.
    values: str  # The values, or the figures that are pooled.

    @property
    def factor(self) -> float:
        """Factor by which nine of ten values are at most off."""
        return math.exp(1.645 * self.sigma)


def magnitude(value: object) -> float | None:
    """Read a time [s] or a rate [B/s]; None for sizes, counts, names, switches and zero.

    Examples
    --------
    >>> magnitude("1ms"), magnitude("4KiB"), magnitude(True)
    (0.001, None, None)
    """
    if not isinstance(value, str):
        return None
    for read in (time_of, rate_of):
        try:
            return read(value) or None
        except ValueError:
            continue
    return None


def is_zero_time(value: object) -> bool:
    """Whether a value is a time of 0, in whichever unit."""
    try:
        return isinstance(value, str) and time_of(value) == 0
    except ValueError:
        return False


@cache
def spreads() -> tuple[Spread, ...]:
    """Compute all spreads: of measurements, of keys, and of groups of keys."""
    return (*_of_measurements(references()), *_of_profiles(_profiles()))


def spread_of(key: str) -> Spread | None:
    """Find the spread of a key among profiles, or of the keys of its table; None without any."""
    known = {spread.figure: spread for spread in spreads()}
    return known.get(key) or known.get(key.partition(".")[0])


def largest_of(key: str) -> float | None:
    """Find the largest time of a key among profiles [s]; None where all have none, or 0."""
    return max((magnitude(text) or 0.0 for text in _profiles().get(key, ())), default=None)


def spread_of_measurement(kind: str) -> Spread:
    """Find the spread of a kind of measurements."""
    return next(spread for spread in spreads() if spread.figure == kind)


def spread_named(name: str) -> Spread:
    """Find a spread by what it is of; raises ``UncertaintyError`` when there is none."""
    known = {spread.figure: spread for spread in spreads()}
    if name not in known:
        raise UncertaintyError(f"spread = {name!r}: none; known: {', '.join(known)}")
    return known[name]


@cache
def _profiles() -> dict[str, set[str]]:
    """List the different times of each key among the profiles that come with Etherweave."""
    texts: dict[str, set[str]] = defaultdict(set)
    for name in set(names()) - APART:
        for figure in figures({"interconnect": {"profile": name}}):
            if not figure["key"].startswith("link.") and magnitude(figure["value"]):
                texts[figure["key"]].add(str(figure["value"]))
    return texts


def _of_profiles(values: Mapping[str, Iterable[str]]) -> list[Spread]:
    rows, pooled = list[Spread](), defaultdict[str, list[Spread]](list)
    for key, texts in sorted(values.items()):
        ordered = sorted(texts, key=lambda text: magnitude(text) or 0.0)
        if len(ordered) < 2:
            continue
        sigma = _deviation([magnitude(text) or 0.0 for text in ordered])
        row = Spread(key, len(ordered), len(ordered) - 1, sigma, ", ".join(ordered))
        rows.append(row)
        pooled[key.partition(".")[0]].append(row)
    return [*rows, *(_pooled(table, of) for table, of in sorted(pooled.items()))]


def _pooled(name: str, of: Sequence[Spread]) -> Spread:
    """Pool the spreads of several figures, each by its degrees of freedom."""
    degrees = sum(spread.degrees for spread in of)
    variance = sum(spread.sigma**2 * spread.degrees for spread in of) / degrees
    texts = ", ".join(spread.figure for spread in of)
    return Spread(name, sum(spread.documents for spread in of), degrees, math.sqrt(variance), texts)


def _of_measurements(known: Iterable[Reference]) -> list[Spread]:
    """Pool by kind: first over the sizes of an interconnect, then over interconnects.

    Sizes of one program on one machine differ alike, so that they count as one figure.
    """
    alike: dict[tuple[str, str, int], list[Reference]] = defaultdict(list)
    for row in known:
        if kind := _kind(row):
            alike[kind, _CONDITION.sub("", row.fabric), row.size_bytes or 0].append(row)
    by_fabric: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for (kind, fabric, _), rows in sorted(alike.items()):
        if len(values := {row.value for row in rows}) > 1:
            by_fabric[kind, fabric].append((len(values), _deviation(sorted(values))))
    rows_of: dict[str, list[Spread]] = defaultdict(list)
    for (kind, fabric), sizes in by_fabric.items():
        count = max(count for count, _ in sizes)
        sigma = math.sqrt(statistics.fmean(sigma**2 for _, sigma in sizes))
        rows_of[kind].append(Spread(f"{kind} on {fabric}", count, count - 1, sigma, fabric))
    return [row for kind, rows in rows_of.items() for row in (*rows, _pooled(kind, rows))]


def _kind(row: Reference) -> str | None:
    """Return the kind of a figure that OSU's point-to-point benchmarks have measured."""
    is_measured = row.bound in ("eq", "approx") and row.provenance != SECOND_HAND and row.value
    size = row.size_bytes
    if not is_measured or size is None or _PROGRAMS.get(row.program) != row.metric:
        return None
    if size <= SMALL_MAX:
        return LATENCY if row.metric == "latency" else RATE
    return BANDWIDTH if row.metric == "bandwidth" and size >= LARGE_MIN else None


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(map(math.log, values))
