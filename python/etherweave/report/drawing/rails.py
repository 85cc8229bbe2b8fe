"""Rail-optimised fabrics: spines, leaves by rail, and servers whose nics spread over the rails.

Host ``i`` is nic ``i mod rails`` of server ``i // rails``. The first servers of a pod and its
last are drawn; between them, and between the first pod and the last, boxes stand for the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from etherweave.report.drawing import hosts
from etherweave.report.drawing.items import Drawing, Item, row, side_by_side
from etherweave.report.drawing.picture import Area, Mark, Picture, Words, count, width
from etherweave.report.drawing.tree import GAP, HIGH, PAD, item_width
from etherweave.report.drawing.wiring import Switch, Wiring

SERVERS_MAX = 5  # Servers of a pod, drawn one by one.
PODS_MAX = 4  # Drawn in detail, when their switches are not too many.
SWITCHES_MAX = 48  # Switches of a fabric whose pods are all drawn in detail.
NIC_STEP = 11.0  # Between the nics of a server [pt].
LEAF_ROW = 0.0
SERVER_ROW = -96.0
SPINE_ROW = 104.0


@dataclass(frozen=True)
class Server:
    """A server, or several as one box."""

    name: str  # Shown below it.
    nics: tuple[str, ...]  # Hosts that are drawn as dots; empty for a box.
    members: tuple[str, ...]  # Hosts that it stands for.


@dataclass(frozen=True)
class Pod:
    """Leaves with the servers below them."""

    number: int  # Its coordinate.
    leaves: tuple[Item, ...]  # Leaves in the order of rails; one tall box for a folded pod.
    servers: tuple[Server, ...]  # Servers in order; none of a folded pod.


def layout(wiring: Wiring) -> Picture:
    """Place spines above leaves above servers, pods side by side."""
    drawing = _RailsDrawing(wiring)
    drawing.place()
    inside = drawing.join()
    return replace(drawing.picture, notes=tuple(drawing.notes()), links_inside=inside)


def _number(host: str) -> int:
    """Read the number of a host from its name, which keeps it when others fail."""
    return int(host.removeprefix("host"))


@dataclass
class _RailsDrawing(Drawing):
    def __post_init__(self) -> None:
        self.rails = int(str(self.wiring.parameters["rails"]))
        self.folds = len(self.wiring.switches) > SWITCHES_MAX
        self.spines = row([s for s in self.wiring.switches if s.level > 0], self.folds)
        self.pods = list(self._pods())

    def _pods(self) -> Iterator[Pod]:
        leaves: dict[int, list[Switch]] = {}
        for switch in self.wiring.switches:
            if switch.level == 0:
                leaves.setdefault(switch.coordinates[1], []).append(switch)
        shown = len(leaves) if len(leaves) <= PODS_MAX and not self.folds else 1
        for number, members in list(leaves.items())[:shown]:
            yield Pod(number, row(members, self.folds), tuple(self._servers(members)))
        rest = [switch for members in list(leaves.values())[shown:] for switch in members]
        if rest:
            yield self._folded(rest, len(leaves) - shown)

    def _folded(self, leaves: Sequence[Switch], pods: int) -> Pod:
        names = "\n".join(
            [
                f"{pods} more {'pod' if pods == 1 else 'pods'}",
                count(len(leaves), "switch"),
                count(sum(leaf.hosts for leaf in leaves), "host"),
            ]
        )
        item = Item(f"pods from {leaves[0].name}", names, tuple(leaves), True, True)
        return Pod(leaves[0].coordinates[1], (item,), ())

    def _servers(self, leaves: Sequence[Switch]) -> Iterator[Server]:
        servers: dict[int, list[str]] = {}
        nics = [name for leaf in leaves for name in self.wiring.hosts_of.get(leaf.name, ())]
        for name in sorted(nics, key=_number):
            servers.setdefault(_number(name) // self.rails, []).append(name)
        folds = len(servers) > SERVERS_MAX
        numbers = list(servers)
        for place in numbers[:2] if folds else numbers:
            yield self._server(place, servers[place])
        if folds:
            middle = numbers[2:-1]
            members = tuple(name for place in middle for name in servers[place])
            yield Server(f"{len(middle)} more servers", (), members)
            yield self._server(numbers[-1], servers[numbers[-1]])

    def _server(self, number: int, nics: Sequence[str]) -> Server:
        return Server(f"server {number}", tuple(nics), tuple(nics))

    # -- places --------------------------------------------------------------------------------

    def place(self) -> None:
        """Draw all that is not a line."""
        left = 0.0
        for pod in self.pods:
            wide = self._width(pod)
            self._place_pod(pod, left, wide)
            left += wide + 2 * GAP
        self._row(self.spines, (left - 2 * GAP) / 2, SPINE_ROW, left)
        names = ("spines", SPINE_ROW), ("leaves", LEAF_ROW), ("nics", SERVER_ROW)
        for name, y in names:
            self.picture.words.append(Words((-PAD, y), name, 7.5, "right"))

    def _width(self, pod: Pod) -> float:
        servers = [self._server_width(server) + GAP for server in pod.servers]
        leaves = [item_width(item, self.wiring) + GAP for item in pod.leaves]
        return max(sum(servers), sum(leaves)) + PAD

    def _server_width(self, server: Server) -> float:
        label = width(server.name, 7) + 10
        return max(label, NIC_STEP * len(server.nics) + 6)

    def _place_pod(self, pod: Pod, left: float, wide: float) -> None:
        middle = left + wide / 2
        self._row(pod.leaves, middle, LEAF_ROW, wide)
        if not pod.servers:
            return
        low, high = (left, SERVER_ROW - 42), (left + wide, LEAF_ROW + HIGH / 2 + PAD)
        self.picture.areas.append(Area(low, high))
        self.picture.words.append(Words((middle, low[1] + 8), f"pod {pod.number}", 7.5))
        widths = [self._server_width(server) for server in pod.servers]
        gap = (wide - sum(widths)) / len(widths)
        x = left + gap / 2
        for server, server_wide in zip(pod.servers, widths, strict=True):
            self._place_server(server, x, server_wide)
            x += server_wide + gap

    def _place_server(self, server: Server, left: float, wide: float) -> None:
        middle = left + wide / 2
        low, high = (left, SERVER_ROW - 11), (left + wide, SERVER_ROW + 11)
        if not server.nics:
            key = f"servers of {server.members[0]}"
            size = (wide, high[1] - low[1])
            place = (middle, SERVER_ROW)
            self.picture.marks.append(Mark(key, place, size, server.name, "folded"))
            self.key_of |= dict.fromkeys(server.members, key)
            return
        self.picture.areas.append(Area(low, high, 2, is_framed=True))
        self.picture.words.append(Words((middle, low[1] - 7), server.name, 6.5))
        first = middle - NIC_STEP * (len(server.nics) - 1) / 2
        for n, nic in enumerate(server.nics):
            self.picture.marks.append(hosts.dot(nic, (first + NIC_STEP * n, SERVER_ROW)))
            self.key_of[nic] = nic

    def _row(self, items: Sequence[Item], middle: float, y: float, wide: float) -> None:
        widths = [item_width(item, self.wiring) for item in items]
        gap = max(GAP, min(60.0, (wide - sum(widths)) / (len(items) + 1)))
        for item, x in zip(items, side_by_side(widths, middle, gap), strict=True):
            self._mark(item, x, y)

    def _mark(self, item: Item, x: float, y: float) -> None:
        high = HIGH if not item.is_tall else LEAF_ROW - SERVER_ROW + 2 * HIGH
        centre = (x, y - (high - HIGH) / 2)
        size = (max(width(item.label, 7) + (16 if item.is_folded else 8), 24.0), high)
        self.put(item, centre, size)

    # -- links ---------------------------------------------------------------------------------

    def join(self) -> int:
        """Draw the links; returns how many are within one box."""
        bundles, inside = self.bundles()
        bundles += self.wiring.host_bundles(self.key_of)
        marks = self.picture.by_key()
        for bundle in bundles:
            one, other = (marks[key] for key in bundle.ends)
            if one == other:
                inside += bundle.count
            else:
                self.picture.lines.append(hosts.climb(bundle, one, other))
        return inside

    def notes(self) -> list[str]:
        """Say how to read it."""
        rule = f"Card c of every server is on leaf c of its pod; a server has {self.rails} nics."
        folded = any(mark.shape == "folded" for mark in self.picture.marks)
        return [rule, "A dashed box stands for what it names."] if folded else [rule]
