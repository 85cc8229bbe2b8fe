"""Figure 10: iterations of FFT over RoCE, with and without load, and with ETS."""

from etherweave.report.figures.sandia import PUBLICATION, scatter
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study

CASES = ("roce_v2.alone", "roce_v2.loaded", "roce_v2.ets")
CAPTION = (
    f"{scatter.CAPTION}Dashed, as published: the average alone; below what nearly all iterations "
    "stay with ETS."
)


def section(study: Study) -> Section:
    """Show every iteration on every node."""
    values = published(PUBLICATION, "10")
    lines = {
        "roce_v2.alone": {"published average": values["alone"]},
        "roce_v2.ets": {"published: most below": values["ets"]},
    }
    figure = scatter.draw(study, [scatter.Panel(case, lines.get(case, {})) for case in CASES])
    title = "Figure 10: iterations of FFT on every node, RoCE"
    checks = ["qos.roce.ets_most_iterations"]
    return Section("figure_10", title, CAPTION, figure, [scatter.table(study, CASES)], checks)
