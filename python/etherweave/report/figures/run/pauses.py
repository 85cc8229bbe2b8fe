"""Who stopped whom."""

from etherweave.report.exhibit import Exhibit
from etherweave.report.figures.fabric import Layer, maps, ports
from etherweave.results import Result

CAPTION = (
    "Share of the time since the warm-up. Left: the peer, a network card or a switch, had the port "
    "stopped. Right: the port had its peer stopped. Of several priorities the longest."
)
LAYERS = [Layer("is_paused", "stopped by the peer"), Layer("pauses", "stopping the peer")]


def exhibit(result: Result) -> Exhibit | None:
    """Show for how long every switch port was paused, and paused its peer."""
    table = ports(result)
    if table.is_empty():
        return None
    if float(table.select("is_paused", "pauses").sum().sum_horizontal()[0]) == 0:
        return Exhibit("pauses", "Pauses", "No port was ever paused.")
    figure = maps([("", table)], LAYERS, "of the time [%]")
    return Exhibit("pauses", "Pauses", CAPTION, figure)
