"""Which cables a plan must go round, and how they are named to it.

A cable has failed when an end has no link, or when both its switches answer and frames do not come
through, or come out elsewhere. A switch that only does not answer has not failed: it forwards on.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from etherweave.control.controller.wiring import Cable, End, Seen, both_ways, cables
from etherweave.control.rules import Plan


def failed_cables(plan: Plan, seen: Seen) -> frozenset[Cable]:
    """Give the cables of a plan that cannot be used."""
    across = both_ways(seen.arrivals)
    return frozenset(cable for cable in cables(plan) if _has_failed(cable, across, seen))


def names(plan: Plan, failed: Iterable[Cable]) -> list[str]:
    """Name cables as :func:`etherweave.control.plan.plan` takes them, parallel ones by port."""
    beside = Counter((one.switch, other.switch) for one, other in cables(plan))

    def first(cable: Cable) -> str:
        is_alone = beside[cable.one.switch, cable.other.switch] == 1
        return cable.one.switch if is_alone else f"{cable.one.switch}:{cable.one.port}"

    return [f"{first(cable)} - {cable.other.switch}" for cable in sorted(failed)]


def _has_failed(cable: Cable, across: Mapping[End, End], seen: Seen) -> bool:
    ends = [(end, seen.ports.get(end.switch)) for end in cable]
    if any(ports is not None and not ports.get(end.port, False) for end, ports in ends):
        return True
    if any(end in across and across[end] not in cable for end in cable):
        return True
    would_show = {end.switch for end in cable} <= seen.settled
    return would_show and not any(end in across for end in cable)
