"""Figure 9: iterations of FFT over TCP, with and without load."""

from etherweave.report.figures.sandia import PUBLICATION, scatter
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study

CASES = ("tcp.alone", "tcp.loaded", "tcp_pfc.alone", "tcp_pfc.loaded")
CAPTION = f"{scatter.CAPTION}Dashed: around which times are clustered, as published."


def section(study: Study) -> Section:
    """Show every iteration on every node, with and without flow control and load."""
    typical = {"published": published(PUBLICATION, "9")["typical"]}
    figure = scatter.draw(study, [scatter.Panel(case, typical) for case in CASES])
    title = "Figure 9: iterations of FFT on every node, TCP"
    return Section("figure_09", title, CAPTION, figure, [scatter.table(study, CASES)])
