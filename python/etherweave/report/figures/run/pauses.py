"""Who stopped whom."""

from etherweave.report.figures.fabric import Layer, maps, ports
from etherweave.report.section import Section
from etherweave.results import Result

CAPTION = (
    "Share of the time since the warm-up. Left: the peer, a network card or a switch, had the port "
    "stopped. Right: the port had its peer stopped. Of several priorities the longest."
)
LAYERS = [Layer("is_paused", "stopped by the peer"), Layer("pauses", "stopping the peer")]


def section(result: Result) -> Section | None:
    """Show for how long every switch port was paused, and paused its peer."""
    table = ports(result)
    if table.is_empty():
        return None
    if float(table.select("is_paused", "pauses").sum().sum_horizontal()[0]) == 0:
        return Section("pauses", "Pauses", "No port was ever paused.")
    figure = maps([("", table)], LAYERS, "of the time [%]")
    return Section("pauses", "Pauses", CAPTION, figure)
