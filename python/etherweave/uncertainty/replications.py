"""Replications: runs of a scenario that differ in their seeds alone, and intervals of means.

Each figure of a run is one observation, and runs of different seeds are independent, so that the
mean over runs has an interval by Student's t (Law, Simulation Modeling and Analysis, section 9.4.1:
the replication/deletion approach). The warm-up of runs is what a scenario says, or what MSER-5
finds in pilots.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from etherweave import _core
from etherweave.api.flow_times import SIZES, flow_times
from etherweave.api.results import Result
from etherweave.api.scenario import ScenarioSource, literals, read
from etherweave.api.simulation import run
from etherweave.api.work import WorkCallback, unheard
from etherweave.sweeps import Executor, Sweep, SweepStore, executor, sweep
from etherweave.uncertainty.declared import UncertaintyError
from etherweave.uncertainty.means import CONFIDENCE, MeanInterval, mean_interval
from etherweave.uncertainty.sampling import AWAITED, figures_of

REPLICATIONS_MIN, REPLICATIONS_MAX = 2, 65_536
FIRST = 5  # Replications after which it is first asked whether the intervals are narrow enough.
PILOTS = 3  # Runs in which the end of the warm-up is looked for.
WARM_UP = "run.warm_up"


def _is_awaited(figure: str) -> bool:
    is_rare = figure == "end_ns" or figure.endswith("max_us") or f".{SIZES}." in figure
    return bool(AWAITED.search(figure)) and not is_rare


@dataclass(frozen=True)
class ReplicatedResult:
    """Figures of all replications of a scenario."""

    name: str
    asked: int  # Replications that were asked for, at most.
    confidence: float  # Confidence of the intervals.
    half_width: float | None
    """Half width over the mean at which replications end; ``None`` where all are carried out."""
    warm_up: str  # Warm-up of each run, as the scenario has it or as MSER-5 found it.
    seeds: tuple[int, int]  # The least and the largest seed.
    ended: Mapping[str, int]  # How many replications ended how.
    figures: Mapping[str, MeanInterval]
    """Figures by name, as ``etherweave run --json`` has them, with dots."""
    left_out: Mapping[str, int]  # Figures that only some replications have, and how many.
    directory: Path  # Directory of the runs.

    @cached_property
    def awaited(self) -> Mapping[str, MeanInterval]:
        """Figures that replications go on for: times, rates and slowdowns, without maxima."""
        return {name: interval for name, interval in self.figures.items() if _is_awaited(name)}

    @property
    def is_known(self) -> bool:
        """Whether all these intervals are as narrow as was asked for."""
        most = self.half_width or math.inf
        return all(interval.share <= most for interval in self.awaited.values())

    def results(self) -> dict[str, list[Result]]:
        """Load the results of all replications, of which ``etherweave.plot`` draws means."""
        return SweepStore(self.directory).results()


def run_replications(
    scenario: ScenarioSource,
    replications: int,
    directory: str | Path,
    overrides: Mapping[str, object] | None = None,
    *,
    half_width: float | None = None,
    confidence: float = CONFIDENCE,
    finds_warm_up: bool = False,
    executor: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: WorkCallback = unheard,
) -> ReplicatedResult:
    """Repeat a run with independent seeds, and give each figure a mean with its interval.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`. The first replication has the seed of the scenario, each
        other one the next.
    replications
        Most replications, 2 or more.
    directory
        Keeps the runs and their results, as the directory of a sweep: what it has is not run
        again.
    half_width
        Half width of the intervals of all times, rates and slowdowns, over the mean, at which
        replications end; ``None`` carries out all. An interval that decides when to stop covers
        the truth a little less often than its confidence says.
    confidence
        Confidence of the intervals, between 0 and 1.
    finds_warm_up
        Whether ``run.warm_up`` is the longest that MSER-5 finds in three pilots, in the slowdowns
        of their flows by start.
    executor
        Where runs are carried out; results do not depend on it.
    on_progress
        Called with the work whenever a run has ended; items are hashes of runs.

    Raises
    ------
    UncertaintyError
        When there are too few or too many replications, pilots have no steady state, or none of
        the replications ends well.
    ScenarioError, ExecutorError, OSError
        As from :func:`etherweave.run` and :func:`etherweave.sweep`.
    """
    if not REPLICATIONS_MIN <= replications <= REPLICATIONS_MAX:
        span = f"{REPLICATIONS_MIN} to {REPLICATIONS_MAX:,}"
        raise UncertaintyError(f"{replications:,} replications; expected {span}")
    text, origin = read(scenario)
    changes = dict(overrides or {})
    if finds_warm_up:
        changes[WARM_UP] = _found_warm_up(scenario, changes)
    resolved = tomllib.loads(_core.resolve(text, origin, literals(changes)))
    first = int(resolved["seed"])
    changes.pop("seed", None)
    name = Path(origin).stem if isinstance(scenario, str | Path) else "scenario"
    count = replications if half_width is None else min(FIRST, replications)
    while True:
        seeds = (["seed"], [(first + number,) for number in range(count)])
        points = Sweep(name, text, origin, [seeds], (), overrides=changes)
        done = sweep(points, directory, executor, on_progress, tables=True)
        rows = done.to_polars().to_dicts()
        result = replace(
            _result(origin, rows, confidence),
            name=name,
            asked=replications,
            half_width=half_width,
            warm_up=str(resolved["run"]["warm_up"]),
            directory=Path(directory),
        )
        if count == replications or result.is_known:
            return result
        count = min(2 * count, replications)


def _result(origin: str, rows: Sequence[Mapping[str, Any]], confidence: float) -> ReplicatedResult:
    good = [row for row in rows if row["ended"] == "complete"]
    if not good:
        reasons = dict.fromkeys(str(row["message"] or row["ended"]) for row in rows)
        raise UncertaintyError(f"{origin}: no replication ended well: {'; '.join(reasons)}")
    figures, left_out = {}, {}
    for key in figures_of(good[0], ["seed"]):
        values = [row[key] for row in good if row[key] is not None]
        if len(values) == len(good):
            figures[key] = mean_interval(values, confidence, key)
        elif values:
            left_out[key] = len(values)
    ends = [str(row["ended"]) for row in rows]
    ended = {end: ends.count(end) for end in sorted(set(ends))}
    seeds = [row["seed"] for row in good]
    span = (min(seeds), max(seeds))
    return ReplicatedResult("", 0, confidence, None, "", span, ended, figures, left_out, Path())


def _found_warm_up(scenario: ScenarioSource, changes: Mapping[str, object]) -> str:
    """Find the longest warm-up of flows in pilots."""
    text, origin = read(scenario)
    first = int(tomllib.loads(_core.resolve(text, origin, literals(changes)))["seed"])
    longest_ns = 0.0
    for number in range(PILOTS):
        pilot = {**changes, "seed": first + number, WARM_UP: "0s"}
        jobs = flow_times(run(scenario, pilot, threads=1))
        if not jobs:
            raise UncertaintyError(
                f"{origin}: no flows; expected a job of flows, in which a warm-up is looked for"
            )
        for job in jobs:
            if job.all and not job.has_slowdowns:
                raise UncertaintyError(
                    f"{origin}: job {job.job}: no slowdowns to find a warm-up in, since hosts have "
                    "several ports; expected run.warm_up"
                )
            if (found := job.warm_up_ns()) is None:
                raise UncertaintyError(
                    f"{origin}: job {job.job}: MSER-5 finds no steady state; expected a longer "
                    "duration, or run.warm_up"
                )
            longest_ns = max(longest_ns, found)
    return f"{math.ceil(longest_ns / 1e3)}us"
