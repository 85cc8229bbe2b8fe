"""The error of the model, apart from that of its parameters: measured over simulated times.

Rows of studies compare a simulated figure with one that a system has published. By kind of figure,
the logarithm of the measured over the simulated time has a mean for each system. Means of systems
and the variance within them make the interval in which a row of a further system lies: a prediction
interval by Student's t, as of a normal sample. It is checked by leaving out one system after the
other.
"""

import csv
import io
import math
import statistics
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files as resources
from typing import Any

from etherweave.api.units import size_of
from etherweave.study.results import StudyCheck
from etherweave.uncertainty.intervals import Interval

KINDS = ("latency", "message rate", "bandwidth", "collective", "iteration", "job")
SMALL_MAX = 4096
"""Largest message whose latency is one of small messages [bytes]."""
COLUMNS = ("study", "id", "kind", "system", "unit", "published", "simulated", "spread")
TIMES = ("ns", "us", "ms", "s")
"""Units in which more is slower."""
CALIBRATION = "calibration"
"""Word in the source of a row to which constants are fitted."""


@dataclass(frozen=True)
class CheckRow:
    """A measured figure beside the simulated one."""

    study: str
    id: str
    kind: str
    """One of :data:`KINDS`."""
    system: str
    unit: str
    published: float
    simulated: float
    """Median of samples; without any, the figure as it stands."""
    spread: float = 0.0
    """Standard deviation of its natural logarithm over samples: what parameters do to it."""

    @property
    def error(self) -> float:
        """Natural logarithm of the measured over the simulated time."""
        ratio = self.published / self.simulated
        return math.log(ratio if self.unit in TIMES else 1 / ratio)


@dataclass(frozen=True)
class ModelError:
    """What measured times are to simulated ones, of a kind of figures."""

    kind: str
    rows: int
    systems: Sequence[str]
    median: float
    """Measured over simulated time: the mean of systems, on a logarithmic scale; NaN of none."""
    half: Interval | None
    """Interval of 50 % of a further system; None for fewer than two systems."""
    most: Interval | None
    """Interval of 90 %."""
    alone: Interval | None
    """Interval of 90 % without what parameters do to these rows."""
    covered: float | None
    """Part of rows within 90 % of what all other systems say, the mean over systems; None for fewer
    than three."""


@dataclass(frozen=True)
class Further:
    """Distribution of the logarithm of measured over simulated time, of a row of a further system.

    It has Student's t distribution, moved and stretched.
    """

    mean: float
    deviation: float
    degrees: int

    def at(self, shares: Sequence[float]) -> list[float]:
        """Return the measured over the simulated time at shares of the distribution."""
        from scipy.stats import t

        places = t.ppf(shares, self.degrees).tolist()
        return [math.exp(self.mean + self.deviation * place) for place in places]

    def interval(self, level: float) -> Interval:
        """Return the interval in the middle that has a share of the distribution."""
        return Interval(*self.at([(1 - level) / 2, (1 + level) / 2]))


@cache
def check_rows() -> tuple[CheckRow, ...]:
    """Read the rows that come with Etherweave."""
    text = resources("etherweave.uncertainty").joinpath("check_rows.csv").read_text("utf-8")
    return tuple(map(_row, csv.DictReader(io.StringIO(text))))


def _row(row: Mapping[str, str]) -> CheckRow:
    study, name, kind, system, unit = (row[column] for column in COLUMNS[:5])
    published, simulated, spread = (float(row[column]) for column in COLUMNS[5:])
    return CheckRow(study, name, kind, system, unit, published, simulated, spread)


def row_of(study: str, check: StudyCheck, values: Sequence[float] = ()) -> CheckRow | None:
    """Make the row of a check that measures the error of the model; None of others.

    Parameters
    ----------
    study
        Name of its study.
    check
        The check.
    values
        Its figures in samples.
    """
    known: Sequence[Mapping[str, Any]] = _table()["rows"]
    for of in known:
        if of["study"] == study and _counts(check, of):
            simulated, spread = _middle([one for one in values if one > 0]) or (check.value, 0.0)
            system, published = of.get("system") or _system(check), check.expected or math.nan
            names = (study, check.id, of["kind"], system, check.unit)
            return CheckRow(*names, published, simulated, spread)
    return None


