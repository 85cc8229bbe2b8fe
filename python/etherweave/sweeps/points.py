"""Points from the table ``sweep`` of a file: axes, zips, samples, seeds."""

import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from etherweave import _core
from etherweave.api.machine import build
from etherweave.api.scenario import ScenarioSource, literals, read
from etherweave.extend import source_file

RUNS_MAX = 1_000_000  # Largest number of runs of a sweep.
PARTITIONS_MAX = 64
"""Largest number of values of an axis that is a directory each without being asked for."""
_DIGITS = 6  # Significant digits of values between the ends of a range.
_AMOUNT = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)\s*(\D.*)?")
_INDIVISIBLE = ("B", "ps", "b/s")  # Units of which the core knows no part.
_PLACES = {"ns": 3, "us": 6, "ms": 9, "kb/s": 3, "Mb/s": 6, "Gb/s": 9}
"""Decimal places of other units down to them."""

Group = tuple[list[str], Sequence[tuple[object, ...]]]
"""Keys that take their values in step, and the values."""


class SweepError(ValueError):
    """A sweep that cannot be carried out: says where, what stands there, and what is expected."""


@dataclass(frozen=True)
class Run:
    """A point of a sweep."""

    point: Mapping[str, object]  # Values of the axes and the seed, by key.
    id: str  # Hash of the resolved scenario and of the core.
    mistake: str = ""  # Error of the point; empty when there is none.


@dataclass(frozen=True)
class Sweep:
    """A scenario, and the values of its keys."""

    name: str
    text: str  # Text of the scenario.
    origin: str  # Name in errors.
    groups: Sequence[Group]  # Axes, the last varying fastest; seeds are the last.
    partition: Sequence[str]  # Axes whose values are directories of the dataset.
    overrides: Mapping[str, object] = field(default_factory=dict, kw_only=True)
    """Values of further keys, the same at every point."""
    extend: Sequence[str] = field(default=(), kw_only=True)
    """Names of classes that decide in place of the core, ``MODULE:CLASS``."""

    @property
    def axes(self) -> list[str]:
        """Keys of all axes, and ``seed``."""
        return [key for keys, _ in self.groups for key in keys]

    def __len__(self) -> int:
        return math.prod(len(rows) for _, rows in self.groups)

    def points(self) -> Iterator[dict[str, object]]:
        """Make the points, in order."""
        axes = self.axes
        for rows in itertools.product(*(rows for _, rows in self.groups)):
            yield dict(zip(axes, itertools.chain(*rows), strict=True))

    def resolve(self, point: Mapping[str, object]) -> str:
        """Fill in every default of the scenario at a point.

        Raises ``ScenarioError`` when it has a mistake there.
        """
        return _core.resolve(self.text, self.origin, literals(self.changes(point)))

    def changes(self, point: Mapping[str, object]) -> Mapping[str, object]:
        """Return what a point changes in the scenario, by dotted key."""
        return {**point, **self.overrides}

    def runs(self) -> Iterator[Run]:
        """Resolve every point; one with a mistake is a run that fails.

        Raises ``SweepError`` when every point has a mistake, such as an axis that names no key.
        """
        first, valid = "", False
        files = filter(None, map(source_file, self.extend))
        sources = [file.read_text(errors="replace") for file in files]
        for point in self.points():
            try:
                yield Run(point, _hash("\n".join((self.resolve(point), *self.extend, *sources))))
                valid = True
            except _core.ScenarioError as error:
                first = first or str(error)
                yield Run(point, _hash(f"{self.text}\n{literals(self.changes(point))}"), str(error))
        if not valid:
            raise SweepError(first)


def _hash(text: str) -> str:
    return hashlib.sha256(f"{build()}\n{text}".encode()).hexdigest()[:32]


def load_sweep(scenario: ScenarioSource) -> Sweep:
    """Read a scenario with a table ``sweep``, or a file that has it beside another's scenario.

    Raises ``SweepError`` when it has none, or one that cannot be carried out; ``ScenarioError``
    when the scenario has a mistake of its own; ``OSError`` when a file cannot be read.
    """
    text, file = read(scenario)
    spec = json.loads(_core.sweep(text, file) or "null")
    if not spec:
        raise SweepError(f"{file}: no table `sweep`; expected one with axes")
    origin = file
    if spec["scenario"] is not None:
        if others := sorted(tomllib.loads(text).keys() - {"sweep"}):
            raise SweepError(
                f"{file}: {others[0]}: beside sweep.scenario; expected it in that file"
            )
        text, origin = read(Path(file).parent / spec["scenario"])
    resolved = tomllib.loads(_core.resolve(text, origin, ()))
    try:
        groups = _groups(spec, resolved["seed"])
    except SweepError as error:
        raise SweepError(f"{file}: sweep.{error}") from None
    axes = [key for keys, _ in groups for key in keys]
    for number, key in enumerate(spec["partition"] or ()):
        if key not in axes:
            raise SweepError(f"{file}: sweep.partition.{number}: {key}; expected one of {axes}")
    partition = _partition(groups) if spec["partition"] is None else spec["partition"]
    name = resolved["name"] if isinstance(scenario, Mapping) else Path(file).stem
    return Sweep(name, text, origin, groups, partition)


def _partition(groups: Sequence[Group]) -> list[str]:
    few = (keys[0] for keys, rows in groups[:-1] if 1 < len(rows) <= PARTITIONS_MAX)
    return list(itertools.islice(few, 1))


