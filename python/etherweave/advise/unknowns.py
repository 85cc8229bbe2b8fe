"""Unknowns of an answer: figures of interconnects, prices and powers.

Figures of interconnects have the distributions of :mod:`etherweave.uncertainty`, which come from
documents. Of prices and powers no documents differ: one that rests on more than a publication lies
anywhere between its value divided and multiplied by a factor, evenly on a logarithmic scale.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etherweave.advise.question import Candidate
from etherweave.uncertainty import Unknowns, unknowns
from etherweave.uncertainty.declared import Declared

BLOCK = 8  # Samples that divide the range of every unknown into equal parts.


@dataclass(frozen=True)
class Unknown:
    """A quantity that one random draw decides."""

    name: str  # The same for all fabrics that have it from the same place.
    basis: str
    span: str  # Range, as text.
    factor: float = 1.0  # Factor by which a price or a power may be larger or smaller.
    figure: str = ""  # Key, value and source of a profile's figure.

    @property
    def drawn_by(self) -> str:
        """Name its draw: figures of one value and source have one, whichever profile has them."""
        return self.figure or self.name

    def scale(self, share: float) -> float:
        """Return the factor at a place of its range, 0 to 1."""
        return float(self.factor ** (2 * share - 1))


@dataclass(frozen=True)
class FabricUnknowns:
    """Figures of a fabric's interconnect that are not known."""

    entries: Sequence[Unknown] = ()
    fixed: Sequence[str] = ()  # Uncertain figures that do not vary.
    drawn: Unknowns | None = None
    """Distributions of the entries, in the same order; None where figures are as they stand."""

    @classmethod
    def of(cls, candidate: Candidate) -> "FabricUnknowns":
        """Find what documents do not fix of a fabric.

        Raises ``ScenarioError`` when the fabric has a mistake.
        """
        uncertain = unknowns(candidate.text, candidate.origin, candidate.keys, Declared())
        entries = [
            Unknown(
                _name(uncertain, entry.name),
                entry.basis,
                f"{entry.low} to {entry.high}",
                figure=_figure(uncertain, entry.name),
            )
            for entry in uncertain.entries
        ]
        fixed = [f"{unknown['key']} of {unknown['profile']}" for unknown in uncertain.fixed]
        return cls(entries, fixed, uncertain)

    def at(self, shares: Mapping[str, float]) -> dict[str, object]:
        """Write the keys of a sample, at places of unknowns in their ranges, 0 to 1, by name.

        Without shares, every figure is as it stands.
        """
        if self.drawn is None or not shares:
            return {}
        return self.drawn.at([shares[entry.name] for entry in self.entries])


def _name(drawn: Unknowns, name: str) -> str:
    """Name an unknown for all fabrics: a measurement and a choice are the same for all."""
    figure = drawn.figure(name)
    return f"{name} of {figure['profile']}" if figure else name


def _figure(drawn: Unknowns, name: str) -> str:
    figure = drawn.figure(name)
    return f"{name} {figure['value']} {figure['source']}" if figure else ""


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
