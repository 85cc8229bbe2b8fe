"""How busy the links were."""

from etherweave.report.figures.fabric import Layer, maps, ports
from etherweave.report.section import Section
from etherweave.results import Result

CAPTION = (
    "Bytes on the wire, preamble and gap included, against what the link could carry since the "
    "warm-up. A line parts a leaf's ports to hosts (left) from its uplinks. Grey: nothing passed."
)
LAYERS = [Layer("sent", "sent"), Layer("received", "received")]


def section(result: Result) -> Section | None:
    """Show the utilisation of every switch port, in both directions."""
    table = ports(result)
    if table.is_empty():
        return None
    figure = maps([("", table)], LAYERS, "of the line rate [%]")
    return Section("utilisation", "Link utilisation", CAPTION, figure)
