"""The answer: what each fabric does and costs, which comes first, and what decides it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from etherweave.advise.bills import Bill
from etherweave.advise.contrasts import contrasts, transports
from etherweave.advise.evaluation import Evaluation
from etherweave.advise.model_error import Errors, repeated
from etherweave.advise.prepared import Prepared
from etherweave.advise.question import Question
from etherweave.advise.reasons import against_baseline, deciding, turning
from etherweave.advise.scores import Interval, Samples, ahead, first, holds, over, ranked, unit_of
from etherweave.advise.sensitivity import Effect
from etherweave.advise.simulated import Draw, PathShares
from etherweave.advise.stages import Runner, screen, shortlist, trajectory_runs
from etherweave.api.limits import HIDES, KINDS, PARTS, PLACES
from etherweave.api.what_if import SAVED_MIN
from etherweave.api.work import WorkCallback, unheard
from etherweave.sweeps import Executor, executor

WAITS_MIN = 0.1
"""Share of a difference of times from which on a kind of waits is named that makes it."""
EXAMPLE = "example"  # The price book of round numbers.
NOT_MODELLED = (
    "Jobs run one at a time; what they would do to each other is not in their times.",
    "Files, logins and services of the site: only the messages of the jobs are sent.",
    "Discounts, support, racks, spares, installation and staff. Power is the worst case always.",
)


@dataclass(frozen=True)
class JobTime:
    """A job on a fabric."""

    job: str
    weight: float
    time_us: Interval  # Mean time of an iteration, or until the last stream is complete [us].
    together_us: Interval  # The same with the error of the model [us].
    relative: float  # Median time over that of the baseline.
    places: Mapping[str, float]
    """Shares of the program, the host and the network in the path that limits the job; empty where
    no run has observed it."""
    path: PathShares | None  # The same by part, and waits in the network.


@dataclass(frozen=True)
class Standing:
    """A fabric in the ranking."""

    fabric: str
    bill: Bill
    jobs: Sequence[JobTime]
    throughput: Interval  # Throughput of the mix; 1 is the median of the baseline.
    watts: Interval | None
    """Power of fabric and nodes at the worst case, as the profile has it [W]; None without one."""
    price: Interval | None  # Purchase and electricity; None without prices.
    price_performance: Interval | None
    """Throughput for the price, over that of the baseline in the same sample."""
    first: float  # Share of samples in which it comes first.
    ahead: float | None  # Share of samples in which it is ahead of the next; None of the last.
    throughput_together: Interval
    """Throughput with the error of ratios of fabrics; of the baseline, that of samples alone."""
    price_performance_together: Interval | None  # The same of the throughput for the price.
    ahead_together: float | None  # Share in which it is ahead of the next with that error.


@dataclass(frozen=True)
class RatioError:
    """Error of the model in the ratio of a job's times on two fabrics, by published ratios."""

    low: float  # Ends of the interval of 90 % of the measured over the simulated ratio.
    high: float
    rows: int  # Published ratios that it rests on.
    systems: int  # Systems that have them.


@dataclass(frozen=True)
class Answer:
    """Fabric to buy, how sure that is, and why."""

    name: str
    baseline: str
    goal: str  # ``price_performance``, or ``throughput`` where prices are missing or that is asked.
    samples: int
    order: float  # Share of samples in which all fabrics stand in this order.
    standings: Sequence[Standing]  # The best first.
    decides: str
    """Reasons for the first before the second, and the unknown that would change it."""
    against: Sequence[str]  # A sentence for each fabric against the baseline, the best first.
    contrasts: Sequence[str]  # Gains by transport, path choice and placement.
    effects: Sequence[Effect]
    """Effects of unknowns of the first two, the largest first; none without trajectories."""
    left_out: Sequence[str]  # Fabrics not simulated or without a price, and why.
    differs: Sequence[str]  # Part in which each job differs between the first and the second.
    hidden: Sequence[str]
    """Jobs whose hosts take most of the path, and whose times on all fabrics with their transport
    agree: hosts hide what these differ by."""
    overlapped: Sequence[str]
    """Jobs whose hosts take most of the path, and which such a fabric still makes faster: host and
    network are busy at the same time."""
    not_modelled: Sequence[str]
    fixed: Sequence[str]  # Uncertain figures that are names, sizes or switches, and do not vary.
    runs: int  # Different runs that the answer rests on.
    carried_out: int  # Those that were carried out now; the others had a result.
    flow_level: Sequence[str]
    """Results of flow-level mode, whose error was not measured; empty where there are none."""
    model_error: RatioError  # Error of the model in ratios of fabrics.
    warnings: Sequence[str]  # Warnings of runs, with the job and the fabric.


