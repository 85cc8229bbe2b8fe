"""What limits each job, as bars: the parts of its path."""

from matplotlib.figure import Figure

from etherweave.limits import PARTS, JobLimits, limits
from etherweave.report.section import Section, Table
from etherweave.results import Result

CAPTION = (
    "The time of each job along the path that limits it, from its last step back to its first: a "
    "rank that waits, waits for the message that it handles next, and the path goes on where that "
    "was sent. Parts add up to the time of the job."
)
_COLOURS = dict(
    zip(
        PARTS,
        (
            *("#0072b2", "#8fc1e3", "#d55e00", "#e88d4c", "#b03060", "#d98cab", "#e69f00"),
            *("#f0d060", "#009e73", "#66c2a5", "#2f6f5f", "#a6d8c8", "#bbbbbb"),
        ),
        strict=True,
    )
)


def job_limits(result: Result) -> Section | None:
    """Draw a bar for each job whose path is known."""
    found = limits(result)
    if not found:
        return None
    figure = Figure(figsize=(9, 1.6 + 0.4 * len(found)))
    axes = figure.subplots()
    seen = [part for part in PARTS if any(part in one.parts_ns for one in found)]
    lefts = [0.0] * len(found)
    for part in seen:
        shares = [one.parts_ns.get(part, 0.0) / one.time_ns for one in found]
        rows = range(len(found))
        axes.barh(rows, shares, left=lefts, color=_COLOURS[part], label=PARTS[part][1])
        lefts = [left + share for left, share in zip(lefts, shares, strict=True)]
    axes.set_yticks(range(len(found)), [one.job for one in found])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the time")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    caption = " ".join([*(f"{one.sentence()}." for one in found), CAPTION])
    return Section("limits", "What limits each job", caption, figure, [_table(found)])


def _table(found: list[JobLimits]) -> Table:
    rows = [
        [one.job, PARTS[part][1], f"{time / 1e3:,.3f}", f"{time / one.time_ns:.1%}"]
        for one in found
        for part, time in one.parts_ns.items()
    ]
    return Table(("job", "part", "time [us]", "share"), rows)
