"""Slurm's ``topology.conf``: trees and blocks (slurm.schedmd.com/topology.conf.html).

A tree has one uplink a switch; a real fabric has more, which Slurm does not say. Blocks become
switches that a switch above joins. ``LinkSpeed`` has no unit in Slurm; Etherweave's export writes
Mb/s, which is assumed where it makes a rate of Ethernet, and a comment with what the fabric has.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from etherweave.formats.hostlists import expanded
from etherweave.formats.network import Network, place_of
from etherweave.formats.texts import Source, only

UPLINKS = "a switch has the uplink that Slurm knows: real ones have more (edit the list of links)"
ETHERNET_MBPS = {1000 * gigabits for gigabits in (1, 2, 5, 10, 25, 40, 50, 100, 200, 400, 800)}
"""Numbers of ``LinkSpeed`` that are rates of Ethernet in Mb/s."""
FABRIC = "# Fabric: "  # Begin of the comment that says what the exported fabric has.
_KEYS = ("SwitchName", "BlockName", "BlockSizes", "Nodes", "Switches", "LinkSpeed")


def recognises(file: Source) -> bool:
    """Return whether a line names a switch or a block."""
    lines = [line.strip().lower() for line in file.head.split("\n")]
    return any(line.startswith(("switchname=", "blockname=")) for line in lines)


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read trees and blocks."""
    file = only(files)
    network = Network(str(file.path))
    tree = Tree(network, file)
    for where, line in _joined(file):
        words = dict(_pair(file, where, word) for word in line.split())
        name = words.get("SwitchName") or words.get("BlockName")
        if name is None:
            continue
        rate = _rate(network, words.get("LinkSpeed", ""))
        tree.add(name, words.get("Nodes", ""), words.get("Switches", ""), rate, where)
    tree.finish(is_block="blockname=" in file.head.lower())
    return network


class Tree:
    """Switches with their nodes and the switches below them."""

    def __init__(self, network: Network, file: Source) -> None:
        self._network = network
        self._file = file
        self._parents: dict[str, str] = {}
        self._below: list[tuple[str, list[str], str, str]] = []
        self._places: dict[str, str] = {}

    def add(self, name: str, nodes: str, switches: str, rate: str, where: str) -> None:
        """Add a switch or a block by its two lists of names; one of them may be empty."""
        if bool(nodes) == bool(switches):
            raise self._file.mistake(where, f"{name}: expected Nodes or Switches")
        self._network.new_node(name, "switch", where)
        try:
            children = expanded(nodes or switches)
        except ValueError as error:
            raise self._file.mistake(where, str(error)) from None
        for child in children:
            if child in self._parents:
                reason = f"{child} is below {name} and {self._parents[child]}; expected one of them"
                raise self._file.mistake(where, reason)
            self._parents[child] = name
        self._below.append((name, children, rate, "host" if nodes else ""))
        self._places[name] = where

    def finish(self, is_block: bool, is_complete: bool = True) -> None:
        """Join what is listed; roots of a file without one are joined by another switch.

        Where the file need not be complete, switches without nodes are left out.
        """
        network = self._network
        for name, children, _, kind in self._below:
            for child in children if kind else ():
                network.node(child, "host", self._places[name])
        for name, children, _, kind in self._below:
            for child in () if kind else list(children):
                if not is_complete and child not in network.nodes:
                    children.remove(child)
                    network.notes.append(f"the switch {child} has no nodes and is left out")
                    continue
                network.known(child, self._places[name])
        self._refuse_cycles()
        rates = {name: rate for name, _, rate, _ in self._below}
        for name, children, rate, kind in self._below:
            for child in children:
                # A leaf's speed is that of its hosts; between switches it is that of the child.
                speed = rate if kind else rates.get(child, "")
                network.join(child, name, rate=speed, where=self._places[name])
        roots = [name for name, *_ in self._below if name not in self._parents]
        if len(roots) > 1:
            top = "fabric" if "fabric" not in network.nodes else "fabric above blocks"
            network.assumed.append(f"a switch {top} joins {len(roots)} roots, which Slurm leaves")
            network.node(top, "switch")
            for root in roots:
                network.join(root, top)
        what = "blocks" if is_block else "trees"
        if any(not kind for *_, kind in self._below) or is_block:
            network.assumed.append(f"{UPLINKS}; {what} describe placement, not cables")
        switches = sum(node.kind == "switch" for node in network.nodes.values())
        shown = fabric_line(switches, (link.rate for link in network.links))
        for line in self._file.head.split("\n"):
            if line.startswith(FABRIC) and line != shown:
                has, shows = line.removeprefix(FABRIC), shown.removeprefix(FABRIC)
                network.notes.append(f"the exported fabric has {has}; these {what} have {shows}")

    def _refuse_cycles(self) -> None:
        for name in self._places:
            at, steps = name, 0
            while at in self._parents:
                at, steps = self._parents[at], steps + 1
                if at == name or steps > len(self._parents):
                    reason = f"{name} is below itself; expected a tree"
                    raise self._network.mistake(self._places[name], reason)


def fabric_line(switches: int, rates: Iterable[str]) -> str:
    """Write the comment that says what a fabric has, as the export of the core does."""
    counts = sorted(Counter(rates).items(), key=lambda item: place_of(item[0]))
    cables = ", ".join(f"{count} of {rate or 'unknown rate'}" for rate, count in counts)
    return f"{FABRIC}{switches} switches; cables: {cables}"


def _joined(file: Source) -> list[tuple[str, str]]:
    """List lines; a backslash continues a line."""
    lines: list[tuple[str, str]] = []
    begun = ""
    for where, line in file.lines():
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        lines.append((where, begun + line))
        begun = ""
    return lines


def _pair(file: Source, where: str, word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    names = {name.lower(): name for name in _KEYS}
    if not equals or key.lower() not in names:
        raise file.mistake(where, f"{word[:40]!r}; expected {', '.join(_KEYS)} with =VALUE")
    return names[key.lower()], value


def _rate(network: Network, speed: str) -> str:
    if not speed:
        return ""
    if speed.isascii() and speed.isdigit() and len(speed) < 10 and int(speed) in ETHERNET_MBPS:
        sentence = "LinkSpeed is in Mb/s; Slurm gives it no unit"
        network.assumed += [sentence] if sentence not in network.assumed else []
        return f"{int(speed) // 1000}Gb/s"
    sentence = f"LinkSpeed={speed[:20]} is passed over: Slurm gives it no unit"
    network.notes += [sentence] if sentence not in network.notes else []
    return ""
