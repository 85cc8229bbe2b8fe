"""The answer: what each fabric does and costs, which comes first, and what decides it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from etherweave.advise.bills import Bill
from etherweave.advise.bills import bill as bill_of
from etherweave.advise.evaluation import Evaluation
from etherweave.advise.question import FIDELITIES, AdviseError, Question
from etherweave.advise.reasons import deciding, turning
from etherweave.advise.scores import Interval, Samples, ahead, first, holds, over, ranked
from etherweave.advise.sensitivity import Effect, effects, trajectories
from etherweave.advise.simulated import FLOW, SEED, Draw, MixSweep, samples, times
from etherweave.advise.unknowns import Unknown, unknowns
from etherweave.simulation import ScenarioError
from etherweave.sweeps import Executor, executor, sweep

NOT_MODELLED = (
    "Jobs run one at a time; what they would do to each other is not in their times.",
    "Files, logins and services of the site: only the messages of the jobs are sent.",
    "Errors of the model itself, which `etherweave study osu-references` measures.",
    "Discounts, support, racks, spares, installation and staff. Power is the worst case always.",
)
FLOW_FIRST = FIDELITIES[1]
Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class JobTime:
    """A job on a fabric."""

    job: str
    weight: float
    time_us: Interval
    """Mean time of an iteration, or until the last stream is complete [us]."""
    relative: float
    """Median time over that of the baseline."""


@dataclass(frozen=True)
class Standing:
    """A fabric in the ranking."""

    fabric: str
    bill: Bill
    jobs: Sequence[JobTime]
    throughput: Interval
    """Of the mix; 1 is the median of the baseline."""
    watts: Interval | None
    """Of fabric and nodes at the worst case, as the profile has it [W]; None without one."""
    price: Interval | None
    """Of purchase and electricity as the book has them; None without prices."""
    price_performance: Interval | None
    """Throughput for the price, over that of the baseline in the same sample."""
    first: float
    """Share of samples in which it comes first."""
    ahead: float | None
    """Share of samples in which it is ahead of the next; None of the last."""


@dataclass(frozen=True)
class Answer:
    """What to buy, how sure that is, and why."""

    name: str
    baseline: str
    goal: str
    """``price_performance``, or ``throughput`` where prices are missing or that is asked."""
    samples: int
    order: float
    """Share of samples in which all fabrics stand in this order."""
    standings: Sequence[Standing]
    """The best first."""
    decides: str
    """What decides between the first and the second, and which unknown would change it."""
    effects: Sequence[Effect]
    """Of unknowns of the first and the second, the largest first; none without trajectories."""
    left_out: Sequence[str]
    """What could not be simulated or has no price, and why."""
    not_modelled: Sequence[str]
    fixed: Sequence[str]
    """Uncertain figures that are names, sizes or switches, and do not vary."""
    runs: int
    """Different runs that the answer rests on."""
    carried_out: int
    """Those that were carried out now; the others had a result."""


@dataclass(frozen=True)
class Prepared:
    """A question whose fabrics are designed and whose samples are drawn."""

    question: Question
    bills: Mapping[str, Bill]
    unknowns: Mapping[str, Sequence[Unknown]]
    """Of the interconnect of each fabric."""
    fixed: Sequence[str]
    """Uncertain figures that do not vary."""
    draws: Sequence[Draw]

    @property
    def fabrics(self) -> list[str]:
        """Names of all fabrics."""
        return [one.name for one in self.question.candidates]

    def sweep(
        self, fabrics: Sequence[str], more: Mapping[str, Sequence[Draw]] | None = None
    ) -> MixSweep:
        """List the runs of fabrics from which intervals come, and more of some of them."""
        draws = {name: [*self.draws, *(more or {}).get(name, ())] for name in fabrics}
        return MixSweep.of(self.question, self.unknowns, draws)


def prepare(question: Question) -> Prepared:
    """Design all fabrics, and draw samples of what is not known of them.

    Raises
    ------
    ScenarioError
        When a fabric has a mistake.
    OSError
        When a price book or a power profile cannot be read.
    """
    bills = {one.name: bill_of(one, question) for one in question.candidates}
    if not all(one.electricity for one in bills.values()):
        bills = {name: one.without_electricity() for name, one in bills.items()}
    listed = {one.name: unknowns(one, question) for one in question.candidates}
    varied = {name: found for name, (found, _) in listed.items()}
    fixed = {f"{one['key']} of {one['profile']}" for _, rest in listed.values() for one in rest}
    every = [one for found in varied.values() for one in found]
    every += [one for each in bills.values() for one in each.unknowns(question)]
    return Prepared(question, bills, varied, sorted(fixed), samples(question, every))


def answer(
    prepared: Prepared,
    directory: str | Path,
    where: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: Report = lambda done, count, name: None,
) -> Answer:
    """Simulate all jobs on all fabrics, and rank the fabrics.

    Parameters
    ----------
    prepared
        The question with the bills of its fabrics.
    directory
        Keeps every run, so that none is repeated; see :func:`etherweave.sweep`.
    where, on_progress
        As for :func:`etherweave.sweep`.

    Raises
    ------
    SweepError
        When no job fits any fabric, or another process uses the directory.
    AdviseError
        When no fabric runs the whole mix.
    """
    question, draws = prepared.question, prepared.draws
    fabrics, far = shortlist(prepared, directory, where, on_progress)
    runs = prepared.sweep(fabrics)
    done = sweep(runs, directory, where, on_progress)
    found = times(done.to_polars(), runs.jobs)
    evaluation = Evaluation.of(question, prepared.bills, draws, found)
    scores = {name: evaluation.score(name, draws) for name in evaluation.fabrics}
    order = ranked(scores)
    carried_out, moved = done.carried_out, list[Effect]()
    if question.settings.trajectories and len(order) > 1:
        varied, rows = _screen(prepared, order[0], order[1])
        runs = prepared.sweep(fabrics, {order[0]: rows, order[1]: rows})
        done = sweep(runs, directory, where, on_progress)
        carried_out += done.carried_out
        screened = evaluation.with_times(times(done.to_polars(), runs.jobs))
        leads = _leads(screened, order[0], order[1], rows)
        moved = effects(varied, rows, leads, question.settings.seed)
    sentences = [deciding(evaluation, order, draws), turning(moved, order)]
    return Answer(
        question.name,
        evaluation.baseline,
        evaluation.goal,
        len(draws),
        holds(order, scores),
        _standings(evaluation, order, scores, draws),
        " ".join(one for one in sentences if one),
        moved,
        [*far, *evaluation.left_out, *_unpriced(prepared), *question.notes],
        [*NOT_MODELLED, *_without_nodes(question)],
        prepared.fixed,
        done.status.runs,
        carried_out,
    )


def shortlist(
    prepared: Prepared, directory: str | Path, where: Executor, on_progress: Report
) -> tuple[list[str], list[str]]:
    """Choose the fabrics that are simulated packet by packet; with why others are not.

    Messages of a job at max-min fair rates take a fraction of the time of packets. What they cannot
    simulate, such as TCP, goes on to packets, as the baseline does.
    """
    question, names = prepared.question, prepared.fabrics
    if question.settings.fidelity != FLOW_FIRST:
        return names, []
    draws = [Draw(FLOW, question.settings.seed, {})]
    runs = MixSweep.of(question, prepared.unknowns, dict.fromkeys(names, draws))
    if not any(_resolves(runs, point) for point in runs.points()):
        return names, []
    found = times(sweep(runs, directory, where, on_progress).to_polars(), runs.jobs)
    try:
        evaluation = Evaluation.of(question, prepared.bills, draws, found)
    except AdviseError:  # No fabric can be simulated so.
        return names, []
    scores = {name: evaluation.score(name, draws)[0] for name in evaluation.fabrics}
    shares = {name: score / max(scores.values()) for name, score in scores.items()}
    near = 1 / question.settings.close
    far = [name for name, one in shares.items() if one < near and name != question.baseline]
    reasons = [
        f"{name}: {shares[name]:.0%} of the best by messages at max-min fair rates; not simulated "
        "packet by packet."
        for name in far
    ]
    return [name for name in names if name not in far], reasons


def _resolves(runs: MixSweep, point: Mapping[str, object]) -> bool:
    try:
        runs.resolve(point)
    except ScenarioError:
        return False
    return True


def _screen(prepared: Prepared, one: str, other: str) -> tuple[dict[str, Unknown], list[Draw]]:
    """Choose the trajectories of the unknowns of two fabrics."""
    question, every = prepared.question, dict[str, Unknown]()
    for name in (one, other):
        own = [*prepared.unknowns[name], *prepared.bills[name].unknowns(question)]
        every |= {unknown.name: unknown for unknown in own}
    settings = question.settings
    names = [SEED, *every]
    rows = trajectories(names, settings.trajectories, settings.seed, len(prepared.draws))
    return every, rows


def _leads(evaluation: Evaluation, one: str, other: str, rows: Sequence[Draw]) -> list[float]:
    """Return the logarithm of the ratio of two scores in samples."""
    ratios = over(evaluation.score(one, rows), evaluation.score(other, rows))
    return [math.log(ratio) for ratio in ratios]


def _standings(
    evaluation: Evaluation,
    order: Sequence[str],
    scores: Mapping[str, Samples],
    draws: Sequence[Draw],
) -> list[Standing]:
    won, base = first(scores), evaluation.baseline
    is_priced = all(evaluation.bills[name].items for name in order)
    unit = _ratios(evaluation, base, draws) if is_priced else []
    found = []
    for name, following in zip(order, [*order[1:], None], strict=True):
        bill = evaluation.bills[name]
        found.append(
            Standing(
                name,
                bill,
                [_job_time(evaluation, name, job, draws) for job in evaluation.reference],
                Interval.of(evaluation.throughput(name, draws)),
                Interval.of(evaluation.watts(name, draws), bill.watts({})) if bill.power else None,
                Interval.of(evaluation.price(name, draws), bill.total({})) if bill.items else None,
                Interval.of(over(_ratios(evaluation, name, draws), unit)) if is_priced else None,
                won[name],
                ahead(scores[name], scores[following]) if following else None,
            )
        )
    return found


def _ratios(evaluation: Evaluation, name: str, draws: Sequence[Draw]) -> list[float]:
    return over(evaluation.throughput(name, draws), evaluation.price(name, draws))


def _job_time(evaluation: Evaluation, name: str, job: str, draws: Sequence[Draw]) -> JobTime:
    found = Interval.of(evaluation.time_us(name, job, draws))
    relative = found.value / evaluation.reference[job]
    return JobTime(job, evaluation.weights[job], found, relative)


def _without_nodes(question: Question) -> list[str]:
    """Say that only the network counts, where nodes have neither price nor power."""
    given = {"price": question.settings.node.price, "power": question.settings.node.power}
    lacking = [name for name, one in given.items() if not one]
    text = f"Nodes have no {' and no '.join(lacking)}: of these, only the network counts."
    return [text] if lacking else []


def _unpriced(prepared: Prepared) -> list[str]:
    reasons = {
        f"{name}: {reason}" for name, one in prepared.bills.items() for reason in one.reasons
    }
    lacking = [name for name, one in prepared.bills.items() if one.items and not one.electricity]
    if lacking:
        reasons.add("Electricity is not counted: power or its price is not known of every fabric.")
    return sorted(reasons)
