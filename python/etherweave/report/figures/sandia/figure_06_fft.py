"""Figure 6: iterations of FFT under each network option."""

from matplotlib.figure import Figure

from etherweave.report.figures import bars
from etherweave.report.figures.sandia import CHECKED, PUBLICATION
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.report.style import COLOURS, LABELS

CAPTION = (
    "Mean over ranks and iterations of FFT: 48 ranks in a grid of 4×4×3, an all-to-all of 10,000 "
    "bytes per pair along each axis per iteration, on the placement of the testbed."
)


def section(study: Study) -> Section:
    """Show the mean time of an iteration of FFT beside the published one."""
    drawn = [
        bars.Bar(LABELS[name], COLOURS[name], study.value(f"fft.{CHECKED[name]}.iteration"), value)
        for name, value in published(PUBLICATION, "6").items()
    ]
    figure = Figure(figsize=(6.4, 3.2))
    bars.draw(figure.subplots(), drawn, "time of an iteration [ms]")
    title = "Figure 6: iterations of FFT"
    return Section("figure_06", title, CAPTION, figure, [bars.table(drawn, "ms")], ["fft.*"])
