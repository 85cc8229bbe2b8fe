"""Flow-level mode against packets: the same scenario by both, and how far they lie apart."""

import tomllib
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, TypeAlias

from etherweave.api.overview import distribution, ended_streams, overview
from etherweave.api.results import FidelityError, Result, Summary
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.api.simulation import resolve

_Stream: TypeAlias = tuple[str, str, str, int]  # Job, sender, receiver and number of a stream.

FIGURES = ("mean_us", "median_us", "p99_us", "goodput_gbps")
"""Figures compared of iterations or streams, where there are any."""

MODES = {"packet": "packets", "flow": "flow-level mode"}
"""Unit that is simulated for messages of a job, by fidelity."""


_LEFT_OUT = "run.fidelity: "  # How warnings begin of what flow-level mode leaves out of a run.


def fidelities(resolved: str) -> dict[str, str]:
    """List by job how closely its messages are simulated: ``packet`` or ``flow``."""
    scenario = tomllib.loads(resolved)
    usual = scenario.get("run", {}).get("fidelity", "packet")
    return {job["name"]: job.get("fidelity", usual) for job in scenario.get("job", [])}


def fidelity(resolved: str) -> str:
    """Name the fidelity of a run: ``packet`` or ``flow`` of all jobs, else ``hybrid``."""
    (first, *others) = {*fidelities(resolved).values()} or {"packet"}
    return "hybrid" if others else first


def leaves_out(message: str) -> bool:
    """Return whether warnings of a run say that flow-level mode left something out of it."""
    return any(warning.startswith(_LEFT_OUT) for warning in message.split("; "))


def mode_labels(result: Result) -> dict[str, str]:
    """Name each job with how it is simulated, where not all jobs are alike; else none."""
    by_job = fidelities(result.resolved)
    if "measured" in result.summary or len(set(by_job.values())) < 2:
        return {}
    return {job: f"{job} ({MODES[fidelity]})" for job, fidelity in by_job.items()}


def both_fidelities(
    scenario: ScenarioSource, overrides: Overrides | None = None
) -> tuple[dict[str, object], dict[str, object]]:
    """Name the overrides of the two runs that are compared.

    The first are for packets of all jobs, the second for flow-level mode: of all jobs, or of those
    that the scenario names where others stay in packets.
    """
    resolved = resolve(scenario, overrides)
    of_jobs = [
        f"job.{number}.fidelity"
        for number, job in enumerate(tomllib.loads(resolved)["job"])
        if "fidelity" in job
    ]
    packet, flow = (
        {**(overrides or {}), **dict.fromkeys(("run.fidelity", *of_jobs), fidelity)}
        for fidelity in ("packet", "flow")
    )
    is_hybrid = len(set(fidelities(resolved).values())) > 1
    return packet, dict(overrides or {}) if is_hybrid else flow


def compare_fidelity(packet: Result, flow: Result) -> dict[str, Any]:
    """Compare two results of a scenario, with the overrides of :func:`both_fidelities`.

    ``figures`` has a row for each ``job`` and ``figure`` with ``packet``, ``flow`` and ``error``,
    (flow - packet) / packet; completion times are those of streams that have ended in both.
    ``fidelities`` are those of the jobs of ``flow``, ``speed_up`` is the wall time of packets over
    that of flow-level mode, ``end_error`` the error of the end of the run.
    """
    ended = _times_us(packet).keys() & _times_us(flow).keys()
    by_packet, by_flow = (_figures(result, ended) for result in (packet, flow))
    rows = [
        {
            "job": job,
            "figure": figure,
            "packet": value,
            "flow": by_flow[job, figure],
            "error": by_flow[job, figure] / value - 1,
        }
        for (job, figure), value in by_packet.items()
        if value and (job, figure) in by_flow
    ]
    ends = packet.summary["end_ns"], flow.summary["end_ns"]
    return {
        "figures": rows,
        "fidelities": fidelities(flow.resolved),
        "end_error": ends[1] / ends[0] - 1 if ends[0] else 0.0,
        "speed_up": max(packet.summary["wall_s"], 1e-9) / max(flow.summary["wall_s"], 1e-9),
        "warnings": flow.summary["warnings"],
    }


def time_text(speed_up: float) -> str:
    """Say what flow-level mode takes of the time of packets.

    Examples
    --------
    >>> time_text(26.4), time_text(4.34), time_text(0.2)
    ('1/26 of the time', '1/4.3 of the time', '5 times the time')
    """
    factor = max(speed_up, 1 / speed_up)
    digits = f"{factor:.{0 if factor >= 10 else 1}f}".removesuffix(".0")
    return f"1/{digits} of the time" if speed_up >= 1 else f"{digits} times the time"


def with_errors(flow: Result, compared: dict[str, Any]) -> Result:
    """Give a result of flow-level mode the errors that :func:`compare_fidelity` found."""
    errors: list[FidelityError] = [
        {"job": row["job"], "figure": row["figure"], "error": row["error"]}
        for row in compared["figures"]
    ]
    return replace(flow, summary={**flow.summary, "fidelity_errors": errors})


def error_max(summary: Summary) -> float | None:
    """Return the largest error of a figure of flow-level mode; None when none was measured."""
    errors = summary.get("fidelity_errors")
    return max(abs(row["error"]) for row in errors) if errors else None


def error_text(result: Result) -> str | None:
    """Say how wrong a result of flow-level mode is, or that nobody knows; nothing of others."""
    if "measured" in result.summary or '\nfidelity = "flow"\n' not in result.resolved:
        return None
    errors = result.summary.get("fidelity_errors")
    if not errors:
        return "not measured; `etherweave run FILE --compare-fidelity` does"
    worst = max(errors, key=lambda row: abs(row["error"]))
    of_worst = f"{worst['error']:+.1%} at most, of {worst['figure']} of {worst['job']}"
    return f"{of_worst} ({len(errors)} figures)"


def _figures(result: Result, ended: Set[_Stream]) -> dict[tuple[str, str], float]:
    figures: Mapping[str, Any] = overview(result)
    times = _completion(result, ended)
    streams = {
        job: times.get(job, {}) | {"goodput_gbps": of["goodput_gbps"]}
        for job, of in figures["streams"].items()
    }
    jobs = [*figures["jobs"].items(), *streams.items()]
    return {(job, name): of[name] for job, of in jobs for name in FIGURES if of.get(name)}


def _completion(result: Result, ended: Set[_Stream]) -> dict[str, dict[str, float]]:
    """Describe the completion times of these streams by job."""
    times_us: dict[str, list[float]] = {}
    for stream, time_us in _times_us(result).items():
        if stream in ended:
            times_us.setdefault(stream[0], []).append(time_us)
    return {job: distribution(times) for job, times in times_us.items()}


def _times_us(result: Result) -> dict[_Stream, float]:
    """Return the completion times of the streams that have ended [us]."""
    if "streams" not in result.tables:
        return {}
    columns = ("job", "source_host", "destination_host", "stream", "start_ns", "end_ns")
    rows = zip(*(result.values("streams", name) for name in columns), strict=True)
    return {
        (job, source, destination, stream): (end_ns - start_ns) / 1e3
        for (job, source, destination, stream, start_ns, end_ns), has_ended in zip(
            rows, ended_streams(result), strict=True
        )
        if has_ended
    }
