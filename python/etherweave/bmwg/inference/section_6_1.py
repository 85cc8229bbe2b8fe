"""Time to the first token of disaggregated serving (inference draft, 6.1)."""

from collections.abc import Sequence

from etherweave.bmwg import serving
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable, labelled

AXES = ("workers", "prompt [tokens]")
PREFILL = 3  # Prefill workers of the draft's example, 3P9D.
LOAD = 0.5  # Share of their time for which these compute, a choice of this implementation.
ANSWER = 8  # Tokens of an answer.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve prompts of each length, which arrive at random."""
    workers = (PREFILL, serving.WORKERS - PREFILL)
    made = []
    for tokens in serving.PROMPTS if full else serving.PROMPTS[::3]:
        interval_ms = serving.prompt_ms(tokens) / PREFILL / LOAD
        requests = serving.drawn(1_000 if full else 100, interval_ms, tokens, ANSWER)
        labels = labelled(AXES, f"{workers[0]}P{workers[1]}D", tokens)
        made.append(serving.service_case(fabric, labels, workers, requests))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the time to the first token and its parts."""
    return [serving.first_token_table("Time to the first token", AXES, trials)]
