"""Figure 7: High Performance Linpack, which is not simulated."""

import math

from matplotlib.figure import Figure

from etherweave.report.figures import bars
from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.report.style import COLOURS, LABELS

CAPTION = (
    "Not simulated: published values only. Etherweave has no model of Linpack, whose time is "
    "mostly that of arithmetic; the publication finds little influence of the network."
)


def section(study: Study) -> Section:
    """Show the published shares of the peak performance."""
    drawn = [
        bars.Bar(LABELS[name], COLOURS[name], math.nan, value)
        for name, value in published(PUBLICATION, "7").items()
    ]
    figure = Figure(figsize=(6.4, 3.2))
    bars.draw(figure.subplots(), drawn, "performance [% of peak]")
    title = "Figure 7: High Performance Linpack (not simulated)"
    return Section("figure_07", title, CAPTION, figure, [bars.table(drawn, "% of peak")])
