"""Check rows of studies: measured figures beside simulated ones, and what they are extrapolated to.

Only rows count that a system has measured and nothing is fitted to; ``check_kinds.toml`` lists
them. A job of a scenario has conditions of the same kind.
"""

import csv
import io
import math
import statistics
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files as resources
from typing import Any, NamedTuple

from etherweave.api.simulation import figures
from etherweave.api.units import rate_of, size_of
from etherweave.study.results import StudyCheck

RATIO = "ratio"
KINDS = ("latency", "message rate", "bandwidth", "collective", "iteration", "job", RATIO)
SMALL_MAX = 4096  # Largest message whose latency is one of small messages [bytes].
SIZES = {"to 64 B": 64, "to 4 KiB": 4096, "to 64 KiB": 65_536, "above 64 KiB": math.inf}
"""Classes of sizes, and the largest message of each [bytes]: inline, eager, where protocols change,
and what is limited by rates."""
FITS = ("benchmark fitted", "benchmark not fitted")
"""Whether constants are fitted to other figures of the same benchmark on the same system."""
LINK = "by the link"
"""Limit of figures that take little more time than the link of a host needs for the bytes."""
_LINK_SHARE_MIN = 0.9  # Share of the time that the link is busy.
COLUMNS = (
    *("study", "id", "kind", "size_class", "fit", "limit"),
    *("system", "curve", "unit"),
    *("published", "simulated", "spread"),
)
TIMES = ("ns", "us", "ms", "s", "ratio", "x")
"""Units of times, of which more is slower, and of ratios, which stand as they are."""
_SIZE_AT = -2  # Part of an id that is the size of a message.


class Conditions(NamedTuple):
    """Conditions that the error of the model depends on; an empty text where one does not apply."""

    kind: str  # One of :data:`KINDS`.
    size_class: str = ""  # One of :data:`SIZES`.
    fit: str = ""  # One of :data:`FITS`.
    limit: str = ""  # :data:`LINK`.


@dataclass(frozen=True)
class CheckRow:
    """A measured figure beside the simulated one."""

    study: str
    id: str
    conditions: Conditions
    system: str
    unit: str
    published: float
    simulated: float  # Median of samples; without any, the figure as it stands.
    spread: float = 0.0
    """Standard deviation of its natural logarithm over samples: what parameters do to it."""
    curve: str = ""
    """Name of what differs in the size alone, or in the network: a benchmark of a library."""

    @property
    def error(self) -> float:
        """Natural logarithm of the measured over the simulated time."""
        ratio = self.published / self.simulated
        return math.log(ratio if self.unit in TIMES else 1 / ratio)


@cache
def check_rows() -> tuple[CheckRow, ...]:
    """Read the rows that come with Etherweave."""
    text = resources("etherweave.uncertainty").joinpath("check_rows.csv").read_text("utf-8")
    return tuple(map(_row, csv.DictReader(io.StringIO(text))))


def _row(row: Mapping[str, str]) -> CheckRow:
    texts = [row[column] for column in COLUMNS]
    study, name, system, curve, unit = *texts[:2], *texts[6:9]
    published, simulated, spread = map(float, texts[9:])
    measured = (unit, published, simulated, spread)
    return CheckRow(study, name, Conditions(*texts[2:6]), system, *measured, curve)


def row_of(study: str, check: StudyCheck, values: Sequence[float] = ()) -> CheckRow | None:
    """Make the row of a check that measures the error of the model; None of others.

    ``values`` are its figures in samples.
    """
    known: Sequence[Mapping[str, Any]] = _table()["rows"]
    for of in known:
        if of["study"] == study and _counts(check, of):
            simulated, spread = _middle([cell for cell in values if cell > 0]) or (check.value, 0.0)
            system, published = _system(check, of), check.expected or math.nan
            conditions = _conditions(check, of, simulated)
            names = (study, check.id, conditions, system, check.unit)
            return CheckRow(*names, published, simulated, spread, _curve(check, of))
    return None