def _groups(spec: Mapping[str, Any], seed: int) -> list[Group]:
    """Make the groups of axes; the number of runs is checked before any value is made."""
    zips: dict[str, list[Mapping[str, Any]]] = {}
    sampled = [axis for axis in spec["axis"] if not axis["values"] and axis["count"] is None]
    for number, axis in enumerate(spec["axis"]):
        where = f"axis.{number}"
        if axis["key"] in [axis["key"] for axis in spec["axis"][:number]]:
            raise SweepError(f"{where}.key: {axis['key']} is an axis already; expected it once")
        check_range(where, axis, spec["sample"] is not None)
        zips.setdefault("sampled" if axis in sampled else axis["zip"] or where, []).append(axis)
    sizes = {name: _size(name, axes, spec["sample"]) for name, axes in zips.items()}
    count = math.prod(sizes.values()) * spec["seeds"]
    if not 1 <= count <= RUNS_MAX:
        parts = " x ".join(f"{size:,}" for size in (*sizes.values(), spec["seeds"]))
        raise SweepError(f"axis: {count:,} runs ({parts}); expected 1 to {RUNS_MAX:,}")
    groups: list[Group] = []
    for axes in zips.values():
        if axes[0] in sampled:
            columns = [scaled(*pair) for pair in zip(axes, _samples(spec, len(axes)), strict=True)]
        else:
            columns = [axis["values"] or scaled(axis, _even(axis["count"])) for axis in axes]
        groups.append(([axis["key"] for axis in axes], list(zip(*columns, strict=True))))
    if any("seed" in keys for keys, _ in groups):
        if spec["seeds"] != 1:
            raise SweepError("seeds: beside an axis of seeds; expected one of both")
        return groups
    return [*groups, (["seed"], [(seed + number,) for number in range(spec["seeds"])])]


def check_range(
    where: str,
    axis: Mapping[str, Any],
    has_sample: bool,
    end_names: tuple[str, str] = (".from", ".to"),
) -> None:
    """Refuse an axis without values whose ends are none of one unit, or that has no count.

    Raises ``SweepError``, which names the key below ``where``: of an end, ``where`` and its name.
    """
    ends = [axis["from"], axis["to"]]
    if axis["values"]:
        if ends != [None, None] or axis["count"] is not None:
            raise SweepError(f"{where}: values beside a range; expected one of both")
        return
    if None in ends:
        raise SweepError(f"{where}: neither values nor a range; expected `values`, or `from`, `to`")
    if axis["count"] is None and not has_sample:
        raise SweepError(f"{where}: no count; expected `count`, or the table `sweep.sample`")
    if axis["count"] is not None and axis["count"] < 2:
        raise SweepError(f"{where}.count: {axis['count']}; expected 2 or more")
    low_at, high_at = (f"{where}{name}" for name in end_names)
    (low, unit), (high, other) = amount(low_at, axis["from"]), amount(high_at, axis["to"])
    if unit != other:
        raise SweepError(f"{high_at}: {axis['to']}; expected the unit of {axis['from']}")
    if axis["scale"] == "log" and min(low, high) <= 0:
        raise SweepError(f"{where}: {axis['from']} to {axis['to']}; expected ends above 0")


def _size(name: str, axes: Sequence[Mapping[str, Any]], sample: Mapping[str, Any] | None) -> int:
    if name == "sampled" and sample:
        return int(sample["count"])
    sizes = [len(axis["values"]) or int(axis["count"]) for axis in axes]
    if len(set(sizes)) > 1:
        raise SweepError(f"axis: zip {name} of {sizes} values; expected equal numbers")
    return sizes[0]


def amount(where: str, value: object) -> tuple[float, str]:
    """Split a number with a unit; raises ``SweepError`` when it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, ""
    match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise SweepError(f"{where}: {value!r}; expected a number, or one with a unit")
    return float(match[1]), match[2] or ""


def _even(count: int) -> list[float]:
    return [number / (count - 1) for number in range(count)]


def _samples(spec: Mapping[str, Any], axes: int) -> list[list[float]]:
    """Sample the unit cube; gives a column for each axis."""
    import warnings

    from scipy.stats import qmc

    sample = spec["sample"]
    kind = {"sobol": qmc.Sobol, "latin_hypercube": qmc.LatinHypercube}[sample["method"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a number that is no power of two
        points = kind(axes, rng=sample["seed"]).random(sample["count"])
    return [list(map(float, column)) for column in points.T]


def scaled(axis: Mapping[str, Any], shares: Sequence[float]) -> list[object]:
    """Place shares of 0 to 1 between the ends of an axis."""
    (low, unit), (high, _) = amount("", axis["from"]), amount("", axis["to"])
    is_whole = unit in _INDIVISIBLE or (
        isinstance(axis["from"], int) and isinstance(axis["to"], int)
    )

    def place(share: float) -> object:
        is_log = axis["scale"] == "log"
        value = low * (high / low) ** share if is_log else low + (high - low) * share
        value = round(value) if is_whole else float(f"{value:.{_DIGITS}g}")
        if not unit:
            return value
        if isinstance(value, float):
            value = Decimal(repr(round(value, _PLACES.get(unit, _DIGITS + 6))))
        return f"{value.normalize():f}{unit}" if isinstance(value, Decimal) else f"{value}{unit}"

    # Whole numbers of a narrow range repeat.
    values = [place(share) for share in shares]
    return list(dict.fromkeys(values)) if axis["count"] and not axis["zip"] else values
