"""What Etherweave knows of one benchmark: the interface between benchmarks and all that uses them.

An adapter is a value, made in a file of its own under ``adapters`` and listed there once.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from etherweave.bench.draft import Draft
from etherweave.bench.metrics import Metric
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate


@dataclass(frozen=True)
class Adapter:
    """One benchmark."""

    name: str
    """As in the catalogue."""
    programs: tuple[str, ...]
    """Binaries that one may find."""
    metrics: tuple[Metric, ...]
    """All that it measures."""
    checks: tuple[str, ...]
    """What a result must fulfil to count, besides what all must."""
    begins: str
    """A pattern, without groups that capture, of lines with which its text begins."""
    plan: Callable[[BenchmarkRequest, FabricEstimate], BenchmarkPlan]
    """Decides placement, command and forecast. Raises ``PlanError``."""
    parse: Callable[[Draft], None]
    """Reads a block into a draft. Raises ``GarbledError``."""
    is_row: bool = False
    """Lines that match ``begins`` are results themselves, so those that follow each other belong
    together; else each begins a run."""
    inside: str | None = None
    """A pattern of beginnings that occur within its text, and mean nothing there."""
    json: str | None = None
    """A pattern that occurs in its JSON objects, and in nobody else's."""
    rarer: tuple[str, ...] = ()
    """Further binaries, whose text it reads as well."""
    version: tuple[tuple[str, ...], str] | None = None
    """Arguments that make a program print its version, and a pattern with one group for it."""

    def __post_init__(self) -> None:
        assert not re.compile(self.begins).groups, f"{self.name}: a group captures"
