"""Figure 3: latency between two hosts of a leaf."""

from matplotlib.figure import Figure

from etherweave.report.figures import bars
from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.report.style import COLOURS, LABELS

CAPTION = (
    "osu_latency with messages without payload, between two hosts of a leaf: half of a round trip. "
    "Two lines across a bar are the ends of a published range."
)


def section(study: Study) -> Section:
    """Show the latency of each network option beside the published one."""
    drawn = [
        bars.Bar(LABELS[name], COLOURS[name], study.value(f"p2p.{name}.latency"), value)
        for name, value in published(PUBLICATION, "3").items()
    ]
    figure = Figure(figsize=(6.4, 3.2))
    bars.draw(figure.subplots(), drawn, "latency [us]")
    title = "Figure 3: point-to-point latency"
    tables = [bars.table(drawn, "us")]
    return Section("figure_03", title, CAPTION, figure, tables, ["p2p.*.latency"])
