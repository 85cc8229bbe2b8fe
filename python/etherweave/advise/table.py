"""The ranking as rows of text, for the terminal and for pages."""

from etherweave.advise.answer import Answer, JobTime, Standing
from etherweave.advise.bills import Item
from etherweave.advise.scores import Interval, unit_of

TEN_KILOWATTS = 10_000
THOUSAND, THOUSANDS_FROM = 1_000, 100_000


def head(answer: Answer) -> list[str]:
    """Name the columns of the ranking."""
    currency = next((row.bill.currency for row in answer.standings if row.bill.items), "")
    unit = f"{_scale(answer):,} {currency}" if _scale(answer) > 1 else currency
    price = f"price [{unit}{', example' if is_example(answer) else ''}]" if currency else "price"
    return ["", "fabric", "throughput", price, "power [kW]", "throughput/price", "first in"]


def rows(answer: Answer) -> list[list[str]]:
    """Write the ranking."""
    return [_row(place, row, _scale(answer)) for place, row in enumerate(answer.standings, 1)]


def _scale(answer: Answer) -> int:
    """Return the unit of prices: thousands where all are large."""
    prices = [standing.price.value for standing in answer.standings if standing.price]
    return THOUSAND if prices and min(prices) >= THOUSANDS_FROM else 1


def _row(place: int, standing: Standing, scale: int) -> list[str]:
    return [
        str(place),
        standing.fabric,
        span(standing.throughput),
        _money(standing.price, scale) if standing.price else "unknown",
        _kilowatts(standing.watts) if standing.watts else "unknown",
        span(standing.price_performance) if standing.price_performance else "unknown",
        f"{standing.first:.0%}",
    ]


def job_head(answer: Answer) -> list[str]:
    """Name the columns of the times of jobs."""
    jobs = answer.standings[0].jobs
    return ["fabric", *(f"{job.job}, {job.weight:.0%}" for job in jobs)]


def job_row(standing: Standing) -> list[str]:
    """Write the times of all jobs on a fabric, and what takes most of each."""
    return [standing.fabric, *(f"{time(job.time_us)}{_place(job)}" for job in standing.jobs)]


def _place(job: JobTime) -> str:
    """Say which place takes most of the time of a job."""
    place = max(job.places, key=lambda place: job.places[place], default="")
    return f",\n{place} {job.places[place]:.0%}" if place else ""


def together_head(answer: Answer) -> list[str]:
    """Name the columns of the intervals that have the error of the model, too."""
    jobs = [job.job for job in answer.standings[0].jobs]
    return ["90 % with the model's error", "throughput", "throughput/price", *jobs]


def together_row(standing: Standing) -> list[str]:
    """Write the intervals of a fabric with the error of the model."""
    by_price = standing.price_performance_together
    return [
        standing.fabric,
        ratio_ends(standing.throughput_together),
        ratio_ends(by_price) if by_price else "unknown",
        *(time_ends(job.together_us) for job in standing.jobs),
    ]


def model_error(answer: Answer) -> str:
    """Say what the error of the model rests on."""
    error = answer.model_error
    return (
        f"Measured ratios of times on two networks are {error.low:.2f} to {error.high:.2f} of "
        f"simulated ones in 90 % (benchmark not fitted: {error.rows} rows of {error.systems} "
        "systems); times of jobs have the error that `run --samples` prints. "
        "`etherweave uncertainty errors` has all."
    )


def is_example(answer: Answer) -> bool:
    """Return whether a price is an example, and no offer."""
    return any(line.basis == "example" for standing in answer.standings for line in lines(standing))


def lines(standing: Standing) -> list[Item]:
    """List the lines of a fabric's bill, electricity included."""
    return [
        *standing.bill.items,
        *([standing.bill.electricity] if standing.bill.electricity else []),
    ]


def span(interval: Interval) -> str:
    """Write a ratio with its interval."""
    return f"{interval.value:.2f} ({ratio_ends(interval)})"


def ratio_ends(interval: Interval) -> str:
    """Write both ends of the interval of a ratio."""
    return f"{interval.low:.2f} to {interval.high:.2f}"


def time(interval: Interval) -> str:
    """Write a time with its interval, in the unit of its median."""
    scale, unit = unit_of(interval.value)
    low, median, high = (
        f"{value / scale:.4g}" for value in (interval.low, interval.value, interval.high)
    )
    return f"{median} {unit} ({low} to {high})"


def time_ends(interval: Interval) -> str:
    """Write both ends of the interval of a time, in the unit of its median."""
    scale, unit = unit_of(interval.value)
    return f"{interval.low / scale:.4g} to {interval.high / scale:.4g} {unit}"


def _kilowatts(interval: Interval) -> str:
    digits = 1 if interval.value >= TEN_KILOWATTS else 3
    value, low, high = (
        f"{watts / 1e3:,.{digits}f}" for watts in (interval.value, interval.low, interval.high)
    )
    return f"{value} ({low} to {high})"


def _money(interval: Interval, scale: int) -> str:
    value, low, high = (
        f"{amount / scale:,.0f}" for amount in (interval.value, interval.low, interval.high)
    )
    return f"{value} ({low} to {high})"


def order(answer: Answer) -> str:
    """Say what 1 is, and how sure the order is."""
    goal = "throughput per price" if answer.goal == "price_performance" else "throughput"
    return (
        f"Ranked by {goal} within each sample. Throughput and ratio are relative to "
        f"{answer.baseline}. The order is this in {answer.order:.0%} of {answer.samples} samples."
    )
