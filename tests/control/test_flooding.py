"""Switches of Open vSwitch that learn addresses, and flood frames for those that they lack."""

import pytest

from etherweave.control.ovs.flooding import FloodingTrial, flood
from etherweave.control.plan import plan
from etherweave.control.rules import FabricPlan

TREE = {"leaves": 3, "hosts_per_leaf": 4, "cores": 1, "links_per_core": 1}
"""12 hosts below one core."""


def planned(**topology: object) -> FabricPlan:
    return plan({"topology": topology}).plan


@pytest.fixture(scope="module")
def trial() -> FloodingTrial:
    return flood(planned(fat_tree=TREE), room=10, frames=200)


@pytest.mark.needs("ovs")
def test_a_frame_for_an_unknown_address_reaches_every_other_host(trial: FloodingTrial) -> None:
    assert trial.unknown.reached == frozenset(range(12)) - {trial.unknown.sender}


@pytest.mark.needs("ovs")
def test_frames_of_a_conversation_reach_their_receiver_alone(trial: FloodingTrial) -> None:
    assert len(trial.known) == 12 * 11
    assert not any(frame.is_flooded for frame in trial.known)


@pytest.mark.needs("ovs")
def test_frames_are_flooded_where_a_table_has_no_room_for_all_hosts(trial: FloodingTrial) -> None:
    flooded = sum(frame.is_flooded for frame in trial.overflowing)
    # Room for 10 of 12: a switch that has just learned the sender lacks two of the 11 others.
    assert flooded / 200 >= 0.1
    assert trial.lost == 0


def test_a_fabric_with_a_loop_is_refused() -> None:
    # Three leaves with a link each to two cores.
    with pytest.raises(ValueError, match=r"topology: 6 links between 5 switches.*at most 4"):
        flood(planned(fat_tree=TREE | {"cores": 2}), room=10, frames=1)


def test_a_table_smaller_than_open_vswitch_has_is_refused() -> None:
    with pytest.raises(ValueError, match="room: 9 addresses; expected at least 10"):
        flood(planned(fat_tree=TREE), room=9, frames=1)
