"""The verb ``explain``."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import etherweave
from etherweave.api.limits import CAUSE_MIN, PARTS, PLACES, JobLimits, Stretch, limits, observing
from etherweave.api.path_shares import share_figures, share_lines
from etherweave.api.results import SCENARIO, Result
from etherweave.api.what_if import Answer, what_if
from etherweave.cli import parameters
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.progress import print_start, run_progress

LONGEST = 8  # Stretches of a path that are printed.
SAVED_MIN = 0.01  # Share of a job's time from which on a saving is named.
NO_TIMES = "not known: no stream ends before the run does, so that there is no time to compare"
CAUSES = 6  # Causes of waits in the network that are printed.


def explain(
    source: Annotated[Path, typer.Argument(exists=True)],
    *,
    settings: parameters.Settings = None,
    job: str | None = None,
    longest: parameters.Natural = LONGEST,
    if_not: bool = False,
    ports: bool | None = None,
    threads: parameters.Threads = parameters.ALL_PROCESSORS,
    memory_limit: parameters.MemoryLimit = None,
    as_json: parameters.AsJson = False,
) -> None:
    """Print what limits each job: its time by parts along the path from its last step to its first.

    The times of the parts add up to that of the job. A rank that waits, waits for the message that
    it handles next, and the path goes on where that was sent.

    Parameters
    ----------
    source : SCENARIO|RESULT
        Scenario file, which is run with `observe.ranks`, or directory that `run -o` wrote with it.
    job
        One job of several.
    longest : N
        Print the N longest parts of each path.
    if_not : --what-if
        Run the scenario again without one limit at a time, and print what each takes.
    ports : --ports/--no-ports
        Run the scenario once more, and divide waits in the network by ports; of a result, run its
        scenario for that. Default: of a scenario, not of a result.
    """
    with mistakes(etherweave.ScenarioError, OSError):
        simulate = partial(_simulate, source.stem, threads, memory_limit)
        result = _result(source, simulate, parameters.overrides(settings), ports)
        own = [limit for limit in limits(result) if job in (None, limit.job)]
        left_out = _left_out(result, job)
        if not own and not (left_out and if_not):
            reject(_reason(source, result, job))
        answers: list[Answer] = []
        if if_not:
            answers = [
                answer
                for answer in what_if(result.resolved, result, simulate)
                if job in (None, answer.job)
            ]
    if as_json:
        return print(_json(own, answers, left_out, longest))
    others = _others(left_out, answers, NO_TIMES if if_not else "")
    return print("\n".join([*explanation(own, answers, longest), *others]))


def _simulate(
    name: str,
    threads: int,
    memory_limit: str | None,
    scenario: Any,
    changes: dict[str, object] | None = None,
) -> Result:
    with run_progress(name) as report:
        return etherweave.run(
            scenario,
            changes or {},
            threads=threads,
            progress=report,
            memory_limit=memory_limit,
            on_start=partial(print_start, name, set()),
        )


def _result(source: Path, simulate: Any, changes: dict[str, object], ports: bool | None) -> Result:
    observe = {"observe.ranks": True, "observe.waits": ports is not False}
    if not source.is_dir():
        observed: Result = simulate(source, {**changes, **observe})
        return observed
    if changes:
        reject("--set: the result exists; expected a scenario to change")
    result = Result.load(source)
    if "measured" in result.summary:
        reject(
            f"{source}: measured, so that what its ranks waited for is not known; "
            "expected a scenario, or a result of `run -o`"
        )
    if not ports or result.columns("waits"):
        return result
    again: Result = simulate(source / SCENARIO, observe)
    return again


def _reason(source: Path, result: Result, job: str | None) -> str:
    names = [job["name"] for job in result.scenario.get("job", [])]
    if job is not None and job not in names:
        return f"--job: {job}; expected one of {', '.join(names)}"
    if not result.columns("path"):
        return f"{source}: the run did not observe its ranks; expected {observing(result)}"
    return (
        "no rank took any time; expected a job with ranks. Of streams, "
        "`etherweave report` has rates, ports and queues"
    )


def _left_out(result: Result, job: str | None) -> list[str]:
    """List the jobs that have no ranks, and so no path."""
    known = {limit.job for limit in limits(result)}
    jobs = result.scenario.get("job", []) if result.columns("path") else []
    return [own["name"] for own in jobs if own["name"] not in known and job in (None, own["name"])]


def _others(left_out: list[str], answers: list[Answer], no_answer: str) -> list[str]:
    """Say which jobs have no path, and how long their streams take without a limit."""
    reason = "no rank takes time, and streams have no path; `etherweave report` has their rates"
    return [
        line
        for name in left_out
        for line in (
            f"{name}: left out: {reason}, ports and queues",
            *(
                _answers([own for own in answers if own.job == name])
                or [f"  what if: {no_answer}"] * bool(no_answer)
            ),
        )
    ]


def _json(
    job_limitses: list[JobLimits], answers: list[Answer], left_out: list[str], longest: int
) -> str:
    jobs = [
        {
            "job": job_limits.job,
            **job_limits.figures(),
            **share_figures(job_limits),
            "causes": _causes_of(job_limits),
            "longest_parts": [
                {**asdict(part), "time_us": part.time_ns / 1e3}
                for part in job_limits.longest(longest)
            ],
        }
        for job_limits in job_limitses
    ]
    questions = [
        {
            "without": answer.name,
            "job": answer.job,
            "base_us": answer.base_us,
            "time_us": answer.time_us,
            "reason": answer.reason if answer.time_us is None else None,
            "dropped_packets": answer.drops,
        }
        for answer in answers
    ]
    return json.dumps({"jobs": jobs, "what_if": questions, "left_out": left_out}, indent=2)


def _causes_of(job_limits: JobLimits) -> list[dict[str, Any]]:
    return [
        {**asdict(cause), "kind": cause.kind, "words": cause.words, "time_us": time / 1e3}
        for cause, time in job_limits.causes_ns.items()
    ]


def explanation(
    job_limitses: list[JobLimits], answers: list[Answer], longest: int
) -> Iterator[str]:
    """Write what limits each job, line by line, with what it takes without a limit."""
    for job_limits in job_limitses:
        own = [answer for answer in answers if answer.job == job_limits.job]
        yield from (
            job_limits.sentence() + _overlap(job_limits, own),
            *_bars(job_limits),
            *_causes(job_limits),
            *share_lines(job_limits),
            *_longest(job_limits, longest),
            *_answers(own),
            *_most(job_limits, own),
        )


def _bars(job_limits: JobLimits) -> list[str]:
    width = max(len(PARTS[part][1]) for part in job_limits.parts_ns)
    return [
        f"  {PARTS[part][1]:{width}} {time / 1e3:12.3f} us {time / job_limits.time_ns:6.1%}  "
        f"{'#' * round(40 * time / job_limits.time_ns)}"
        for part, time in job_limits.parts_ns.items()
    ]


def _causes(job_limits: JobLimits) -> list[str]:
    time_min = CAUSE_MIN * job_limits.time_ns
    causes = [
        (cause, time)
        for cause, time in job_limits.causes_ns.items()
        if cause.node or time >= time_min
    ][:CAUSES]
    if not causes:
        return []
    lines = ["  waits in the network:"]
    for cause, time in causes:
        first = job_limits.first_in_line(cause)
        behind = f", behind packets of {first}" if first else ""
        lines.append(
            f"    {time / 1e3:10.3f} us {time / job_limits.time_ns:6.1%}  {cause.words}{behind}"
        )
    return lines


def _longest(job_limits: JobLimits, count: int) -> list[str]:
    stretches = job_limits.longest(count)
    return ["  longest parts:"] * bool(stretches) + [f"    {_stretch(part)}" for part in stretches]


def _stretch(stretch: Stretch) -> str:
    source = f" from rank {stretch.source}" if stretch.source != stretch.rank else ""
    return (
        f"{stretch.time_ns / 1e3:10.3f} us at {stretch.start_ns / 1e6:.6f} ms: "
        f"rank {stretch.rank} on {stretch.host}: {PARTS[stretch.part][1]}{source}"
        f"{_occupation(stretch)}"
    )


def _occupation(stretch: Stretch) -> str:
    """Say in which iteration and collective the rank is, or what its message is for."""
    iteration = [f"iteration {stretch.iteration}"] * (stretch.iteration is not None)
    number = f" {stretch.call} (messages up to {stretch.call_bytes:,} B)"
    call = [f"{stretch.collective}{number if stretch.call is not None else ''}"]
    occupation = [*iteration, *call * bool(stretch.collective)]
    return f"; {', '.join(occupation)}" if occupation else ""


def _answers(answers: list[Answer]) -> list[str]:
    if not answers:
        return []
    width = max(len(answer.words) for answer in answers)
    lines = [
        f"    {answer.words:{width}} "
        + (
            f"{answer.time_us:12.3f} us {-(answer.saved or 0):+7.1%}{_drops(answer)}"
            if answer.time_us is not None
            else f"{'no difference' if answer.is_as_it_is else 'not known'}: {answer.reason}"
        )
        for answer in answers
    ]
    return [f"  what if (now {answers[0].base_us:.3f} us):", *lines]


def _drops(answer: Answer) -> str:
    """Say that the changed run lost packets: it may take longer for that."""
    return f"; {answer.drops:,} packets dropped" if answer.drops else ""


def _most(job_limits: JobLimits, answers: list[Answer]) -> list[str]:
    """Say what saves most, and where that is not what the path spends most of its time on."""
    saved = {answer.saved: answer for answer in answers if answer.saved}
    if not saved or max(saved) <= 0:
        return []
    if max(saved) < SAVED_MIN:
        return [f"  nothing alone saves {SAVED_MIN:.0%}"]
    line = f"  most is saved where {saved[max(saved)].words}: {max(saved):.0%}"
    if not _overlap(job_limits, answers):
        return [line]
    place = next(iter(job_limits.places_ns))
    of_place = [share for share, answer in saved.items() if answer.place == place]
    rest = f"of {PLACES[place]} nothing alone saves more than {max(0.0, *of_place):.0%}"
    return [f"{line}; {rest}"]


def _overlap(job_limits: JobLimits, answers: list[Answer]) -> str:
    """Say that another place is busy at once: most is saved there, though the path is here."""
    saved = {answer.saved: answer.place for answer in answers if answer.saved}
    place = next(iter(job_limits.places_ns))
    if not saved or max(saved) < SAVED_MIN or place not in saved.values():
        return ""
    other = saved[max(saved)]
    return "" if other == place else f"; {PLACES[other]} is busy at the same time"
