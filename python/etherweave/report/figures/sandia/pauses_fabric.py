"""Where in the fabric links are paused."""

from etherweave.report.figures.fabric import Layer, maps, ports
from etherweave.report.section import Section
from etherweave.report.source import Study

CAPTION = (
    "Share of the time of the run. Left: the peer, a network card or a switch, had the port "
    "stopped. Right: the port had its peer stopped. Of several priorities the longest."
)
RUNS = {
    "Halo3D, TCP-PFC": "halo3d.tcp_pfc",
    "Halo3D, RoCE": "halo3d.roce_v2",
    "both, RoCE": "qos.roce_v2.loaded.1",
    "both, RoCE, ETS": "qos.roce_v2.ets.1",
}
LAYERS = [Layer("is_paused", "stopped"), Layer("pauses", "stopping")]


def section(study: Study) -> Section:
    """Show for how long every switch port was paused, and paused its peer."""
    tables = [(name, ports(study.result(run))) for name, run in RUNS.items()]
    figure = maps(tables, LAYERS, "of the time [%]")
    return Section("pauses_fabric", "Pauses in the fabric", CAPTION, figure)
