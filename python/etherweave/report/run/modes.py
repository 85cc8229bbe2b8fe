"""Simulation mode of each job's messages, and its cost in accuracy."""

from etherweave.api.fidelity import FIGURES, MODES, fidelities
from etherweave.api.results import Result
from etherweave.report.section import Section, Table

_NAMES = {"mean_us": "mean", "median_us": "median", "p99_us": "99 %", "goodput_gbps": "goodput"}
_CAPTION = "Messages of jobs in flow-level mode are not divided into packets. "
_MEASURED = "The errors are those of this run against packets of all jobs."
_NOT_MEASURED = (
    "Errors against packets of all jobs were not measured; `etherweave run FILE "
    "--compare-fidelity` does."
)


def modes(result: Result) -> Section | None:
    """List the jobs by fidelity with their errors, where not all are alike or errors are known."""
    by_job = fidelities(result.resolved)
    errors = {
        (row["job"], row["figure"]): row["error"]
        for row in result.summary.get("fidelity_errors", [])
    }
    if len(set(by_job.values())) < 2 and not errors:
        return None
    figures = [name for name in FIGURES if any(figure == name for _, figure in errors)]
    rows = [
        [job, MODES[fidelity], *(_text(errors.get((job, figure))) for figure in figures)]
        for job, fidelity in by_job.items()
    ]
    head = ("job", "simulated", *(f"error of {_NAMES[figure]}" for figure in figures))
    caption = _CAPTION + (_MEASURED if errors else _NOT_MEASURED)
    return Section("modes", "Packets and flow-level mode", caption, tables=[Table(head, rows)])


def _text(error: float | None) -> str:
    return "–" if error is None else f"{error:+.1%}"