def answer(
    prepared: Prepared,
    directory: str | Path,
    where: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: WorkCallback = unheard,
) -> Answer:
    """Simulate all jobs on all fabrics, and rank the fabrics.

    The directory keeps every run, so that none is repeated; ``where`` and ``on_progress`` are as
    for :func:`etherweave.sweep`. Raises ``SweepError`` when no job fits any fabric, or another
    process uses the directory; ``AdviseError`` when no fabric runs the whole mix.
    """
    question, draws = prepared.question, prepared.draws
    runner = Runner(Path(directory), where, on_progress)
    fabrics, far = shortlist(prepared, runner)
    done, evaluated = runner.carry_out(prepared.sweep(fabrics), trajectory_runs(prepared))
    evaluation = Evaluation.of(question, prepared.bills, draws, evaluated)
    scores = {name: evaluation.score(name, draws) for name in evaluation.fabrics}
    order = ranked(scores)
    screened = screen(prepared, evaluation, fabrics, order, runner)
    errors = Errors.of(prepared, evaluation)
    sentences = [deciding(errors, order, draws), turning(screened.effects, order)]
    standings = _standings(errors, order, scores)
    hosts = list(_limited_by_hosts(standings, transports(evaluation, question)))
    left_out = [*far, *evaluation.left_out, *screened.left_out, *_unpriced(prepared)]
    return Answer(
        question.name,
        evaluation.baseline,
        evaluation.goal,
        len(draws),
        holds(order, scores),
        standings,
        " ".join(sentence for sentence in sentences if sentence),
        against_baseline(evaluation, order, draws),
        contrasts(evaluation, question, draws),
        screened.effects,
        [*left_out, *question.notes],
        _differs(standings),
        [line for line, is_hidden in hosts if is_hidden],
        [line for line, is_hidden in hosts if not is_hidden],
        [*NOT_MODELLED, *without_technologies(question), *_without_nodes(question)],
        prepared.fixed,
        (screened.done or done).status.runs,
        done.carried_out + (screened.done.carried_out if screened.done else 0),
        [*_jobs_in_flow(question), *_chosen_in_flow(prepared.fabrics, fabrics)],
        RatioError(*errors.ratio.most, errors.ratio.rows, len(errors.ratio.systems)),
        [f"{job} on {name}: {text}" for (name, job), text in evaluation.times.warnings.items()],
    )


def _standings(
    errors: Errors, order: Sequence[str], scores: Mapping[str, Samples]
) -> list[Standing]:
    evaluation, draws = errors.evaluation, errors.draws
    won, base = first(scores), evaluation.baseline
    is_priced = all(evaluation.bills[name].items for name in order)
    unit = _ratios(evaluation, base, draws) if is_priced else []
    sentences = []
    for name, following in zip(order, [*order[1:], None], strict=True):
        bill = evaluation.bills[name]
        done, wide = evaluation.throughput(name, draws), errors.throughput(name)
        prices = evaluation.price(name, draws) if is_priced else []
        by_price = over(over(done, prices), unit) if is_priced else []
        wide_by_price = over(over(wide, repeated(prices)), repeated(unit)) if is_priced else []
        if name == base:  # It is compared with itself.
            wide, wide_by_price = done, by_price
        sentences.append(
            Standing(
                name,
                bill,
                [_job_time(errors, name, job) for job in evaluation.reference],
                Interval.of(done),
                Interval.of(evaluation.watts(name, draws), bill.watts({})) if bill.power else None,
                Interval.of(evaluation.price(name, draws), bill.total({})) if bill.items else None,
                Interval.of(by_price) if is_priced else None,
                won[name],
                ahead(scores[name], scores[following]) if following else None,
                Interval.of(wide),
                Interval.of(wide_by_price) if is_priced else None,
                errors.ahead(name, following) if following else None,
            )
        )
    return sentences


def _ratios(evaluation: Evaluation, name: str, draws: Sequence[Draw]) -> list[float]:
    return over(evaluation.throughput(name, draws), evaluation.price(name, draws))


def _job_time(errors: Errors, name: str, job: str) -> JobTime:
    evaluation = errors.evaluation
    interval = Interval.of(evaluation.time_us(name, job, errors.draws))
    relative = interval.value / evaluation.reference[job]
    places = evaluation.times.places.get((name, job), {})
    path, together = evaluation.times.paths.get((name, job)), errors.time_us(name, job)
    return JobTime(job, evaluation.weights[job], interval, together, relative, places, path)


def _differs(standings: Sequence[Standing]) -> list[str]:
    """Name the part of each job that differs most between the first two fabrics."""
    if len(standings) < 2:
        return []
    first, second = standings[:2]
    lines = []
    for own, other in zip(first.jobs, second.jobs, strict=True):
        times = {
            place: [job.places.get(place, 0.0) * job.time_us.value for job in (own, other)]
            for place in PLACES
        }
        if not (own.places and other.places):
            continue
        place = max(times, key=lambda name: abs(times[name][1] - times[name][0]))
        lines.append(
            f"{own.job}: most by {PLACES[place]}, {_time(times[place][0])} on {first.fabric} and "
            f"{_time(times[place][1])} on {second.fabric}, of {_time(own.time_us.value)} and "
            f"{_time(other.time_us.value)}{_waiting((first, own), (second, other))}."
        )
    return lines


