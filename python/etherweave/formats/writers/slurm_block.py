"""``topology.yaml`` and ``topology.conf`` of Slurm's topology/block plugin: a block a leaf switch.

Every block has at least the base size, and each size is the one before times two, up to the largest
power of two of blocks: as topograph infers them (NVIDIA/topograph, ``pkg/translate``).
"""

from collections.abc import Mapping

from etherweave import _core
from etherweave.api.inputs import InputError
from etherweave.api.results import Result
from etherweave.formats.hostlists import compact
from etherweave.formats.listing import listing, number_text
from etherweave.formats.readers.slurm import fabric_line


def files(fabric: _core.Fabric, _result: Result | None) -> Mapping[str, str]:
    """Write the blocks."""
    listed = listing(fabric, is_single_homed=True)
    blocks: dict[str, list[str]] = {}
    for host, switch in listed.hosts.items():
        blocks.setdefault(switch, []).append(host)
    for name in (*listed.hosts, *blocks):
        if set(name) & set(" ,=[]\"'#\\"):
            expected = "a name without blanks, commas, quotes and brackets"
            raise InputError(fabric.name, f"Slurm has no name {name!r}; expected {expected}")
    base = min(len(hosts) for hosts in blocks.values())
    sizes = [base << power for power in range(len(blocks).bit_length())]
    rates = (f"{number_text(cable.rate_gbps)}Gb/s" for cable in listed.cables)
    head = fabric_line(len(listed.levels), rates)
    lines = [head, f"- topology: {_quoted(listed.name)}", "  cluster_default: true", "  block:"]
    lines += [f"    block_sizes: {sizes}", "    blocks:"]
    for switch, hosts in blocks.items():
        lines.append(f"    - {{block: {_quoted(switch)}, nodes: {_quoted(compact(hosts))}}}")
    conf = [head]
    conf += [f"BlockName={switch} Nodes={compact(hosts)}" for switch, hosts in blocks.items()]
    conf.append(f"BlockSizes={','.join(map(str, sizes))}")
    name = listed.name.replace("/", "-")
    return {
        f"{name}-block-topology.yaml": "\n".join(lines) + "\n",
        f"{name}-block-topology.conf": "\n".join(conf) + "\n",
    }


def _quoted(text: str) -> str:
    return f'"{text}"'
