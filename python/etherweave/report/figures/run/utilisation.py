"""How busy the links were."""

from etherweave.report.exhibit import Exhibit
from etherweave.report.figures.fabric import Layer, maps, ports
from etherweave.results import Result

CAPTION = (
    "Bytes on the wire, preamble and gap included, against what the link could carry since the "
    "warm-up. A line parts a leaf's ports to hosts (left) from its uplinks. Grey: nothing passed."
)
LAYERS = [Layer("sent", "sent"), Layer("received", "received")]


def exhibit(result: Result) -> Exhibit | None:
    """Show the utilisation of every switch port, in both directions."""
    table = ports(result)
    if table.is_empty():
        return None
    figure = maps([("", table)], LAYERS, "of the line rate [%]")
    return Exhibit("utilisation", "Link utilisation", CAPTION, figure)
