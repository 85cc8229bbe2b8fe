"""How busy the links are under Halo3D."""

from etherweave.report.figures.fabric import Layer, maps, ports
from etherweave.report.figures.sandia import OPTIONS
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.report.style import LABELS

CAPTION = (
    "Bytes on the wire, preamble and gap included, against what each link could carry in the time "
    "of the run. A line parts a leaf's ports to hosts (left) from its uplinks. Grey: unused."
)
LAYERS = [Layer("sent", "sent"), Layer("received", "received")]


def section(study: Study) -> Section:
    """Show the utilisation of every switch port under each network option."""
    tables = [
        (LABELS[option].removesuffix(" v2"), ports(study.result(f"halo3d.{option}")))
        for option in OPTIONS
    ]
    figure = maps(tables, LAYERS, "of the line rate [%]")
    return Section("halo3d_fabric", "Link utilisation under Halo3D", CAPTION, figure)