def _middle(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the median, and the deviation of logarithms; None of fewer than two values."""
    if len(values) < 2:
        return None
    return statistics.median(values), statistics.stdev(map(math.log, values))


def _counts(check: StudyCheck, of: Mapping[str, Any]) -> bool:
    """Return whether a check is one of these rows, and nothing is fitted to it."""
    if not fnmatchcase(check.id, of["checks"]) or CALIBRATION in check.source:
        return False
    if not check.expected or not check.value > 0 or check.basis:
        return False
    if "size_min" not in of and "size_max" not in of:
        return True
    size = int(check.id.split(".")[-2])
    return bool(of.get("size_min", 0) <= size <= of.get("size_max", math.inf))


def _system(check: StudyCheck) -> str:
    """Name the system of a row of OSU's benchmarks: its interconnect, and the source."""
    source = check.source.split(",")[0].split(" (")[0]
    return f"{check.id.split('.')[0]}: {source}"


def write(rows: Iterable[CheckRow]) -> str:
    """Write rows as CSV."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        texts = [getattr(row, name) for name in COLUMNS[:5]]
        numbers = [row.published, row.simulated, row.spread]
        table.writerow([*texts, *(f"{number:.6g}" for number in numbers)])
    return out.getvalue()


def model_errors(rows: Sequence[CheckRow] | None = None) -> list[ModelError]:
    """Estimate the error of the model for every kind of figures.

    Parameters
    ----------
    rows
        By default those that come with Etherweave.
    """
    found = check_rows() if rows is None else rows
    return [_of_kind(kind, [row for row in found if row.kind == kind]) for kind in KINDS]


def model_error(kind: str) -> ModelError:
    """Find the error of a kind of figures."""
    return next(one for one in model_errors() if one.kind == kind)


def _of_kind(kind: str, rows: Sequence[CheckRow]) -> ModelError:
    systems = _by_system(rows)
    means = [statistics.fmean(row.error for row in own) for own in systems.values()]
    found, alone = (further(rows, has_parameters=of) for of in (True, False))
    return ModelError(
        kind,
        len(rows),
        list(systems),
        math.exp(statistics.fmean(means)) if means else math.nan,
        found.interval(0.5) if found else None,
        found.interval(0.9) if found else None,
        alone.interval(0.9) if alone else None,
        _covered(systems),
    )


def _by_system(rows: Iterable[CheckRow]) -> dict[str, list[CheckRow]]:
    systems: dict[str, list[CheckRow]] = defaultdict(list)
    for row in rows:
        systems[row.system].append(row)
    return systems


def further(rows: Iterable[CheckRow], *, has_parameters: bool = False) -> Further | None:
    """Predict a row of a further system from the rows of known ones; None for fewer than two.

    The variance of the means of systems has that within systems in it where rows are few, which
    makes the interval wider, not narrower. What parameters do to simulated figures is part of what
    rows differ by, and is subtracted from the variance.

    Parameters
    ----------
    rows
        Rows of one kind.
    has_parameters
        Whether what parameters do stays in it.
    """
    systems = list(_by_system(rows).values())
    count = len(systems)
    if count < 2:
        return None
    errors = [[row.error for row in own] for own in systems]
    means = [statistics.fmean(own) for own in errors]
    within = statistics.fmean(statistics.pvariance(own) for own in errors)
    variance = statistics.variance(means) * (1 + 1 / count) + within
    if not has_parameters:
        drawn = statistics.fmean(statistics.fmean(row.spread**2 for row in own) for own in systems)
        variance = max(variance - drawn, 0.0)
    return Further(statistics.fmean(means), math.sqrt(variance), count - 1)


def _covered(systems: Mapping[str, Sequence[CheckRow]]) -> float | None:
    """Leave out one system after the other, and count its rows within what the others say."""
    if len(systems) < 3:
        return None
    shares = []
    for name, own in systems.items():
        others = [row for other, rows in systems.items() if other != name for row in rows]
        found = further(others, has_parameters=True)
        assert found is not None, "two systems are left"
        low, high = found.interval(0.9)
        shares.append(statistics.fmean(low <= math.exp(row.error) <= high for row in own))
    return statistics.fmean(shares)


def kind_of(workload: Mapping[str, Any]) -> str:
    """Return of which kind the times of a job are.

    Parameters
    ----------
    workload
        As a resolved scenario has it: a table with one family.

    Examples
    --------
    >>> kind_of({"osu_latency": {"bytes": "1MiB"}}), kind_of({"halo3d": {}})
    ('bandwidth', 'iteration')
    """
    (family, keys), *_ = workload.items()
    kind = str(_table()["workloads"].get(family, "iteration"))
    size = size_of(str(keys["bytes"])) if family.startswith("osu_") and "bytes" in keys else None
    if kind == "latency" and size is not None and size > SMALL_MAX:
        return "bandwidth"
    if kind == "bandwidth" and size is not None and size < SMALL_MAX:
        return "message rate"
    return kind


@cache
def _table() -> Mapping[str, Any]:
    text = resources("etherweave.uncertainty").joinpath("check_kinds.toml").read_text("utf-8")
    return tomllib.loads(text)
