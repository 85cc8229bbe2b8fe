"""Election among controllers: one is master of all switches, the others stand by.

Controllers send beacons to each other through the switches, which pass a packet of one controller
on to all. A controller that receives no beacon of a master for a while claims the switches with a
generation above all that it has seen (OpenFlow 1.3.5, 6.3.6), so that a former master's claims are
stale. Of two that claim at once, the greater generation wins, then the greater identity.

Times are arguments, in seconds; nothing here reads a clock.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

UNSET = (1 << 64) - 1  # The generation that Open vSwitch reports before the first claim.


class RoleTiming(NamedTuple):
    """Times of the election [s]."""

    beacon_s: float = 0.5
    listen_s: float = 1.5  # Before a claim: time for three beacons of a master.
    lost_s: float = 3.0  # Silence after which a master counts as lost.


class ControllerState(IntEnum):
    """State of a controller."""

    LISTENING = 0  # Waits for beacons of a master.
    STANDBY = 1  # Another controller is the master.
    MASTER = 2


class Role(IntEnum):
    """Role of a controller at a switch (``ofp_controller_role``)."""

    NO_CHANGE = 0
    EQUAL = 1
    MASTER = 2
    SLAVE = 3


class Beacon(NamedTuple):
    """Message of a controller to the others."""

    controller: int  # A random number of 64 bits, its identity.
    state: ControllerState
    generation: int


@dataclass(frozen=True, slots=True)
class RoleState:
    """State of a controller, and what it has learned of the others."""

    controller: int
    state: ControllerState = ControllerState.LISTENING
    since_s: float = 0.0  # When the state began, or the last beacon of a rival arrived.
    generation: int = 0  # The greatest generation seen; of a master, its own.
    master: int | None = None  # Identity of another controller that is the master.


def with_generation(standing: RoleState, generation: int) -> RoleState:
    """Include the generation that a switch reports."""
    if generation == UNSET:
        return standing
    return replace(standing, generation=max(standing.generation, generation))


def receive_beacon(standing: RoleState, beacon: Beacon, now_s: float) -> RoleState:
    """Include another controller's beacon."""
    if beacon.controller == standing.controller:
        return standing
    updated = with_generation(standing, beacon.generation)
    if beacon.state is ControllerState.MASTER:
        if standing.state is ControllerState.MASTER and _rank(standing) > beacon[2:] + beacon[:1]:
            return standing
        return replace(
            updated, state=ControllerState.STANDBY, since_s=now_s, master=beacon.controller
        )
    is_rival = (
        beacon.state is ControllerState.LISTENING and standing.state is ControllerState.LISTENING
    )
    return (
        replace(updated, since_s=now_s)
        if is_rival and beacon.controller > standing.controller
        else updated
    )


def demoted(standing: RoleState, generation: int, now_s: float) -> RoleState:
    """Stand by because a switch reports another controller as its master."""
    updated = with_generation(standing, generation)
    return replace(updated, state=ControllerState.STANDBY, since_s=now_s, master=None)


def tick(standing: RoleState, now_s: float, pace: RoleTiming) -> RoleState:
    """Claim the switches, or listen again, when the time for it has passed."""
    waited_s = now_s - standing.since_s
    if standing.state is ControllerState.LISTENING and waited_s >= pace.listen_s:
        return claim(standing, now_s)
    if standing.state is ControllerState.STANDBY and waited_s >= pace.lost_s:
        return replace(standing, state=ControllerState.LISTENING, since_s=now_s, master=None)
    return standing


def claim(standing: RoleState, now_s: float) -> RoleState:
    """Become master under a generation above all seen."""
    generation = (standing.generation + 1) % UNSET
    return replace(
        standing, state=ControllerState.MASTER, since_s=now_s, generation=generation, master=None
    )


def claim_above(standing: RoleState, generation: int, now_s: float) -> RoleState:
    """Claim again where a switch reports a greater generation than the master's own."""
    if generation in (UNSET, standing.generation) or generation < standing.generation:
        return standing
    return claim(with_generation(standing, generation), now_s)


def _rank(standing: RoleState) -> tuple[int, int]:
    return standing.generation, standing.controller
