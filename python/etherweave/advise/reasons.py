"""Reasons for the first before the second, and what would change them, in sentences."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from etherweave.advise.bills import NODES, Bill
from etherweave.advise.evaluation import PRICE_PERFORMANCE, Evaluation
from etherweave.advise.model_error import Errors
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


def deciding(errors: Errors, order: Sequence[str], draws: Sequence[Draw]) -> str:
    """Say by what the first is ahead of the second: its price, or its jobs."""
    if len(order) < 2:
        return ""
    (first, other), evaluation = order[:2], errors.evaluation

    def ratio(of: Callable[[str, Sequence[Draw]], Samples]) -> float:
        return median(over(of(first, draws), of(other, draws)))

    sure = ahead(evaluation.score(first, draws), evaluation.score(other, draws))
    done = change(ratio(evaluation.throughput))
    head = f"{first} does {done} of the mix {_than(done)} {other}"
    together = errors.ahead(first, other)
    sentences = [
        f"It is ahead in {sure:.0%} of samples, with the error of the model in {together:.0%}."
    ]
    if job := _job(evaluation, first, other, draws):
        sentences.append(f"Most of the difference in the mix is {job}.")
    if evaluation.goal != PRICE_PERFORMANCE:
        return " ".join([f"{head}.", *sentences])
    price, lead = change(ratio(evaluation.price)), ratio(evaluation.score)
    if part := _part(evaluation.bills[first], evaluation.bills[other]):
        sentences.append(f"Most of the difference in price is {part}.")
    sentences.append(_level(evaluation.bills[other], other, lead))
    sentences.append(_with_nodes(evaluation, first, other, ratio(evaluation.throughput)))
    text = f"{head} and costs {price}: {change(lead)} throughput per price."
    return " ".join(filter(None, [text, *sentences]))


def _than(changed: str) -> str:
    return "as" if changed == EVEN else "than"


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
    job = _job(evaluation, first, other, draws)
    most = f" (most by {job})" if job else ""
    text = f"{first} does {done} of the mix {_than(done)} {other}{most}"
    if evaluation.goal != PRICE_PERFORMANCE:
        return f"{text}."
    price, lead = ratio(evaluation.price), ratio(evaluation.score)
    return f"{text} and costs {price}: {lead} throughput per price."


def _level(bill: Bill, name: str, lead: float) -> str:
    """Say at what price a fabric would be level with one that is ahead of it."""
    if change(lead) == EVEN:
        return ""
    amount = bill.total({}) / lead
    return f"{name} would be level at {amount:,.0f} {bill.currency}, {change(1 / lead)}."


def _with_nodes(evaluation: Evaluation, first: str, other: str, done: float) -> str:
    """Say from what price of a node on the second is ahead, where nodes have none.

    ``done`` is the throughput of the first over that of the second.
    """
    bill, dear = evaluation.bills[first], evaluation.bills[other]
    if any(item.key == NODES for item in bill.items):
        return ""
    missing = "Totals contain no prices of nodes, which the question does not state"
    slower = dear.hosts * done - bill.hosts
    price = (bill.total({}) - done * dear.total({})) / slower if slower < 0 else 0.0
    if price <= 0:
        return f"{missing}."
    level = f"nodes of more than {price:,.0f} {bill.currency} each put {other} ahead"
    return f"{missing}: {level}."


def turning(moved: Sequence[Effect], order: Sequence[str]) -> str:
    """Name the unknown with the largest effect on the lead, and whether it changes the ranking."""
    if not moved or len(order) < 2:
        return ""
    turns = [effect for effect in moved if effect.turns]
    first = (turns or moved)[0]
    place = f"{first.unknown} ({first.basis})" if first.unknown != SEED else SEED
    share = f"{first.moves:.0%} over its whole range"
    if turns:
        return f"One unknown alone would change that: {place}, which moves the lead by {share}."
    return f"No unknown alone changes that; {place} moves the lead most, by {share}."


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
    return f"{most}, which takes {taken:.2f} times as long"


def _part(bill: Bill, other: Bill) -> str:
    """Name the part that makes most of the difference in price."""
    sums = [_sums(bill), _sums(other)]
    less = {part: sums[1].get(part, 0.0) - sums[0].get(part, 0.0) for part in PARTS.values()}
    most = max(less, key=lambda part: abs(less[part]))
    if not less[most]:
        return ""
    kind = "less" if less[most] > 0 else "more"
    return f"{most}, {abs(less[most]):,.0f} {bill.currency} {kind}"


def _sums(bill: Bill) -> Mapping[str, float]:
    values: dict[str, float] = {}
    for line in [*bill.items, *([bill.electricity] if bill.electricity else [])]:
        part = PARTS[line.key.partition(".")[0]]
        values[part] = values.get(part, 0.0) + line.amount
    return values
