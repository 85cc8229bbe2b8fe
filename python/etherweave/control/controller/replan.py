"""Which cables a plan must go round, and how they are named to it.

A cable has failed when an end has no link, or when both its switches answer and frames do not come
through, or come out elsewhere. A switch that only does not answer has not failed: it forwards on.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from etherweave.control.controller.wiring import Cable, End, Seen, both_ways, cables
from etherweave.control.rules import Plan


def failed_cables(plan: Plan, seen: Seen) -> frozenset[Cable]:
    """Give the cables of a plan that cannot be used."""
    across = both_ways(seen.arrivals)
    return frozenset(cable for cable in cables(plan) if _has_failed(cable, across, seen))


def names(plan: Plan, failed: Iterable[Cable]) -> list[str]:
    """Name cables as :func:`etherweave.control.plan.plan` takes them.

    Of parallel cables a name cannot say which one: the first so many by port are left out. Where
    the last of four has failed, all four are named, so that none that has failed is used.
    """
    parallel: dict[tuple[str, str], list[Cable]] = defaultdict(list)
    for cable in sorted(cables(plan)):
        parallel[cable.one.switch, cable.other.switch].append(cable)
    gone = frozenset(failed)
    counts = {
        pair: max((place for place, cable in enumerate(some, start=1) if cable in gone), default=0)
        for pair, some in parallel.items()
    }
    return [f"{one} - {other}" for (one, other), count in counts.items() for _ in range(count)]


def counted(names: Iterable[str]) -> list[str]:
    """Write names of cables for people: with how often, where more than once."""
    return [f"{name} ({count})" if count > 1 else name for name, count in Counter(names).items()]


def _has_failed(cable: Cable, across: Mapping[End, End], seen: Seen) -> bool:
    ends = [(end, seen.ports.get(end.switch)) for end in cable]
    if any(ports is not None and not ports.get(end.port, False) for end, ports in ends):
        return True
    if any(end in across and across[end] not in cable for end in cable):
        return True
    would_show = {end.switch for end in cable} <= seen.settled
    return would_show and not any(end in across for end in cable)
