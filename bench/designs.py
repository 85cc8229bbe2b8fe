"""Rows about fabrics on paper: the three of 300,000 hosts, and how time grows with channels.

Timed are the build, the entries of all four address plans with the proof of the compacted tables,
one deadlock proof, power and cost. Time is the processor's: others on the machine do not count.
"""

import json
import math
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rows import Row, child

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "design"
REPEATS = 2
AIMS = {"processor_s": 10.0, "peak_mib": 2048.0}
"""Limits of one fabric on one core, which an idle machine gives it whole."""
SLOPE_AIM = 1.1
CHILD = """
import json, resource, sys, time
from etherweave import _core
from pathlib import Path
path, overrides = Path(sys.argv[1]), [tuple(pair) for pair in json.loads(sys.argv[2])]
marks = [("building", time.monotonic())]
def mark(step):
    # Of a step that says how far it is, only the step.
    step = step.partition(",")[0]
    if step != marks[-1][0]:
        marks.append((step, time.monotonic()))
    return True
fabric = _core.Fabric.parse(path.read_text(), str(path), overrides)
figures = json.loads(fabric.design(mark).to_json())
mark("end")
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "steps_s": {step: after - at for (step, at), (_, after) in zip(marks, marks[1:], strict=False)},
    "wall_s": marks[-1][1] - marks[0][1],
    "processor_s": used.ru_utime + used.ru_stime,
    "peak_mib": used.ru_maxrss / 1024,
    "hosts": figures["fabric"]["hosts"],
    "channels": 2 * sum(cables["links"] for cables in figures["fabric"]["cables"]),
    "is_free": all(proof["is_free"] for proof in figures["routings"]),
}))
"""


class Case(NamedTuple):
    """A shipped scenario, the routing to prove, and the parameter that makes it smaller."""

    scenario: str
    routing: str
    key: str
    sizes: tuple[int, int]


CASES = [
    Case("clos_300k", "up_down", "topology.folded_clos.hosts", (46_656, 93_312)),
    Case("butterfly_300k", "dimension_order", "topology.hyperx.dimensions.2.size", (2, 5)),
    Case("dragonfly_300k", "minimal", "topology.dragonfly.groups", (47, 154)),
]


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    designs = [Row(case.scenario, lambda case=case: measure(case, {})) for case in CASES]
    slopes = [Row(f"{case.scenario} growth", lambda case=case: growth(case)) for case in CASES]
    return [*designs, *slopes]


def measure(case: Case, changes: Mapping[str, int]) -> dict[str, Any]:
    """Design a fabric several times; gives the figures of the fastest."""
    best = min((design(case, changes) for _ in range(REPEATS)), key=lambda run: run["processor_s"])
    steps = {f"{step} s".replace(" ", "_"): round(s, 2) for step, s in best.pop("steps_s").items()}
    is_within = all(best[key] <= aim for key, aim in AIMS.items())
    rounded = {
        key: round(value, 2) if isinstance(value, float) else value for key, value in best.items()
    }
    return {"row": case.scenario, **rounded, **steps, "is_within_aims": is_within}


def growth(case: Case) -> dict[str, Any]:
    """Design three sizes; gives the slope of time over channels, both as logarithms."""
    runs = [design(case, {case.key: size}) for size in case.sizes] + [design(case, {})]
    points = [(math.log(run["channels"]), math.log(run["processor_s"])) for run in runs]
    slope, _ = statistics.linear_regression(*zip(*points, strict=True))
    return {
        "row": f"{case.scenario} growth",
        "hosts": [run["hosts"] for run in runs],
        "channels": [run["channels"] for run in runs],
        "processor_s": [round(run["processor_s"], 2) for run in runs],
        "slope": round(slope, 3),
        "is_within_aims": slope <= SLOPE_AIM,
    }


def design(case: Case, changes: Mapping[str, int]) -> dict[str, Any]:
    """Design a fabric once."""
    overrides = [(key, str(value)) for key, value in changes.items()]
    routings = ("design.routings", f'["{case.routing}"]')
    return child(
        CHILD, str(SCENARIOS / f"{case.scenario}.toml"), json.dumps([*overrides, routings])
    )
