"""A fabric in Open vSwitch, learned as if it was unknown, and compared with the plan behind it."""

import io
import threading
from collections.abc import Iterator

from etherweave.control.controller.learning import FabricLearner, LearnedFabric
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.server import ControllerOptions
from etherweave.control.ovs import bridges
from etherweave.control.rules import FabricPlan

WAIT_S = 60.0  # Longest wait for all switches [s].
_PROBE_S = 0.2

PortEnd = tuple[int, int]  # Datapath id of a switch, and a port of it.


def learn_in_bridges(plan: FabricPlan) -> set[frozenset[PortEnd]]:
    """Build the switches of a plan without rules, learn how they are wired, and compare.

    Returns the cables, by their ends, and the ports of hosts that are only in the plan or only
    learned. Raises ``LearningError`` if switches do not connect, or their wiring is no list of
    cables; ``OvsError`` if Open vSwitch is missing, or rejects a command.
    """
    with bridges.built(plan) as (ovs, wiring):
        learner = FabricLearner(
            ControllerOptions(port=0, probe_s=_PROBE_S), EventLog(io.StringIO())
        )
        bridges.connect(ovs, wiring, learner.port)
        learned = learner.learn(len(plan.switches), WAIT_S, threading.Event())
    return set(planned_ends(plan)) ^ set(learned_ends(learned))


def planned_ends(plan: FabricPlan) -> Iterator[frozenset[PortEnd]]:
    """Yield the ends of every cable of a plan; of a host's the port alone."""
    number = {switch.name: switch.datapath_id for switch in plan.switches}
    for switch in plan.switches:
        for port in switch.ports:
            near = (switch.datapath_id, port.number)
            far = () if port.is_host else ((number[port.node], port.node_port),)
            yield frozenset((near, *far))


def learned_ends(learned: LearnedFabric) -> Iterator[frozenset[PortEnd]]:
    """Yield the ends of every learned cable; of a host's the port alone."""
    for cable in learned.cables:
        ends = (cable.first.end, cable.other.end)
        yield frozenset((learned.datapaths[end.switch], end.port) for end in ends)
    for host in learned.hosts:
        end = host.port.end
        yield frozenset(((learned.datapaths[end.switch], end.port),))
