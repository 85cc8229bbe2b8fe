"""Figures that are not known exactly, and how far each may be off.

A figure that rests on more than a publication lies anywhere between its value divided and
multiplied by a factor, evenly on a logarithmic scale. Times and rates of interconnects, prices and
powers are figures; sizes, counts, names and switches are not.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etherweave import _core
from etherweave.advise.question import Candidate, Question
from etherweave.scenario import literals
from etherweave.simulation import Figure
from etherweave.units import rate_of, time_of

FABRIC = ("topology.", "link.")
"""Beginnings of figures that a candidate decides, and does not know."""
BLOCK = 8
"""Samples that divide the range of every unknown into equal parts."""


@dataclass(frozen=True)
class Unknown:
    """A figure, and how far it may be off."""

    name: str
    """The same for all fabrics that have the figure from the same place."""
    basis: str
    factor: float
    """By which it may be larger or smaller."""
    value: str
    """As it stands."""
    key: str = ""
    """Of a scenario; empty for a price."""

    def scale(self, share: float) -> float:
        """Return the factor at a place of its range, 0 to 1."""
        return float(self.factor ** (2 * share - 1))

    def at(self, share: float) -> str:
        """Write the figure of a scenario at a place of its range."""
        return scaled(self.value, self.scale(share))


def scaled(value: str, factor: float) -> str:
    """Write a time or a rate times a factor, in units that have no parts.

    Examples
    --------
    >>> scaled("200ns", 1.5), scaled("25Gb/s", 0.9)
    ('300000ps', '22500000000b/s')
    """
    try:
        return f"{round(time_of(value) * 1e12 * factor)}ps"
    except ValueError:
        return f"{round(rate_of(value) * 8 * factor)}b/s"


def share(name: str, sample: int, seed: int) -> float:
    """Draw where in its range an unknown lies in a sample: 0 to 1.

    Every eight samples divide the range into equal parts, and have one in each. A draw depends on
    the unknown alone, so that more samples or other fabrics change none.
    """
    block, at = divmod(sample, BLOCK)
    draw = random.Random(f"{seed}/{name}/{block}")
    places = draw.sample(range(BLOCK), BLOCK)
    within = [draw.random() for _ in range(BLOCK)]
    return (places[at] + within[at]) / BLOCK


def unknowns(candidate: Candidate, question: Question) -> tuple[list[Unknown], list[Figure]]:
    """List the unknowns of a fabric's interconnect, and its uncertain figures that do not vary."""
    text = _core.figures(candidate.text, candidate.origin, literals(candidate.keys))
    figures: Sequence[Figure] = json.loads(text)
    varied, fixed = [], []
    for one in figures:
        factor = question.range_of(one["basis"])
        if factor == 1 or one["key"].startswith(FABRIC):
            continue
        if not _is_amount(one["value"]):
            fixed.append(one)
            continue
        name = f"{one['key']} of {one['profile']}"
        varied.append(Unknown(name, one["basis"], factor, str(one["value"]), one["key"]))
    return varied, fixed


def _is_amount(value: object) -> bool:
    if not isinstance(value, str):
        return False
    for read in (time_of, rate_of):
        try:
            return read(value) > 0
        except ValueError:
            continue
    return False


def drawn(unknown: Sequence[Unknown], shares: Mapping[str, float]) -> dict[str, str]:
    """Write the figures of a scenario at places of their ranges."""
    return {one.key: one.at(shares[one.name]) for one in unknown if one.name in shares}
