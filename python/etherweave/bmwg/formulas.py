"""Formulas of the BMWG drafts for AI fabrics, as pure functions.

T, I and Y are the drafts for training, for inference and their terminology
(``draft-calabria-bmwg-ai-fabric-*``, editor's copies of autumn 2026); numbers are their sections.
"""

import math
from collections.abc import Iterable, Sequence

ALGORITHM_FACTORS = {"allreduce": 2.0, "allgather": 1.0, "reduce_scatter": 1.0, "alltoall": 1.0}
"""Factors of (n - 1)/n in the bus bandwidth of a collective of n participants (Y 3)."""
SAMPLES_MIN = 10  # Fewest samples that have percentiles, a choice of this implementation.
ETHERNET_BYTES, TAG_BYTES, FCS_BYTES = 14, 4, 4
IPV4_BYTES, UDP_BYTES, BTH_BYTES, RETH_BYTES, ICRC_BYTES = 20, 8, 12, 16, 4
PREAMBLE_AND_GAP_BYTES = 20
"""Preamble with delimiter, and the shortest gap (IEEE 802.3-2018, 3.1.1, 4.4.2) [B]."""


def algorithm_factor(operation: str, participants: int) -> float:
    """Return the factor between data size over time and bus bandwidth (Y 3).

    Raises ``KeyError`` for an operation that the draft does not name.
    """
    return ALGORITHM_FACTORS[operation] * (participants - 1) / participants


def bus_bandwidth(operation: str, participants: int, size_bytes: float, time_s: float) -> float:
    """Compute the bus bandwidth of a collective [B/s] (Y 3).

    ``size_bytes`` is the data of a participant: of all-gather the gathered total and of all-to-all
    the sum of its blocks, as nccl-tests counts them, which the drafts leave open.

    Examples
    --------
    >>> round(bus_bandwidth("allreduce", 8, 1e9, 0.01) / 1e9, 6)
    175.0
    """
    return size_bytes * algorithm_factor(operation, participants) / time_s


def fairness(values: Sequence[float]) -> float:
    """Compute Jain's fairness index, 1/n to 1 (Y 2); not a number where nothing was sent."""
    squares = len(values) * math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / squares if squares else math.nan


def max_mean_ratio(values: Sequence[float]) -> float:
    """Compute the largest value over the mean of all (Y 6); not a number without any load."""
    total = math.fsum(values)
    return max(values) * len(values) / total if total else math.nan


def is_held(count: int, percent: float) -> bool:
    """Return whether so many samples have one beyond a percentile, and are no handful."""
    # The nearest rank of a percentile below 50 has a sample less below it.
    below, above = (round(count * share / 100, 6) for share in (percent, 100 - percent))
    return count >= SAMPLES_MIN and above >= 1 and below > (percent < 50)


def percentile(values: Iterable[float], percent: float) -> float | None:
    """Return the nearest-rank percentile, or nothing where the samples do not hold it."""
    samples = list(values)
    return nearest_rank(samples, percent) if is_held(len(samples), percent) else None


def nearest_rank(values: Iterable[float], percent: float) -> float:
    """Return the nearest-rank percentile of any number of values, for figures of all of them.

    Raises ``ValueError`` without values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("a percentile of no value; expected one or more")
    rank = math.ceil(round(percent * len(ordered) / 100, 6))  # 99.9 % of 1,000 are 999.
    return ordered[max(rank, 1) - 1]


def ratio(value: float | None, base: float | None) -> float | None:
    """Divide by a base; nothing where one of them is not known."""
    return value / base if value is not None and base else None


def roofline_s(
    iterations: int, compute_s: float, size_bytes: float, factor: float, rate_bps: float
) -> float:
    """Compute the sequential roofline of a job [s] (T 10.1).

    ``rate_bps`` is the sum of the line rates of an accelerator's own NICs [bit/s], never a capacity
    of switches (T 3.2.2).
    """
    return iterations * (compute_s + 8 * size_bytes * factor / rate_bps)


def overlap_fraction(
    completion_s: float,
    iterations: int,
    compute_s: float,
    size_bytes: float,
    factor: float,
    rate_bps: float,
) -> float:
    """Compute the share of the ideal communication that computation hides (T 10.1)."""
    ideal_s = iterations * 8 * size_bytes * factor / rate_bps
    return 1 - (completion_s - iterations * compute_s) / ideal_s


def interference_factor(contended_s: float, baseline_s: float) -> float:
    """Compute how much longer a job takes beside another one (T 10.3)."""
    return contended_s / baseline_s


def dispatch_bytes(
    batch: int, top_k: int, hidden: int, element_bytes: float, participants: int
) -> float:
    """Compute the payload of a pair of ranks in an expert dispatch [B] (Y 9, I 7.1).

    A token that takes several experts of a rank is counted for each of them, which real libraries
    send once.
    """
    return batch * top_k * hidden * element_bytes / participants


def dispatch_egress_bytes(pair_bytes: float, participants: int) -> float:
    """Compute what an accelerator sends in an expert dispatch [B] (I 7.1)."""
    return pair_bytes * (participants - 1)


def collective_payload_bytes(operation: str, participants: int, size_bytes: int) -> float:
    """Compute S_fabric of a collective: what a participant sends over the boundary [B] (Y 7).

    Each byte of payload counts once: no flags of a protocol, no retransmission, no header. Where
    participants send different amounts, as those of trees do, it is their mean.
    """
    return size_bytes * algorithm_factor(operation, participants)


def marking_ratio(marked: int, packets: int) -> float:
    """Compute the share of packets with a congestion mark [%] (T 4.2)."""
    return 100 * marked / packets if packets else 0.0


def drop_rate(dropped: int, packets: int) -> float:
    """Compute lost packets in a million (T 4.1, I 4.3) [ppm]."""
    return 1e6 * dropped / packets if packets else 0.0


def oversubscription(down_bps: float, up_bps: float) -> float:
    """Compute the downlink capacity of a leaf over that of its uplinks (Y 7)."""
    return down_bps / up_bps if up_bps else math.inf


def variation(values: Sequence[float]) -> float:
    """Compute the coefficient of variation, the sample's deviation over its mean (T 13).

    Not a number for fewer than two values, or for a mean of 0.
    """
    if len(values) < 2 or not (mean := math.fsum(values) / len(values)):
        return math.nan
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1)) / mean


def write_payload_share(message_bytes: int, mtu_bytes: int = 4096) -> float:
    """Compute how much of the line rate is payload of untagged RDMA Writes (T appendix D).

    The first packet of a message has a RETH; none has immediate data.
    """
    packets = max(math.ceil(message_bytes / mtu_bytes), 1)
    headers = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + BTH_BYTES + ICRC_BYTES + FCS_BYTES
    wire = message_bytes + packets * (headers + PREAMBLE_AND_GAP_BYTES) + RETH_BYTES
    return message_bytes / wire
