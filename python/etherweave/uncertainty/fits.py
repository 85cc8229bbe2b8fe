"""Published measurements that figures are fitted to, and the times that they keep.

A measured time is a sum of figures. Some are fitted to it, others are estimates of its parts: what
one of them is more, another is less. A latency is a sum of the parts of a message's path. A rate of
messages is one over the time of the receiver, and the sender takes no longer for each.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etherweave.api.units import rate_of, size_of
from etherweave.uncertainty.distributions import normal
from etherweave.uncertainty.spreads import BANDWIDTH, LATENCY, RATE, spread_of_measurement

SENDING = "host.mpi_roce.send_overhead"
HANDLING = "host.mpi_roce.handling_overhead"
RECEIVING = "host.mpi_roce.receive_overhead"
RATE_PARTS = (HANDLING, RECEIVING)
"""Summands of the time of a receiver for each of many small messages, each once."""
PARTS = (SENDING, HANDLING, "nic.transmit_latency", "nic.receive_latency", "switch.latency")
"""Summands of the time of a message, each once (docs/models/interconnects.md)."""
_TIME = re.compile(r"([0-9.]+)(?: to ([0-9.]+))? us\b")
_BYTES = re.compile(r"([0-9][0-9,.]*) MB/s(?: of \d+ pairs)? at ([0-9]+ (?:B|KiB|MiB))\b")
_MESSAGES = re.compile(r"([0-9.]+) million messages a second")
_STREAM = re.compile(r"([0-9.]+) Gb/s of one stream")


@dataclass(frozen=True)
class Measurement:
    """A published measurement that figures are fitted to."""

    source: str
    kind: str  # One of the kinds of :mod:`etherweave.uncertainty.spreads`.
    time_s: float  # Measured time of a message, or of 1 KiB [s].

    @classmethod
    def of(cls, source: str) -> "Measurement | None":
        """Read it from the source of a fitted figure; None where the source has no number."""
        if match := _BYTES.search(source):
            size = size_of(match[2].replace(" ", ""))
            message_s = size / (float(match[1].replace(",", "")) * 1e6)
            is_small = size < 1024
            time_s = message_s if is_small else message_s * 1024 / size
            return cls(source, RATE if is_small else BANDWIDTH, time_s)
        if match := _STREAM.search(source):
            return cls(source, BANDWIDTH, 1024 / rate_of(f"{match[1]}Gb/s"))
        if match := _MESSAGES.search(source):
            return cls(source, RATE, 1e-6 / float(match[1]))
        if match := _TIME.search(source):
            ends = [float(text) for text in match.groups() if text]
            return cls(source, LATENCY, 1e-6 * math.fsum(ends) / len(ends))
        return None

    def change_s(self, share: float, part_s: float = 0.0) -> float:
        """Return by how much time the measurement is off at a share of its distribution [s].

        Several pairs of ranks share a published rate, of which each takes longer for a message. So
        the measured time is at least that of the part of it that is fitted.
        """
        sigma = spread_of_measurement(self.kind).sigma
        return max(self.time_s, part_s) * math.expm1(sigma * normal(share))

    def moved_s(self, share: float, parts_s: float, *, is_fitted: bool) -> float:
        """Return the sum of parts of the measured time at a share of its distribution [s].

        If one of them is fitted to the measurement, they make up for all that it is off. Parts of
        a time that was measured elsewhere are off as it is, in proportion.
        """
        if is_fitted:
            return parts_s + self.change_s(share, parts_s if self.kind == RATE else 0.0)
        return parts_s + self.change_s(share) * parts_s / self.time_s


@dataclass(frozen=True)
class Fit:
    """A measurement, the figures that are fitted to it, and estimates of parts of its time."""

    measurement: Measurement
    fitted: Sequence[str]
    parts: Sequence[str]

    @property
    def keys(self) -> Sequence[str]:
        """Every figure that the measurement moves."""
        return *self.fitted, *self.parts

    @property
    def is_rate(self) -> bool:
        """Whether its parts are those of a receiver's time."""
        return self.measurement.kind == RATE and bool(self.parts)

    def at(
        self, share: float, values: Mapping[str, float], nominal: Mapping[str, float]
    ) -> dict[str, float]:
        """Draw its figures at a share of the distribution of the measurement.

        ``values`` are estimates as they are drawn, and what earlier fits have made of them;
        ``nominal`` has the figures as they stand.
        """
        measured = self.measurement
        if not self.parts:
            moved = {
                key: nominal[key] + measured.change_s(share, nominal[key]) for key in self.keys
            }
            return {key: max(value, 0.0) for key, value in moved.items()}
        before = math.fsum(nominal[key] for key in self.keys)
        total = measured.moved_s(share, before, is_fitted=bool(self.fitted))
        if HANDLING in values and HANDLING not in self.keys:
            # A rate has divided its time anew; what is measured of a message's path stays.
            total -= values[HANDLING] - nominal[HANDLING]
        weights = {key: values.get(key, nominal[key]) for key in self.keys}
        limits = {} if self.is_rate else _limits(values)
        return _divided(max(total, 0.0), weights, limits)


def receiver_s(values: Mapping[str, float]) -> float:
    """Return the time of a receiver for a message, which a rate has drawn; infinite without one."""
    return math.fsum(values[key] for key in RATE_PARTS) if HANDLING in values else math.inf


def _limits(values: Mapping[str, float]) -> dict[str, float]:
    return {SENDING: receiver_s(values)}


def _divided(
    total: float, weights: Mapping[str, float], limits: Mapping[str, float]
) -> dict[str, float]:
    """Divide a time by weights; parts beyond their limits have these, and others the rest."""
    factor = total / math.fsum(weights.values())
    beyond = {key: limits[key] for key in limits if weights.get(key, 0.0) * factor > limits[key]}
    others = {key: weight for key, weight in weights.items() if key not in beyond}
    if not beyond or not others:
        return {key: weight * factor for key, weight in weights.items()}
    rest = max(total - math.fsum(beyond.values()), 0.0)
    return beyond | _divided(rest, others, {})
