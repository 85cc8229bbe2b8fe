"""One benchmark as the rest of Etherweave sees it: programs, metrics, plan and parser.

An adapter is a value, made in a module of ``adapters`` of the functions that plan and parse. Its
programs, metrics and patterns stand in the catalogue, but patterns that its parser uses, too.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from etherweave.bench.programs.catalogue import catalogue
from etherweave.bench.programs.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate
from etherweave.bench.programs.program_options import OptionTable, options
from etherweave.bench.texts.draft import Draft
from etherweave.bench.texts.json_objects import JsonObject
from etherweave.measurements.metrics import METRICS, Metric


@dataclass(frozen=True)
class Adapter:
    """One benchmark."""

    name: str  # Name in the catalogue.
    programs: tuple[str, ...]  # Names of its binaries.
    metrics: tuple[Metric, ...]  # Everything that it measures.
    begins: str  # Pattern, without capturing groups, of lines with which its text begins.
    plan: Callable[[BenchmarkRequest, FabricEstimate], BenchmarkPlan]
    """Chooses placement, command and forecast. Raises ``BenchmarkPlanError``."""
    parse: Callable[[Draft], None]  # Reads a block into a draft. Raises ``GarbledError``.
    is_row: bool = False
    """Lines that match ``begins`` are results themselves, so those that follow each other belong
    together; else each begins a run."""
    inside: str | None = None
    """Pattern of beginnings that occur within its text, where they begin nothing."""
    is_inside_above_rows: bool = False
    """Such beginnings stand above the rows of a run; below them they begin another."""
    table: str | None = None
    """Pattern, without capturing groups, of a header that only this family prints: a text begins
    with it where its title is missing."""
    fragment: str | None = None
    """Pattern, without capturing groups, of lines within its text that only this family prints, of
    which nothing follows without the beginning: where that is missing, the refusal says so."""
    is_csv: bool = False  # Commas of its lines are between values.
    is_one_run: bool = False  # Tables without a title that follow each other are of one run.
    json: str | None = None
    """Pattern that occurs in its JSON objects, and in those of no other benchmark."""
    parse_json: Callable[[Draft, JsonObject], None] | None = None
    """Reads such an object into a draft. Raises ``GarbledError`` or a lookup's error."""
    rarer: tuple[str, ...] = ()  # Further binaries, whose text it parses as well.
    options: OptionTable = field(default_factory=OptionTable)
    """Options of its programs that a user may pass on."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Binaries that it does not plan, each with the reason."""
    version: tuple[tuple[str, ...], str] | None = None
    """Arguments that make a program print its version, and a pattern with one group for it."""

    def __post_init__(self) -> None:
        for pattern in (self.begins, self.table or "", self.fragment or ""):
            assert not re.compile(pattern).groups, f"{self.name}: a group captures"

    @property
    def checks(self) -> Sequence[str]:
        """Conditions under which a result counts, as the catalogue lists them."""
        return catalogue()[self.name].checks


def adapter(name: str, **own: Any) -> Adapter:
    """Make the adapter of an entry of the catalogue, with fields that are its module's own."""
    facts = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in catalogue()[name].adapter.items()
    }
    metrics = tuple(METRICS[metric] for metric in facts.pop("metrics"))
    if version := facts.pop("version", None):
        *arguments, pattern = version
        facts["version"] = (tuple(arguments), pattern)
    if "options" not in own:
        facts["options"] = options(name)
    return Adapter(name, metrics=metrics, **{**facts, **own})
