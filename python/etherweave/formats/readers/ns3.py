"""The topology of HPCC's ns-3 (alibaba-edu/High-Precision-Congestion-Control), and SimAI's.

The first line counts nodes, switches and links, in SimAI also GPUs and NVSwitches; the second lists
the switches, NVSwitches first; others are ``SRC DST RATE DELAY ERROR``. Nodes that are no switches
are hosts. Delays become lengths at 5 ns a metre. NVSwitches are left out: a host does not forward.
A table of numbers and names, as Etherweave's export has it, names the nodes.
"""

import itertools
import re
from collections.abc import Sequence

from etherweave.formats.listing import DELAYS, NS_PER_M
from etherweave.formats.network import Kind, Network, subject
from etherweave.formats.readers.edge_list import rows
from etherweave.formats.texts import Source, number

NODES_MAX = 2**20
NAMES = "id,name\n"  # Head of the table of names.
UNITS_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_DELAY = re.compile(r"(\d+(?:\.\d+)?(?:[eE]-?\d{1,2})?)(ps|ns|us|ms|s)")
_COUNTS = re.compile(r"\s*\d+ \d+ \d+( \d+ \d+ \S+)?\s*")


def recognises(file: Source) -> bool:
    """Return whether counts and a link of five columns stand there, or names by number."""
    if file.head.startswith(NAMES):
        return True
    lines = [line.strip() for line in file.head.split("\n") if line.strip()]
    return len(lines) > 2 and bool(_COUNTS.fullmatch(lines[0])) and len(lines[2].split()) == 5


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read links; repeated lines are parallel."""
    file = next((file for file in files if not file.head.startswith(NAMES)), files[0])
    network = Network(str(file.path))
    names = _names(files)
    lines = list(file.lines())
    where, head = lines[0]
    counts = head.split()
    is_simai = len(counts) == 6
    nodes = number(file, counts[0], where, 1, NODES_MAX)
    links = number(file, counts[4 if is_simai else 2], where)
    switches = sum(number(file, count, where) for count in counts[2 : 4 if is_simai else 3])
    switches = switches if is_simai else number(file, counts[1], where)
    numbers = lines[1][1].split() if switches else []
    ids = {number(file, word, lines[1][0], 0, nodes - 1) for word in numbers}
    if len(ids) != switches:
        reason = f"{len(ids)} switches; expected {switches}, as the first line says"
        raise file.mistake(lines[1][0], reason)
    body = lines[2 if switches else 1 :]
    inside = {int(word) for word in numbers[: int(counts[2])]} if is_simai else set()
    for node in (node for node in range(nodes) if node not in inside):
        kind: Kind = "switch" if node in ids else "host"
        network.new_node(names.setdefault(node, f"{kind[0]}{node}"), kind)
    if len(body) < links:
        raise file.mistake(where, f"{links} links; {len(body)} lines follow")
    if len(body) > links:  # HPCC reads no further.
        network.notes.append(f"{subject(len(body) - links, 'line', 'after the links')} left out")
        body = body[:links]
    inner = 0
    for where, line in body:
        words = line.split()
        if len(words) != 5:
            raise file.mistake(where, f"{line[:40]!r}; expected SRC DST RATE DELAY ERROR")
        joined = [number(file, word, where, 0, nodes - 1) for word in words[:2]]
        if inside & set(joined):
            inner += 1
            continue
        ends = [names[node] for node in joined]
        of = {"rate": words[2], "length": _length(file, where, words[3])}
        network.join(ends[0], ends[1], of, where=where)
        if words[4] not in ("0", "0.0", "0.000000"):
            note = f"{where}: the error rate {words[4][:20]} is passed over (see degraded links)"
            network.notes.append(note)
    if inner:
        what = subject(inner, "link", "of NVSwitches")
        network.notes.append(f"{what} left out, inside of servers")
    network.assumed.append(DELAYS)
    return network


def _names(files: Sequence[Source]) -> dict[int, str]:
    """Read the names of nodes by their numbers."""
    names = {}
    for file in (file for file in files if file.head.startswith(NAMES)):
        for where, row in itertools.islice(rows(file), 1, None):
            if len(row) != 2:
                raise file.mistake(where, f"{len(row)} cells; expected a number and a name")
            names[number(file, row[0], where, 0, NODES_MAX)] = row[1]
    return names


def _length(file: Source, where: str, text: str) -> str:
    match = _DELAY.fullmatch(text)
    if not match:
        raise file.mistake(where, f"{text[:20]!r}; expected a delay such as 1000ns")
    millimetres = round(float(match[1]) * UNITS_PS[match[2]] / NS_PER_M)
    return f"{millimetres}mm" if millimetres else "1mm"
