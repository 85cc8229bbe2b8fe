"""What decides between the first and the second, and what would change it, in sentences."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from etherweave.advise.bills import NODES, Bill
from etherweave.advise.evaluation import PRICE_PERFORMANCE, Evaluation
from etherweave.advise.scores import Samples, ahead, over
from etherweave.advise.sensitivity import Effect
from etherweave.advise.simulated import SEED, Draw

PARTS = {
    "switch": "switches",
    "nic": "NICs",
    "cable": "cables",
    "optics": "transceivers",
    "electricity": "electricity",
    NODES: "nodes",
}
"""Parts of a price, by the beginning of their keys."""
EQUAL = 0.005  # Part by which two figures differ at least that are not called equal.
EVEN = "as much"


def deciding(evaluation: Evaluation, order: Sequence[str], draws: Sequence[Draw]) -> str:
    """Say by what the first is ahead of the second: its price, or its jobs."""
    if len(order) < 2:
        return ""
    one, other = order[:2]

    def ratio(of: Callable[[str, Sequence[Draw]], Samples]) -> float:
        return median(over(of(one, draws), of(other, draws)))

    sure = ahead(evaluation.score(one, draws), evaluation.score(other, draws))
    done = ratio(evaluation.throughput)
    job = f"it does {change(done)} of the mix{_job(evaluation, one, other, draws)}"
    if evaluation.goal != PRICE_PERFORMANCE:
        return f"{one} is ahead of {other} in {sure:.0%} of samples: {job}."
    price, lead = ratio(evaluation.price), ratio(evaluation.score)
    cost = f"it costs {change(price)}{_part(evaluation.bills[one], evaluation.bills[other])}"
    first, second = (cost, job) if 1 / price > done else (job, cost)
    than = "as" if change(lead) == EVEN else "than"
    return (
        f"{one} does {change(lead)} of the mix for its price {than} {other}, and is ahead in "
        f"{sure:.0%} of samples: {first}, and {second}."
        f"{_level(evaluation.bills[other], other, lead)}"
    )


def against_baseline(
    evaluation: Evaluation, order: Sequence[str], draws: Sequence[Draw]
) -> list[str]:
    """Compare each fabric with the baseline, a sentence each."""
    base = evaluation.baseline
    return [_compared(evaluation, name, base, draws) for name in order if name != base]


def _compared(evaluation: Evaluation, first: str, other: str, draws: Sequence[Draw]) -> str:
    def ratio(of: Callable[[str, Sequence[Draw]], Samples]) -> str:
        return change(median(over(of(first, draws), of(other, draws))))

    done = ratio(evaluation.throughput)
    than = "as" if done == EVEN else "than"
    text = f"{first} does {done} of the mix {than} {other}{_job(evaluation, first, other, draws)}"
    if evaluation.goal != PRICE_PERFORMANCE:
        return f"{text}."
    price, lead = ratio(evaluation.price), ratio(evaluation.score)
    return f"{text} and costs {price}: {lead} for its price."


def _level(bill: Bill, name: str, lead: float) -> str:
    """Say at what price a fabric would be level with one that is ahead of it."""
    if change(lead) == EVEN:
        return ""
    amount = bill.total({}) / lead
    return f" {name} would be level at {amount:,.0f} {bill.currency}, {change(1 / lead)}."


def turning(moved: Sequence[Effect], order: Sequence[str]) -> str:
    """Name the unknown with the largest effect on the lead, and whether it changes the ranking."""
    if not moved or len(order) < 2:
        return ""
    turns = [effect for effect in moved if effect.turns]
    first = (turns or moved)[0]
    place = f"{first.unknown} ({first.basis})" if first.unknown != SEED else SEED
    share = f"{first.moves:.0%} over its whole range"
    if turns:
        return f"Of what is not known, {place} would change that: the lead moves by {share}."
    most = f"{place} moves the lead most, by {share}"
    return f"Nothing that is not known changes that by itself; {most}."


def change(ratio: float) -> str:
    """Write a ratio as people say it.

    Examples
    --------
    >>> change(1.31), change(0.7), change(3.2), change(1.001)
    ('31% more', '30% less', '220% more', 'as much')
    """
    if abs(ratio - 1) < EQUAL:
        return EVEN
    return f"{ratio - 1:.0%} more" if ratio > 1 else f"{1 - ratio:.0%} less"


def _job(evaluation: Evaluation, first: str, other: str, draws: Sequence[Draw]) -> str:
    """Name the job that makes most of the difference in throughput."""

    def relative(name: str, job: str) -> float:
        return median(evaluation.time_us(name, job, draws)) / evaluation.reference[job]

    def gain(job: str) -> float:
        return evaluation.weights[job] * (relative(first, job) - relative(other, job))

    most = max(evaluation.reference, key=lambda job: abs(gain(job)))
    taken = relative(first, most) / relative(other, most)
    if abs(taken - 1) < EQUAL:
        return ""
    return f" (most by {most}, whose time is {taken:.2f} times)"


def _part(bill: Bill, other: Bill) -> str:
    """Name the part that makes most of the difference in price."""
    sums = [_sums(bill), _sums(other)]
    less = {part: sums[1].get(part, 0.0) - sums[0].get(part, 0.0) for part in PARTS.values()}
    most = max(less, key=lambda part: abs(less[part]))
    if not less[most]:
        return ""
    kind = "less" if less[most] > 0 else "more"
    return f" (most by {most}, {abs(less[most]):,.0f} {bill.currency} {kind})"


def _sums(bill: Bill) -> Mapping[str, float]:
    values: dict[str, float] = {}
    for line in [*bill.items, *([bill.electricity] if bill.electricity else [])]:
        part = PARTS[line.key.partition(".")[0]]
        values[part] = values.get(part, 0.0) + line.amount
    return values
