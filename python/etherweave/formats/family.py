"""The formats: readers and writers by name, and how a file's format is recognised.

A reader is a module of ``readers`` with ``recognises`` and ``read``, a writer one of ``writers``
with ``files``; each has a line here.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from etherweave.api.inputs import InputError
from etherweave.formats.network import Network, listed_names, subject
from etherweave.formats.texts import Source, json_value, source, xml, yaml

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
BESIDE = {
    "*-flows.txt": "it is a list of flows",
    "*.cm": "it is a list of flows",
    "*.toml": "it is a scenario of Etherweave",
}
"""Names of files that stand beside that of a fabric and have no cables, and what they are."""
SECOND = {"slurm_yaml": "*-topology.conf"}
"""Names of files that have the fabric in a second form, by the format that is read."""
WRITERS = {
    "slurm_block": "The blocks of Slurm's topology/block plugin, YAML and topology.conf.",
    "infragraph": "InfraGraph, YAML.",
    "containerlab": "A topology of containerlab with SONiC switches.",
    "ns3": "The topology of HPCC's ns-3, and the flows of the result that --load names.",
    "htsim": "The tree of htsim, and the flows of the result that --load names.",
}
"""Writers by name; the core has others (:func:`etherweave.exports`)."""


DAMAGED: Mapping[str, Callable[[Source], object]] = {
    ".json": json_value,
    ".xml": xml,
    ".yaml": yaml,
    ".yml": yaml,
}
"""Readers of files whose format is not recognised, by name, for a mistake in them."""


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


def read(
    paths: str | Path | Sequence[str | Path], form: str | None = None, servers: int = 2
) -> Network:
    """Read the files of a fabric, all of one format, and those of directories.

    ``form`` is one of :data:`READERS`, by default recognised by content and name; ``servers`` is
    the number of servers at a switch where a file describes the inside of one. Raises
    ``InputError``, which says where and what was expected, when a file is not read.
    """
    paths = [paths] if isinstance(paths, str | Path) else paths
    files, beside = _parted([source(path) for path in listed(paths)])
    name, second = _common(files, form)
    network = reader(name).read([file for file in files if file not in second], servers)
    beside |= dict.fromkeys(second, "it has the same blocks")
    network.notes += [f"{file.path.name} is left out: {what}" for file, what in beside.items()]
    inner = [part.name for path in map(Path, paths) if path.is_dir() for part in _directories(path)]
    if inner:
        what = subject(len(inner), "folder", "inside")
        network.notes.append(f"{what} left out: {listed_names(inner)}")
    network.file = ""
    network.form = network.form or READERS[name]
    if not network.links:
        raise network.mistake("", "no cable; expected links between nodes")
    return network


def listed(paths: Sequence[str | Path]) -> list[Path]:
    """Replace directories by the files in them."""
    places = [Path(path) for path in paths]
    files = [file for path in places for file in (_files(path) if path.is_dir() else [path])]
    if not files:
        raise InputError(places[0], "a directory without files; expected files of a fabric")
    return files


def _files(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.iterdir()) if not path.is_dir()]


def _directories(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.iterdir()) if path.is_dir()]


def _parted(files: Sequence[Source]) -> tuple[list[Source], dict[Source, str]]:
    """Part files of a fabric from those beside them, with what each of these is."""
    whats = {file: _beside(file) for file in files}
    mains = [file for file, what in whats.items() if not what]
    if not mains:
        raise files[0].mistake("", f"{whats[files[0]]}; expected a file of a fabric beside it")
    return mains, {file: what for file, what in whats.items() if what}


def _beside(file: Source) -> str:
    return next((what for name, what in BESIDE.items() if file.path.match(name)), "")


def _common(files: Sequence[Source], form: str | None) -> tuple[str, list[Source]]:
    """Find the format of all files, and those of them that have the fabric a second time."""
    for name in [form] if form else SECOND:
        second = [file for file in files if name in SECOND and file.path.match(SECOND[name])]
        mains = [file for file in files if file not in second]
        if second and mains and all(reader(name).recognises(file) for file in mains):
            return name, second
    names = [form if form and file.text.strip() else _recognised(file) for file in files]
    other = next((at for at, name in enumerate(names) if name != names[0]), None)
    if other is not None:
        reason = (
            f"{names[other]}, and {files[0].path.name} is {names[0]}; expected files of a single "
            "format, by their names"
        )
        raise InputError(files[other].path, reason)
    return names[0], []


def _recognised(file: Source) -> str:
    if not file.text.strip():
        raise InputError(file.path, "empty; expected a file of a fabric")
    for name in READERS:
        if reader(name).recognises(file):
            return name
    if check := DAMAGED.get(file.suffix):
        check(file)  # Raises where the file is not what its name says.
    raise InputError(file.path, f"of no known format; expected --form {', '.join(READERS)}")


def write(fabric: "_core.Fabric", form: str, result: "Result | None" = None) -> Mapping[str, str]:
    """Write a fabric in one of :data:`WRITERS`; returns texts by file name.

    Flows of a ``result`` on the fabric are written where the format has any. Raises ``InputError``
    when the format cannot express the fabric, and ``ValueError`` when there is no such format.
    """
    if form not in WRITERS:
        raise ValueError(f"{form}: no such format; expected one of {', '.join(WRITERS)}")
    module = cast(Writer, import_module(f"etherweave.formats.writers.{form}"))
    return module.files(fabric, result)
