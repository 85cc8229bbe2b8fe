"""One point of a fabric's synthetic traffic, watched: between which groups packets go, and when."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from etherweave.fabrics import fabric
from etherweave.scenario import Overrides, Scenario

if TYPE_CHECKING:
    import polars
    import pyarrow


@dataclass(frozen=True)
class Stretch:
    """The batches of one pattern."""

    pattern: str
    """What it is called."""
    start_ns: int
    """When the first of its batches begins."""
    end_ns: int
    """When the last of its batches ends."""
    pairs: "polars.DataFrame"
    """Mean ``utilisation`` of the channels from ``group_from`` to ``group_to``."""


@dataclass(frozen=True)
class Observation:
    """What was seen of a point. Times count from the start of the run."""

    fabric: str
    """What the fabric is called."""
    area: str
    """What ``group_from`` and ``group_to`` number: ``group``; ``switch`` where there are none."""
    points: "pyarrow.Table"
    """Its row, as of :func:`etherweave.curve`."""
    patterns: "pyarrow.Table"
    """Every pattern with its ``start_ns``."""
    channels: "pyarrow.Table"
    """Every channel between switches, with its ``utilisation`` in the measured time."""
    steps: "pyarrow.Table"
    """For each batch from ``time_ns`` on, ``utilisation`` of the channels between two groups."""
    series: "pyarrow.Table"
    """For each batch its loads and its mean latency."""

    def stretches(self) -> Iterator[Stretch]:
        """Part the batches by patterns; those during which the pattern turns belong to none."""
        import polars as pl

        steps = cast(pl.DataFrame, pl.from_arrow(self.steps))
        duration = int(self.series["duration_ns"][0].as_py())
        starts = [*self.patterns["start_ns"].to_pylist(), float("inf")]
        for place, pattern in enumerate(self.patterns["pattern"].to_pylist()):
            time = pl.col("time_ns")
            own = steps.filter(time >= starts[place], time + duration <= starts[place + 1])
            if not own.is_empty():
                times = own["time_ns"]
                pairs = own.group_by("group_from", "group_to", maintain_order=True)
                means = pairs.agg(pl.col("utilisation").mean())
                yield Stretch(pattern, times[0], times[-1] + duration, means)


def observe(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    routing: str | None = None,
    pattern: str | None = None,
    load: float | None = None,
    threads: int = 1,
) -> Observation:
    """Simulate one point of the traffic that the table ``open_loop`` describes, and watch it.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.fabric`.
    routing, pattern, load
        Which point: a routing by its name, a pattern as rows of :func:`etherweave.curve` call it
        or by its name, a share of the hosts' links. By default the first of the scenario.
    threads
        Threads of the core. The result is the same with any number.

    Raises
    ------
    ScenarioError
        When the scenario is wrong, or has no such point.

    Notes
    -----
    A pattern that turns (``switching``) is watched from the start, and for as long after its last
    turn as before it, where the scenario gives no ``warm_up`` and no ``measured``.
    """
    import pyarrow

    one = fabric(scenario, overrides)
    area = "group" if "group" in one.axes else "switch"
    tables = one.observe(threads, routing, pattern, load)
    named = {name: pyarrow.table(table) for name, table in tables.items()}
    return Observation(one.name, area, **named)
