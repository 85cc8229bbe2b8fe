"""The sections of the page of a run: one file and one line each."""

from etherweave.report.figures.run import (
    beside,
    counters,
    flows,
    goodput,
    iterations,
    nodes,
    pauses,
    published,
    streams,
    tests,
    utilisation,
)
from etherweave.report.section import Builder
from etherweave.results import Result

RUN: list[Builder[Result]] = [
    iterations.section,
    nodes.section,
    streams.section,
    utilisation.section,
    pauses.section,
    counters.section,
    flows.section,
]
"""For a run, in the order of the page; those without anything to show stay away."""

MEASURED: list[Builder[Result]] = [iterations.section, nodes.section, streams.section]
"""For a run that was measured: what hosts see of it."""

BESIDE: list[Builder[beside.Beside]] = [beside.section, goodput.section]
"""For results of the same jobs."""

HELD: list[Builder[beside.Beside]] = [*tests.sections, published.section]
"""For one result or several: what their numbers can be held against."""
