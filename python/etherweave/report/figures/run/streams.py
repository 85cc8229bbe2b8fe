"""What streams delivered."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etherweave.report.section import Section, Table
from etherweave.report.style import SERIES
from etherweave.results import Result

BARS_MAX = 80
"""Of streams with a bar each; more are drawn as a curve."""

CAPTION = (
    "Payload that reached the application, by the time from the end of the warm-up on; "
    "in descending order within each job."
)


def section(result: Result) -> Section | None:
    """Show the goodput of each stream, and its sum at each destination."""
    rows = result.to_polars("streams")
    if rows.is_empty():
        return None
    figure = Figure(figsize=(9, 2.8))
    axes = figure.subplots()
    place = 0
    for number, ((job,), part) in enumerate(rows.group_by("job", maintain_order=True)):
        rates = part["goodput_gbps"].sort(descending=True)
        _draw(axes, place, rates, f"{job}: {len(rates)} streams", SERIES[number % len(SERIES)])
        place += len(rates)
    axes.set_xlabel("stream")
    axes.set_ylabel("goodput [Gb/s]")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    return Section("streams", "Goodput of streams", CAPTION, figure, [_by_destination(rows)])


def _draw(axes: Axes, place: int, rates: pl.Series, label: str, colour: str) -> None:
    places = range(place + 1, place + 1 + len(rates))
    if len(rates) <= BARS_MAX:
        axes.bar(places, rates.to_numpy(), color=colour, label=label)
    else:
        axes.fill_between(places, rates.to_numpy(), color=colour, label=label, step="mid")


def _by_destination(rows: pl.DataFrame) -> Table:
    table = rows.group_by("job", "destination_host", maintain_order=True).agg(
        pl.col("source_host").n_unique(),
        pl.len(),
        pl.col("messages").sum(),
        pl.col("bytes").sum(),
        pl.col("goodput_gbps").sum(),
    )
    head = ("job", "destination", "sources", "streams", "messages", "payload [B]")
    cells = [
        [job, host, *(f"{count:,}" for count in counts), f"{rate:,.2f}"]
        for job, host, *counts, rate in table.rows()
    ]
    return Table((*head, "goodput [Gb/s]"), cells, is_folded=len(cells) > 12)
