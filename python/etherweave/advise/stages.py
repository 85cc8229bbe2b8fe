"""The runs of an answer in their order: by messages, of all samples, and along trajectories."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from etherweave.advise.evaluation import Evaluation
from etherweave.advise.prepared import Prepared
from etherweave.advise.question import FIDELITIES, AdviseError
from etherweave.advise.scores import over
from etherweave.advise.sensitivity import Effect, effects, trajectories
from etherweave.advise.simulated import FLOW, SEED, Draw, MixSweep, Times, times
from etherweave.advise.unknowns import Unknown
from etherweave.api.simulation import ScenarioError
from etherweave.api.work import Work, WorkCallback
from etherweave.sweeps import Executor, SweepError, SweepResult, near, sweep

FLOW_FIRST = FIDELITIES[1]
ANSWER_S = 0.9  # Processor time of ranking and of sentences after the last run, about [s].


@dataclass(frozen=True)
class Runner:
    """Carries out runs that have no result, and keeps them in a directory."""

    directory: Path
    executor: Executor
    on_progress: WorkCallback

    def carry_out(self, runs: MixSweep, trajectories: int = 0) -> tuple[SweepResult, Times]:
        """Carry out runs, before those of trajectories; gives what they leave, and their times."""

        def show(work: Work) -> None:
            if trajectories:
                work.expect_step("trajectories", 0.0, trajectories)
            work.expect_step("answer", ANSWER_S)
            self.on_progress(work)

        done = sweep(runs, self.directory, self.executor, show)
        return done, times(done.to_polars(), runs.jobs)


def shortlist(prepared: Prepared, runner: Runner) -> tuple[list[str], list[str]]:
    """Choose the fabrics that are simulated packet by packet; with why others are not.

    Messages of a job at max-min fair rates take a fraction of the time of packets. Fabrics that
    they cannot simulate, such as those that route by flowlets, and those of which they leave
    something out go on to packets, as the baseline does, and play no part in which is the best.
    """
    question, names = prepared.question, prepared.fabrics
    if question.settings.fidelity != FLOW_FIRST:
        return names, []
    draws = [Draw(FLOW, question.settings.seed, {})]
    runs = MixSweep.of(question, prepared.unknowns, dict.fromkeys(names, draws))
    if not any(_resolves(runs, point) for point in runs.points()):
        return names, []
    _, job_times = runner.carry_out(runs)
    try:
        evaluation = Evaluation.of(question, prepared.bills, draws, job_times)
    except AdviseError:  # No fabric can be simulated so.
        return names, []
    scores = {name: evaluation.score(name, draws)[0] for name in evaluation.fabrics}
    warned = {name for name, _ in job_times.warned}
    scores = {name: score for name, score in scores.items() if name not in warned}
    if not scores:
        return names, []
    best = max(scores.values())
    close = {*near(scores, question.settings.close), question.baseline}
    far = [name for name in scores if name not in close]
    reasons = [
        f"{name}: {scores[name] / best:.0%} of the best in flow-level mode, error not measured; "
        "not simulated packet by packet."
        for name in far
    ]
    return [name for name in names if name not in far], reasons


def _resolves(runs: MixSweep, point: Mapping[str, object]) -> bool:
    try:
        runs.resolve(point)
    except ScenarioError:
        return False
    return True


@dataclass(frozen=True)
class Screening:
    """Effects of unknowns on the lead of the first fabric over the second."""

    effects: Sequence[Effect] = ()
    left_out: Sequence[str] = ()  # Why there are none, if anything is wrong.
    done: SweepResult | None = None


def screen(
    prepared: Prepared,
    evaluation: Evaluation,
    fabrics: Sequence[str],
    order: Sequence[str],
    runner: Runner,
) -> Screening:
    """Carry out Morris's trajectories on the first two of an order."""
    settings = prepared.question.settings
    if not settings.trajectories or len(order) < 2:
        return Screening()
    varied, rows = _trajectories(prepared, order[:2])
    done, job_times = runner.carry_out(prepared.sweep(fabrics, dict.fromkeys(order[:2], rows)))
    for (name, job), reason in job_times.failures.items():
        if name in order[:2] and job in evaluation.reference:
            return Screening([], [f"Which unknown matters: {job} on {name}: {reason}"], done)
    screened = evaluation.with_times(job_times)
    ratios = over(*(screened.score(name, rows) for name in order[:2]))
    leads = [math.log(ratio) for ratio in ratios]
    return Screening(effects(varied, rows, leads, settings.seed), [], done)


def trajectory_runs(prepared: Prepared) -> int:
    """Return how many runs the trajectories of the first two candidates take.

    Which two fabrics lead is known after the other runs only; theirs are about as many,
    without those that an unknown, such as a price, does not change.
    """
    pair = prepared.fabrics[:2]
    if not prepared.question.settings.trajectories or len(pair) < 2:
        return 0
    _, rows = _trajectories(prepared, pair)
    before, with_them = prepared.sweep(pair), prepared.sweep(pair, dict.fromkeys(pair, rows))
    try:
        return len({run.id for run in with_them.runs()} - {run.id for run in before.runs()})
    except SweepError:  # Neither runs any job.
        return 0


def _trajectories(prepared: Prepared, pair: Sequence[str]) -> tuple[dict[str, Unknown], list[Draw]]:
    """Choose the trajectories of the unknowns of two fabrics."""
    question, every = prepared.question, dict[str, Unknown]()
    for name in pair:
        own = [*prepared.unknowns[name].entries, *prepared.bills[name].unknowns(question)]
        every |= {unknown.name: unknown for unknown in own}
    settings, first = question.settings, len(prepared.draws)
    # What one draw decides moves as one, by the name that it has first.
    names: dict[str, str] = {}
    for unknown in every.values():
        names.setdefault(unknown.drawn_by, unknown.name)
    draws = trajectories([SEED, *names.values()], settings.trajectories, settings.seed, first)
    shared = [
        {own.name: draw.shares[names[own.drawn_by]] for own in every.values()} for draw in draws
    ]
    moved = {name: every[name] for name in names.values()}
    return moved, [replace(draw, shares=own) for draw, own in zip(draws, shared, strict=True)]
