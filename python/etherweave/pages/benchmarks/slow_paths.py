"""Slow-path localisation: a host, a switch, the links between two switches, or one path.

Each pair is compared with pairs of its class (on one switch, in one group, between): how many times
worse it is than usual. What a whole host, switch or pair of switches has in common is reported
once, and not again for each of its pairs. A pair is suspected when it is a tenth worse, and by more
than pairs usually differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from etherweave.pages.benchmarks.data import Place

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

WORSE = 0.1  # How much worse than usual something must be to be reported.
SPREADS = 3.0  # How many times the usual spread it must be worse by, beside that.
_NORMAL = 1.4826  # Standard deviation over median absolute deviation, of normal numbers.
_HOSTS_MIN = 4  # Fewer hosts do not show the slow end of a pair.
_SWITCHES_MIN = 3
_PAIRS_MAX = 5
_PAIRS_BOTH_DIRECTIONS = 2  # Values of a single pair, which is reported as such.


class Suspect(NamedTuple):
    """Component that is suspected."""

    who: str
    words: str  # Finding of what is slow, and where to look.
    factor: float  # How many times worse than usual.


class PairClass(NamedTuple):
    """Pairs that are alike."""

    name: str
    pairs: int  # Pairs of hosts, in either direction.
    median: float


@dataclass(frozen=True)
class PairMatrix:
    """Values measured between hosts."""

    hosts: Sequence[str]
    values: Floats  # Not a number where nothing was measured; rows send.
    is_higher_better: bool
    places: Mapping[str, Place]

    @property
    def known(self) -> list[Place | None]:
        """The hosts' places."""
        return [self.places.get(host) for host in self.hosts]


def pair_classes(matrix: PairMatrix) -> list[PairClass]:
    """Summarise pairs on one switch, in one group, and between, as far as places are known."""
    labels = _labels(matrix)
    classes = []
    known = np.isfinite(matrix.values)
    for name in ("on one switch", "in one group", "between"):
        own = (labels == name) & known
        if own.any():
            pairs = int(np.triu(own | own.T, 1).sum())
            classes.append(PairClass(name, pairs, float(np.median(matrix.values[own]))))
    return classes


def slowness(matrix: PairMatrix) -> Floats:
    """Return how many times worse than usual each pair is; 1 is usual.

    Usual is the median over hosts of the better fifth of each host's pairs of that kind: one bad
    host among four spoils half of the pairs, but not half of the hosts.
    """
    labels, cost = _labels(matrix), _cost(matrix)
    slow = np.full_like(cost, np.nan)
    for name in np.unique(labels):
        own = np.where(labels == name, cost, np.nan)
        usual = _median(np.array([_good(both) for both in _of_hosts(own)]))
        slow = np.where(labels == name, cost / usual, slow)
    return slow


def suspects(matrix: PairMatrix) -> list[Suspect]:
    """Find the suspects, the widest first: switches, links between them, hosts, single pairs."""
    slow = slowness(matrix)
    if len(matrix.hosts) < _HOSTS_MIN or not np.isfinite(slow).any():
        return []
    least = 1 + max(WORSE, SPREADS * _spread(slow))
    suspected = []
    for localise in (_hosts, _switches, _paths, _pairs):
        for suspect, pairs in localise(matrix, slow, least):
            suspected.append(suspect)
            slow = np.where(pairs, np.nan, slow)
    return suspected


Localised = Iterator[tuple[Suspect, Bools]]  # A suspect, and the pairs that it explains.


def _hosts(matrix: PairMatrix, slow: Floats, least: float) -> Localised:
    """Suspect hosts that are slow in all their pairs, on their own switch too; the worst first."""
    left = slow.copy()
    while True:
        sends, receives = (np.array([_good(row) for row in part]) for part in (left, left.T))
        order = np.argsort(-np.fmax(sends, receives), kind="stable")  # not a number comes last
        worst = [int(at) for at in order if _is_suspect(matrix, left, int(at), least)]
        if not worst:
            return
        at = worst[0]
        pairs = np.zeros(slow.shape, dtype=bool)
        pairs[at, :] = pairs[:, at] = True
        words = f"{_direction(sends[at], receives[at], least)}: its cable, NIC or settings"
        factor = float(np.fmax(_median(left[at, :]), _median(left[:, at])))
        yield Suspect(matrix.hosts[at], words, factor), pairs
        left[pairs] = np.nan


def _is_suspect(matrix: PairMatrix, slow: Floats, at: int, least: float) -> bool:
    """Whether a host is slow, and neither only off its switch nor with all others on it."""
    place = matrix.known[at]
    near = [
        other
        for other, own in enumerate(matrix.known)
        if place and own == place and other != at and not np.isnan(_worse(slow, at, other))
    ]
    if not _slow(slow, at) > least:
        return False
    if not near:
        return True
    is_slow_near = _good(np.array([_worse(slow, at, other) for other in near])) > least
    return is_slow_near and min(_slow(slow, other) for other in near) <= least


