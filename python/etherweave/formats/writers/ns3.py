"""Topology and flows of HPCC's ns-3 (alibaba-edu/High-Precision-Congestion-Control).

Nodes are numbered, hosts first; a table keeps their names. Flows are those of a run, after the two
seconds that HPCC's examples wait. Congestion control and buffers are in HPCC's ``config.txt``.
"""

from collections.abc import Mapping

from etherweave import _core
from etherweave.api.results import Result
from etherweave.formats.listing import flows, listing, number_text

START_S = 2  # Start of the first flow, as in HPCC's examples [s].
PRIORITY, PORT = 3, 100
"""Priority group and destination port of a normal flow, as ``fct_analysis.py`` wants them."""


def files(fabric: _core.Fabric, result: Result | None) -> Mapping[str, str]:
    """Write the topology, the names and, of a run, the flows."""
    listed = listing(fabric, is_single_homed=True)
    ids = {name: number for number, name in enumerate((*listed.hosts, *listed.levels))}
    lines = [f"{len(ids)} {len(listed.levels)} {len(listed.cables)}"]
    lines.append(" ".join(str(ids[name]) for name in listed.levels))
    for cable in listed.cables:
        ends = " ".join(str(ids[name]) for name, _ in cable.ends)
        rate, delay = number_text(cable.rate_gbps), number_text(cable.delay_ns)
        lines.append(f"{ends} {rate}Gbps {delay}ns 0")
    name = listed.name.replace("/", "-")
    texts = {
        f"{name}-ns3-topology.txt": "\n".join(lines) + "\n",
        f"{name}-ns3-nodes.csv": "id,name\n"
        + "".join(f'{number},"{node}"\n' for node, number in ids.items()),
    }
    if result:
        sent = flows(result)
        rows = [
            f"{ids[flow.source]} {ids[flow.destination]} {PRIORITY} {PORT} {flow.bytes} "
            f"{START_S + flow.start_ns / 1e9:.12f}"
            for flow in sent
        ]
        texts[f"{name}-ns3-flows.txt"] = "\n".join([str(len(sent)), *rows]) + "\n"
    return texts
