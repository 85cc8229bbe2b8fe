"""Flow-level mode against packets: the same scenario by both, and how far they lie apart."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from etherweave.overview import overview
from etherweave.results import FidelityError, Result
from etherweave.scenario import Overrides, ScenarioSource
from etherweave.simulation import resolve

FIGURES = ("mean_us", "median_us", "p99_us", "goodput_gbps")
"""What is compared of iterations or streams, where there is any."""

MODES = {"packet": "packets", "flow": "flow-level mode"}
"""What is simulated of the messages of a job, by fidelity."""


def fidelities(resolved: str) -> dict[str, str]:
    """List by job how closely its messages are simulated: ``packet`` or ``flow``."""
    scenario = tomllib.loads(resolved)
    usual = scenario.get("run", {}).get("fidelity", "packet")
    return {job["name"]: job.get("fidelity", usual) for job in scenario.get("job", [])}


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

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`.

    Returns
    -------
    tuple
        Overrides for packets of all jobs, and for flow-level mode: of all jobs, or of those that
        the scenario names where others stay in packets.
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
    is_mixed = len(set(fidelities(resolved).values())) > 1
    return packet, dict(overrides or {}) if is_mixed else flow


def compare_fidelity(packet: Result, flow: Result) -> dict[str, Any]:
    """Compare two results of a scenario, one of each fidelity.

    Parameters
    ----------
    packet, flow
        Results of runs with the overrides of :func:`both_fidelities`.

    Returns
    -------
    dict
        ``figures``: a row for each ``job`` and ``figure`` with ``packet``, ``flow`` and ``error``,
        (flow - packet) / packet. ``fidelities``: of the jobs of ``flow``. ``speed_up``: wall time
        of packets over that of flow-level mode. ``end_error``: that of the end of the run.
    """
    by_packet, by_flow = (_figures(result) for result in (packet, flow))
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
        "speed_up": packet.summary["wall_s"] / max(flow.summary["wall_s"], 1e-9),
        "warnings": flow.summary["warnings"],
    }


def with_errors(flow: Result, compared: dict[str, Any]) -> Result:
    """Give a result of flow-level mode the errors that a comparison found.

    Parameters
    ----------
    flow
        The result that was compared.
    compared
        What :func:`compare_fidelity` returned.
    """
    errors: list[FidelityError] = [
        {"job": row["job"], "figure": row["figure"], "error": row["error"]}
        for row in compared["figures"]
    ]
    return replace(flow, summary={**flow.summary, "fidelity_errors": errors})


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


def _figures(result: Result) -> dict[tuple[str, str], float]:
    figures: Mapping[str, Any] = overview(result)
    jobs = [*figures["jobs"].items(), *figures["streams"].items()]
    return {(job, name): of[name] for job, of in jobs for name in FIGURES if of.get(name)}
