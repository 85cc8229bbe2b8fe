"""The ranking as rows of text, for the terminal and for pages."""

from etherweave.advise.answer import Answer, JobTime, Standing
from etherweave.advise.bills import Item
from etherweave.advise.scores import Interval, unit_of

TEN_KILOWATTS = 10_000
THOUSAND, THOUSANDS_FROM = 1_000, 100_000


def head(found: Answer) -> list[str]:
    """Name the columns of the ranking."""
    currency = next((one.bill.currency for one in found.standings if one.bill.items), "")
    unit = f"{_scale(found):,} {currency}" if _scale(found) > 1 else currency
    price = f"price [{unit}{', example' if is_example(found) else ''}]" if currency else "price"
    return ["", "fabric", "throughput", price, "power [kW]", "throughput/price", "first in"]


def rows(found: Answer) -> list[list[str]]:
    """Write the ranking."""
    return [_row(place, one, _scale(found)) for place, one in enumerate(found.standings, 1)]


def _scale(found: Answer) -> int:
    """Return the unit of prices: thousands where all are large."""
    prices = [one.price.value for one in found.standings if one.price]
    return THOUSAND if prices and min(prices) >= THOUSANDS_FROM else 1


def _row(place: int, one: Standing, scale: int) -> list[str]:
    return [
        str(place),
        one.fabric,
        span(one.throughput),
        _money(one.price, scale) if one.price else "unknown",
        _kilowatts(one.watts) if one.watts else "unknown",
        span(one.price_performance) if one.price_performance else "unknown",
        f"{one.first:.0%}",
    ]


def job_head(found: Answer) -> list[str]:
    """Name the columns of the times of jobs."""
    jobs = found.standings[0].jobs
    return ["fabric", *(f"{one.job}, {one.weight:.0%}" for one in jobs)]


def job_row(one: Standing) -> list[str]:
    """Write the times of all jobs on a fabric, and what takes most of each."""
    return [one.fabric, *(f"{time(job.time_us)}{_place(job)}" for job in one.jobs)]


def _place(job: JobTime) -> str:
    """Say which place takes most of the time of a job."""
    place = max(job.places, key=lambda one: job.places[one], default="")
    return f",\n{place} {job.places[place]:.0%}" if place else ""


def is_example(found: Answer) -> bool:
    """Return whether a price is an example, and no offer."""
    return any(line.basis == "example" for one in found.standings for line in lines(one))


def lines(one: Standing) -> list[Item]:
    """List the lines of a fabric's bill, electricity included."""
    return [*one.bill.items, *([one.bill.electricity] if one.bill.electricity else [])]


def span(one: Interval) -> str:
    """Write a ratio with its interval."""
    return f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


def time(one: Interval) -> str:
    """Write a time with its interval, in the unit of its median."""
    scale, unit = unit_of(one.value)
    low, median, high = (f"{value / scale:.4g}" for value in (one.low, one.value, one.high))
    return f"{median} {unit} ({low} to {high})"


def _kilowatts(one: Interval) -> str:
    digits = 1 if one.value >= TEN_KILOWATTS else 3
    value, low, high = (f"{watts / 1e3:,.{digits}f}" for watts in (one.value, one.low, one.high))
    return f"{value} ({low} to {high})"


def _money(one: Interval, scale: int) -> str:
    value, low, high = (f"{amount / scale:,.0f}" for amount in (one.value, one.low, one.high))
    return f"{value} ({low} to {high})"


def order(found: Answer) -> str:
    """Say what 1 is, and how sure the order is."""
    goal = "throughput per price" if found.goal == "price_performance" else "throughput"
    return (
        f"Ranked by {goal}; 1 is {found.baseline}. The order is this in {found.order:.0%} of "
        f"{found.samples} samples."
    )
