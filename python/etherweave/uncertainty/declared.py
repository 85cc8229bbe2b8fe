"""Distributions that a reader states: ranges, weights of choices, correlations."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any, TypeAlias

from etherweave.api.inputs import InputError, read_text
from etherweave.sweeps import SweepError
from etherweave.sweeps.points import amount, check_range
from etherweave.uncertainty.distributions import Choice, Quantiles, Range

_EDGE = 1e-9  # Least share of which a normal distribution has a quantile.
_UNKNOWN = {"key", "from", "to", "scale", "values", "weights", "quantiles"}
_CORRELATION = {"keys", "coefficient", "matrix"}

Distribution: TypeAlias = Range | Quantiles | Choice


class UncertaintyError(ValueError):
    """Unknowns that cannot be drawn: says where, what stands there, and what is expected."""


@dataclass(frozen=True)
class Correlation:
    """Correlations of the normal scores of keys."""

    keys: Sequence[str]
    matrix: Sequence[Sequence[float]]  # A row and a column for each key.
    origin: str  # File and table that state it.

    @property
    def is_in_step(self) -> bool:
        """Whether all keys move as one."""
        return all(part == 1 for row in self.matrix for part in row)


@dataclass(frozen=True)
class Declared:
    """All that a reader states."""

    distributions: Mapping[str, Distribution] = field(default_factory=dict)  # Distributions by key.
    correlations: Sequence[Correlation] = ()

    @property
    def keys(self) -> list[str]:
        """Keys that have a distribution."""
        return list(self.distributions)

    @cached_property
    def dimensions(self) -> dict[str, list[str]]:
        """Names of what is drawn, and the keys of each: several where they move as one."""
        texts: dict[str, list[str]] = {}
        as_one = {key: row for row in self.correlations if row.is_in_step for key in row.keys}
        for key in self.distributions:
            group = as_one.get(key)
            texts.setdefault(" and ".join(group.keys) if group else key, []).append(key)
        return texts

    def at(self, drawn: Mapping[str, float]) -> dict[str, object]:
        """Write the keys of a sample, from independent shares of 0 to 1 by :attr:`dimensions`."""
        shares = {key: drawn[name] for name, keys in self.dimensions.items() for key in keys}
        for correlation in self.correlations:
            if not correlation.is_in_step:
                shares |= _correlated(correlation, [shares[key] for key in correlation.keys])
        return {key: of.at(shares[key]) for key, of in self.distributions.items()}


def _correlated(correlation: Correlation, shares: Sequence[float]) -> dict[str, float]:
    """Give independent shares a correlation of their normal scores, by Cholesky's factor."""
    import numpy as np

    # On the edge of what can be, the matrix has an eigenvalue of zero.
    factor = np.linalg.cholesky(
        np.array(correlation.matrix) + _EDGE * np.eye(len(correlation.keys))
    )
    scores = [NormalDist().inv_cdf(min(max(share, _EDGE), 1 - _EDGE)) for share in shares]
    mixed = [math.fsum(a * b for a, b in zip(row, scores, strict=True)) for row in factor.tolist()]
    return dict(zip(correlation.keys, map(NormalDist().cdf, mixed), strict=True))


def declared(texts: Sequence[str]) -> Declared:
    """Read distributions as ``--uncertain`` has them.

    A text is ``KEY=LOW..HIGH``, ``KEY=[VALUE, ...]``, or ``@FILE`` with tables ``unknown`` and
    ``correlation``. Raises ``UncertaintyError``, which says where and what is expected, and
    ``OSError`` when a file cannot be read.

    Examples
    --------
    >>> declared(["switch.latency=200ns..400ns"]).at({"switch.latency": 0.25})
    {'switch.latency': '250ns'}
    """
    distributions: dict[str, Distribution] = {}
    correlations: list[Correlation] = []
    for text in texts:
        if text.startswith("@"):
            of = _of_file(text[1:])
            rows, correlations = of.distributions, [*correlations, *of.correlations]
        else:
            rows = dict([_of_text(text)])
        if twice := sorted(distributions.keys() & rows.keys()):
            raise UncertaintyError(f"{twice[0]}: uncertain twice; expected it once")
        distributions |= rows
    _check_correlations(correlations, distributions)
    return Declared(distributions, correlations)


