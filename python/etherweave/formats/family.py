"""The formats: readers and writers by name, and how a file's format is recognised.

A reader is a module of ``readers`` with ``recognises`` and ``read``, a writer one of ``writers``
with ``files``; each has a line here.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from etherweave.api.inputs import InputError
from etherweave.formats.network import Network
from etherweave.formats.texts import Source, source

if TYPE_CHECKING:
    from etherweave import _core
    from etherweave.api.results import Result

READERS = {
    "slurm": "Slurm's topology.conf, trees and blocks",
    "slurm_yaml": "Slurm's topology.yaml, and the models of topograph",
    "ibnetdiscover": "what ibnetdiscover prints",
    "iblinkinfo": "what iblinkinfo prints",
    "netbox": "NetBox: cables, devices and interfaces as CSV, cables of its REST interface as JSON",
    "lldp": "neighbours by LLDP, a file a device: lldpcli -f json or json0, SONiC's lldp table",
    "containerlab": "a topology of containerlab",
    "infragraph": "InfraGraph, YAML or JSON",
    "astra_sim": "networks of ASTRA-sim's analytical backend",
    "dot": "DOT of Graphviz",
    "gml": "GML, such as Topology Zoo's",
    "graphml": "GraphML: Topology Zoo's, yEd's and Etherweave's",
    "simgrid": "platforms of SimGrid, XML",
    "nccl": "NCCL's topology XML: the inside of a server",
    "lstopo": "lstopo's XML: the inside of a server",
    "htsim": "htsim's .topo",
    "booksim": "BookSim's anynet",
    "ns3": "the topology of HPCC's ns-3, and SimAI's",
    "node_link": "JSON in NetworkX's node-link form",
    "edge_list": "lists of links as CSV, with names; Etherweave's cable plan",
}
"""Readers by name, in the order in which they are asked."""
WRITERS = {
    "slurm_block": "The blocks of Slurm's topology/block plugin, YAML and topology.conf.",
    "infragraph": "InfraGraph, YAML.",
    "containerlab": "A topology of containerlab with SONiC switches.",
    "ns3": "The topology of HPCC's ns-3, and the flows of the result that --load names.",
    "htsim": "The tree of htsim, and the flows of the result that --load names.",
}
"""Writers by name; the core has others (:func:`etherweave.exports`)."""


class Reader(Protocol):
    """A module that reads a format."""

    def recognises(self, file: Source) -> bool:
        """Return whether a file looks like this format."""

    def read(self, files: Sequence[Source], servers: int) -> Network:
        """Read files of one fabric; ``servers`` repeats the inside of a server."""


class Writer(Protocol):
    """A module that writes a format."""

    def files(self, fabric: "_core.Fabric", result: "Result | None") -> Mapping[str, str]:
        """Write a fabric, and flows of a run where the format has any: texts by file name."""


def reader(name: str) -> Reader:
    """Import a reader."""
    return cast(Reader, import_module(f"etherweave.formats.readers.{name}"))


def read(paths: Sequence[Path], form: str | None = None, servers: int = 2) -> Network:
    """Read the files of a fabric, all of one format.

    ``form`` is one of :data:`READERS`, by default recognised by content and name; ``servers`` is
    the number of servers at a switch where a file describes the inside of one. Raises
    ``InputError``, which says where and what was expected, when a file is not read.
    """
    files = [source(path) for path in paths]
    names = {form or _recognised(file) for file in files}
    if len(names) > 1:
        raise InputError(paths[0], f"beside other formats ({', '.join(sorted(names))})")
    (name,) = names
    network = reader(name).read(files, servers)
    network.form = network.form or READERS[name]
    if not network.links:
        raise network.mistake("", "no cable; expected links between nodes")
    return network


def _recognised(file: Source) -> str:
    for name in READERS:
        if reader(name).recognises(file):
            return name
    raise InputError(file.path, f"of no known format; expected --form {', '.join(READERS)}")


def write(fabric: "_core.Fabric", form: str, result: "Result | None" = None) -> Mapping[str, str]:
    """Write a fabric in one of :data:`WRITERS`; returns texts by file name.

    Flows of a ``result`` on the fabric are written where the format has any. Raises ``InputError``
    when the format cannot express the fabric.
    """
    module = cast(Writer, import_module(f"etherweave.formats.writers.{form}"))
    return module.files(fabric, result)
