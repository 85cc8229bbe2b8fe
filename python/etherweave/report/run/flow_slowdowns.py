"""Slowdowns of flows against an idle fabric, by the size of flows."""

from etherweave.api.flow_times import QUANTILES, FlowTimes, Slowdowns, flow_times
from etherweave.api.results import Result
from etherweave.api.units import Unit, amount
from etherweave.report.section import Section, Table

CAPTION = (
    "Completion time of flows, by their time on an idle fabric, in classes of sizes. Quantiles "
    "beyond which no flow lies are left out."
)
NO_SLOWDOWNS = (
    "Completion time of flows in classes of sizes. There are no slowdowns, since hosts with "
    "several ports have no ideal times."
)
NAMES = {"p999": "p99.9"}


def flow_slowdowns(result: Result) -> Section | None:
    """List slowdowns by classes of sizes for each job of flows."""
    jobs = [job for job in flow_times(result) if job.all]
    if not jobs:
        return None
    caption = " ".join([*map(_sentence, jobs), CAPTION])
    if not any(job.has_slowdowns for job in jobs):
        caption = " ".join([*map(_sentence, jobs), NO_SLOWDOWNS])
    return Section("slowdowns", "Slowdown of flows", caption, tables=[_table(jobs)])


def _sentence(job: FlowTimes) -> str:
    words = f"{job.job}: {len(job.rows):,} of {job.flows:,} flows are complete"
    if job.load is not None:
        words += f", which offer {job.load:.3f} of {job.rate_gbps:g} Gb/s a host"
        words += f" where {job.load_asked:g} is asked for"
    return f"{words}."


def _table(jobs: list[FlowTimes]) -> Table:
    quantiles = [NAMES.get(name, name) for name in QUANTILES]
    head = ["job", "size", "flows", "time [us]", "mean", *quantiles]
    rows = [_row(job.job, part) for job in jobs for part in job.classes()]
    return Table(head, rows)


def _row(job: str, part: Slowdowns) -> list[str]:
    sizes = [amount(size, Unit.BYTES) for size in (part.size_min, part.size_max)]
    quantiles = [f"{part.quantiles[key]:.2f}" if key in part.quantiles else "" for key in QUANTILES]
    count, time = f"{part.flows:,}", f"{part.mean_us:,.2f}"
    mean = "" if part.mean is None else f"{part.mean:.2f}"
    return [job, " to ".join(sizes), count, time, mean, *quantiles]