def _slow(slow: Floats, at: int) -> float:
    return float(np.fmax(_good(slow[at, :]), _good(slow[:, at])))


def _worse(slow: Floats, first: int, other: int) -> float:
    return float(np.fmax(slow[first, other], slow[other, first]))


def _direction(sends: float, receives: float, least: float) -> str:
    if sends > least >= receives:
        return "all pairs that it sends to are slow"
    if receives > least >= sends:
        return "all pairs that it receives from are slow"
    return "all its pairs are slow"


def _switches(matrix: PairMatrix, slow: Floats, least: float) -> Localised:
    """Suspect switches all of whose pairs with other switches are slow."""
    names = _switch_names(matrix)
    if len(names) < _SWITCHES_MIN:
        return
    for name in names:
        own = np.array([place is not None and place.switch == name for place in matrix.known])
        leaving = own[:, None] != own[None, :]
        others = [_good(slow[_between_switches(matrix, name, end)]) for end in names if end != name]
        if min((other for other in others if np.isfinite(other)), default=0.0) > least:
            words = "all pairs that leave it are slow: its uplinks or the switch itself"
            yield Suspect(name, words, _median(slow[leaving])), leaving


def _paths(matrix: PairMatrix, slow: Floats, least: float) -> Localised:
    """Suspect the links between two switches all of whose pairs are slow."""
    names = _switch_names(matrix)
    if len(names) < _SWITCHES_MIN:
        return
    for first, other in combinations(names, 2):
        pairs = _between_switches(matrix, first, other)
        known = np.isfinite(slow[pairs]).sum()
        if known > _PAIRS_BOTH_DIRECTIONS and _good(slow[pairs]) > least:
            words = "pairs between them are slow: their uplinks, or the links that routing takes"
            yield Suspect(f"{first} – {other}", words, _median(slow[pairs])), pairs


def _pairs(matrix: PairMatrix, slow: Floats, least: float) -> Localised:
    """Suspect single pairs, the worst first; both directions are reported once."""
    order = np.argsort(-np.nan_to_num(slow, nan=0), axis=None, kind="stable")
    reported: set[frozenset[int]] = set()
    for flat in order:
        first, other = (int(part) for part in np.unravel_index(flat, slow.shape))
        if not slow[first, other] > least or len(reported) == _PAIRS_MAX:
            return
        if frozenset((first, other)) in reported:
            continue
        reported.add(frozenset((first, other)))
        pairs = np.zeros(slow.shape, dtype=bool)
        pairs[first, other] = pairs[other, first] = True
        who = f"{matrix.hosts[first]} – {matrix.hosts[other]}"
        words = "only this pair is slow: one link among parallel ones, or chance"
        yield Suspect(who, words, float(slow[first, other])), pairs


def _labels(matrix: PairMatrix) -> npt.NDArray[np.str_]:
    """Name the kind of each pair."""
    known = matrix.known
    return np.array([[_label(entry, other) for other in known] for entry in known])


def _label(place: Place | None, other: Place | None) -> str:
    if place is None or other is None:
        return "unknown"
    if place.switch == other.switch:
        return "on one switch"
    return "in one group" if place.group and place.group == other.group else "between"


def _switch_names(matrix: PairMatrix) -> list[str]:
    return list(dict.fromkeys(place.switch for place in matrix.known if place))


def _between_switches(matrix: PairMatrix, first: str, other: str) -> Bools:
    """Mark the pairs between two switches, in both directions."""
    known = matrix.known
    ends = [
        np.array([at is not None and at.switch == name for at in known]) for name in (first, other)
    ]
    there: Bools = np.outer(*ends)
    return there | there.T


def _cost(matrix: PairMatrix) -> Floats:
    """Turn values so that less is better; nothing is known of a time that is not above zero."""
    values = np.array(matrix.values, dtype=np.float64)
    np.fill_diagonal(values, np.nan)
    if matrix.is_higher_better:
        with np.errstate(divide="ignore"):
            inverse: Floats = 1 / values
        return inverse
    values[values <= 0] = np.nan
    return values


def _of_hosts(values: Floats) -> Floats:
    """Give a row for each host: its pairs in both directions."""
    return np.concatenate([values, values.T], axis=1)


def _good(values: Floats) -> float:
    """Return what all but a few of these are no better than: the end of the better fifth."""
    known = np.sort(values[~np.isnan(values)])
    return float(known[len(known) // 5]) if len(known) else float("nan")


def _median(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else float("nan")


def _spread(slow: Floats) -> float:
    """Return what the pairs of a host usually differ by, as a standard deviation.

    Robustly, host by host: a bad host neither hides itself nor others.
    """
    deviations = [_median(np.abs(row - _median(row))) for row in _of_hosts(slow)]
    return _NORMAL * _median(np.array(deviations))
