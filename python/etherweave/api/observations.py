"""One point of a fabric's synthetic traffic over time: the utilisation between its groups."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from etherweave.api.fabrics import fabric
from etherweave.api.result_schema import core_table
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.api.simulation import EstimateCallback

if TYPE_CHECKING:
    import polars
    import pyarrow


@dataclass(frozen=True)
class PatternInterval:
    """The batches of one pattern."""

    pattern: str  # Name of the pattern.
    start_ns: int  # Start of the first of its batches [ns].
    end_ns: int  # End of the last of its batches [ns].
    pairs: "polars.DataFrame"
    """Mean ``utilisation`` of the channels from ``group_from`` to ``group_to``."""


@dataclass(frozen=True)
class Observation:
    """The tables of one simulated point. Times count from the start of the run."""

    fabric: str
    """Name of the fabric."""
    area: str
    """Kind of ``group_from`` and ``group_to``: ``group``, or ``switch`` in a fabric without."""
    points: "pyarrow.Table"
    """One row, as of :func:`etherweave.curve`."""
    patterns: "pyarrow.Table"
    """Every pattern with its ``start_ns``."""
    channels: "pyarrow.Table"
    """Every channel between switches, with its ``utilisation`` in the measured time."""
    steps: "pyarrow.Table"
    """``utilisation`` of the channels between two groups, for each batch from ``time_ns`` on."""
    series: "pyarrow.Table"
    """Loads and mean latency of each batch."""

    def intervals(self) -> Iterator[PatternInterval]:
        """Split the batches by pattern; a batch in which the pattern changes belongs to none."""
        import polars as pl

        steps = cast(pl.DataFrame, pl.from_arrow(self.steps))
        duration = int(self.series["duration_ns"][0].as_py())
        starts = [*self.patterns["start_ns"].to_pylist(), float("inf")]
        for number, pattern in enumerate(self.patterns["pattern"].to_pylist()):
            time = pl.col("time_ns")
            own = steps.filter(time >= starts[number], time + duration <= starts[number + 1])
            if not own.is_empty():
                times = own["time_ns"]
                pairs = own.group_by("group_from", "group_to", maintain_order=True)
                means = pairs.agg(pl.col("utilisation").mean())
                yield PatternInterval(pattern, times[0], times[-1] + duration, means)


def observe(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    routing: str | None = None,
    pattern: str | None = None,
    load: float | None = None,
    threads: int = 1,
    memory_limit: str | None = None,
    on_start: EstimateCallback | None = None,
) -> Observation:
    """Simulate one point of the traffic that the table ``open_loop`` describes, over time.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.fabric`.
    routing, pattern, load
        The point: name of the routing, name of the pattern or its label in a row of
        :func:`etherweave.curve`, share of the hosts' links. By default the first of the scenario.
    threads
        Number of threads. Results do not depend on it.
    memory_limit, on_start
        As for :func:`etherweave.run`.

    Raises
    ------
    ScenarioError
        When the scenario is wrong, or has no such point.

    Notes
    -----
    A pattern that changes (``switching``) is recorded from the start, and for as long after its
    last change as before it, where the scenario gives no ``warm_up`` and no ``measured``.
    """
    built = fabric(scenario, overrides)
    area = "group" if "group" in built.axes else "switch"
    if on_start is not None:
        on_start(json.loads(built.estimate_observe(routing, pattern, load)))
    tables = built.observe(threads, routing, pattern, load, memory_limit)
    named = {name: core_table(table) for name, table in tables.items()}
    return Observation(built.name, area, **named)
