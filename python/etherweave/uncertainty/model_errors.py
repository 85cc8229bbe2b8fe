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

from etherweave.study.results import StudyCheck, StudyResult
from etherweave.uncertainty.intervals import Interval
from etherweave.units import size_of

KINDS = ("latency", "message rate", "bandwidth", "collective", "iteration", "job")
SMALL_MAX = 4096
"""Largest message whose latency is one of small messages [bytes]."""
COLUMNS = ("study", "id", "kind", "system", "unit", "published", "simulated")
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
    covered: float | None
    """Part of rows within 90 % of what all other systems say, the mean over systems; None for fewer
    than three."""


@cache
def check_rows() -> tuple[CheckRow, ...]:
    """Read the rows that come with Etherweave."""
    text = resources("etherweave.uncertainty").joinpath("check_rows.csv").read_text("utf-8")
    return tuple(map(_row, csv.DictReader(io.StringIO(text))))


def _row(row: Mapping[str, str]) -> CheckRow:
    study, name, kind, system, unit, published, simulated = (row[column] for column in COLUMNS)
    return CheckRow(study, name, kind, system, unit, float(published), float(simulated))


def collect(results: Iterable[StudyResult]) -> list[CheckRow]:
    """List the rows of results of studies that measure the error of the model."""
    known: Sequence[Mapping[str, Any]] = _table()["rows"]
    return [
        CheckRow(
            result.study.name,
            check.id,
            of["kind"],
            of.get("system") or _system(check),
            check.unit,
            check.expected or math.nan,
            check.value,
        )
        for result in results
        for check in result.checks
        for of in known
        if of["study"] == result.study.name and _counts(check, of)
    ]


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
        table.writerow([*texts, f"{row.published:.6g}", f"{row.simulated:.6g}"])
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
    systems: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        systems[row.system].append(row.error)
    means = [statistics.fmean(errors) for errors in systems.values()]
    return ModelError(
        kind,
        len(rows),
        list(systems),
        math.exp(statistics.fmean(means)) if means else math.nan,
        _further(list(systems.values()), 0.5),
        _further(list(systems.values()), 0.9),
        _covered(systems),
    )


def _further(errors: Sequence[Sequence[float]], level: float) -> Interval | None:
    """Predict a row of a further system from the rows of known ones; None for fewer than two.

    The variance of the means of systems has that within systems in it where rows are few, which
    makes the interval wider, not narrower.
    """
    from scipy.stats import t

    count = len(errors)
    if count < 2:
        return None
    means = [statistics.fmean(one) for one in errors]
    within = statistics.fmean(statistics.pvariance(one) for one in errors)
    deviation = math.sqrt(statistics.variance(means) * (1 + 1 / count) + within)
    reach = float(t.ppf((1 + level) / 2, count - 1)) * deviation
    mean = statistics.fmean(means)
    return Interval(math.exp(mean - reach), math.exp(mean + reach))


def _covered(systems: Mapping[str, Sequence[float]]) -> float | None:
    """Leave out one system after the other, and count its rows within what the others say."""
    if len(systems) < 3:
        return None
    shares = []
    for name, errors in systems.items():
        found = _further([one for other, one in systems.items() if other != name], 0.9)
        assert found is not None, "two systems are left"
        inside = [found.low <= math.exp(error) <= found.high for error in errors]
        shares.append(statistics.fmean(inside))
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