def _middle(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the median, and the deviation of logarithms; None of fewer than two values."""
    if len(values) < 2:
        return None
    return statistics.median(values), statistics.stdev(map(math.log, values))


def _conditions(check: StudyCheck, of: Mapping[str, Any], simulated: float) -> Conditions:
    kind = str(of["kind"])
    is_fitted = any(fnmatchcase(check.id, pattern) for pattern in of.get("fitted", ()))
    fit = FITS[0 if is_fitted else 1]
    if kind == RATIO:
        return Conditions(kind, fit=fit)
    size = _size(check, of) if _has_size(of) else None
    limit = LINK if _fills(check, of, simulated) else ""
    return Conditions(kind, size_class(size), fit, limit)


def _fills(check: StudyCheck, of: Mapping[str, Any], simulated: float) -> bool:
    """Whether the link of a host is busy for most of the simulated time of a benchmark."""
    if "directions" not in of:
        return False
    megabytes_s = _link_rate(check.id.split(".")[0]) / 1e6
    bytes_us = simulated if check.unit == "MB/s" else _size(check, of) / simulated
    return bytes_us >= _LINK_SHARE_MIN * megabytes_s * int(of["directions"])


@cache
def _link_rate(profile: str) -> float:
    """Return the rate of the links of hosts of an interconnect [B/s]."""
    rates = {row["key"]: row["value"] for row in figures({"interconnect": {"profile": profile}})}
    return rate_of(str(rates.get("link.host_rate") or rates["link.rate"]))


def _curve(check: StudyCheck, of: Mapping[str, Any]) -> str:
    """Name the curve of a row: its id without the size, or the checks that it is one of."""
    if not _has_size(of):
        return str(of["checks"])
    names = check.id.split(".")
    del names[of.get("size_at", _SIZE_AT)]
    return ".".join(names)


def _has_size(of: Mapping[str, Any]) -> bool:
    return "size_min" in of or "size_max" in of


def _size(check: StudyCheck, of: Mapping[str, Any]) -> int:
    return int(check.id.split(".")[of.get("size_at", _SIZE_AT)]) * int(of.get("element", 1))


def size_class(size: float | None) -> str:
    """Name the class of a size [bytes]; empty without one.

    Examples
    --------
    >>> size_class(64), size_class(65), size_class(None)
    ('to 64 B', 'to 4 KiB', '')
    """
    if size is None:
        return ""
    return next(name for name, largest in SIZES.items() if size <= largest)


def _counts(check: StudyCheck, of: Mapping[str, Any]) -> bool:
    """Return whether a check is one of these rows, and nothing is fitted to it."""
    if not fnmatchcase(check.id, of["checks"]) or check.is_fitted:
        return False
    if not check.expected or not check.value > 0 or check.basis or not has_figure(check):
        return False
    if not _has_size(of):
        return True
    return bool(of.get("size_min", 0) <= _size(check, of) <= of.get("size_max", math.inf))


def has_figure(check: StudyCheck) -> bool:
    """Whether what was published is a number, and not only a bound.

    A number lies between its bounds, or is both of them; on one of them or beyond it stands what a
    sentence such as "above 97 Gb/s" names.
    """
    low, high = check.tolerance
    expected = check.expected
    if expected is None or check.basis:
        return False
    return low == expected == high or (
        (low is None or low < expected) and (high is None or expected < high)
    )


def _system(check: StudyCheck, of: Mapping[str, Any]) -> str:
    """Name the system of a row: as declared, or by its interconnect and the source.

    Several gists of an author are of one system.
    """
    if "system" in of:
        return str(of["system"]).format(*check.id.split("."))
    source = check.source.split(",")[0].split(" (")[0].split(" gist")[0]
    return f"{check.id.split('.')[0]}: {source}"


def write(rows: Iterable[CheckRow]) -> str:
    """Write rows as CSV."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        texts = [row.study, row.id, *row.conditions, row.system, row.curve, row.unit]
        numbers = [row.published, row.simulated, row.spread]
        table.writerow([*texts, *(f"{number:.6g}" for number in numbers)])
    return out.getvalue()


def conditions_of(job: Mapping[str, Any]) -> Conditions:
    """Return the conditions of the times of a job, to whose benchmark nothing is fitted.

    Whether a link limits it is not among them: :func:`limit_of` says it, once it has run.
    """
    workload = job["workload"]
    return Conditions(kind_of(workload), size_class(_message(workload)), FITS[1])


def kind_of(workload: Mapping[str, Any]) -> str:
    """Return of which kind the times of a job are, by its workload in a resolved scenario.

    Examples
    --------
    >>> kind_of({"osu_latency": {"bytes": "1MiB"}}), kind_of({"halo3d": {}})
    ('bandwidth', 'iteration')
    """
    family = next(iter(workload))
    kind = str(_table()["workloads"].get(family, "iteration"))
    size = _message(workload)
    if kind == "latency" and size is not None and size > SMALL_MAX:
        return "bandwidth"
    if kind == "bandwidth" and size is not None and size < SMALL_MAX:
        return "message rate"
    return kind


def _message(workload: Mapping[str, Any]) -> int | None:
    """Return the size of the messages of a benchmark of OSU [bytes]; None of others."""
    (family, keys), *_ = workload.items()
    return size_of(str(keys["bytes"])) if family.startswith("osu_") and "bytes" in keys else None


def link_us(scenario: Mapping[str, Any], job: Mapping[str, Any]) -> float:
    """Return the time that a host's link is busy in an iteration [us]; 0 where it is not known.

    It is known of benchmarks between two hosts with a rank and a port each, as of check rows.
    """
    (family, keys), *_ = job["workload"].items()
    messages = {"osu_latency": 2, "osu_bw": keys.get("window"), "osu_bibw": keys.get("window")}
    if family not in messages or "host_ports" in scenario:
        return 0.0
    if keys.get("pairs", 1) != 1 or job.get("ranks_per_host", 1) != 1:
        return 0.0
    (topology, *_) = scenario["topology"].values()
    rate = topology.get("host_rate") or topology.get("rate")
    size = _message(job["workload"])
    return messages[family] * size / rate_of(str(rate)) * 1e6 if rate and size else 0.0


def limit_of(link_us: float, time_us: float) -> str:
    """Return the limit of a time, of which the link of a host is busy for a part [us].

    Examples
    --------
    >>> limit_of(90, 100), limit_of(89, 100)
    ('by the link', '')
    """
    return LINK if link_us and link_us >= _LINK_SHARE_MIN * time_us else ""


@cache
def _table() -> Mapping[str, Any]:
    text = resources("etherweave.uncertainty").joinpath("check_kinds.toml").read_text("utf-8")
    return tomllib.loads(text)