def _of_text(text: str) -> tuple[str, Distribution]:
    key, equals, value = text.partition("=")
    low, dots, high = value.partition("..")
    if not (key and equals and value):
        raise UncertaintyError(f"{text}: expected KEY=LOW..HIGH, KEY=[VALUE, ...], or @FILE")
    if value.startswith("["):
        try:
            values = tomllib.loads(f"values = {value}")["values"]
        except tomllib.TOMLDecodeError:
            expected = """a list, as in TOML, with texts in quotes: '["200ns", "400ns"]'"""
            raise UncertaintyError(f"{key}: {value}; expected {expected}") from None
        return key, _distribution(key, {"key": key, "values": values})
    if not dots:
        raise UncertaintyError(f"{text}: one value; expected LOW..HIGH, as in 200ns..400ns")
    return key, _range(text, {"from": _number(low), "to": _number(high)}, end_names=("", ""))


def _number(text: str) -> object:
    """Read an end that has no unit as a number."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _of_file(file: str) -> Declared:
    try:
        table = tomllib.loads(read_text(file))
    except InputError as error:
        raise UncertaintyError(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise UncertaintyError(f"{file}: {error}; expected TOML") from None
    except OSError as error:
        expected = "a file with [[unknown]] after @, or KEY=LOW..HIGH"
        raise UncertaintyError(f"{file}: {error.strerror}; expected {expected}") from None
    if others := sorted(table.keys() - {"unknown", "correlation"}):
        raise UncertaintyError(f"{file}: {others[0]}: expected [[unknown]] and [[correlation]]")
    if not table:
        raise UncertaintyError(f"{file}: empty; expected [[unknown]] with key, from and to")
    distributions: dict[str, Distribution] = {}
    for number, entry in enumerate(_tables(file, table, "unknown")):
        where = f"{file}: unknown.{number}"
        _check_names(where, entry, _UNKNOWN, "key")
        if entry["key"] in distributions:
            raise UncertaintyError(f"{where}.key: {entry['key']} is uncertain twice; expected once")
        distributions[entry["key"]] = _distribution(where, entry)
    rows = _tables(file, table, "correlation")
    return Declared(distributions, [_correlation(file, at, row) for at, row in enumerate(rows)])


def _tables(file: str, table: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = table.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise UncertaintyError(f"{file}: {name}: expected tables, each under [[{name}]]")
    return rows


def _check_names(where: str, table: Mapping[str, Any], known: set[str], first: str) -> None:
    if others := sorted(table.keys() - known):
        raise UncertaintyError(f"{where}.{others[0]}: unknown; known: {', '.join(sorted(known))}")
    if first not in table:
        raise UncertaintyError(f"{where}: no {first}; expected the {first} that it is of")


def range_of(where: str, low: object, high: object) -> Range:
    """Make a range of two ends.

    Raises ``UncertaintyError`` when they are none of one unit, or the lower one comes second.
    """
    return _range(where, {"from": low, "to": high})


def _distribution(where: str, row: Mapping[str, Any]) -> Distribution:
    """Make the distribution of a table with ``from`` and ``to``, ``values`` or ``quantiles``."""
    if "quantiles" in row:
        return _quantiles(where, row)
    if "values" in row:
        return _choice(where, row)
    if "weights" in row:
        raise UncertaintyError(f"{where}.weights: of a range; expected them beside values")
    return _range(where, row)


def _range(
    where: str, row: Mapping[str, Any], end_names: tuple[str, str] = (".from", ".to")
) -> Range:
    """Make a range; errors of an end have ``where`` and its name."""
    scale = row.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise UncertaintyError(f"{where}.scale: {scale!r}; expected linear or log")
    axis = {"values": [], "count": 2, "scale": scale, "from": row.get("from"), "to": row.get("to")}
    try:
        check_range(where, axis, True, end_names)
    except SweepError as error:
        raise UncertaintyError(str(error)) from None
    low, high = (amount(where, row[end])[0] for end in ("from", "to"))
    if low >= high:
        raise UncertaintyError(
            f"{where}: {row['from']} to {row['to']}; expected the lower end, then the higher one"
        )
    return Range(row["from"], row["to"], scale)


def _quantiles(where: str, table: Mapping[str, Any]) -> Quantiles:
    values = table["quantiles"]
    if others := sorted(table.keys() & {"from", "to", "scale", "values", "weights"}):
        raise UncertaintyError(f"{where}.{others[0]}: beside quantiles; expected one of both")
    if not isinstance(values, list) or len(values) < 2:
        raise UncertaintyError(f"{where}.quantiles: {values!r}; expected a list of two or more")
    try:
        read = [amount(f"{where}.quantiles", value) for value in values]
    except SweepError as error:
        raise UncertaintyError(str(error)) from None
    numbers, units = [number for number, _ in read], {unit for _, unit in read}
    if len(units) > 1 or numbers != sorted(numbers):
        raise UncertaintyError(
            f"{where}.quantiles: {values[0]} to {values[-1]}; expected values of one unit that "
            "ascend"
        )
    return Quantiles(values)


def _choice(where: str, table: Mapping[str, Any]) -> Choice:
    values = table["values"]
    if others := sorted(table.keys() & {"from", "to", "scale"}):
        raise UncertaintyError(f"{where}.{others[0]}: beside values; expected one of both")
    if not isinstance(values, list) or len(values) < 2:
        raise UncertaintyError(f"{where}.values: {values!r}; expected a list of two or more")
    weights = table.get("weights", [1.0] * len(values))
    is_list = isinstance(weights, list) and all(_is_positive(weight) for weight in weights)
    if not is_list or len(weights) != len(values):
        raise UncertaintyError(
            f"{where}.weights: {weights!r}; expected {len(values)} numbers above 0"
        )
    return Choice(values, weights)


def _is_positive(weight: object) -> bool:
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    return is_number and 0 < weight < math.inf  # type: ignore[operator]


def _correlation(file: str, number: int, table: Mapping[str, Any]) -> Correlation:
    where = f"{file}: correlation.{number}"
    _check_names(where, table, _CORRELATION, "keys")
    keys, coefficient = table["keys"], table.get("coefficient", 1.0)
    if not isinstance(keys, list) or len(set(map(str, keys))) != len(keys) or len(keys) < 2:
        raise UncertaintyError(f"{where}.keys: {keys!r}; expected two or more different keys")
    matrix = table.get("matrix")
    if matrix is not None:
        if "coefficient" in table:
            raise UncertaintyError(f"{where}.coefficient: beside a matrix; expected one of both")
        return Correlation(
            list(map(str, keys)), _matrix(f"{where}.matrix", matrix, len(keys)), where
        )
    low = -1 / (len(keys) - 1)
    if not _is_number(coefficient) or not low <= coefficient <= 1:
        raise UncertaintyError(
            f"{where}.coefficient: {coefficient!r} is no correlation of {len(keys)} keys; "
            f"expected {low:.3g} to 1"
        )
    part = float(coefficient)
    rows = [[1.0 if row == at else part for at in range(len(keys))] for row in range(len(keys))]
    return Correlation(list(map(str, keys)), rows, where)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _matrix(where: str, rows: Any, count: int) -> list[list[float]]:
    """Check a matrix of correlations: symmetric, 1 on its diagonal, no variance below zero."""
    import numpy as np

    is_square = isinstance(rows, list) and len(rows) == count
    if not is_square or not all(
        isinstance(row, list) and len(row) == count and all(map(_is_number, row)) for row in rows
    ):
        raise UncertaintyError(f"{where}: expected {count} rows of {count} numbers")
    matrix = np.array(rows, dtype=float)
    is_possible = (
        np.isfinite(matrix).all()
        and (matrix == matrix.T).all()
        and (np.diag(matrix) == 1).all()
        and np.linalg.eigvalsh(matrix).min() >= -_EDGE
    )
    if not is_possible:
        raise UncertaintyError(
            f"{where}: no correlations of {count} keys; expected a symmetric matrix with 1 on its "
            "diagonal and no negative eigenvalue"
        )
    return [[float(part) for part in row] for row in rows]


def _check_correlations(
    correlations: Sequence[Correlation], known: Mapping[str, Distribution]
) -> None:
    taken = set[str]()
    for correlation in correlations:
        for key in correlation.keys:
            if key not in known:
                raise UncertaintyError(
                    f"{correlation.origin}: correlation of {key}, which has no range; "
                    f"expected one of {list(known)}"
                )
            if key in taken:
                raise UncertaintyError(
                    f"{correlation.origin}: {key} is in two correlations; expected one"
                )
        taken |= set(correlation.keys)
