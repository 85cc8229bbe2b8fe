"""Priorities of lossless frames along their paths, hop by hop over the printed rules.

A channel is a link in a priority. Where frames take channels in an order that rises with every
hop, whatever is paused, no channel can wait for itself (Benito et al. 2015, section V-E).
"""

import random
from collections.abc import Iterator

import pytest

from etherweave.control.plan import PlannedDeployment, plan
from support.printed_rules import Arrived, Frame, PrintedFabric

PRIORITIES = (3, 5)
DRAGONFLY = {"dragonfly": {"p": 2, "a": 2, "h": 2}}
BUTTERFLY = {"flattened_butterfly": {"hosts_per_switch": 2, "sizes": [3, 3]}}


def conditional(topology: object, **control: object) -> PlannedDeployment:
    settings = {"rules": "conditional", "priorities": list(PRIORITIES), **control}
    return plan({"topology": topology, "control": settings})


def states(made: PlannedDeployment) -> Iterator[PrintedFabric]:
    """The fabric with no port paused, with all, and with random halves."""
    watched = [(switch.name, port) for switch in made.plan.switches for port in switch.pause_bits]
    chance = random.Random(1)
    for paused in ([], watched, *(chance.sample(watched, len(watched) // 2) for _ in range(4))):
        yield PrintedFabric(made.plan, paused)


def paths(fabric: PrintedFabric, priority: int | None) -> Iterator[Arrived]:
    """Follow a frame between every two hosts; each must arrive once, at its host."""
    for source in fabric.plan.hosts:
        for target in fabric.plan.hosts:
            if source != target:
                sent = Frame(target.mac, source.mac, vlan_pcp=priority)
                (arrived,) = fabric.follow(source.name, sent)
                assert arrived.node == target.name
                yield arrived


def between_switches(fabric: PrintedFabric, arrived: Arrived) -> list[tuple[bool, int | None]]:
    """Whether each link between switches stays in its group, and the frame's priority there."""
    ends = [(name, fabric.across[name, port][0], frame) for name, port, frame in arrived.path[:-1]]
    return [(a.split(".")[0] == b.split(".")[0], frame.vlan_pcp) for a, b, frame in ends]


@pytest.mark.parametrize("priority", PRIORITIES)
def test_frames_rise_in_two_priorities_of_a_dragonfly_whatever_is_paused(priority: int) -> None:
    # Global and local links in the first priority, then in the second.
    order = [(False, 3), (True, 3), (False, 5), (True, 5)]
    seen = set()
    for fabric in states(conditional(DRAGONFLY)):
        for arrived in paths(fabric, priority):
            ranks = [order.index(hop) for hop in between_switches(fabric, arrived)]  # type: ignore[arg-type]
            assert ranks == sorted(set(ranks)), f"{arrived.path}"
            seen.add(tuple(ranks))
    assert (0, 1, 2, 3) in seen, "by another group, with all four"


def test_frames_rise_through_a_priority_per_link_of_a_butterfly() -> None:
    # One per dimension, and one for a non-minimal link before.
    priorities = [3, 5, 6]
    for fabric in states(conditional(BUTTERFLY, priorities=priorities)):
        for arrived in paths(fabric, 5):
            written = [priority for _, priority in between_switches(fabric, arrived)]
            assert written == priorities[: len(written)], f"{arrived.path}"


@pytest.mark.parametrize("priority", [None, 0, 4])
def test_other_frames_keep_their_priority_and_take_the_same_ports(priority: int | None) -> None:
    fabric = PrintedFabric(conditional(DRAGONFLY).plan)
    without = PrintedFabric(conditional(DRAGONFLY, priorities=[]).plan)
    for kept, plain in zip(paths(fabric, priority), paths(without, priority), strict=True):
        assert kept == plain
        assert {frame.vlan_pcp for _, _, frame in kept.path} == {priority}
