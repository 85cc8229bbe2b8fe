"""RDMA devices, as the kernel shows them (Documentation/ABI/stable/sysfs-class-infiniband)."""

from etherweave.bench.environment.readers.place import Place
from etherweave.bench.environment.snapshot import RdmaDevice, RdmaPort

_CLASS = "sys/class/infiniband"
_UNSET = "0000:0000:0000:0000:0000:0000:0000:0000"


def devices(place: Place) -> dict[str, RdmaDevice]:
    """Read all RDMA devices."""
    return {name: _device(place, f"{_CLASS}/{name}") for name in place.names(_CLASS)}


def _device(place: Place, path: str) -> RdmaDevice:
    ports = {name: _port(place, f"{path}/ports/{name}") for name in place.names(f"{path}/ports")}
    return RdmaDevice(place.text("rdma", f"{path}/fw_ver") or "", ports)


def _port(place: Place, path: str) -> RdmaPort:
    gids = _gids(place, path)
    interfaces = [place.text("rdma", f"{path}/gid_attrs/ndevs/{index}") for index in gids]
    return RdmaPort(
        state=place.text("rdma", f"{path}/state") or "",
        link_layer=place.text("rdma", f"{path}/link_layer") or "",
        interface=next((name for name in interfaces if name), ""),
        gids=gids,
        counters=place.numbers("rdma", f"{path}/counters"),
        hardware_counters=place.numbers("rdma", f"{path}/hw_counters"),
    )


def _gids(place: Place, path: str) -> dict[str, str]:
    indices = sorted((name for name in place.names(f"{path}/gids") if name.isdigit()), key=int)
    return {
        index: place.text("rdma", f"{path}/gid_attrs/types/{index}") or ""
        for index in indices
        if place.text("rdma", f"{path}/gids/{index}") not in (None, _UNSET)
    }