def _waiting(*jobs: tuple[Standing, JobTime]) -> str:
    """Name the kind of waits that differs most, and where the slower job waits most."""
    (_, fast), (fabric, slow) = sorted(jobs, key=lambda pair: pair[1].time_us.value)
    if not (fast.path and slow.path):
        return ""
    more = {
        kind: share * slow.time_us.value - fast.path.kinds[kind] * fast.time_us.value
        for kind, share in slow.path.kinds.items()
    }
    kind = max(more, key=lambda name: more[name])
    whole_us = slow.time_us.value - fast.time_us.value
    if more[kind] < WAITS_MIN * whole_us or whole_us <= 0:
        return ""
    first, behind = slow.path.first, slow.path.behind
    more_us = _time(more[kind])
    part = f"; of the {_time(whole_us)} more on {fabric.fabric}, {more_us} are {KINDS[kind]}"
    if more[kind] > whole_us:  # Other parts of the path take less.
        part = f"; {KINDS[kind]} take {more_us} more on {fabric.fabric}, and the rest less"
    return (
        part
        + (f", and it waits most for {first}" if first else "")
        + (f", behind packets of {behind}" if behind else "")
    )


def _time(time_us: float) -> str:
    scale, unit = unit_of(time_us)
    return f"{time_us / scale:.4g} {unit}"


def _limited_by_hosts(
    standings: Sequence[Standing], transport: Mapping[str, str]
) -> Iterator[tuple[str, bool]]:
    """Name jobs and fabrics where hosts take most of the path, and whether they hide the network.

    They do where fabrics of the same transport differ little in the time of the job.
    """
    for standing in standings:
        own = transport[standing.fabric]
        alike = [other for other in standings if transport[other.fabric] == own]
        for job in standing.jobs:
            if (share := job.places.get("host", 0.0)) >= HIDES:
                saved, reason = _saved(job, alike)
                line = (
                    f"{job.job} on {standing.fabric}: hosts take {share:.0%} of its path"
                    f"{_most_of_host(job)}, the network {job.places['network']:.0%}; {reason}."
                )
                yield line, len(alike) > 1 and saved < SAVED_MIN


def _saved(job: JobTime, alike: Sequence[Standing]) -> tuple[float, str]:
    """Find the part of a job's time that the fastest fabric saves over the slowest, and say it."""
    times = sorted(
        (own.time_us.value, standing.fabric)
        for standing in alike
        for own in standing.jobs
        if own.job == job.job
    )
    (fast, fabric), (slow, other) = times[0], times[-1]
    saved = 1 - fast / slow
    if len(alike) < 2:
        return saved, "no other fabric has this transport, to compare how much the network matters"
    if saved < SAVED_MIN:
        return saved, f"fabrics with this transport differ by {saved:.0%} at most"
    return saved, f"yet {fabric} saves {saved:.0%} over {other}: both are busy at the same time"


def _most_of_host(job: JobTime) -> str:
    shares = job.path.parts if job.path else {}
    own = {part: shares.get(part, 0.0) for part in PARTS if PARTS[part][0] == "host"}
    part = max(own, key=lambda name: own[name])
    return f" ({PARTS[part][1]} {own[part]:.0%})" if own[part] else ""


def _jobs_in_flow(question: Question) -> list[str]:
    """Say which jobs are in flow-level mode because they name it."""
    return [
        f"{job.name}: {', '.join(job.in_flow)} on all fabrics, as `fidelity` of the job says."
        for job in question.jobs
        if job.in_flow
    ]


def _chosen_in_flow(every: Sequence[str], close: Sequence[str]) -> list[str]:
    """Say which fabrics flow-level mode has left out."""
    far = [name for name in every if name not in close]
    return [f"{', '.join(far)}: left out, and not simulated packet by packet."] if far else []


def without_technologies(question: Question) -> list[str]:
    """Say that the book of examples has one price for a rate, where interconnects differ."""
    if question.settings.prices != EXAMPLE:
        return []
    profiles = (str(fabric.keys.get("interconnect.profile")) for fabric in question.candidates)
    technologies = {re.sub(r"\d+", "", profile) for profile in profiles}
    parts = "rate, ports and cables alone"
    text = f"The technology in prices: those of the example book are by {parts}."
    return [text] if len(technologies) > 1 else []


def _without_nodes(question: Question) -> list[str]:
    """Say that only the network counts, where nodes have neither price nor power."""
    costs = {"price": question.settings.node.price, "power": question.settings.node.power}
    lacking = [name for name, value in costs.items() if not value]
    text = f"Nodes have no {' and no '.join(lacking)}: of these, only the network counts."
    return [text] if lacking else []


def _unpriced(prepared: Prepared) -> list[str]:
    reasons = {f"{name}: {why}" for name, bill in prepared.bills.items() for why in bill.reasons}
    lacking = [name for name, bill in prepared.bills.items() if bill.items and not bill.electricity]
    if lacking:
        reasons.add("Electricity is not counted: power or its price is not known of every fabric.")
    return sorted(reasons)
