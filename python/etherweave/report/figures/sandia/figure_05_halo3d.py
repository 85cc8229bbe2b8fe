"""Figure 5: iterations of Halo3D under each network option."""

from matplotlib.figure import Figure

from etherweave.report.figures import bars
from etherweave.report.figures.sandia import CHECKED, PUBLICATION
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.report.style import COLOURS, LABELS

CAPTION = (
    "Mean over ranks and iterations of Halo3D-26: 48 ranks in a periodic grid of 4×4×3, a sleep of "
    "216 us and 18 messages each per iteration, on the placement of the testbed."
)


def section(study: Study) -> Section:
    """Show the mean time of an iteration of Halo3D beside the published one."""
    drawn = [
        bars.Bar(
            LABELS[name], COLOURS[name], study.value(f"halo3d.{CHECKED[name]}.iteration"), value
        )
        for name, value in published(PUBLICATION, "5").items()
    ]
    figure = Figure(figsize=(6.4, 3.2))
    bars.draw(figure.subplots(), drawn, "time of an iteration [ms]")
    title = "Figure 5: iterations of Halo3D"
    return Section("figure_05", title, CAPTION, figure, [bars.table(drawn, "ms")], ["halo3d.*"])
