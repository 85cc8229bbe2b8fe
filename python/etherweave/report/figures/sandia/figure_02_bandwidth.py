"""Figure 2: bandwidth between two hosts of a leaf."""

from matplotlib.figure import Figure

from etherweave.report.figures import bars
from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.report.style import COLOURS, LABELS

CAPTION = (
    "osu_bw with messages of 4 MiB, 64 at a time, between two hosts of a leaf. The constants of a "
    "host are calibrated on this figure and the next, and on no other."
)


def section(study: Study) -> Section:
    """Show the bandwidth of each network option beside the published one."""
    drawn = [
        bars.Bar(LABELS[name], COLOURS[name], study.value(f"p2p.{name}.bandwidth"), value)
        for name, value in published(PUBLICATION, "2").items()
    ]
    figure = Figure(figsize=(6.4, 3.2))
    bars.draw(figure.subplots(), drawn, "bandwidth [Gb/s]")
    title = "Figure 2: point-to-point bandwidth"
    tables = [bars.table(drawn, "Gb/s")]
    return Section("figure_02", title, CAPTION, figure, tables, ["p2p.*.bandwidth"])
