"""State of a user: the text of a scenario, changes of it, the last two runs."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import etherweave
from etherweave.api.inputs import read_text
from etherweave.api.machine import usable_processors
from etherweave.api.outputs import write_text
from etherweave.api.results import Result
from etherweave.api.scenario import Overrides, ScenarioText, file_text
from etherweave.api.simulation import Estimate, Progress
from etherweave.explore.changes import Changes, Controls, changed_text

PERIODS = 200  # Samples of a queue over the time of a run.
QUEUES = 6  # Queues that are sampled: as many as a figure shows.
_HERE = Path(__file__).parents
_EXAMPLES = (_HERE[3] / "scenarios", _HERE[2] / "scenarios")
"""Where examples lie: in a checkout, beside an installed package."""

Report = Callable[[float | None], None]
"""Takes the share of a run that is done, or None where it is not known."""


@dataclass(frozen=True)
class LineMistake:
    """A mistake of the scenario at its line."""

    line: int | None  # Counted from 1; None where it has none.
    text: str  # Key, what is wrong there, and what was expected.


@dataclass(frozen=True)
class Check:
    """Facts of a scenario before it runs."""

    source: ScenarioText  # The text, as it was then.
    mistakes: Sequence[LineMistake] = ()  # Empty where it can run.
    controls: Controls | None = None
    """Parts that can be changed; None where there are mistakes in the text."""
    estimate: Estimate | None = None  # Memory and time of a run; None where there is no job.


@dataclass(frozen=True)
class Trial:
    """A run, and what ran."""

    source: ScenarioText  # The text.
    overrides: Overrides  # Changes of it.
    result: Result  # Tables and summary.

    @property
    def words(self) -> str:
        """Name it by its changes."""
        changes = ", ".join(f"{key} = {_short(value)}" for key, value in self.overrides.items())
        return changes or "as written"


def _short(value: object) -> str:
    return next(iter(value)) if isinstance(value, dict) else str(value)


@dataclass
class Session:
    """State of the page."""

    source: ScenarioText = field(default_factory=lambda: ScenarioText(""))
    """The scenario, as edited."""
    changes: Changes = field(default_factory=Changes)  # Positions of sliders and choices.
    trials: list[Trial] = field(default_factory=list)
    """The last run, and the one before, in the order of time."""
    _is_stopped: bool = False

    def open(self, path: Path) -> None:
        """Read a scenario, and forget runs of others; raises ``OSError`` where it has no text."""
        self.source = ScenarioText(file_text(path), str(path))
        self.changes, self.trials = Changes(), []

    def edit(self, text: str) -> None:
        """Replace the text."""
        self.source = ScenarioText(text, self.source.origin)

    def save(self, path: Path, overrides: Overrides) -> None:
        """Write the scenario, with changes if there are any; raises ``OSError``."""
        text = self.source.text
        write_text(path, changed_text(text, overrides) if overrides else text)

    def check(self) -> Check:
        """Look for mistakes in the text, then in its changes."""
        source, controls = self.source, None
        try:
            controls = Controls.of(etherweave.resolve(source))
            estimate = etherweave.foresee(source, controls.overrides(self.changes))
        except (etherweave.ScenarioError, OSError) as error:
            return Check(source, mistakes_of(error), controls)
        return Check(source, (), controls, estimate)

    def run(self, overrides: Overrides, report: Report, *, has_queues: bool = True) -> Trial:
        """Simulate the scenario with changes, and keep the result beside the last one.

        ``has_queues`` is whether to run once before, to learn which queues are the longest and when
        the run ends, so that these are sampled.
        """
        self._is_stopped = False
        source, observe = self.source, dict[str, object]()
        if has_queues and "period" not in tomllib.loads(source.text).get("observe", {}):
            first = self._simulate(source, overrides, _scaled(report, 0, 0.4))
            if not self._is_stopped:
                observe = sampled(first)
        share = (0.4, 0.6) if observe else (0.0, 1.0)
        observe |= {"observe.ranks": True, "observe.waits": True}
        result = self._simulate(source, {**overrides, **observe}, _scaled(report, *share))
        trial = Trial(source, overrides, result)
        self.trials = [*self.trials[-1:], trial]
        return trial

    def _simulate(self, source: ScenarioText, overrides: Overrides, report: Report) -> Result:
        def progress(facts: Progress) -> bool:
            report(facts["fraction"])
            return not self._is_stopped

        return etherweave.run(source, overrides, threads=usable_processors(), progress=progress)

    def stop(self) -> None:
        """End the run with what it has."""
        self._is_stopped = True


def _scaled(report: Report, start: float, share: float) -> Report:
    return lambda done: report(None if done is None else start + share * done)


def sampled(result: Result) -> dict[str, object]:
    """Write the overrides by which the longest queues of a run are sampled."""
    rows = zip(
        *(result.values("ports", name) for name in ("occupancy_bytes_max", "node", "peer")),
        strict=True,
    )
    queues = sorted(((-size, node, peer) for size, node, peer in rows if size > 0))
    ports = list(dict.fromkeys(f"{node} - {peer}" for _, node, peer in queues))[:QUEUES]
    period_ns = max(round(result.summary["end_ns"] / PERIODS), 1)
    until = {"observe.until": f"{period_ns * (PERIODS + 1)}ns"}
    return {"observe.period": f"{period_ns}ns", "observe.ports": ports, **until} if ports else {}


def mistakes_of(error: Exception) -> list[LineMistake]:
    """List the mistakes that an exception names."""
    if not isinstance(error, etherweave.ScenarioError):
        return [LineMistake(None, str(error))]
    return [
        LineMistake(
            None if mistake.file == "override" else mistake.line,
            ": ".join(filter(None, (mistake.key, mistake.reason))),
        )
        for mistake in error.mistakes
    ]


def examples() -> dict[str, str]:
    """Name the scenarios that come with Etherweave by their paths, with their first comments."""
    folder = next((folder for folder in _EXAMPLES if folder.is_dir()), None)
    return {
        str(path): f"{path.stem}: {_first_comment(path)}".rstrip(": ")
        for path in sorted(folder.glob("*.toml") if folder else ())
    }


def _first_comment(path: Path) -> str:
    line = read_text(path).partition("\n")[0]
    return line.lstrip("# ") if line.startswith("#") else ""
