"""The result of a study: checks, and the results of its experiments by name."""

import errno
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from etherweave.api.inputs import read_json
from etherweave.api.results import SUMMARY, Result, Summary
from etherweave.study.deployments import FIGURES, DeploymentResult
from etherweave.study.experiments import DESIGN, POINTS, CurveResult, DesignResult
from etherweave.study.folder import PublishedValue, Study, load_study, shipped

CHECKS = "checks.json"  # A directory with this file holds the results of a study.


class MissingResultError(LookupError):
    """A result or a check that is needed is not there; the text names it."""


@dataclass(frozen=True)
class StudyCheck:
    """A published figure beside the computed one."""

    id: str  # Name of the figure that is compared.
    source: str  # Where it was published, and in which words.
    expected: float | None
    """The published figure, or that of another basis; None where there is no number."""
    tolerance: tuple[float | None, float | None]
    """Bounds within which it counts as reproduced; None where there is none."""
    unit: str  # Unit of all of them.
    value: float  # The computed figure; not a number where there is none.
    tried: str = ""  # Attempts at a figure that is known to fail.
    basis: str = ""
    """Origin of a figure that the publication does not have: a simulator, a formula."""

    @property
    def published(self) -> float | None:
        """The figure of the publication; None where it has none."""
        return None if self.basis else self.expected

    @property
    def reference(self) -> str:
        """The figure of another basis, as in "FOGSim: 1531 ns"; empty of the publication's own."""
        figure = "" if self.expected is None else f": {self.expected:g} {self.unit}"
        return f"{self.basis}{figure}" if self.basis else ""

    @property
    def text(self) -> str:
        """The computed figure as readers see it: counts in full, others with four digits."""
        if not math.isfinite(self.value):
            return "–"
        return f"{self.value:.0f}" if float(self.value).is_integer() else f"{self.value:.4g}"

    @property
    def is_fitted(self) -> bool:
        """Whether constants are fitted to the figure."""
        return CALIBRATION in self.source

    @property
    def is_repeat(self) -> bool:
        """Whether its run is that of another check."""
        return REPEATS in self.source

    @property
    def has_error(self) -> bool:
        """Whether the bounds are two numbers with others between them, as a count's are not."""
        low, high = self.tolerance
        return low is not None and high is not None and low < high

    @property
    def is_passed(self) -> bool:
        """Whether the computed figure lies within the bounds."""
        low, high = self.tolerance
        above = low is None or self.value >= low
        return above and (high is None or self.value <= high)


def check_of(row: Mapping[str, str], value: float) -> StudyCheck:
    """Put a computed figure beside its row of ``expected.csv``."""
    figure = row["reference" if row["basis"] else "published"]
    expected, low, high = (float(own) if own else None for own in (figure, row["low"], row["high"]))
    texts, more = (row["id"], row["source"]), (row["tried"], row["basis"])
    return StudyCheck(*texts, expected, (low, high), row["unit"], value, *more)


CALIBRATION = "calibration"  # Word in the source of a row that constants are fitted to.
REPEATS = "repeats"  # Word in the source of a row whose run is that of another row.
WEAKER = "weaker"  # Word in the source of a row that an assumption read later rests on.


