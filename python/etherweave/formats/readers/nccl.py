"""NCCL's topology XML (``NCCL_TOPO_DUMP_FILE``; NVIDIA/nccl ``src/graph/xml.cc``).

The file describes the inside of a server: its NICs and, for each GPU, which of them is near. Its
scenario has some such servers at a switch, each NIC with a port.
"""

from collections.abc import Sequence

from etherweave.api.units import counted
from etherweave.formats.network import Network
from etherweave.formats.readers.servers import joined_servers
from etherweave.formats.texts import Element, Source, number, only, xml

DISTANCES = ("PIX", "PXB", "PHB", "SYS")
"""NCCL's words: the same switch, several switches, the same CPU, another CPU."""


def recognises(file: Source) -> bool:
    """Return whether the root is NCCL's."""
    return "<system version" in file.head


def read(files: Sequence[Source], servers: int) -> Network:
    """Read NICs with their speeds, and list their distances from GPUs."""
    file = only(files)
    root = xml(file)
    nics: list[tuple[str, str]] = []
    paths: dict[int, list[Element]] = {}
    _walk(root, [], paths)
    gpus = [element for element in root.walk() if element.tag == "gpu"]
    nets = [element for element in root.walk() if element.tag == "net"]
    for at, net in enumerate(nets):
        name = f"{net.of.get('name', f'nic{at}')}:{net.of.get('port', '1')}"
        speed = number(file, net.of.get("speed", ""), net.where, 1, 10**8)
        nics.append((name, f"{speed}Mb/s"))
    network = joined_servers(file, nics, servers)
    for gpu in gpus:
        near = [(_distance(paths[id(gpu)], paths[id(net)]), net) for net in nets]
        if near:
            steps, net = min(near, key=lambda pair: DISTANCES.index(pair[0]))
            name = f"GPU {gpu.of.get('dev', '?')}"
            network.notes.append(f"{name} is nearest to {net.of.get('name')}: {steps}")
    links = sum(
        number(file, link.of.get("count", "1"), link.where)
        for gpu in gpus
        for link in gpu.named("nvlink")
    )
    counts = ((len(gpus), "GPU"), (len(nics), "NIC"), (links, "NVLink"))
    inside = [counted(count, noun) for count, noun in counts]
    network.notes.insert(0, f"a server has {', '.join(inside)}")
    return network


def _walk(root: Element, path: list[Element], paths: dict[int, list[Element]]) -> None:
    rest = [(root, path)]
    while rest:
        element, above = rest.pop()
        paths[id(element)] = above
        rest += [(child, [*above, element]) for child in element.children]


def _distance(first: list[Element], second: list[Element]) -> str:
    """Name the distance of two devices by their nearest common ancestor."""
    common = [element for element, other in zip(first, second, strict=False) if element is other]
    if common[-1].tag == "cpu":
        return "PHB"
    if common[-1].tag != "pci":
        return "SYS"
    # Each device stands in a PCI function of its own, which is no switch between them.
    steps = max(len(path) - len(common) for path in (first, second))
    bridges = sum(part.tag == "pci" for part in (*first[len(common) :], *second[len(common) :]))
    return "PIX" if bridges <= 2 and steps <= 2 else "PXB"
