"""Where published figures of the same kind lie, beside a measured median."""

from collections.abc import Iterable
from dataclasses import dataclass

from etherweave.bench.campaign import Network
from etherweave.bench.measurements import Completeness, Measurement, Report
from etherweave.bench.metrics import Unit
from etherweave.bench.references import Reference, compare, references, search
from etherweave.bench.statistics.quantiles import median


@dataclass(frozen=True)
class Band:
    """Published figures that one number can be held against."""

    low: float
    high: float
    count: int
    ratio: float
    """Measured over the median of the published."""
    sources: tuple[str, ...]


def among(network: Network) -> list[Reference]:
    """Choose the figures of a network's kind, and of its rate if there are any.

    Bandwidths of other rates are left out: they tell of the rate.
    """
    own = search(fabric=network.kind) if network.kind else list(references())
    usable = [one for one in own if one.may_accept]
    alike = [one for one in usable if _has_rate(one, network.rate)]
    return alike or [one for one in usable if one.unit != Unit.BYTES_PER_SECOND]


def band(
    benchmark: str, program: str, one: Measurement, figures: Iterable[Reference]
) -> Band | None:
    """Enclose the figures of the same program, metric, statistic, size and test."""
    own = [figure for figure in figures if figure.program == program]
    report = Report(benchmark, program, None, 1, (one,), Completeness.COMPLETE, None, (), (), ())
    found = [pair.reference for pair in compare(report, own)]
    if not found:
        return None
    values = [figure.value for figure in found]
    sources = dict.fromkeys(f"{figure.source}, {figure.place}" for figure in found)
    ratio = one.value / median(values)
    return Band(min(values), max(values), len(values), ratio, tuple(sources))


def _has_rate(one: Reference, rate: float) -> bool:
    return one.link_bits_per_s is not None and abs(one.link_bits_per_s / 8 / rate - 1) < 0.01
