"""Carries out samples of a scenario: points of a Sobol sequence, as a sweep that goes on."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from etherweave import _core
from etherweave.api.fidelity import fidelities
from etherweave.api.scenario import ScenarioSource, literals, read, stated_by
from etherweave.api.simulation import ScenarioError
from etherweave.api.units import size_of
from etherweave.api.work import WorkCallback, unheard
from etherweave.study.declared import DeclaredUnknown
from etherweave.sweeps import Executor, Sweep, executor, sweep
from etherweave.sweeps.cost import estimates, resident_bytes
from etherweave.sweeps.points import Run
from etherweave.sweeps.running import work_of
from etherweave.uncertainty.declared import Declared, UncertaintyError
from etherweave.uncertainty.figures import Unknowns, unknowns
from etherweave.uncertainty.intervals import DEGREE, Distribution, distribution, samples_min
from etherweave.uncertainty.model_errors import ModelError, errors_at
from etherweave.uncertainty.together import (
    CONDITIONS,
    columns,
    conditions_in,
    errors_in,
    together_of,
)

SAMPLES_MIN, SAMPLES_MAX = 8, 65_536
FIRST = 32
"""Samples after which it is first asked whether intervals are known, where contributions of the
second degree need no more; otherwise twice as many."""
PRECISION = 0.05
"""Standard error of the ends of intervals of 90 %, over the median, at which samples suffice."""
HASHES = "selection.ecmp_hash.seed"
"""Seed of the hash by which switches choose paths, of which no document says what sites have."""
AWAITED = re.compile(
    r"^(jobs|streams)\..*_(us|gbps)$|^flows\..*(slowdown_\w+|_us)$|^goodput_gbps$|^end_ns$"
)
"""Times, rates and slowdowns, whose intervals are to be known; counts are printed as they are."""
_NO_FIGURES = re.compile(
    r"^(packet_hops|packets_created|packets_delivered|fingerprint)$|\.(iterations|streams|complete)$"
)
"""Figures of a run that say how much was simulated."""
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
"""A number of a warning, and no part of a name."""


@dataclass(frozen=True)
class SampledResult:
    """Figures of all samples."""

    name: str
    asked: int  # Samples that were asked for, at most.
    samples: int  # Samples that have figures.
    seeds: tuple[int, int]  # The least and the largest seed.
    ended: Mapping[str, int]  # How many samples ended how, those that were carried out.
    is_known: bool  # Whether the ends of all intervals of times and rates are known to 5 %.
    unknowns: Unknowns
    figures: Sequence[Distribution]
    left_out: Mapping[str, int]  # Figures that only some samples have, and how many.
    warnings: Sequence[str]  # Warnings of all samples, each once, with its number of samples.
    model_errors: Mapping[str, ModelError]
    """Error of the model in the times of each job, which intervals contain that are *together*."""
    in_flow: Sequence[str]
    """Jobs in flow-level mode, whose own error is not measured and in no interval."""

    @cached_property
    def by_name(self) -> Mapping[str, Distribution]:
        """Figures by their names."""
        return {figure.name: figure for figure in self.figures}

    @property
    def error(self) -> float:
        """The largest standard error of an end of an interval of a time or a rate."""
        return max((figure.error for figure in awaited(self.figures)), default=0.0)


def awaited(figures: Sequence[Distribution]) -> list[Distribution]:
    """List the figures that samples go on for: times and rates."""
    return [figure for figure in figures if AWAITED.search(figure.name) and figure.median]


@dataclass(frozen=True)
class SampledScenario(Sweep):
    """A scenario at points of a Sobol sequence; the first point has every figure as it stands."""

    drawn: Unknowns
    shares: Sequence[Sequence[float]]  # Shares of each sample.
    seed: int
    seeded: Sequence[str]
    """Keys that take the seed of a sample, where the run as it stands has a value of its own."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Columns that datasets have beside keys: conditions of the error of the model, by job."""

    def __len__(self) -> int:
        return 1 + len(self.shares)

    @property
    def axes(self) -> list[str]:
        """Keys that samples set, the number of the sample, and its seed."""
        return ["sample", "seed", *self.seeded, *self.drawn.keys, *self.conditions]

    def points(self) -> Iterator[dict[str, object]]:
        """Make the points; the number of a sample is no key of the scenario."""
        as_it_stands = dict.fromkeys((*self.seeded, *self.drawn.keys), "")
        yield {"sample": -1, "seed": self.seed, **as_it_stands, **self.conditions}
        for number, shares in enumerate(self.shares):
            seeds = dict.fromkeys(("seed", *self.seeded), self.seed + number)
            yield {"sample": number, **seeds, **self.drawn.at(shares), **self.conditions}

    def resolve(self, point: Mapping[str, Any]) -> str:
        """Fill in every default of the scenario in a sample.

        Raises
        ------
        ScenarioError
            When it has a mistake there.
        """
        keys = {**self.overrides, **keys_of(point)}
        return _core.resolve(self.text, self.origin, literals(keys))


