"""Networks of ASTRA-sim's analytical backend: a topology for each dimension.

A switch of a dimension is a switch. Where accelerators forward, as in rings, full meshes and
several dimensions, each is a host with a switch of its own, since no host forwards here. Bandwidth
is in GB/s of 10^9 bytes, which ASTRA-sim does not say.
"""

from collections.abc import Sequence
from itertools import combinations
from math import prod

from etherweave.formats.network import Network
from etherweave.formats.texts import Source, items, mapping, number, only, yaml

NPUS_MAX = 2**18  # Most accelerators.
OWN_SWITCH = "each accelerator has a switch of its own, which forwards"


def recognises(file: Source) -> bool:
    """Return whether it counts accelerators."""
    return file.suffix in (".yml", ".yaml") and "npus_count:" in file.head


def read(files: Sequence[Source], _servers: int) -> Network:
    """Build the dimensions, the first one innermost."""
    file = only(files)
    document = mapping(file, yaml(file), "")
    network = Network(str(file.path))
    kinds = [str(kind) for kind in items(file, document.get("topology"), "topology")]
    entries = items(file, document.get("npus_count"), "npus_count")
    sizes = [number(file, entry, "npus_count", 1, NPUS_MAX) for entry in entries]
    rates = [f"{rate} GB/s" for rate in items(file, document.get("bandwidth"), "bandwidth")]
    if not (len(kinds) == len(sizes) == len(rates)) or not kinds:
        lengths = f"{len(kinds)}, {len(sizes)} and {len(rates)} entries"
        raise file.mistake("topology", f"{lengths}; expected one for each dimension")
    count = prod(sizes)
    if count > NPUS_MAX:
        raise file.mistake("npus_count", f"{count:,} accelerators; expected at most {NPUS_MAX:,}")
    if items(file, document.get("latency"), "latency"):
        network.pass_over_latency(("latency",))
    has_switches = kinds != ["Switch"]
    if has_switches:
        network.assumed.append(OWN_SWITCH)
        for npu in range(count):
            network.node(f"npu{npu}", "host")
            network.node(f"router{npu}", "switch")
            network.join(f"npu{npu}", f"router{npu}", rate=max(rates, key=_gigabytes))
    network.assumed.append("a GB of a bandwidth is 10^9 bytes")
    stride = 1
    for number_of, (kind, size, rate) in enumerate(zip(kinds, sizes, rates, strict=True)):
        for line in _lines(count, size, stride):
            names = [f"{'router' if has_switches else 'npu'}{npu}" for npu in line]
            _join(network, kind, names, f"switch{number_of}-{line[0]}", rate)
        stride *= size
    return network


def _gigabytes(rate: str) -> float:
    return float(rate.split()[0])


def _lines(count: int, size: int, stride: int) -> list[list[int]]:
    """List the accelerators that differ in a dimension alone."""
    starts = [npu for npu in range(count) if npu // stride % size == 0]
    return [[start + at * stride for at in range(size)] for start in starts]


def _join(network: Network, kind: str, names: list[str], switch: str, rate: str) -> None:
    if kind == "Switch":
        network.node(switch, "switch")
        for name in names:
            network.node(name, None if name in network.nodes else "host")
            network.join(name, switch, rate=rate)
        return
    pairs = {
        "Ring": list(zip(names, names[1:] + names[:1], strict=True)) if len(names) > 2 else [],
        "FullyConnected": list(combinations(names, 2)),
    }
    if kind not in pairs:
        expected = "Ring, Switch or FullyConnected"
        raise network.mistake("topology", f"{kind[:20]!r}; expected {expected}")
    for first, second in pairs[kind] or list(combinations(names, 2)):
        network.join(first, second, rate=rate)
