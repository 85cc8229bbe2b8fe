"""Reports: one self-contained HTML page, and its figures as SVG and PNG beside it; drawings.

:func:`write_run` and :func:`write_study` make the page of a run or a study, :func:`draw_fabric`
draws a fabric, :func:`draw_metrics` a comparison of fabrics, :func:`draw_curves` a latency curve,
:func:`draw_heat` and :func:`write_animation` an observation. Each kind of page is a folder, whose
``page.py`` lists the sections. The same results give the same bytes. Left out: simulating, and
pages that need another extra (:mod:`etherweave.pages`). Whatever a page shows is in the tables of
its results, or was published and says where.
"""

from etherweave.report.animation import write_animation
from etherweave.report.curves import draw_curves
from etherweave.report.drawing import draw_fabric
from etherweave.report.heat import draw_heat
from etherweave.report.metrics import draw_metrics
from etherweave.report.run.page import write_run
from etherweave.report.run.rank_detail import WindowRequest
from etherweave.report.run.recording import is_recording, write_recording
from etherweave.report.study.page import write_study
from etherweave.report.sweep import plot

__all__ = [
    "WindowRequest",
    "draw_curves",
    "draw_fabric",
    "draw_heat",
    "draw_metrics",
    "is_recording",
    "plot",
    "write_animation",
    "write_recording",
    "write_run",
    "write_study",
]