def keys_of(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a scenario that a sample sets, without other columns of its row."""
    return {
        key: value
        for key, value in point.items()
        if key != "sample" and not key.startswith(CONDITIONS) and value != ""
    }


def with_conditions(scenario: SampledScenario) -> SampledScenario:
    """Give the rows of samples the conditions of the error of the model."""
    resolved = scenario.resolve({})
    return replace(scenario, conditions=columns(resolved))


def sobol(dimensions: int, count: int, seed: int) -> list[list[float]]:
    """Return the first points of a scrambled Sobol sequence; more of them change none."""
    import warnings

    from scipy.stats import qmc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a number that is no power of two
        points = qmc.Sobol(max(dimensions, 1), rng=seed).random(count)
    return [list(map(float, row[:dimensions])) for row in points]


def sampled_scenario(
    scenario: ScenarioSource,
    changes: Mapping[str, object],
    samples: int,
    declared: Declared,
    stated: Sequence[DeclaredUnknown] = (),
    *,
    has_site: bool = False,
) -> SampledScenario:
    """Prepare samples of a scenario, and try the ends of everything that is not known.

    ``stated`` is what figures rest on that the scenario of a study states itself; with ``has_site``
    choices of a site are drawn that it does not state. Raises ``UncertaintyError`` when samples are
    too few or too many, a range has an end that the scenario refuses, or no key has this name;
    ``ScenarioError`` when the scenario is wrong; ``OSError`` when a file cannot be read.
    """
    check_count(samples)
    text, origin = read(scenario)
    name = Path(origin).stem if isinstance(scenario, str | Path) else "scenario"
    names = (name, text, origin)
    return sampled_text(names, changes, samples, declared, stated, has_site=has_site)


def check_count(samples: int) -> None:
    """Raise `UncertaintyError` for a number of samples that makes no interval, or too many."""
    if not SAMPLES_MIN <= samples <= SAMPLES_MAX:
        raise UncertaintyError(f"samples: {samples:,}; expected {SAMPLES_MIN} to {SAMPLES_MAX:,}")


def sampled_text(
    scenario: tuple[str, str, str],
    changes: Mapping[str, object],
    samples: int,
    declared: Declared = Declared(),  # noqa: B008 - frozen
    stated: Sequence[DeclaredUnknown] = (),
    *,
    has_site: bool = False,
) -> SampledScenario:
    """Prepare samples of a scenario that is read: its name, its text, and what errors call it."""
    _check_keys(changes, declared, {key for unknown in stated for key in unknown.keys})
    name, text, origin = scenario
    resolved = _core.resolve(text, origin, literals(changes))
    _try_ends(text, origin, changes, declared)
    drawn = unknowns(text, origin, changes, declared, stated, has_site=has_site)
    seed = int(tomllib.loads(resolved)["seed"])
    shares = sobol(len(drawn.entries), samples, seed)
    others = {key: value for key, value in changes.items() if key != "seed"}
    is_given = _is_given(text, {**changes, **declared.distributions})
    seeded = [HASHES] if "[selection.ecmp_hash]" in resolved and not is_given else []
    return SampledScenario(
        name, text, origin, [], (), drawn, shares, seed, seeded, overrides=others
    )


def paired(
    drawn: Mapping[str, SampledScenario], samples: int, seed: int = 0
) -> dict[str, SampledScenario]:
    """Give scenarios, by name, the shares of one sequence over the unknowns of all of them.

    Equal figures of one key are copies of each other, and have one share in all scenarios.
    """
    every = dict.fromkeys(entry.document for each in drawn.values() for entry in each.drawn.entries)
    at = {document: place for place, document in enumerate(every)}
    points = sobol(len(at), samples, seed)
    return {
        name: replace(
            each,
            shares=[[row[at[entry.document]] for entry in each.drawn.entries] for row in points],
        )
        for name, each in drawn.items()
    }


def _is_given(text: str, changes: Mapping[str, object]) -> bool:
    """Return whether a scenario or a change says how paths are selected."""
    return any(key.startswith("selection") for key in stated_by(tomllib.loads(text), changes))


def _check_keys(changes: Mapping[str, object], declared: Declared, stated: Collection[str]) -> None:
    """Refuse a declared key that is set, alone or within a table, and the seed of samples.

    A study declares ranges of keys within tables that its experiments set.
    """
    for key in declared.keys:
        if any(
            text and _is_set(key, own, text) and not (key in stated and key.startswith(f"{own}."))
            for own, text in literals(changes)
        ):
            raise UncertaintyError(f"{key}: set and uncertain; expected one of both")
        if key == "seed":
            raise UncertaintyError("seed: uncertain; every sample has a seed of its own already")


def _is_set(key: str, own: str, text: str) -> bool:
    """Return whether a change sets a key, one within it, or a table that has it."""
    if f"{own}.".startswith(f"{key}."):
        return True
    if not key.startswith(f"{own}."):
        return False
    value = tomllib.loads(f"x = {text}")["x"]
    for part in key.removeprefix(f"{own}.").split("."):
        if not isinstance(value, dict):
            return True
        if part not in value:
            return False
        value = value[part]
    return True


def _try_ends(text: str, origin: str, changes: Mapping[str, object], declared: Declared) -> None:
    """Refuse a declared range with an end that the scenario does not take."""
    for key, of in declared.distributions.items():
        for end in of.ends:
            try:
                _core.resolve(text, origin, literals({**changes, key: end}))
            except ScenarioError as error:
                raise UncertaintyError(f"--uncertain {key}: {end}: {error}") from None


def run_samples(
    scenario: ScenarioSource,
    samples: int,
    directory: str | Path,
    overrides: Mapping[str, object] | None = None,
    *,
    declared: Declared = Declared(),  # noqa: B008 - frozen
    executor: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    memory_limit: str | None = None,
    precision: float = PRECISION,
    on_progress: WorkCallback = unheard,
    on_notice: Callable[[str], None] = lambda text: None,
) -> SampledResult:
    """Simulate samples of a scenario until the intervals of its figures are known.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`. Figures that an override replaces are known.
    samples
        Most samples; powers of two fill the space of the unknowns evenly.
    directory
        Keeps the runs and their results, as the directory of a sweep: what it has is not run
        again.
    declared
        Distributions that take the place of those of profiles; see :func:`declared`.
    executor
        Where runs are carried out; results do not depend on it.
    memory_limit
        Most memory of all runs at once, such as ``"4GiB"``; by default what the machine has left.
    precision
        Standard error of the ends of intervals of 90 %, over the median, at which samples suffice.
    on_progress
        Called with the work whenever a run has ended; items are hashes of runs.
    on_notice
        Called with a sentence that a reader must know, such as that fewer runs fit the memory.

    Raises
    ------
    UncertaintyError
        When samples cannot be drawn, do not fit the memory, or none of them ends well.
    ScenarioError, ExecutorError, OSError
        As from :func:`etherweave.run` and :func:`etherweave.sweep`.
    """
    complete = with_conditions(
        sampled_scenario(scenario, overrides or {}, samples, declared, has_site=True)
    )
    where = _within_memory(complete, executor, memory_limit, on_notice)
    is_enough = samples_min(len(complete.drawn.entries), DEGREE) <= FIRST
    count = min(FIRST if is_enough else 2 * FIRST, samples)
    work = work_of(where)
    with where.kept() as kept:
        while True:
            first = replace(complete, shares=complete.shares[:count])
            done = sweep(
                first, directory, kept, on_progress, tables=True, part_of=(work, samples - count)
            )
            rows = done.to_polars().to_dicts()
            result = _result(complete, rows, samples, precision)
            if result.is_known or count == samples:
                return result
            count = min(2 * count, samples)


def _within_memory(
    scenario: SampledScenario, where: Executor, limit: str | None, on_notice: Callable[[str], None]
) -> Executor:
    """Take as many processes as fit this machine's memory; raises `UncertaintyError` for none."""
    if where.name != "local":
        return where
    room = size_of(limit) if limit else available_bytes()
    first = next(scenario.points())
    need = resident_bytes() + estimates(scenario, [Run(first, "")])[0].memory_bytes
    fitting = int(room // need)
    if not fitting:
        raise UncertaintyError(
            f"{scenario.origin}: a sample needs {need / 2**20:,.0f} MiB, and {room / 2**20:,.0f} "
            "MiB are left; expected a smaller scenario, or a larger --memory-limit"
        )
    if fitting < where.workers:
        on_notice(f"{fitting} processes instead of {where.workers}: more do not fit the memory")
        return where._replace(workers=fitting)
    return where


def available_bytes() -> float:
    """Return the memory that the machine has left [B]; infinite where it is not known."""
    path = Path("/proc/meminfo")
    lines = path.read_text().splitlines() if path.exists() else []
    sizes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(sizes[0]) * 1024 if sizes else math.inf


def _result(
    scenario: SampledScenario, rows: Sequence[Mapping[str, Any]], asked: int, precision: float
) -> SampledResult:
    ended = Counter(str(row["ended"]) for row in rows if row["sample"] >= 0)
    good = [row for row in rows if row["ended"] == "complete" and row["sample"] >= 0]
    if not good:
        reasons = dict.fromkeys(str(row["message"] or row["ended"]) for row in rows)
        raise UncertaintyError(f"{scenario.origin}: no sample ended well: {'; '.join(reasons)}")
    point = next((row for row in rows if row["sample"] < 0 and row["ended"] == "complete"), {})
    names = [entry.name for entry in scenario.drawn.entries]
    shares = [scenario.shares[row["sample"]] for row in good]
    resolved = scenario.resolve(next(scenario.points()))
    figures, left_out, errors = [], {}, _model_errors(good)
    further = errors_in(good)
    for key in figures_of(good[0], scenario.axes):
        values = [row[key] for row in good if row[key] is not None]
        if len(values) == len(good):
            figure = distribution(key, point.get(key), values, shares, names)
            figures.append(replace(figure, together=together_of(key, values, further)))
        elif values:
            left_out[key] = len(values)
    is_known = all(figure.error <= precision for figure in awaited(figures))
    return SampledResult(
        scenario.name,
        asked,
        len(good),
        (scenario.seed, scenario.seed + max(row["sample"] for row in good)),
        dict(sorted(ended.items())),
        is_known,
        scenario.drawn,
        figures,
        left_out,
        [*without_basis(scenario.drawn.without_basis), *_left_out(rows), *_warnings(good)],
        errors,
        [job for job, mode in fidelities(resolved).items() if mode == "flow"],
    )


def _model_errors(rows: Sequence[Mapping[str, Any]]) -> dict[str, ModelError]:
    conditions = conditions_in(rows)
    return dict(zip(conditions, errors_at(conditions.values()), strict=True))


def figures_of(row: Mapping[str, Any], axes: Sequence[str]) -> list[str]:
    """List the columns of a sweep's dataset that are figures of what was simulated."""
    others = {*axes, "run", "ended", "message", "fidelity", "fidelity_error_max"}
    names = [key for key in row if key not in others and not isinstance(row[key], str)]
    return [key for key in names if not _NO_FIGURES.search(key)]


def without_basis(tables: Sequence[str]) -> list[str]:
    """Warn of tables that no sample changes, because nothing says what their figures rest on."""
    if not tables:
        return []
    text = "no figure has a basis, so that samples do not change them and intervals are too narrow"
    expected = "expected interconnect.profile, or ranges by --uncertain"
    return [f"{', '.join(tables)}: {text}; {expected}"]


def _left_out(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """List why samples have no figures, so that intervals are those of the others."""
    drawn = [row for row in rows if row["sample"] >= 0]
    reasons = Counter(
        str(row["message"] or row["ended"]) for row in drawn if row["ended"] != "complete"
    )
    return [
        f"intervals leave out {count} of {len(drawn)} samples: {reason}"
        for reason, count in reasons.items()
    ]


def _warnings(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """List warnings, those that differ in their numbers alone once, with the ranges of these."""
    alike: dict[tuple[str, ...], list[str]] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        texts = [text for text in (row["message"] or "").split("; ") if text]
        kinds = [tuple(_NUMBER.split(text)) for text in texts]
        for kind, text in zip(kinds, texts, strict=True):
            alike.setdefault(kind, []).append(text)
        counts.update(set(kinds))
    return [
        f"{_ranged(kind, texts)} (in {counts[kind]} of {len(rows)} samples)"
        for kind, texts in alike.items()
    ]


def _ranged(words: Sequence[str], texts: Sequence[str]) -> str:
    """Write texts of the same words as one, with the range of each number in them."""
    spans = []
    for numbers in zip(*map(_NUMBER.findall, texts), strict=True):
        ordered = sorted({*numbers}, key=lambda number: float(number.replace(",", "")))
        spans.append(" to ".join(dict.fromkeys((ordered[0], ordered[-1]))))
    return "".join(word + span for word, span in zip(words, [*spans, ""], strict=True))
