"""BookSim's ``anynet`` (booksim2 ``src/networks/anynet.cpp``): routers with nodes and routers.

A link between routers is listed once, or in both directions. Latencies are in cycles and rates are
absent, so that neither is read.
"""

import re
from collections.abc import Sequence

from etherweave.formats.network import Network
from etherweave.formats.texts import Source, number, only

ROUTERS_MAX = 2**20


def recognises(file: Source) -> bool:
    """Return whether a line begins with a router and its number."""
    return bool(re.search(r"^\s*router\s+\d+\s+(node|router)\s+\d", file.head, re.MULTILINE))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read routers; the reverse of a link is the same cable."""
    file = only(files)
    network = Network(str(file.path))
    directed: dict[tuple[str, str], int] = {}
    homes: dict[str, str] = {}  # Nodes, and the router of each.
    latencies = False
    for where, line in file.lines():
        words = line.split()
        if words[0] != "router" or len(words) < 2:
            raise file.mistake(where, f"{line[:40]!r}; expected router NUMBER node NUMBER …")
        router = f"router{number(file, words[1], where, 0, ROUTERS_MAX)}"
        network.node(router, "switch", where)
        at = 2
        while at < len(words):
            kind = words[at]
            if kind not in ("node", "router") or at + 1 == len(words):
                raise file.mistake(where, f"{kind[:20]!r}; expected node or router, and a number")
            peer = f"{kind}{number(file, words[at + 1], where, 0, ROUTERS_MAX)}"
            at += 2
            if at < len(words) and words[at].isdigit():
                latencies = True
                at += 1
            network.node(peer, "host" if kind == "node" else "switch", where)
            if kind == "node" and homes.setdefault(peer, router) != router:
                reason = f"{peer} is at {homes[peer]} already; expected a node at one router"
                raise file.mistake(where, reason)
            directed[router, peer] = directed.get((router, peer), 0) + 1
    for (first, second), count in directed.items():
        reverse = directed.get((second, first), 0)
        # Listed in both directions, a cable is met twice.
        if reverse == 0 or first < second or second.startswith("node"):
            network.join(first, second, links=max(count, reverse), where="")
    if latencies:
        network.notes.append("latencies in cycles are passed over: BookSim gives a cycle no time")
    return network
