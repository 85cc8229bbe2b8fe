"""Fits the hosts' free constants to point-to-point figures, one after another, and to nothing else.

Each constant is found by bisection: its figure grows or falls with it. The shipped defaults of the
core are such values, rounded; this reprints them, so that anybody can see where they come from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from tomllib import loads

import etherweave
from etherweave.study.plan import HOME
from etherweave.study.sandia.experiments import TRANSPORTS, experiments
from etherweave.study.sandia.figures_of_merit import measures

SCENARIOS = HOME / "sandia-2020"

STEPS = 9
"""Of each bisection: 1/512 of the range is left."""


@dataclass(frozen=True)
class Constant:
    """A constant, and the only figure that it is fitted to."""

    key: str
    """Dotted key in a scenario."""
    transport: str
    """Under which it acts."""
    figure: str
    """Check of the first block."""
    target: float
    """Middle of what was published."""
    low: int
    """Where the search begins [ns]."""
    high: int
    """Where it ends [ns]."""


CONSTANTS = [
    Constant("nic.transmit_latency", "roce_v2", "p2p.roce_v2.latency", 1.0, 0, 600),
    Constant("host.cpu.receive_per_kib", "tcp", "p2p.tcp.bandwidth", 30.0, 100, 400),
    Constant("host.cpu.interrupt", "tcp", "p2p.tcp.latency", 14.0, 1_000, 12_000),
]


def calibrate() -> Iterator[tuple[str, str, str, str, str, str]]:
    """Fit every constant in turn; yields rows of text."""
    fitted: dict[str, object] = {}
    for constant in CONSTANTS:
        low, high = constant.low, constant.high
        falls = _measure(constant, fitted, low) > _measure(constant, fitted, high)
        for _ in range(STEPS):
            middle = (low + high) // 2
            if (_measure(constant, fitted, middle) > constant.target) == falls:
                low = middle
            else:
                high = middle
        fitted[constant.key] = f"{low}ns"
        reached = _measure(constant, fitted, low)
        yield (
            constant.key,
            constant.figure,
            f"{constant.target:g}",
            _shipped(constant.key),
            f"{low}ns",
            f"{reached:.3f}",
        )


def _measure(constant: Constant, fitted: dict[str, object], value: int) -> float:
    wanted = next(item for item in experiments(full=False) if item.name == constant.figure)
    options = {**wanted.overrides, **fitted, constant.key: f"{value}ns"}
    result = etherweave.run(SCENARIOS / f"{wanted.scenario}.toml", options)
    return measures()[constant.figure]({wanted.name: result})


def _shipped(key: str) -> str:
    table = loads(etherweave.resolve(SCENARIOS / "p2p.toml", TRANSPORTS["tcp"]))
    for part in key.split("."):
        table = table[part]
    return str(table)
