"""Limits of each job, as bars: the parts of its path, of one result or of several."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from etherweave.api.limits import (
    DIVIDED,
    HIDES,
    PARTS,
    JobLimits,
    difference,
    has_ranks,
    limits,
    time_words,
)
from etherweave.api.results import Result
from etherweave.api.simulation import ScenarioError, run
from etherweave.api.what_if import SAVED_MIN
from etherweave.report.run.comparison import ComparedResults
from etherweave.report.section import Section, Table
from etherweave.report.style import literal

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
            *("#f0d060", "#7a4b00", "#009e73", "#b6d94c", "#56b4e9", "#66c2a5", "#2f6f5f"),
            *("#a6d8c8", "#bbbbbb"),
        ),
        strict=True,
    )
)
HOPS_MAX = 5_000_000
"""Packet-hops of a run that is repeated, to observe its ranks, for its page: a second or two."""
Bar = tuple[str, JobLimits]  # A label, and the parts of the bar.


def explained(result: Result) -> Result:
    """Repeat a short run with its ranks observed, where its result does not say what limits it.

    A run that ends otherwise, as with another version of Etherweave, is not used.
    """
    summary = result.summary
    if "measured" in summary or limits(result) or not has_ranks(result):
        return result
    if summary["finished"] != "complete" or summary["packet_hops"] > HOPS_MAX:
        return result
    try:
        again = run(result.scenario, {"observe.ranks": True, "observe.waits": True})
    except (ScenarioError, OSError):
        return result
    return again if again.summary["fingerprint"] == summary["fingerprint"] else result


def job_limits(result: Result) -> Section | None:
    """Draw a bar for each job whose path is known."""
    bars = [(limit.job, limit) for limit in limits(result)]
    if not bars:
        return None
    return _section("limits", "What limits each job", CAPTION, bars)


def compared_limits(beside: ComparedResults) -> Section | None:
    """Draw bars of the same job below each other: which part differs."""
    limits_of_runs = [limits(result) for result in beside.results]
    if sum(map(bool, limits_of_runs)) < 2:
        return None
    jobs = dict.fromkeys(entry.job for own in limits_of_runs for entry in own)
    bars = {
        job: [
            (label, entry)
            for label, own in zip(beside.labels, limits_of_runs, strict=True)
            for entry in own
            if entry.job == job
        ]
        for job in jobs
    }
    caption = " ".join([*(_difference(job, own) for job, own in bars.items()), CAPTION])
    named = [(f"{job}, {label}", bar) for job, own in bars.items() for label, bar in own]
    return _section("limits_beside", "Which part differs", caption, named)


def _difference(job: str, bars: Sequence[Bar]) -> str:
    """Say by which parts the slowest result differs from the fastest, and at which port."""
    ordered = sorted(bars, key=lambda bar: bar[1].time_ns)
    (fast_label, fast), (slow_label, slow) = ordered[0], ordered[-1]
    if slow.time_ns == fast.time_ns:
        return f"{job}: results take the same time."
    differs = (
        f"{job} takes {time_words(slow.time_ns - fast.time_ns)} more in {slow_label} than in "
        f"{fast_label}: {difference(slow, fast)}."
    )
    if not (slow.waits and fast.waits) and any(part in slow.parts_ns for part in DIVIDED):
        differs += " Runs with observe.waits = true say at which ports."
    hosts = [bar.places_ns.get("host", 0.0) / bar.time_ns for _, bar in bars]
    if min(hosts) < HIDES:
        return differs
    share = f"{differs} Hosts take at least {min(hosts):.0%} of its path"
    if 1 - fast.time_ns / slow.time_ns < SAVED_MIN:
        return f"{share}, and hide the network."
    return f"{share}; what the network is worth is what `etherweave explain --what-if` prints."


def _section(name: str, title: str, caption: str, bars: Sequence[Bar]) -> Section:
    figure = Figure(figsize=(9, 1.6 + 0.4 * len(bars)))
    axes = figure.subplots()
    rows, lefts = range(len(bars)), [0.0] * len(bars)
    for part in (name for name in PARTS if any(name in bar.parts_ns for _, bar in bars)):
        times = [bar.parts_ns.get(part, 0.0) / 1e6 for _, bar in bars]
        axes.barh(rows, times, left=lefts, color=_COLOURS[part], label=PARTS[part][1])
        lefts = [left + time for left, time in zip(lefts, times, strict=True)]
    axes.set_yticks(rows, [literal(label) for label, _ in bars])
    axes.invert_yaxis()
    axes.set_xlabel("time [ms]")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    table = [
        [label, PARTS[part][1], f"{time / 1e3:,.3f}", f"{time / bar.time_ns:.1%}"]
        for label, bar in bars
        for part, time in bar.parts_ns.items()
    ]
    head = ("job", "part", "time [us]", "share")
    return Section(name, title, caption, figure, [Table(head, table, is_folded=len(bars) > 1)])
