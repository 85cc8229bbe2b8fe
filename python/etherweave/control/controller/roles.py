"""Which of several controllers decides: one is master of all switches, the others stand by.

Every controller tells the others that it is there by frames that a switch hands from one to all:
beacons. Who hears no master for a while claims the switches with a generation above all that they
have seen (OpenFlow 1.3.5, 6.3.6), so that a former master's claims are stale. Of two that claim at
once, the greater generation stays, then the greater identity.

Time is handed in, in seconds; nothing here reads a clock.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

UNSET = (1 << 64) - 1
"""What Open vSwitch answers before the first claim."""


class RoleTiming(NamedTuple):
    """How fast controllers find out about each other [s]."""

    beacon_s: float = 0.5
    listen_s: float = 1.5
    """Before a claim: three beacons of a master that may be there."""
    lost_s: float = 3.0
    """A master that was not heard for so long is gone."""


class ControllerState(IntEnum):
    """What a controller does."""

    LISTENING = 0
    """Finds out whether there is a master."""
    STANDBY = 1
    """Another is master."""
    MASTER = 2


class Role(IntEnum):
    """What a switch takes a controller for (``ofp_controller_role``)."""

    NO_CHANGE = 0
    EQUAL = 1
    MASTER = 2
    SLAVE = 3


class Beacon(NamedTuple):
    """What a controller tells the others."""

    controller: int
    """A number that no other has, 64 bits."""
    state: ControllerState
    generation: int


@dataclass(frozen=True, slots=True)
class RoleState:
    """What a controller knows of itself and the others."""

    controller: int
    state: ControllerState = ControllerState.LISTENING
    since_s: float = 0.0
    """When the state began, or a rival was last heard."""
    generation: int = 0
    """The greatest seen anywhere; a master's own."""
    master: int | None = None
    """Who else is master."""


def start(controller: int, now_s: float) -> RoleState:
    """Begin to listen."""
    return RoleState(controller, since_s=now_s)


def with_generation(standing: RoleState, generation: int) -> RoleState:
    """Take what a switch answers to a question for roles."""
    if generation == UNSET:
        return standing
    return replace(standing, generation=max(standing.generation, generation))


def receive_beacon(standing: RoleState, beacon: Beacon, now_s: float) -> RoleState:
    """Take another controller's beacon."""
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
    """Take a switch's word that another controller is its master now."""
    updated = with_generation(standing, generation)
    return replace(updated, state=ControllerState.STANDBY, since_s=now_s, master=None)


def tick(standing: RoleState, now_s: float, pace: RoleTiming) -> RoleState:
    """Claim the switches, or listen again, when enough time has passed."""
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
    """Claim again where a switch knows a greater generation than a master's own."""
    if generation in (UNSET, standing.generation) or generation < standing.generation:
        return standing
    return claim(with_generation(standing, generation), now_s)


def beacon(standing: RoleState) -> Beacon:
    """Give what the others are told."""
    return Beacon(standing.controller, standing.state, standing.generation)


def _rank(standing: RoleState) -> tuple[int, int]:
    return standing.generation, standing.controller
