"""Flow-level mode against packets: the same scenario by both, and how far they lie apart."""

from typing import Any

from etherweave.overview import overview
from etherweave.results import Result

FIGURES = ("mean_us", "median_us", "p99_us", "goodput_gbps")
"""What is compared of iterations or streams, where there is any."""


def compare_fidelity(packet: Result, flow: Result) -> dict[str, Any]:
    """Compare two results of a scenario, one of each fidelity.

    Parameters
    ----------
    packet, flow
        Results of runs with ``run.fidelity`` of these names.

    Returns
    -------
    dict
        ``figures``: a row for each ``job`` and ``figure`` with ``packet``, ``flow`` and ``error``,
        (flow - packet) / packet. ``speed_up``: wall time of packets over that of flow-level mode.
        ``end_error``: that of the end of the run.
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
        "end_error": ends[1] / ends[0] - 1 if ends[0] else 0.0,
        "speed_up": packet.summary["wall_s"] / max(flow.summary["wall_s"], 1e-9),
        "warnings": flow.summary["warnings"],
    }


def _figures(result: Result) -> dict[tuple[str, str], float]:
    figures = overview(result)
    jobs = [*figures["jobs"].items(), *figures["streams"].items()]
    return {(job, name): of[name] for job, of in jobs for name in FIGURES if of.get(name)}
