"""A ReFrame test that measures through Etherweave and hands every median to ReFrame.

::

    reframe -c "$(etherweave bench export plugin)" -S programs=osu_latency,osu_bw \
        -S site=/path/site.toml -S reference_file=/path/reference.py -r --performance-report

Runs in ReFrame's own Python, which needs no Etherweave: the command is enough. The references are
what ``etherweave bench export reframe`` writes. A point of which they say nothing is reported only.
"""

# ReFrame's decorators and classes have no types where Etherweave is checked.
# mypy: disable-error-code="misc, untyped-decorator, import-not-found, no-untyped-call"

import ast
import json
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function, variable


@rfm.simple_test
class EtherweaveBenchmarks(rfm.RunOnlyRegressionTest):
    """Benchmarks, launched until their medians are known."""

    descr = "Benchmarks of the interconnect, by Etherweave"
    valid_systems = ["*"]  # noqa: RUF012 - ReFrame takes lists only
    valid_prog_environs = ["*"]  # noqa: RUF012
    executable = "etherweave"
    local = True  # the site's launcher starts the processes, not ReFrame's

    programs = variable(str, value="osu_latency")  # Joined by commas.
    site = variable(str, value="")  # Path of the site's file; this machine without.
    options = variable(str, value="")
    """Further ones of ``bench run``, joined by commas: ``--ranks=2,--duration=5s``."""
    reference_file = variable(str, value="")  # Path of what ``bench export reframe`` wrote.

    @run_after("init")
    def prepare(self) -> None:
        """Build the command and read the references."""
        words = ["bench", "run", *_split(self.programs), "--json", "-o", "results"]
        words += ["--site", self.site] if self.site else []
        self.executable_opts = [*words, *_split(self.options)]
        if self.reference_file:
            self.reference = ast.literal_eval(Path(self.reference_file).read_text())

    @sanity_function
    def is_whole(self) -> Any:
        """Hold when every experiment gave numbers."""
        facts = self._facts()
        failed = [row["name"] for row in facts["experiments"] if not row["counted"]]
        return sn.assert_true(facts["is_finished"] and not failed, f"without numbers: {failed}")

    @run_before("performance")
    def measure(self) -> None:
        """Hand over the medians."""
        self.perf_variables = {
            point["name"]: sn.make_performance_function(sn.defer(point["median"]), point["unit"])
            for point in self._facts()["points"]
            if point["is_central"]
        }

    def _facts(self) -> dict[str, Any]:
        results = Path(self.stagedir) / "results" / "benchmarks.json"
        facts: dict[str, Any] = json.loads(results.read_text())
        return facts


def _split(words: str) -> list[str]:
    return [word for word in words.split(",") if word]
