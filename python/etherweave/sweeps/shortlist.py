"""Flow-level mode first, and packets only of the points that lie close to the best one."""

import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from etherweave.sweeps.executors import Executor, executor
from etherweave.sweeps.points import Sweep, SweepError
from etherweave.sweeps.running import sweep

Name = TypeVar("Name", bound=Hashable)
FLOW = "flow"
"""Directory of the runs in flow-level mode, in that of the sweep."""
_FIDELITY = "run.fidelity"


@dataclass(frozen=True)
class FlowFirst:
    """What points are compared by in flow-level mode."""

    figure: str
    """Column of the dataset; of several seeds the mean counts."""
    close: float = 1.25
    """Points whose figure is within this factor of the best are simulated packet by packet."""
    is_largest_best: bool = False
    """Else the least is, as of times."""


def near(scores: Mapping[Name, float], close: float) -> set[Name]:
    """Choose what is within a factor of the largest score.

    Examples
    --------
    >>> sorted(near({"a": 10.0, "b": 9.0, "c": 5.0}, 1.25))
    ['a', 'b']
    """
    best = max(scores.values())
    return {name for name, score in scores.items() if score * close >= best}


def in_flow(what: Sweep) -> Sweep:
    """Make the same sweep in flow-level mode.

    Raises
    ------
    SweepError
        When the fidelity is an axis already.
    """
    if _FIDELITY in what.axes:
        raise SweepError(f"{_FIDELITY}: an axis of {what.name}; expected none beside flow first")
    return replace(what, groups=[([_FIDELITY], [(FLOW,)]), *what.groups])


def shortlist(
    what: Sweep,
    directory: str | Path,
    first: FlowFirst,
    executor: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: Callable[[int, int, str], None] = lambda done, count, name: None,
) -> Sweep:
    """Carry out a sweep in flow-level mode; gives the points that are left for packets.

    Points that flow-level mode does not simulate are among them. Its runs are a sweep in ``flow``
    of the directory.

    Raises
    ------
    SweepError
        When flow-level mode simulates no point, or no run has the figure.
    ExecutorError, OSError
        As from :func:`sweep`.
    """
    flow = in_flow(what)
    found = sweep(flow, Path(directory) / FLOW, executor, on_progress).to_polars()
    known = [
        name for name, kind in found.schema.items() if kind.is_numeric() and name not in flow.axes
    ]
    if first.figure not in known:
        raise SweepError(f"{first.figure}: no figure; expected one of {', '.join(known)}")
    complete = found.filter(found["ended"] == "complete")
    figures = dict(complete.select("run", first.figure).drop_nulls().iter_rows())
    points = list(zip(what.points(), flow.runs(), strict=True))
    # A point without its seed, and the figures of its seeds.
    seeds: dict[str, list[float]] = defaultdict(list)
    for point, run in points:
        if run.id in figures:
            seeds[_place(point)].append(figures[run.id])
    means = {place: statistics.mean(values) for place, values in seeds.items()}
    if not first.is_largest_best:
        means = {place: 1 / max(value, 1e-300) for place, value in means.items()}
    chosen = near(means, first.close) if means else set()
    rows = [
        tuple(point.values())
        for point, _ in points
        if (place := _place(point)) in chosen or place not in means
    ]
    return replace(what, groups=[(what.axes, rows)])


def _place(point: Mapping[str, object]) -> str:
    return json.dumps({key: value for key, value in point.items() if key != "seed"}, sort_keys=True)
