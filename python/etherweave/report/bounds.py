"""Bounds of every fabric: rate that frames leave of a link, and bytes that an operation must move.

Everything here is a formula over sizes [bytes], rates [bytes/s] and times [s]. Left out: switches,
hosts and congestion, which is what a measurement is about.

>>> tcp(1500)
Wire(payload=1448, octets=1538)
>>> round(roce(4096).share, 4)
0.9804
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from etherweave import _core

Floats = npt.NDArray[np.float64]

_BYTES = _core.header_bytes()
_FRAME = _BYTES["ethernet"] + _BYTES["preamble_and_gap"]
"""Header, check sequence, preamble with delimiter, shortest gap (IEEE 802.3-2018, 3.1.1, 4.4.2)."""
TCP_HEADERS = _BYTES["ipv4"] + _BYTES["tcp_timestamps"]
"""IPv4, TCP, timestamps (RFC 791, 9293, 7323)."""
_ROCE_V1 = _BYTES["grh"] + _BYTES["bth"] + _BYTES["icrc"]
"""GRH, BTH, ICRC (InfiniBand Architecture vol. 1, annex A16)."""
_ROCE_V2 = _BYTES["ipv4"] + _BYTES["udp"] + _BYTES["bth"] + _BYTES["icrc"]
"""IPv4, UDP, BTH, ICRC (annex A17)."""
_PATH_MTUS = (256, 512, 1024, 2048, 4096)
"""Payloads that a packet of RoCE may have at most [bytes]."""
_RESERVED = 40 + 8 + 12 + 4 + 28 + 4
"""GRH, UDP, BTH, XRC, atomics, ICRC: what Linux keeps free (``iboe_get_mtu``, rdma/ib_addr.h)."""
MTU = 1500  # MTU of an interface of which nothing else is known [bytes].


class Wire(NamedTuple):
    """A full frame."""

    payload: int  # Bytes of the application.
    octets: int  # That it takes of the link, with preamble and gap [bytes].

    @property
    def share(self) -> float:
        """How much of the link's rate is payload."""
        return self.payload / self.octets


class Medium(NamedTuple):
    """A link between hosts, and what its frames carry."""

    rate: float  # Rate of the link [bytes/s].
    wire: Wire | None  # None where frames are of a kind that is not known here.
    note: str = ""  # Kind of frames, for people.

    @property
    def goodput(self) -> float:
        """Payload that a full link carries [bytes/s]."""
        return self.rate * (self.wire.share if self.wire else 1.0)


class Party(NamedTuple):
    """Who takes part in a collective."""

    ranks: int
    hosts: int  # Hosts with a link each; ranks are spread evenly.


def tcp(mtu: int) -> Wire:
    """Return the size of a segment of TCP over IPv4 with timestamps, by the interface's MTU."""
    return Wire(mtu - TCP_HEADERS, mtu + _FRAME)


def roce(path_mtu: int, version: int = 2) -> Wire:
    """Return what a packet of RoCE takes, in the middle of a message, at the path's MTU [bytes]."""
    headers = _ROCE_V1 if version == 1 else _ROCE_V2
    return Wire(path_mtu, path_mtu + headers + _FRAME)


def path_mtu(mtu: int) -> int:
    """Choose the payload of RoCE's packets by an interface's MTU, as Linux does [bytes]."""
    return max((size for size in _PATH_MTUS if size + _RESERVED <= mtu), default=_PATH_MTUS[0])


def medium(kind: str, rate: float, mtu: int | None) -> Medium:
    """Return what a fabric's frames carry.

    ``kind`` has words of a fabric: ``RoCE``, ``tcp``, ``RoCE v1``. ``rate`` is of a host's link
    [bytes/s], ``mtu`` of the interface [bytes]; where it is not known, 1500 for TCP and the largest
    for RoCE.
    """
    name = kind.casefold()
    if name.startswith("tcp"):
        words = f"MTU {mtu} B" if mtu else f"MTU {MTU} B assumed"
        return Medium(rate, tcp(mtu or MTU), f"TCP, {words}")
    if name.startswith("roce"):
        version = 1 if re.match(r"roce ?v1", name) else 2
        size = path_mtu(mtu) if mtu else _PATH_MTUS[-1]
        words = f"path MTU {size} B" + " assumed" * (mtu is None)
        return Medium(rate, roce(size, version), f"RoCE v{version}, {words}")
    return Medium(rate, None)


def collective(
    operation: str, sizes: Floats, party: Party, goodput: float, alpha: float
) -> Floats | None:
    """Return the least time of a collective; None for what has no bound here.

    All ranks depend on all others, which takes a message at least, and the bytes must pass the
    links of their hosts: lower bounds of Chan, Heimlich, Purkayastha and van de Geijn (Concurrency
    and Computation 19, 2007); all-to-all as in Thakur, Rabenseifner and Gropp (Int. J. of High
    Performance Computing Applications 19, 2005). Theirs count ⌈log₂ p⌉ messages one after another;
    here messages may be under way at once, so one is counted. A switch that adds vectors up itself
    may pass the bounds of the reductions. Collectives with a root have none: a mean over ranks
    counts those that are done early.

    ``operation`` is named as by OSU: ``alltoall``, ``allgather``, ``allreduce``, …; ``sizes`` count
    as OSU's: a block of each pair or rank, or the whole vector [bytes]. ``party`` has ranks, and
    hosts with a link each; ``goodput`` is the payload that a host's link carries one way [bytes/s],
    ``alpha`` the time of the smallest message [s].
    """
    share = _SHARES.get(operation)
    if share is None or party.hosts < 2:
        return None
    return alpha + sizes * share(float(party.ranks), float(party.hosts)) / goodput


def _others(ranks: float, hosts: float) -> float:
    """Blocks of all ranks elsewhere."""
    return ranks - ranks / hosts


_SHARES: dict[str, Callable[[float, float], float]] = {
    "alltoall": lambda p, h: p / h * _others(p, h),
    "allgather": _others,
    "allreduce": lambda p, h: 2 * (h - 1) / h,
    "reduce_scatter": lambda p, h: (h - 1) / h,
}
"""Sizes that must pass the busiest host's link one way; with a rank on each host p = h."""
