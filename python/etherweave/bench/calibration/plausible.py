"""Whether measurements can be of the fabric that a scenario describes."""

from collections.abc import Iterator, Mapping, Sequence
from tomllib import loads
from typing import TYPE_CHECKING

import numpy as np

import etherweave
from etherweave.api.units import amount, rate_of, size_of
from etherweave.bench.calibration.measured import CalibrationError, MeasuredWorkload
from etherweave.bench.calibration.micro_benchmarks import reported_share
from etherweave.bench.calibration.prior import Array
from etherweave.bench.statistics.quantiles import median

if TYPE_CHECKING:
    from etherweave.bench.calibration.calibration import ComparedWorkload

FAR = 4.0
"""Factor beyond all that a prior can give, from which a measurement is none of this fabric."""
OUTSIDE = 1.2  # Factor from which it is reported.
OTHER_UNIT = 100.0  # Factor from which a held-out time is reported.
RATE_ERROR = 1.02  # Factor of a rate over that of a link, which a clock may be off.
_UNITS = {8.0: "bits taken for bytes", 1000.0: "a unit of another power of ten"}
"""Likely causes of a factor between measured and possible times."""


def check_hosts(workloads: Sequence[MeasuredWorkload]) -> None:
    """Refuse workloads that were measured on hosts without any in common.

    Raises ``CalibrationError``, which names two of them.
    """
    known = [workload for workload in workloads if workload.hosts]
    connected = set(known[0].hosts) if known else set()
    apart = known
    while joined := [place for place in apart if connected & set(place.hosts)]:
        connected |= {host for place in joined for host in place.hosts}
        apart = [place for place in apart if not connected & set(place.hosts)]
    if apart:
        raise CalibrationError(
            f"{apart[0].name}: measured on {', '.join(apart[0].hosts)}, but {known[0].name} on "
            f"{', '.join(known[0].hosts)}; expected hosts of one cluster"
        )


def check_rates(micro_benchmarks: Sequence[MeasuredWorkload]) -> None:
    """Refuse rates above that of every link.

    Raises ``CalibrationError``, which names the workload, its rate, and that of the links.
    """
    for benchmark in micro_benchmarks:
        resolved = loads(etherweave.resolve(benchmark.scenario))
        ((_, facts),) = resolved["job"][0]["workload"].items()
        rates = list(_rates({key: resolved.get(key) for key in ("topology", "link")}))
        messages = {"osu_bw": facts.get("window", 1), "osu_latency": 2, "PingPong": 1}
        if benchmark.test not in messages or not rates:
            continue
        rate, most = (
            messages[benchmark.test] * size_of(facts["bytes"]) / median(benchmark.launches),
            max(rates),
        )
        if rate > RATE_ERROR * most:
            raise CalibrationError(
                f"{benchmark.name}: {amount(rate, 'B/s')} were measured, and links carry "
                f"{amount(most, 'B/s')}; expected measurements of this fabric, in bytes"
            )


def _rates(table: object, key: str = "") -> Iterator[float]:
    """Find the rates of links in a part of a resolved scenario."""
    if isinstance(table, Mapping):
        for name, value in table.items():
            yield from _rates(value, str(name))
    elif isinstance(table, list):
        for value in table:
            yield from _rates(value, key)
    elif isinstance(table, str) and "rate" in key:
        yield rate_of(table)


def check_prior(micro_benchmarks: Sequence[MeasuredWorkload], first: Array) -> list[str]:
    """Compare measured times with all that the prior can give; returns sentences for the reader.

    ``first`` has the logarithms of times of simulations that are evenly in the prior. Raises
    ``CalibrationError`` when one is so far from it that it is another machine's, or in another
    unit.
    """
    warnings = []
    for micro_benchmark, times in zip(micro_benchmarks, first.T, strict=True):
        low, high = np.exp(times.min()), np.exp(times.max())
        measured = median(micro_benchmark.launches)
        factor = max(low / measured, measured / high)
        share = reported_share(micro_benchmark.test)
        shown = [amount(share * time, "s") for time in (measured, low, high)]
        what = (
            f"{micro_benchmark.name}: {shown[0]} were measured, and the scenario with all that is "
            f"not known of it gives {shown[1]} to {shown[2]}"
        )
        if factor > FAR:
            raise CalibrationError(
                f"{what}; expected measurements of this fabric, or a wider --uncertain"
                f"{_unit(measured / float(np.exp(np.median(times))))}"
            )
        if factor > OUTSIDE:
            warnings.append(
                f"{what}: the model misses it, or the hosts are others than its profile's"
            )
    return warnings


def check_predictions(held_out: Sequence["ComparedWorkload"]) -> list[str]:
    """Compare measured times of held-out workloads with predicted ones; returns warnings.

    Such a factor is another unit rather than an error of the model.
    """
    return [
        f"{row.name}: {amount(row.measured_s, 's')} were measured, and "
        f"{amount(row.predicted_s, 's')} are predicted; expected seconds in measured times"
        for row in held_out
        if not 1 / OTHER_UNIT < row.measured_s / row.predicted_s < OTHER_UNIT
    ]


def _unit(factor: float) -> str:
    """Say what a factor looks like, of measured over usual times."""
    for known, words in _UNITS.items():
        if any(0.5 < of / known < 2 for of in (factor, 1 / factor)):
            return f" (a factor of {factor:.3g} looks like {words})"
    return ""
