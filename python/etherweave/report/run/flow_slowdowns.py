"""How much longer flows take than on an idle fabric, by their size."""

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from etherweave.api.flow_times import QUANTILES, FlowTimes, Slowdowns, flow_times
from etherweave.api.results import Result
from etherweave.api.units import Unit, amount
from etherweave.report.section import Section, Table
from etherweave.report.style import SERIES, literal

CAPTION = (
    "Completion time of flows, by their time on an idle fabric. The figure has buckets of equally "
    "many flows, at the largest size of each; the table has classes of sizes. Quantiles beyond "
    "which no flow lies are left out."
)
DRAWN = ("p50", "p95", "p99")  # Quantiles that are drawn.
NAMES = {"p999": "p99.9"}


def flow_slowdowns(result: Result) -> Section | None:
    """Draw slowdowns by size for each job of flows."""
    jobs = [job for job in flow_times(result) if job.all]
    if not jobs:
        return None
    figure = Figure(figsize=(9, 2.8 * len(jobs)))
    panels = figure.subplots(len(jobs), 1, squeeze=False)[:, 0]
    for axes, job in zip(panels, jobs, strict=True):
        buckets = job.buckets()
        for number, name in enumerate(DRAWN):
            points = [part for part in buckets if name in part.quantiles]
            sizes = [part.size_max for part in points]
            values = [part.quantiles[name] for part in points]
            if points:
                axes.plot(sizes, values, "o-", color=SERIES[number], markersize=4, label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: amount(size, Unit.BYTES)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylim(bottom=1)
        axes.set_title(literal(job.job), loc="left")
        axes.set_xlabel("size of flow")
        axes.set_ylabel("slowdown")
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    caption = " ".join([*map(_sentence, jobs), CAPTION])
    return Section("slowdowns", "Slowdown of flows", caption, figure, [_table(jobs)])


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
    quantiles = [
        f"{part.quantiles[name]:.2f}" if name in part.quantiles else "" for name in QUANTILES
    ]
    count, time = f"{part.flows:,}", f"{part.mean_us:,.2f}"
    return [job, " to ".join(sizes), count, time, f"{part.mean:.2f}", *quantiles]
