"""One sitting of the runner: the state of all hosts before and after, kept beside the launches."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from etherweave.bench.campaign import Campaign
from etherweave.bench.environment.findings import EnvironmentFinding
from etherweave.bench.environment.inspections import (
    HostInspection,
    inspection_facts,
    inspection_findings,
)
from etherweave.bench.store import Store


@contextmanager
def session(
    store: Store, look: Callable[[], list[HostInspection]]
) -> Iterator[tuple[int, list[EnvironmentFinding]]]:
    """Look before and after; gives the number of the sitting, and what was found before.

    The second look is kept however the sitting ends, unless the process is killed: then what was
    seen before stays.
    """
    number, before = store.sit(), look()
    findings = inspection_findings(before)
    store.keep_environment(number, _kept(before, (), findings))
    try:
        yield number, findings
    finally:
        after = look()
        store.keep_environment(number, _kept(before, after, inspection_findings(before, after)))


def _kept(
    before: Sequence[HostInspection],
    after: Sequence[HostInspection],
    findings: Sequence[EnvironmentFinding],
) -> dict[str, Any]:
    return {"hosts": inspection_facts(before, after), "findings": [asdict(one) for one in findings]}


@dataclass(frozen=True)
class Cost:
    """What a campaign will take at most, roughly."""

    launches: int
    bytes: float
    """Sent by the busiest host of each launch, added."""
    seconds: float


@dataclass(frozen=True)
class Budget:
    """What a campaign may take."""

    bytes: float
    seconds: float


def cost(campaign: Campaign) -> Cost:
    """Add up the forecasts of all launches, as if every experiment needed all it may have."""
    each = campaign.launches_max
    return Cost(
        launches=each * len(campaign.experiments),
        bytes=each * sum(one.bytes for one in campaign.experiments),
        seconds=each * sum(one.seconds for one in campaign.experiments),
    )


def exceeded(cost: Cost, budget: Budget) -> list[str]:
    """Name what of the budget is too small: ``bytes``, ``time``."""
    over = (("bytes", cost.bytes > budget.bytes), ("time", cost.seconds > budget.seconds))
    return [name for name, is_over in over if is_over]
