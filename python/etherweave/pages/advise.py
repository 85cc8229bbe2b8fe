"""Fabric to buy: the ranking, what decides it, and every price and figure behind it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import shorten

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.advise import Answer, Standing
from etherweave.advise.reasons import PARTS
from etherweave.advise.scores import Interval
from etherweave.advise.table import (
    head,
    is_example,
    job_head,
    job_row,
    lines,
    model_error,
    order,
    rows,
    together_head,
    together_row,
)
from etherweave.report.page import Front, Page
from etherweave.report.section import Section, Table
from etherweave.report.style import ASIDE, SERIES, literal

LABEL_MAX = 48  # Longest label beside a bar [characters].
EFFECTS_MAX = 10  # Unknowns that are drawn; the table has all.
Panel = tuple[str, Callable[[Standing], Interval | None]]
PANELS: Sequence[Panel] = (
    ("throughput of the mix", lambda standing: standing.throughput),
    ("price", lambda standing: standing.price),
    ("throughput for the price", lambda standing: standing.price_performance),
)


def write_advice(answer: Answer, out: Path) -> Path:
    """Write the page of an answer into a directory; returns the page's path."""
    page = Page(out)
    page.show([_ranking, _jobs, _prices, _unknowns, _missing, _bills], answer)
    best = answer.standings[0]
    lead = f"{best.fabric} comes first in {best.first:.0%} of {answer.samples} samples."
    warnings = ["Prices are placeholders: replace them by your own."] if is_example(answer) else []
    answers = [*answer.against, *answer.contrasts, *answer.hidden, *answer.overlapped]
    facts = [("Ranked by", answer.goal.replace("_", " ")), ("1 is", answer.baseline)]
    facts += [("Samples of each job", str(answer.samples)), ("Runs", f"{answer.runs:,}")]
    return page.write(
        Front(f"Advice: {answer.name}", f"{lead} {answer.decides}", answers, facts, warnings), []
    )


def _ranking(answer: Answer) -> Section:
    panels = [panel for panel in PANELS if all(panel[1](each) for each in answer.standings)]
    figure = Figure(figsize=(9, 1.0 + 0.5 * len(answer.standings)))
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    blank = [""] * len(answer.standings)
    for number, (axis, (title, of)) in enumerate(zip(axes, panels, strict=True)):
        spans = [of(each) for each in answer.standings]
        _bars(axis, [span for span in spans if span], SERIES[number])
        axis.set_yticks(range(len(answer.standings)), _names(answer) if not number else blank)
        axis.set_xlabel(title if title != "price" else literal(f"price [{_currency(answer)}]"))
    together = Table(together_head(answer), [together_row(row) for row in answer.standings])
    tables = [Table(head(answer), rows(answer)), together]
    caption = f"{order(answer)} Lines: the interval of nine samples of ten. {model_error(answer)}"
    return Section("ranking", "Ranking", caption, figure, tables)


def _bars(axes: Axes, spans: Sequence[Interval], colour: str) -> None:
    places = list(range(len(spans)))
    axes.barh(places, [span.value for span in spans], color=colour, height=0.6)
    for place, span in zip(places, spans, strict=True):
        axes.plot([span.low, span.high], [place, place], color="black", marker="|")
    axes.invert_yaxis()


def _jobs(answer: Answer) -> Section:
    jobs = answer.standings[0].jobs
    figure = Figure(figsize=(9, 1.0 + 0.25 * len(jobs) * len(answer.standings)))
    axes = figure.subplots()
    height = 0.8 / len(jobs)
    for number, job in enumerate(jobs):
        places = [at + number * height for at in range(len(answer.standings))]
        values = [standing.jobs[number].relative for standing in answer.standings]
        colour = SERIES[number % len(SERIES)]
        label = literal(f"{job.job}, {job.weight:.0%} of the mix")
        axes.barh(places, values, color=colour, height=0.9 * height, label=label)
    middle = height * (len(jobs) - 1) / 2
    axes.set_yticks([at + middle for at in range(len(answer.standings))], _names(answer))
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel(literal(f"time over that on {answer.baseline}"))
    axes.legend(**ASIDE)
    table = Table(job_head(answer), [job_row(standing) for standing in answer.standings])
    caption = "Mean time of an iteration, or until the last stream of the job is complete."
    return Section("jobs", "Time of each job", caption, figure, [table])


