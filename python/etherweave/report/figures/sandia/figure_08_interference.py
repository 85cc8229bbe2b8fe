"""Figure 8: how long FFT takes, alone and beside Halo3D."""

from statistics import mean

from matplotlib.figure import Figure

from etherweave.report.figures import bars
from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.figures.sandia.interference import CASES, colour, label, totals_s
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study

CAPTION = (
    "Time of 16,000 iterations of FFT on a random half of the hosts, alone and with Halo3D on the "
    "other half: the mean over random placements, scaled from the iterations that ran. With ETS "
    "both have a priority of their own with half of the bandwidth each."
)


def section(study: Study) -> Section:
    """Show total times beside the published ones."""
    values = published(PUBLICATION, "8")
    drawn = [
        bars.Bar(label(case, "\n"), colour(case), mean(totals_s(study, case)), values.get(case))
        for case in CASES
    ]
    figure = Figure(figsize=(9.6, 3.4))
    bars.draw(figure.subplots(), drawn, "time of FFT [s]")
    title = "Figure 8: FFT with interference from Halo3D"
    checks = ["qos.tcp.*", "qos.roce.*"]
    return Section("figure_08", title, CAPTION, figure, [bars.table(drawn, "s")], checks)
