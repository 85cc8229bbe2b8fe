"""Transfers of KV caches as they overlap: bursts, flows at once, and rates."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from etherweave.api.results import Result
from etherweave.bmwg.kpis import rows

CONTROL_MAX = 64  # Largest message of a service that carries no keys and values [B].


class Transfer(NamedTuple):
    """Keys and values that pass from a rank to another, or several such without a gap."""

    start_us: float
    end_us: float
    size: int  # Bytes of all of them.


def kv_transfers(result: Result) -> list[Transfer]:
    """Read the messages with keys and values, by their start.

    The run observes ranks.
    """
    every = rows(result, "transfers", "start_ns", "end_ns", "bytes")
    return sorted(
        Transfer(start / 1e3, end / 1e3, size) for start, end, size in every if size > CONTROL_MAX
    )


def bursts(transfers: Sequence[Transfer]) -> list[Transfer]:
    """Join transfers, sorted by their start, that overlap or touch."""
    joined: list[Transfer] = []
    for own in transfers:
        if joined and own.start_us <= joined[-1].end_us:
            last = joined[-1]
            end = max(last.end_us, own.end_us)
            joined[-1] = Transfer(last.start_us, end, last.size + own.size)
        else:
            joined.append(own)
    return joined


def gaps_us(joined: Sequence[Transfer]) -> list[float]:
    """Return the time between each burst and the next [us]."""
    return [later.start_us - own.end_us for own, later in pairwise(joined)]


def flows_max(transfers: Sequence[Transfer]) -> int:
    """Count the most transfers that are on their way at once."""
    return round(_largest([(own.start_us, own.end_us, 1.0) for own in transfers]))


def peak_gbytes(transfers: Sequence[Transfer]) -> float:
    """Compute the largest sum of the mean rates of transfers at once [GB/s]."""
    return (
        _largest(
            [
                (own.start_us, own.end_us, own.size / (own.end_us - own.start_us))
                for own in transfers
            ]
        )
        / 1e3
    )


def mean_gbytes(joined: Sequence[Transfer]) -> float:
    """Compute bytes over the time of bursts, without the gaps [GB/s]."""
    return sum(own.size for own in joined) / sum(own.end_us - own.start_us for own in joined) / 1e3


def _largest(spans: Sequence[tuple[float, float, float]]) -> float:
    """Find the largest sum of values whose spans, from start to end, share a time."""
    starts = [(start, 1, value) for start, _, value in spans]
    ends = [(end, 0, -value) for _, end, value in spans]
    return max(accumulate(value for *_, value in sorted([*starts, *ends])), default=0.0)
