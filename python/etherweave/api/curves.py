"""Latency and throughput of a fabric under synthetic traffic, point by point."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from etherweave.api.fabrics import fabric
from etherweave.api.result_schema import core_table
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.api.simulation import EstimateCallback, FaultError

if TYPE_CHECKING:
    import pyarrow

PointCallback: TypeAlias = Callable[[int, int, str], bool]
"""Takes the number of points done, their total, and the next; returns whether to continue."""


def curve(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    threads: int = 1,
    progress: PointCallback | None = None,
    memory_limit: str | None = None,
    on_start: EstimateCallback | None = None,
) -> "pyarrow.Table":
    """Simulate the traffic that the table ``open_loop`` of a scenario describes.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.fabric`.
    threads
        Number of threads. Results do not depend on it.
    progress
        Called before each point. If it returns false, the curve ends with the points so far.
    memory_limit, on_start
        As for :func:`etherweave.run`.

    Returns
    -------
    pyarrow.Table
        A row for each routing, pattern and load, with ``load_offered`` and ``load_accepted`` as
        shares of the hosts' links, latencies in ns, hops, and the share of packets that took a
        non-minimal path. ``load_bound`` is the load that ``load_accepted`` cannot exceed for long,
        and ``load_bound_channel`` the channel that is full at that load; routings that use queue
        lengths have none. Where a pattern changes, ``reaction_ns`` is the time until the accepted
        load stays within a tenth of the offered load, and not a number if it never does;
        ``latency_settled_ns`` is the same for the mean latency. ``docs/guide/results.md`` has all
        columns.

    Raises
    ------
    ScenarioError
        When the scenario is wrong, or its fabric cannot be simulated with it.
    FaultError
        When Etherweave itself has a fault; carries the rows so far.
    """
    built = fabric(scenario, overrides)
    if on_start is not None:
        on_start(json.loads(built.estimate_curve()))
    rows, fault = built.curve(threads, progress, memory_limit)
    points = core_table(rows)
    if fault:
        raise FaultError(built.name, fault, points)
    return points
