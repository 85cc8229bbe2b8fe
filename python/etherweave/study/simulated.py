"""Experiments that are runs of a scenario."""

from dataclasses import dataclass
from pathlib import Path

import etherweave
from etherweave.study.plan import OfScenario


@dataclass(frozen=True)
class Simulated(OfScenario):
    """One run; its result is a :class:`etherweave.Result`."""

    def inputs(self, home: Path) -> str:
        """Resolve the scenario."""
        return etherweave.resolve(self.file(home), self.overrides)

    def carry_out(self, home: Path, directory: Path) -> None:
        """Run the scenario.

        Raises
        ------
        RuntimeError
            When nothing could move any more.
        """
        result = etherweave.run(self.file(home), self.overrides)
        if result.summary["finished"] == "stuck":
            raise RuntimeError(f"{self.name} is stuck:\n{result.summary.get('stuck_report')}")
        result.save(directory)
