"""Time to the first token without load (inference draft, 10.1)."""

from collections.abc import Sequence

from etherweave.bmwg import serving
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable, labelled

AXES = ("configuration", "prompt [tokens]")
KEYS = ("layers", "heads", "width", "value_bytes")
CONFIGURATIONS = {
    "CFG-A": (32, 8, 128, 2),
    "CFG-B": (80, 8, 128, 2),
    "CFG-C": (96, 64, 128, 2),
    "CFG-D": (80, 8, 128, 1),
}
"""Keys and values of the draft's models."""
APART = 20  # Time between requests over that of a prompt.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve requests that never meet."""
    made = []
    for name, shape in CONFIGURATIONS.items():
        cache = {"grouped": dict(zip(KEYS, shape, strict=True))}
        for tokens in serving.PROMPTS if full else serving.PROMPTS[::3]:
            interval_ms = APART * serving.prompt_ms(tokens)
            requests = serving.spaced(100, interval_ms, tokens, 1)
            labels = labelled(AXES, name, tokens)
            made.append(serving.service_case(fabric, labels, (1, 1), requests, cache=cache))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the time to the first token and its parts."""
    return [serving.first_token_table("Time to the first token without load", AXES, trials)]
