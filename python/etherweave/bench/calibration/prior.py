"""Prior distributions of a scenario's unknowns, before anything is measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]  # Rows are points or draws, columns are unknowns or outputs.


@dataclass(frozen=True)
class UnknownKey:
    """A key of scenarios that is not known."""

    key: str
    unknown: str  # Unknown that decides it; several keys may move together.
    about: str  # Source of its distribution.


@dataclass(frozen=True)
class Prior:
    """Distributions of unknowns, as functions of shares of 0 to 1 that are independent."""

    names: Sequence[str]  # Names of the unknowns, in the order of shares.
    keys: Sequence[UnknownKey]
    at: Callable[[Sequence[float]], Mapping[str, object]]
    """Values of all keys at shares of the unknowns."""
    overrides: Callable[[Mapping[str, object]], Mapping[str, object]]
    """Everything in a resolved scenario that values of keys change: a profile's name is many."""
    before: Mapping[str, object]  # Values of the keys in the scenario.
