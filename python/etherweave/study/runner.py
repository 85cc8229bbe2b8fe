"""Carries out the experiments of a study side by side, keeps their results, and checks them."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import etherweave
from etherweave.study.plan import Experiment, Plan
from etherweave.study.plans import plan_of


@dataclass(frozen=True)
class Check:
    """A published figure beside the one found."""

    id: str
    """What is compared."""
    source: str
    """Where it was published, and in which words."""
    expected: float | None
    """The published figure, if it is a number."""
    tolerance: tuple[float | None, float | None]
    """Bounds within which it counts as reproduced; None where there is none."""
    unit: str
    """Of all of them."""
    value: float
    """The figure found: simulated or designed."""
    tried: str = ""
    """Of a figure that is known not to hold: what was tried."""

    @property
    def text(self) -> str:
        """The figure found as readers see it: counts in full, others with four digits."""
        return f"{self.value:.0f}" if float(self.value).is_integer() else f"{self.value:.4g}"

    @property
    def holds(self) -> bool:
        """Whether the figure found lies within the bounds."""
        low, high = self.tolerance
        above = low is None or self.value >= low
        return above and (high is None or self.value <= high)


@dataclass(frozen=True)
class StudyResult:
    """All checks of a study."""

    name: str
    """Of the study."""
    full: bool
    """Whether all that was published was carried out."""
    checks: list[Check]
    """In the order of publication."""
    directory: Path
    """Where the results of the experiments are."""
    not_run: tuple[str, ...] = ()
    """Checks of which an experiment was left out."""
    unavailable: Mapping[str, str] = field(default_factory=dict)
    """Checks that this machine cannot make, and what it lacks."""

    def to_json(self) -> str:
        """Write the checks as JSON."""
        rows = [
            {
                "id": check.id,
                "source": check.source,
                "expected": check.expected,
                "tolerance": list(check.tolerance),
                "unit": check.unit,
                "tried": check.tried,
                "value": check.value if math.isfinite(check.value) else None,
                "pass": check.holds,
            }
            for check in self.checks
        ]
        left_out = {"not_run": list(self.not_run), "unavailable": dict(self.unavailable)}
        return json.dumps({"study": self.name, "checks": rows, **left_out}, indent=2)


def run_study(
    name: str,
    output: Path,
    *,
    full: bool = False,
    only: str = "*",
    fresh: bool = False,
    processes: int | None = None,
    on_progress: Callable[[int, int, str], None] = lambda done, count, name: None,
) -> StudyResult:
    """Carry out the experiments of a study and check them.

    Parameters
    ----------
    name
        Of the study.
    output
        Directory for the results; those of equal experiments that it holds are used again.
    full
        Whether to carry out all that was published, where that takes long.
    only
        Pattern of the experiments to run, such as ``"p2p.*"``; checks that need others are listed
        as not run.
    fresh
        Whether to run experiments again that have a result.
    processes
        Experiments side by side; one per processor by default.
    on_progress
        Told how many experiments are done, of how many, and which was the last.

    Raises
    ------
    KeyError
        When there is no such study, or none of its experiments has such a name.
    """
    plan = plan_of(name)
    matching = _matching(plan.experiments(full), only)
    missing = {item.name: reason for item in matching if (reason := item.missing())}
    wanted = [item for item in matching if item.name not in missing]
    output.mkdir(parents=True, exist_ok=True)
    jobs = [(plan.home, experiment, output / experiment.name, fresh) for experiment in wanted]
    with ProcessPoolExecutor(processes or os.cpu_count(), get_context("spawn")) as pool:
        running = {pool.submit(_run, *job): job[1].name for job in jobs}
        try:
            for done, future in enumerate(as_completed(running), start=1):
                future.result()
                on_progress(done, len(jobs), running[future])
        except BaseException:
            # Ctrl-C, or an experiment that failed: what has not begun never will.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    results = _Chosen({item.name: plan.load(output / item.name) for item in wanted})
    checks, not_run = check(plan, results, full)
    lacking = {row: missing[name] for row, name in not_run.items() if name in missing}
    left_out = tuple(row for row in not_run if row not in lacking)
    study = StudyResult(name, full, checks, output, left_out, lacking)
    if not left_out:
        # Of the whole study only: a part does not take its place.
        (output / "checks.json").write_text(study.to_json() + "\n", encoding="utf-8")
    return study


def _matching(known: Sequence[Experiment], only: str) -> list[Experiment]:
    wanted = [experiment for experiment in known if fnmatchcase(experiment.name, only)]
    if not wanted:
        groups = dict.fromkeys(f"{experiment.name.split('.')[0]}.*" for experiment in known)
        raise KeyError(f"no experiment {only!r}; known: {', '.join(groups)}")
    return wanted


class _NotRunError(KeyError):
    """A check asks for an experiment that was left out."""


class _Chosen(dict[str, Any]):
    """Results of the experiments that ran."""

    def __missing__(self, name: str) -> Any:
        raise _NotRunError(name)


def check(
    plan: Plan[Any], results: Mapping[str, Any], full: bool = False
) -> tuple[list[Check], dict[str, str]]:
    """Compare results with what was published; name checks that did not run, and what they want."""
    found = plan.measures()
    checks, not_run = [], {}
    for row in plan.expected(full):
        try:
            checks.append(_checked(row, found[row["id"]](results)))
        except _NotRunError as error:
            not_run[row["id"]] = str(error.args[0])
    return checks, not_run


def _checked(row: dict[str, str], value: float) -> Check:
    published, low, high = (
        float(row[key]) if row[key] else None for key in ("published", "low", "high")
    )
    bounds = (low, high)
    return Check(row["id"], row["source"], published, bounds, row["unit"], value, row["tried"])


def _run(home: Path, experiment: Experiment, directory: Path, fresh: bool) -> None:
    """Carry out one experiment, unless its result is there."""
    identity = _identity(experiment.inputs(home))
    mark = directory / "experiment.json"
    if not fresh and mark.exists() and json.loads(mark.read_text())["identity"] == identity:
        return
    mark.unlink(missing_ok=True)
    experiment.carry_out(home, directory)
    # Last: with the mark, the result is whole.
    card = {"identity": identity, "name": experiment.name}
    mark.write_text(json.dumps(card) + "\n", encoding="utf-8")


def _identity(inputs: str) -> str:
    core = hashlib.sha256(Path(etherweave._core.__file__).read_bytes()).hexdigest()
    return hashlib.sha256(f"{core}\n{inputs}".encode()).hexdigest()
