"""Values of keys in draws of the prior and the posterior, and the file that carries them on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from etherweave.api.units import Unit, rate_of, size_of, time_of
from etherweave.bench.calibration.identifiability import rank_correlations
from etherweave.bench.calibration.prior import Array, Prior, UnknownKey

LEVELS = tuple(at / 20 for at in range(21))
"""Shares of draws at which a file has the values of a number."""
VALUES_MIN = 9  # Fewest different values of a number; fewer are a choice.
PRIOR_POWER = 10  # Logarithm to base 2 of the draws of the prior.
SHRUNK = 0.995  # Factor of correlations, which are rounded and must stay possible.
_READERS = ((time_of, Unit.SECONDS), (rate_of, Unit.BYTES_PER_SECOND), (size_of, Unit.BYTES))


@dataclass(frozen=True)
class KeyDraws:
    """Values of a key."""

    key: str
    unknown: str
    about: str
    unit: str  # Empty where values are bare numbers, or no numbers.
    before: float | None
    prior_texts: Sequence[str]
    texts: Sequence[str]
    prior_numbers: Array | None  # None where values are choices.
    numbers: Array | None

    def number(self, values: Mapping[str, object]) -> float:
        """Read the value of the key among those of a draw."""
        return quantity(values[self.key])[0]


def quantity(value: object) -> tuple[float, str]:
    """Read a number with its unit, in base units.

    Raises ``ValueError`` when it is none.

    Examples
    --------
    >>> quantity("2us"), quantity("8b/s"), quantity(3)
    ((2e-06, 's'), (1.0, 'B/s'), (3.0, ''))
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    for read, unit in _READERS:
        try:
            return float(read(str(value))), str(unit)
        except ValueError:
            continue
    raise ValueError(f"{value}: expected a number")


def key_draws(prior: Prior, shares: Array) -> list[KeyDraws]:
    """Write the keys of all draws of the posterior, beside those of even draws of the prior."""
    even = qmc.Sobol(len(prior.names), rng=0).random_base2(PRIOR_POWER)
    before, after = ([dict(prior.at(list(row))) for row in rows] for rows in (even, shares))
    return [_of_key(key, prior, before, after) for key in prior.keys]


def _of_key(
    key: UnknownKey,
    prior: Prior,
    before: Sequence[Mapping[str, object]],
    after: Sequence[Mapping[str, object]],
) -> KeyDraws:
    values, posterior = ([row[key.key] for row in rows] for rows in (before, after))
    texts = [str(value) for value in values], [str(value) for value in posterior]
    try:
        read = [quantity(value) for value in values]
    except ValueError:
        read = []
    if len(set(texts[0])) < VALUES_MIN or not read:
        return KeyDraws(key.key, key.unknown, key.about, "", None, *texts, None, None)
    numbers = np.array([number for number, _ in read])
    stated = quantity(prior.before[key.key])[0] if key.key in prior.before else None
    own = np.array([quantity(value)[0] for value in posterior])
    return KeyDraws(key.key, key.unknown, key.about, read[0][1], stated, *texts, numbers, own)


def unknowns_file(keys: Sequence[KeyDraws]) -> dict[str, Any]:
    """Return the tables of a file for ``--uncertain``: distributions of all keys, correlations."""
    numbers = [key for key in keys if key.numbers is not None]
    tables = [*map(_number_table, numbers), *(_choice_table(key) for key in keys if key.texts)]
    document = {"unknown": [table for table in tables if table]}
    if len(numbers) > 1:
        names = [number.key for number in numbers]
        document["correlation"] = [{"keys": names, "matrix": _correlations(numbers)}]
    return document


def _number_table(draws: KeyDraws) -> dict[str, Any]:
    assert draws.numbers is not None, "a number has values"
    return {
        "key": draws.key,
        "quantiles": [_text(x, draws.unit) for x in np.quantile(draws.numbers, LEVELS)],
    }


def _choice_table(draws: KeyDraws) -> dict[str, Any]:
    """Return the weights of a choice; nothing of a number, and of a choice that is made."""
    values = list(dict.fromkeys(draws.texts))
    if draws.numbers is not None or len(values) < 2:
        return {}
    weights = [draws.texts.count(value) / len(draws.texts) for value in values]
    return {"key": draws.key, "values": values, "weights": weights}


def _text(value: float, unit: str) -> object:
    """Write a number in units that have no parts."""
    match unit:
        case Unit.SECONDS:
            return f"{round(value * 1e12)}ps"
        case Unit.BYTES_PER_SECOND:
            return f"{round(value * 8)}b/s"
        case Unit.BYTES:
            return f"{round(value)}B"
        case _:
            return float(value)


def _correlations(keys: Sequence[KeyDraws]) -> list[list[float]]:
    """Return correlations of the normal scores of ranks."""
    matrix = rank_correlations(np.array([key.numbers for key in keys], dtype=np.float64).T)
    shrunk = SHRUNK * matrix + (1 - SHRUNK) * np.eye(len(keys))
    return [[round(float(part), 4) for part in row] for row in shrunk]