@dataclass(frozen=True)
class StudyResult:
    """All checks of a study, and where the results of its experiments are."""

    study: Study  # Study that was carried out.
    checks: Sequence[StudyCheck]  # Checks in the order of publication.
    directory: Path  # Holds a directory for each experiment.
    full: bool = False  # Whether all that was published was carried out.
    not_run: Mapping[str, str] = field(default_factory=dict)
    """Checks of which an experiment was left out, and its name."""
    unavailable: Mapping[str, str] = field(default_factory=dict)
    """Checks that this machine cannot make, and what it lacks."""
    taken_s: Mapping[str, float] = field(default_factory=dict)
    """Processor time of each experiment [s]; 0 where its result was there."""

    @property
    def verdict(self) -> str:
        """How many figures pass; those that the publication does not have are counted apart."""
        if not self.checks:
            return "No figure has all experiments that it needs"
        own, other = self.published_checks, self.further_checks
        text = f"{sum(check.is_passed for check in own)} of {len(own)} figures pass"
        if len(alone := self.predictions) < len(own):
            passed = sum(check.is_passed for check in alone)
            text += f", {passed} of {len(alone)} that are neither calibrated nor repeated"
            text += self._weaker_text
        if other:
            passed = sum(check.is_passed for check in other)
            text += f", and {passed} of {len(other)} that the publication does not have"
        return text

    @property
    def errors(self) -> list[float]:
        """Errors of predicted numbers, abs(computed - published) / published.

        Checks of one-sided bounds, of zero, of counts and without a figure are left out.
        """
        return [
            abs(check.value / check.published - 1)
            for check in self.predictions
            if check.published and math.isfinite(check.value) and check.has_error
        ]

    @property
    def error(self) -> float:
        """Median of :attr:`errors`; NaN without any."""
        return statistics.median(self.errors) if self.errors else math.nan

    @property
    def error_text(self) -> str:
        """Say how far predicted figures are off; empty without any."""
        off = f"Predicted figures are off by {self.error:.1%} in the median of {len(self.errors)}."
        return off if self.errors else ""

    @property
    def _weaker_text(self) -> str:
        """How many predictions rest on what was read when their rows were known."""
        count = sum(WEAKER in check.source for check in self.predictions)
        reason = "for an assumption was read when the rows were known"
        return f", of which {count} are weaker predictions, {reason}" if count else ""

    @property
    def predictions(self) -> list[StudyCheck]:
        """Checks of the publication that no constant is fitted to, and that repeat no other's."""
        own = self.published_checks
        return [check for check in own if not check.is_fitted and not check.is_repeat]

    @property
    def published_checks(self) -> list[StudyCheck]:
        """Checks of figures and statements of the publication."""
        return [check for check in self.checks if not check.basis]

    @property
    def further_checks(self) -> list[StudyCheck]:
        """Checks of figures that the publication does not have."""
        return [check for check in self.checks if check.basis]

    @property
    def failed(self) -> list[StudyCheck]:
        """Checks whose figure lies outside its bounds."""
        return [check for check in self.checks if not check.is_passed]

    @property
    def passed(self) -> list[StudyCheck]:
        """Checks whose figure lies within its bounds."""
        return [check for check in self.checks if check.is_passed]

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
                "basis": check.basis,
                "value": check.value if math.isfinite(check.value) else None,
                "pass": check.is_passed,
            }
            for check in self.checks
        ]
        left_out = {"not_run": list(self.not_run), "unavailable": dict(self.unavailable)}
        folder = {} if self.study.is_shipped else {"folder": str(self.study.home)}
        document = {"study": self.study.name, **folder, "checks": rows, **left_out}
        return json.dumps(document, indent=2)

    def result(self, experiment: str) -> Result:
        """Read the result of an experiment that is a run; raises ``MissingResultError``."""
        try:
            return Result.load(self.directory / experiment)
        except FileNotFoundError:
            raise MissingResultError(f"experiment {experiment}") from None

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """Results of the experiments of any kind, each read when it is first needed."""
        return _LazyResults(self.directory)

    def value(self, check: str) -> float:
        """Look up the computed figure of a check; not a number when it has none.

        Raises ``MissingResultError`` when there is no such check.
        """
        for candidate in self.checks:
            if candidate.id == check:
                return candidate.value if math.isfinite(candidate.value) else math.nan
        raise MissingResultError(f"check {check}")

    def published(self, figure: str) -> Mapping[str, PublishedValue]:
        """Look up what a figure or table of the publication shows, by case."""
        return self.study.published(figure)

    def matching(self, patterns: Sequence[str]) -> list[StudyCheck]:
        """List the checks with these ids; a ``*`` stands for anything."""
        return [row for row in self.checks if any(fnmatchcase(row.id, form) for form in patterns)]

    @cached_property
    def runs(self) -> Mapping[str, Result]:
        """The runs among the experiments, by name, without their tables."""
        return {name: replace(self.result(name), tables={}) for name in self._with(SUMMARY)}

    @cached_property
    def designs(self) -> Mapping[str, DesignResult]:
        """The fabrics among the experiments that were designed, by name."""
        return {name: DesignResult.load(self.directory / name) for name in self._with(DESIGN)}

    @cached_property
    def curves(self) -> Mapping[str, CurveResult]:
        """The curves among the experiments, by name."""
        return {name: CurveResult.load(self.directory / name) for name in self._with(POINTS)}

    def _with(self, file: str) -> list[str]:
        return sorted(path.parent.name for path in self.directory.glob(f"*/{file}"))

    @property
    def summaries(self) -> dict[str, Summary]:
        """Summaries of the runs, by name."""
        return {name: result.summary for name, result in self.runs.items()}


class _LazyResults(dict[str, Any]):
    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

    def __missing__(self, experiment: str) -> Any:
        try:
            self[experiment] = load_result(self._directory / experiment)
        except FileNotFoundError:
            raise MissingResultError(f"experiment {experiment}") from None
        return self[experiment]


def load_result(directory: Path) -> DesignResult | CurveResult | DeploymentResult | Result:
    """Read the result of an experiment of any kind; raises ``FileNotFoundError``."""
    if (directory / FIGURES).exists():
        return DeploymentResult.load(directory)
    if (directory / POINTS).exists():
        return CurveResult.load(directory)
    if (directory / DESIGN).exists():
        return DesignResult.load(directory)
    return Result.load(directory)


def load_study_result(directory: Path) -> StudyResult:
    """Read the result of a study from the directory that it was written to.

    Raises ``OSError`` when the directory holds no checks, or they cannot be read; ``ValueError``
    when they are damaged, or of a study that does not come with Etherweave: no code of a folder
    that a file names is executed.
    """
    file = directory / CHECKS
    if not file.exists():
        expected = "no result of a study; expected a directory that `etherweave study` wrote"
        raise FileNotFoundError(errno.ENOENT, expected, str(file))
    facts = read_json(file)
    try:
        name, rows, folder = facts["study"], facts["checks"], facts.get("folder")
        checks = [_check(row) for row in rows]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{file}: {error!r}; expected what `etherweave study` wrote") from None
    if folder is not None:
        raise ValueError(
            f"{file}: results of a folder; `etherweave study {folder} -o {directory}` draws them"
        )
    if name not in shipped():
        raise ValueError(f"{file}: no study {name!r}; known: {', '.join(sorted(shipped()))}")
    return StudyResult(load_study(name), checks, directory)


def _check(row: dict[str, Any]) -> StudyCheck:
    low, high = row["tolerance"]
    value = math.nan if row["value"] is None else float(row["value"])
    expected = None if row["expected"] is None else float(row["expected"])
    bounds = tuple(None if bound is None else float(bound) for bound in (low, high))
    texts = [str(row[key]) for key in ("id", "source", "unit")]
    more = (row.get("tried", ""), row.get("basis", ""))
    return StudyCheck(texts[0], texts[1], expected, (bounds[0], bounds[1]), texts[2], value, *more)
