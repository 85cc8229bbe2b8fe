"""``lstopo``'s XML (hwloc 2.x, ``hwloc2.dtd``): the inside of a server.

Network interfaces are OS devices of the type network or OpenFabrics; an Ethernet interface of the
same PCI function as an OpenFabrics device is the same NIC. Only OpenFabrics devices say a rate.
"""

from collections.abc import Sequence

from etherweave.api.units import counted
from etherweave.formats.network import Network
from etherweave.formats.readers.servers import joined_servers
from etherweave.formats.texts import Element, Source, only, xml

NETWORK, OPEN_FABRICS, CO_PROCESSOR, GPU = "2", "3", "5", "1"
"""Values of ``osdev_type`` (hwloc.h, ``hwloc_obj_osdev_type_e`` of 2.x)."""


def recognises(file: Source) -> bool:
    """Return whether the root is hwloc's."""
    return "<topology" in file.head and ("hwloc" in file.head or "<object type" in file.head)


def read(files: Sequence[Source], servers: int) -> Network:
    """Read interfaces by PCI function."""
    file = only(files)
    root = xml(file)
    functions = [element for element in root.walk() if element.of.get("type") == "PCIDev"]
    nics = [nic for part in functions if (nic := _nic(part.named("object"))) and nic[0] != "lo"]
    network = joined_servers(file, nics, servers)
    devices = [element for element in root.walk() if element.of.get("type") == "OSDev"]
    gpus = {
        element.of.get("name", "")
        for element in devices
        if element.of.get("osdev_type") in (CO_PROCESSOR, GPU)
        and element.of.get("name", "").startswith(("cuda", "rsmi", "nvml", "ze", "hip"))
    }
    packages = sum(element.of.get("type") == "Package" for element in root.walk())
    counts = ((packages, "package"), (len(gpus), "GPU device"), (len(nics), "NIC"))
    inside = ", ".join(counted(count, noun) for count, noun in counts)
    network.notes.append(f"a server has {inside}")
    return network


def _nic(devices: Sequence[Element]) -> tuple[str, str] | None:
    """Name the NIC of a PCI function, and its rate where it is known."""
    by_type = {device.of.get("osdev_type"): device for device in devices}
    fabric, interface = by_type.get(OPEN_FABRICS), by_type.get(NETWORK)
    if fabric is None and interface is None:
        return None
    device = fabric if fabric is not None else interface
    assert device is not None
    infos = {info.of.get("name"): info.of.get("value", "") for info in device.named("info")}
    rate = infos.get("Port1Speed") or infos.get("LinkSpeed") or ""
    return device.of.get("name", "nic"), rate
