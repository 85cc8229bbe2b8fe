"""The log of an OpenFOAM solver: how long a step takes. A log that does not end gives no number."""

import re
from itertools import pairwise

from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.texts.draft import NUMBER, Draft, find
from etherweave.measurements.benchmark_report import GarbledError
from etherweave.measurements.metrics import ELAPSED, ITERATION_TIME

_ITEM = re.compile(r"^(Build|Exec|nProcs|Case)\s*:\s+(\S.*?)\s*$")
_CLOCK = re.compile(rf"^ExecutionTime = ({NUMBER}) s  ClockTime = ({NUMBER}) s\s*$")
_STEP = re.compile(rf"^Time = ({NUMBER})s?\s*$")


def _parse(draft: Draft) -> None:
    for line, item in find(_ITEM, draft.block.lines):
        if item[1] in draft.facts:
            raise GarbledError(line.number, f"{item[1]} occurs twice: two logs are mixed")
        draft.facts[item[1]] = item[2]
    draft.version = draft.facts.get("Build")
    if "Exec" not in draft.facts:
        raise GarbledError(draft.block.start, "the line that names the solver is missing")
    draft.program = draft.facts["Exec"].split()[0]
    if not re.fullmatch(r"[A-Za-z]\w{2,60}", draft.program):
        raise GarbledError(draft.block.start, f"{draft.program[:40]!r} is no solver")
    if not any(line.text.strip() == "End" for line in draft.block.lines):
        raise GarbledError(draft.block.end, "the solver did not come to its end")
    clocks = list(find(_CLOCK, draft.block.lines))
    steps = list(find(_STEP, draft.block.lines))
    if len(clocks) != len(steps) or not clocks:
        reason = f"{len(steps)} steps and {len(clocks)} times: lines are missing"
        raise GarbledError(draft.block.end, reason)
    times = [float(clock[1]) for _, clock in clocks]
    if sorted(times) != times:
        raise GarbledError(clocks[0][0].number, "times do not rise: two logs are mixed")
    last, clock = clocks[-1]
    draft.add(ELAPSED, clock[2], "s", last.number, labels=[("clock", "wall")])
    draft.add(ELAPSED, clock[1], "s", last.number, labels=[("clock", "processor")])
    if not _is_even([float(step[1]) for _, step in steps]):
        draft.warn("steps of unequal length, or some are lost: the time of a step is left out")
    elif len(times) > 1:
        mean = (times[-1] - times[0]) / (len(times) - 1)
        draft.add(ITERATION_TIME, repr(mean), "s", last.number)
    draft.facts["steps"] = str(len(times))
    draft.end(True, "")


def _is_even(times: list[float]) -> bool:
    """Whether simulated time goes by in equal steps."""
    lengths = [after - before for before, after in pairwise(times)]
    return not lengths or max(lengths) - min(lengths) <= 1e-6 * max(map(abs, times))


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    plans.need_ranks(request, 1, request.program)
    seconds = request.seconds or 600.0
    basis = "a guess: communication is taken to be a tenth of the time"
    forecast = plans.RunForecast(0.1 * seconds * fabric.rate, seconds, basis)
    notes = ("start in a case that decomposePar has parted for as many ranks",)
    return plans.all_ranks(request, (request.program, "-parallel"), forecast, notes=notes)


ADAPTER = adapter("openfoam", plan=_plan, parse=_parse)
