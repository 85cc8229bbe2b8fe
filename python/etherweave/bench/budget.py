"""Whether a campaign may be afforded, before it begins."""

from dataclasses import dataclass

from etherweave.bench.campaign import Campaign


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
