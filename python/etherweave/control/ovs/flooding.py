"""Switches that learn addresses from frames, in Open vSwitch: what planned rules replace.

IEEE 802.1D-2004, clauses 7.7 to 7.9: a frame for an address that a switch has not learned, or has
no room for, leaves by all ports but its own.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations

from etherweave.control.ovs import bridges
from etherweave.control.ovs.daemons import Daemons
from etherweave.control.ovs.oracle import ControlSocket, datapath_ports
from etherweave.control.ovs.trace import parse
from etherweave.control.rules import FabricPlan
from etherweave.control.text import mac_text

ROOM_MIN = 10
"""Addresses that a table of Open vSwitch has room for at least, ovs-vswitchd.conf.db(5)."""


@dataclass(frozen=True, slots=True)
class AddressedFrame:
    """A frame through switches that learn, by indices of hosts in the plan."""

    sender: int
    receiver: int
    reached: frozenset[int]  # Hosts that get it.

    @property
    def is_flooded(self) -> bool:
        """Return whether a host gets it that it is not for."""
        return bool(self.reached - {self.receiver})


@dataclass(frozen=True, slots=True)
class FloodingTrial:
    """Frames in the order of their phases."""

    unknown: AddressedFrame  # The first: no switch knows its receiver.
    known: list[AddressedFrame]  # Between all pairs of hosts, after each pair has exchanged frames.
    overflowing: list[AddressedFrame]
    """Between random hosts, where tables have room for some addresses only."""

    @property
    def lost(self) -> int:
        """Frames that their receiver does not get."""
        frames = [self.unknown, *self.known, *self.overflowing]
        return sum(frame.receiver not in frame.reached for frame in frames)


def flood(plan: FabricPlan, room: int, frames: int, seed: int = 1) -> FloodingTrial:
    """Send frames through switches that learn addresses, and see which hosts get them.

    Links between switches of the plan make no loop. ``room`` is the number of addresses that a
    table has room for where it overflows; ``frames`` go between random hosts there, drawn from
    ``seed``. Raises ``ValueError`` if links between switches make a loop, or Open vSwitch has no
    tables that small; ``OvsError`` if Open vSwitch is missing, or rejects a command.
    """
    _check(plan, room)
    hosts, chance = range(len(plan.hosts)), random.Random(seed)
    with bridges.built(plan) as (daemons, wiring):
        _set_room(daemons, wiring, max(len(hosts), ROOM_MIN))
        with ControlSocket(daemons.control) as control:
            fabric = _LearningFabric(control, plan, wiring)
            (unknown,) = fabric.send([(hosts[0], hosts[-1])])
            list(fabric.send(permutations(hosts, 2)))
            known = list(fabric.send(permutations(hosts, 2)))
            _set_room(daemons, wiring, room)
            pairs = [chance.sample(hosts, 2) for _ in range(frames)]
            overflowing = list(fabric.send((sender, receiver) for sender, receiver in pairs))
    return FloodingTrial(unknown, known, overflowing)


def _check(plan: FabricPlan, room: int) -> None:
    between = sum(not port.is_host for switch in plan.switches for port in switch.ports) // 2
    if between >= len(plan.switches):
        raise ValueError(
            f"topology: {between} links between {len(plan.switches)} switches make a loop, in "
            f"which flooded frames go round; expected at most {len(plan.switches) - 1}"
        )
    if room < ROOM_MIN:
        raise ValueError(f"room: {room} addresses; expected at least {ROOM_MIN}")


def _set_room(daemons: Daemons, wiring: bridges.BridgeNames, room: int) -> None:
    """Let bridges learn, and limit their tables."""
    settings = ("fail_mode=standalone", f"other_config:mac-table-size={room}")
    for bridge in wiring.bridges.values():
        daemons.configure("set", "bridge", bridge, *settings)


class _LearningFabric:
    """Bridges that learn what is sent through them."""

    def __init__(
        self, control: ControlSocket, plan: FabricPlan, wiring: bridges.BridgeNames
    ) -> None:
        self._control, self._hosts = control, plan.hosts
        self._bridges = wiring.bridges
        index = {switch.name: number for number, switch in enumerate(plan.switches)}
        numbers = {bridge: index[switch] for switch, bridge in wiring.bridges.items()}
        place = {(index[host.switch], host.port): at for at, host in enumerate(plan.hosts)}
        ports = datapath_ports(control, numbers)
        self._host_by_port = {port: place[end] for port, end in ports.items() if end in place}

    def send(self, pairs: Iterable[tuple[int, int]]) -> Iterator[AddressedFrame]:
        """Send a frame from host to host, one after the other."""
        listed = list(pairs)
        questions = (self._question(sender, receiver) for sender, receiver in listed)
        answers = self._control.ask_all(questions)
        for (sender, receiver), answer in zip(listed, answers, strict=True):
            ports = (frame.port for frame in parse(answer).frames)
            reached = (self._host_by_port[port] for port in ports if port in self._host_by_port)
            yield AddressedFrame(sender, receiver, frozenset(reached))

    def _question(self, sender: int, receiver: int) -> tuple[str, ...]:
        """Write a frame; ``-generate`` has switches learn from it, and not only trace it."""
        host, other = self._hosts[sender], self._hosts[receiver]
        fields = f"in_port={host.port},dl_src={mac_text(host.mac)},dl_dst={mac_text(other.mac)}"
        return ("ofproto/trace", self._bridges[host.switch], fields, "-generate")