def _prices(answer: Answer) -> Section | None:
    priced = [standing for standing in answer.standings if standing.bill.items]
    if not priced:
        return None
    figure = Figure(figsize=(9, 1.0 + 0.5 * len(priced)))
    axes = figure.subplots()
    places = list(range(len(priced)))
    begins = [0.0] * len(priced)
    for number, (key, part) in enumerate(PARTS.items()):
        sums = [
            sum(line.amount for line in lines(standing) if line.key.partition(".")[0] == key)
            for standing in priced
        ]
        if any(sums):
            axes.barh(places, sums, left=begins, color=SERIES[number], height=0.6, label=part)
        begins = [begin + total for begin, total in zip(begins, sums, strict=True)]
    axes.set_yticks(places, [literal(standing.fabric) for standing in priced])
    axes.invert_yaxis()
    axes.set_xlabel(literal(f"price [{_currency(answer)}]"))
    axes.legend(**ASIDE)
    example = " Prices are placeholders." if is_example(answer) else ""
    return Section("prices", "What it costs", f"{priced[0].bill.book}.{example}", figure)


def _unknowns(answer: Answer) -> Section | None:
    if not answer.effects:
        return None
    drawn = answer.effects[:EFFECTS_MAX]
    figure = Figure(figsize=(9, 1.0 + 0.3 * len(drawn)))
    axes = figure.subplots()
    places = list(range(len(drawn)))
    axes.barh(places, [100 * effect.moves for effect in drawn], color=SERIES[0], height=0.6)
    axes.set_yticks(places, [literal(_label(effect.unknown)) for effect in drawn])
    axes.invert_yaxis()
    axes.set_xlabel("moves the lead of the first over the second [%]")
    rows = [
        (
            effect.unknown,
            effect.basis,
            effect.span,
            f"{effect.moves:.1%}",
            "yes" if effect.turns else "no",
        )
        for effect in answer.effects
    ]
    heads = ("unknown", "basis", "range", "moves", "turns the order")
    caption = (
        "Morris's method: the mean change of the ratio of both scores when the unknown alone goes "
        "through its range."
    )
    return Section("unknowns", "What is not known", caption, figure, [Table(heads, rows)])


def _label(unknown: str) -> str:
    """Shorten what is not known to a label; the table below has its sources."""
    return shorten(unknown, LABEL_MAX, placeholder=" …")


def _missing(answer: Answer) -> Section:
    tables = [Table(("not modelled",), [(text,) for text in answer.not_modelled])]
    if answer.flow_level:
        rows = [(text,) for text in answer.flow_level]
        tables.insert(0, Table(("in flow-level mode, error not measured",), rows))
    if answer.warnings:
        tables.insert(0, Table(("warnings of runs",), [(text,) for text in answer.warnings]))
    if answer.differs:
        tables.insert(0, Table(("what differs",), [(differ,) for differ in answer.differs]))
    if answer.left_out:
        tables.insert(0, Table(("left out",), [(text,) for text in answer.left_out]))
    if answer.fixed:
        rows = [(text,) for text in answer.fixed]
        caption = "Names, sizes and switches without a certain source, which do not vary."
        tables.append(Table(("figure",), rows, caption, is_folded=True))
    return Section("missing", "What this leaves out", tables=tables)


def _bills(answer: Answer) -> Section | None:
    heads = ("price of", "for", "count", "amount", "basis", "source", "date")
    tables = [
        Table(
            heads,
            [
                (
                    line.key,
                    line.purpose,
                    f"{line.count:,}",
                    f"{line.amount:,.0f}",
                    line.basis,
                    line.source,
                    line.date or "",
                )
                for line in lines(standing)
            ],
            f"{standing.fabric}: {standing.bill.switches} switches, {standing.bill.hosts} hosts",
            is_folded=True,
        )
        for standing in answer.standings
        if standing.bill.items
    ]
    return Section("bills", "Bills", tables=tables) if tables else None


def _names(answer: Answer) -> list[str]:
    return [literal(standing.fabric) for standing in answer.standings]


def _currency(answer: Answer) -> str:
    return next(standing.bill.currency for standing in answer.standings if standing.bill.items)
