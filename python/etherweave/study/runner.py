"""Runs the experiments of a study side by side, keeps their results, and checks them."""

import csv
import hashlib
import json
import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import etherweave
from etherweave.results import Result
from etherweave.study.experiments import Experiment, experiments
from etherweave.study.figures_of_merit import measures

HOME = Path(__file__).parents[3] / "studies"
NAMES = {"sandia-2020": experiments}


@dataclass(frozen=True)
class Check:
    """A published figure beside the simulated one."""

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
    """The simulated figure."""
    tried: str = ""
    """Of a figure that is known not to hold: what was tried."""

    @property
    def holds(self) -> bool:
        """Whether the simulated figure lies within the bounds."""
        low, high = self.tolerance
        above = low is None or self.value >= low
        return above and (high is None or self.value <= high)


@dataclass(frozen=True)
class StudyResult:
    """All checks of a study."""

    name: str
    """Of the study."""
    full: bool
    """Whether all published iterations ran."""
    checks: list[Check]
    """In the order of publication."""
    directory: Path
    """Where the results of the experiments are."""

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
        return json.dumps({"checks": rows}, indent=2)


def names() -> list[str]:
    """Name the studies that exist."""
    return sorted(NAMES)


def run_study(
    name: str,
    output: Path,
    *,
    full: bool = False,
    fresh: bool = False,
    processes: int | None = None,
    on_progress: Callable[[int, int, str], None] = lambda done, count, name: None,
) -> StudyResult:
    """Run the experiments of a study and check them.

    Parameters
    ----------
    name
        Of the study.
    output
        Directory for the results; those of equal experiments that it holds are used again.
    full
        Whether to run all published iterations.
    fresh
        Whether to run experiments again that have a result.
    processes
        Experiments side by side; one per processor by default.
    on_progress
        Told how many experiments are done, of how many, and which was the last.

    Raises
    ------
    KeyError
        When there is no such study.
    """
    if name not in NAMES:
        raise KeyError(f"no study {name!r}; known: {', '.join(names())}")
    wanted = NAMES[name](full)
    output.mkdir(parents=True, exist_ok=True)
    jobs = [(HOME / name, experiment, output / experiment.name, fresh) for experiment in wanted]
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
    checks = check(name, {item.name: Result.load(output / item.name) for item in wanted})
    study = StudyResult(name, full, checks, output)
    (output / "checks.json").write_text(study.to_json() + "\n", encoding="utf-8")
    return study


def check(name: str, results: dict[str, Result]) -> list[Check]:
    """Compare results with what was published."""
    simulated = measures()
    with (HOME / name / "expected.csv").open(encoding="utf-8", newline="") as lines:
        return [_checked(row, simulated[row["id"]](results)) for row in csv.DictReader(lines)]


def _checked(row: dict[str, str], value: float) -> Check:
    published, low, high = (
        float(row[key]) if row[key] else None for key in ("published", "low", "high")
    )
    bounds = (low, high)
    return Check(row["id"], row["source"], published, bounds, row["unit"], value, row["tried"])


def _run(home: Path, experiment: Experiment, directory: Path, fresh: bool) -> None:
    """Run one experiment, unless its result is there."""
    scenario = home / f"{experiment.scenario}.toml"
    identity = _identity(etherweave.resolve(scenario, experiment.overrides))
    mark = directory / "experiment.json"
    if not fresh and mark.exists() and json.loads(mark.read_text())["identity"] == identity:
        return
    mark.unlink(missing_ok=True)
    result = etherweave.run(scenario, experiment.overrides)
    if result.summary["finished"] == "stuck":
        raise RuntimeError(f"{experiment.name} is stuck:\n{result.summary.get('stuck_report')}")
    result.save(directory)
    # Last: with the mark, the result is whole.
    mark.write_text(json.dumps({"identity": identity, **asdict(experiment)}) + "\n")


def _identity(resolved: str) -> str:
    core = hashlib.sha256(Path(etherweave._core.__file__).read_bytes()).hexdigest()
    return hashlib.sha256(f"{core}\n{resolved}".encode()).hexdigest()
