"""Question of a purchase: candidate fabrics, jobs that they would run, prices, and uncertainties.

A file of TOML. A fabric is a scenario without jobs, a job is one of a scenario with its weight.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import etherweave
from etherweave import _core
from etherweave.api.inputs import decoded, read_text, read_toml
from etherweave.api.scenario import dotted, literals
from etherweave.api.simulation import Estimate, foresee
from etherweave.uncertainty.sampling import SAMPLES_MIN

TABLES = ("fabric", "find", "job", "common")  # Tables of the file that have keys of scenarios.
BASES = ("published", "derived", "fitted", "estimate", "example")
"""Kinds of evidence, the most certain first."""
RANGES = {"published": 1.0, "derived": 1.1, "fitted": 1.1, "estimate": 1.5, "example": 1.5}
"""Factor by which a price or a power of a basis may be larger or smaller."""
FOUND_MAX = 3  # Proposals of a search that are candidates unless the file says more.
SAMPLES_MAX = 1_024
RESOLVED_MAX = 1 << 26  # Size of the resolved scenarios of a fabric that are kept [B].
GOALS = ("price_performance", "throughput")
FIDELITIES = ("packet", "flow first")
FIGURES = UNCERTAIN, AS_THEY_STAND = "uncertain", "as they stand"


class AdviseError(ValueError):
    """A question that cannot be answered: says where, what stands there, and what is expected."""


@dataclass(frozen=True)
class Cited:
    """A figure with what it rests on, as in price books."""

    value: str  # Number with its unit: ``"6000 USD"``, ``"350W"``.
    basis: str
    source: str
    date: str | None = None


@dataclass(frozen=True)
class Node:
    """A host without its NIC."""

    price: Cited | None = None
    power: Cited | None = None


@dataclass(frozen=True)
class Search:
    """Fabrics that :func:`etherweave.find` proposes."""

    hosts: int
    radix: int
    rate: str = "100Gb/s"
    hosts_max: int | None = None
    rank: str = "price"
    most: int = FOUND_MAX


@dataclass(frozen=True)
class Settings:
    """Keys of the file beside its tables of fabrics and jobs."""

    prices: str = "example"  # A price book that comes with Etherweave, or a file beside this one.
    power: str | None = None
    """A power profile, likewise; None: the first that has all parts of a fabric."""
    node: Node = Node()
    years: float = 5.0  # Years for which electricity is paid, at the price of the book.
    rank: str = GOALS[0]
    baseline: str | None = None  # Fabric on which the weights hold; None: the first.
    samples: int = 16
    trajectories: int = 4  # Trajectories of Morris's method; 0: it is left out.
    seed: int = 1
    fidelity: str = FIDELITIES[0]
    """Whether every fabric is simulated packet by packet, or messages first on all of them."""
    close: float = 1.25
    """Factor behind the best by messages within which fabrics are simulated packet by packet."""
    figures: str = UNCERTAIN  # Whether figures of interconnects vary as documents do.
    ranges: dict[str, float] = field(default_factory=dict)  # Factors of prices and powers by basis.


@dataclass(frozen=True)
class Candidate:
    """A fabric that might be bought."""

    name: str
    text: str  # Text of the scenario that it changes; empty without one.
    origin: str  # Name of that scenario in errors, and base of its relative paths.
    keys: Mapping[str, object]  # Dotted keys of a scenario, with values.
    file: str  # File of the question.
    placement: Mapping[str, Any] | None = None
    """Placement of all jobs on this fabric; None: each job has its own."""

    @cached_property
    def _resolved(self) -> dict[tuple[tuple[str, str], ...], str]:
        """Resolved scenarios by their changes: estimates, plans and sweeps ask for the same."""
        return {}

    def resolve(self, keys: Mapping[str, object]) -> str:
        """Fill in the defaults of a scenario with this fabric; raises ``ScenarioError``."""
        changes = tuple(literals({**self.keys, **keys}))
        if (known := self._resolved.get(changes)) is not None:
            return known
        try:
            text = _core.resolve(self.text, self.origin, [*changes])
        except _core.ScenarioError as error:
            raise self.mistake(error) from None
        if len(text) * (len(self._resolved) + 1) <= RESOLVED_MAX:
            self._resolved[changes] = text
        return text

    def foresee(self, resolved: str) -> Estimate | None:
        """Estimate what a run on this fabric needs, as :func:`etherweave.api.simulation.foresee`.

        Raises ``ScenarioError`` when the run has a mistake.
        """
        try:
            return foresee(tomllib.loads(resolved))
        except _core.ScenarioError as error:
            place = self._place()
            raise _core.scenario_error([mistake.at(place) for mistake in error.mistakes]) from None

    def mistake(self, error: _core.ScenarioError) -> _core.ScenarioError:
        """Name the fabric in a mistake of its scenario."""
        place = self._place()
        own = {"override", *([] if self.text else [self.origin])}
        return _core.scenario_error(
            [mistake.at(place) if mistake.file in own else mistake for mistake in error.mistakes]
        )

    def _place(self) -> str:
        return f'{self.file}: fabric "{self.name}"'


@dataclass(frozen=True)
class Job:
    """A part of the mix."""

    name: str
    weight: float  # Share of the time of the baseline, all weights together being 1.
    jobs: Sequence[Mapping[str, Any]]
    """Jobs of a scenario, which run at once; none for computation that sends nothing."""

    def placed(self, placement: Mapping[str, Any] | None) -> "Job":
        """Give all its jobs a placement; None leaves them theirs."""
        if placement is None:
            return self
        return replace(self, jobs=[{**job, "placement": placement} for job in self.jobs])

    @property
    def timed(self) -> list[str]:
        """Names of the jobs whose end is waited for."""
        return [str(job.get("name")) for job in self.jobs if not job.get("background")]

    @property
    def in_flow(self) -> list[str]:
        """Names of the jobs that the file wants in flow-level mode in all samples."""
        return [str(job.get("name")) for job in self.jobs if job.get("fidelity") == "flow"]


@dataclass(frozen=True)
class Question:
    """A file, read."""

    name: str
    file: str
    text: str
    settings: Settings
    candidates: Sequence[Candidate]
    jobs: Sequence[Job]
    notes: Sequence[str] = ()  # Reasons why a search proposed less.

    @property
    def baseline(self) -> str:
        """Name of the fabric on which the weights hold."""
        return self.settings.baseline or self.candidates[0].name

    def range_of(self, basis: str) -> float:
        """Return the factor by which a price or a power may be larger or smaller."""
        return self.settings.ranges.get(basis, RANGES[basis])

    def beside(self, name: str) -> Path:
        """Place a file that the question names."""
        return Path(self.file).parent / name


def load_question(path: str | Path) -> Question:
    """Read a file that asks for advice.

    Raises ``AdviseError`` when a key or a value is wrong: says where, and what is expected;
    ``ScenarioError`` when a search has a mistake; ``OSError``.
    """
    table, file = read_toml(path), str(path)
    if not {"fabric", "find"} & table.keys():
        expected = "a question with tables [[fabric]] or [[find]], and [[job]]"
        raise AdviseError(f"{file}: no fabrics; expected {expected}")
    own = {key: value for key, value in table.items() if key not in TABLES}
    try:
        settings = decoded(Settings, own, file)
        jobs = [_job(table, file, at) for at, table in enumerate(_tables(table, "job", file))]
    except ValueError as error:
        raise AdviseError(str(error)) from None
    _check(settings, file)
    candidates = [_fabric(table, row, file, at) for at, row in _numbered(table, "fabric", file)]
    notes: list[str] = []
    for at, entry in _numbered(table, "find", file):
        designs, reasons = _search(table, entry, file, at)
        candidates += designs
        notes += reasons
    names = [candidate.name for candidate in candidates]
    if len(names) < 2 or len(set(names)) < len(names):
        raise AdviseError(f"{file}: fabric: {names}; expected two or more, each of its own name")
    if settings.baseline not in (None, *names):
        raise AdviseError(f"{file}: baseline: {settings.baseline!r}; expected one of {names}")
    text = read_text(path)
    return Question(Path(path).stem, file, text, settings, candidates, _weighed(jobs, file), notes)


def _check(settings: Settings, file: str) -> None:
    limits = {
        "samples": (settings.samples, SAMPLES_MIN, SAMPLES_MAX),
        "trajectories": (settings.trajectories, 0, SAMPLES_MAX),
        "years": (settings.years, 0, 100),
        "seed": (settings.seed, 0, 2**62),
        "close": (settings.close, 1, 100),
    }
    for key, (value, low, high) in limits.items():
        if not low <= value <= high:
            raise AdviseError(f"{file}: {key}: {value}; expected {low} to {high:,}")
    if settings.trajectories == 1:
        expected = "0, which leaves them out, or 2 and more"
        raise AdviseError(f"{file}: trajectories: 1; expected {expected}")
    choices = {"rank": (settings.rank, GOALS), "fidelity": (settings.fidelity, FIDELITIES)}
    choices["figures"] = (settings.figures, FIGURES)
    for key, (choice, known) in choices.items():
        if choice not in known:
            raise AdviseError(f"{file}: {key}: {choice!r}; expected {' or '.join(known)}")
    for basis, factor in settings.ranges.items():
        if basis not in BASES or not 1 <= factor <= 100:
            expected = f"{', '.join(BASES)} with a factor of 1 to 100"
            raise AdviseError(f"{file}: ranges.{basis}: {factor}; expected {expected}")
    for key, cost in (("price", settings.node.price), ("power", settings.node.power)):
        if cost is None:
            continue
        if cost.basis not in BASES or not cost.source.strip():
            expected = f"one of {', '.join(BASES)}, with a source"
            raise AdviseError(f"{file}: node.{key}: basis {cost.basis!r}; expected {expected}")
        if cost.date is None and cost.basis != "example" and key == "price":
            expected = 'when it held, or basis = "example"'
            raise AdviseError(f"{file}: node.{key}.date: missing; expected {expected}")


def _tables(table: Mapping[str, Any], key: str, file: str) -> list[dict[str, Any]]:
    entries = table.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise AdviseError(f"{file}: {key}: expected tables, [[{key}]]")
    return entries


def _numbered(table: Mapping[str, Any], key: str, file: str) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(_tables(table, key, file)))


def _name(entry: dict[str, Any], file: str, where: str) -> str:
    name = entry.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        raise AdviseError(f'{file}: {where}: no name; expected name = "..."')
    return name


def _fabric(table: Mapping[str, Any], entry: dict[str, Any], file: str, at: int) -> Candidate:
    entry, where = {**entry}, f"fabric.{at}"
    name, origin, text = _name(entry, file, where), file, ""
    placement = _placement(entry, file, where)
    base = entry.pop("scenario", None)
    if base is not None:
        origin = str(Path(file).parent / str(base))
        text = read_text(origin)
    return Candidate(name, text, origin, _keys(table, entry, file, where), file, placement)


def _placement(entry: dict[str, Any], file: str, where: str) -> Mapping[str, Any] | None:
    placement = entry.pop("placement", None)
    if placement is not None and not (isinstance(placement, dict) and len(placement) == 1):
        expected = "a placement of jobs, as in placement.linear = {}"
        raise AdviseError(f"{file}: {where}.placement: {placement!r}; expected {expected}")
    return placement


def _keys(
    table: Mapping[str, Any], entry: Mapping[str, Any], file: str, where: str
) -> dict[str, object]:
    common = table.get("common", {})
    if not isinstance(common, dict):
        raise AdviseError(f"{file}: common: expected a table with keys of a scenario")
    for place, keys in (("common", common), (where, entry)):
        for key in ("job", "sweep", "seed"):
            if key in keys:
                raise AdviseError(f"{file}: {place}.{key}: not of a fabric; expected it elsewhere")
    keys = dotted(common) | dotted(entry)
    try:
        literals(keys)
    except TypeError as error:
        raise AdviseError(f"{file}: {where}: {error}") from None
    return keys


def _search(
    table: Mapping[str, Any], entry: dict[str, Any], file: str, at: int
) -> tuple[list[Candidate], list[str]]:
    entry, where = {**entry}, f"find.{at}"
    name, placement = _name(entry, file, where), _placement(entry, file, where)
    own = {key: entry.pop(key) for key in Search.__dataclass_fields__ if key in entry}
    try:
        request = decoded(Search, own, f"{file}: {where}")
    except ValueError as error:
        raise AdviseError(str(error)) from None
    proposed = etherweave.find(
        request.hosts, request.radix, request.rate, hosts_max=request.hosts_max, rank=request.rank
    )
    families = [metrics["name"] for metrics in proposed.comparison["metrics"]][: request.most]
    keys = _keys(table, entry, file, where)
    candidates = [
        Candidate(f"{name}, {family}", proposed.scenarios[family], file, keys, file, placement)
        for family in families
    ]
    return candidates, [f"{name}: {reason}" for reason in proposed.rejected]


def _job(table: dict[str, Any], file: str, at: int) -> Job:
    table, where = {**table}, f"job.{at}"
    name = _name(table, file, where)
    weight = decoded(float, table.pop("weight", 1.0), f"{file}: {where}.weight")
    if weight <= 0:
        raise AdviseError(f"{file}: {where}.weight: {weight}; expected more than 0")
    scenario = table.pop("scenario", None)
    if scenario is not None:
        path = Path(file).parent / str(scenario)
        jobs = _tables(read_toml(path), "job", str(path))
        if table or not jobs:
            raise AdviseError(f"{file}: {where}: expected a scenario with jobs, and no more keys")
        return Job(name, weight, jobs)
    return Job(
        name, weight, [{"name": name, "placement": {"random": {}}, **table}] if table else []
    )


def _weighed(jobs: Sequence[Job], file: str) -> list[Job]:
    names = [job.name for job in jobs]
    if not any(job.jobs for job in jobs) or len(set(names)) < len(names):
        raise AdviseError(f"{file}: job: {names}; expected one that sends, each of its own name")
    total = sum(job.weight for job in jobs)
    return [Job(job.name, job.weight / total, job.jobs) for job in jobs]
