"""Flow-level mode first, and packets only of the points that lie close to the best one."""

import json
import re
import statistics
import tomllib
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from etherweave.api.fidelity import leaves_out
from etherweave.api.work import WorkCallback, unheard
from etherweave.sweeps.executors import Executor, executor
from etherweave.sweeps.points import Sweep, SweepError
from etherweave.sweeps.running import sweep
from etherweave.sweeps.store import ERROR

if TYPE_CHECKING:
    import polars

Name = TypeVar("Name", bound=Hashable)
FLOW = "flow"  # Directory of the runs in flow-level mode, in that of the sweep.
_FIDELITY = re.compile(r"(run|job\.\d+)\.fidelity")


@dataclass(frozen=True)
class FlowFirst:
    """Comparison of points in flow-level mode."""

    figure: str  # Column of the dataset; of several seeds the mean counts.
    close: float = 1.25
    """Points whose figure is within this factor of the best are simulated packet by packet."""
    is_largest_best: bool = False  # Else the least is, as of times.


def near(scores: Mapping[Name, float], close: float) -> set[Name]:
    """Choose what is within a factor of the largest score.

    Examples
    --------
    >>> sorted(near({"a": 10.0, "b": 9.0, "c": 5.0}, 1.25))
    ['a', 'b']
    """
    best = max(scores.values())
    return {name for name, score in scores.items() if score * close >= best}


def in_fidelity(what: Sweep, fidelity: Literal["packet", "flow"]) -> Sweep:
    """Make the same sweep with all jobs in packets, or all in flow-level mode.

    Raises ``SweepError`` when an axis has the fidelity already.
    """
    for keys, rows in what.groups:
        for key, values in zip(keys, zip(*rows, strict=True), strict=True):
            if any(_has_fidelity(key, value) for value in values):
                raise SweepError(f"{key}: an axis of fidelity; expected none beside flow first")
    jobs = tomllib.loads(what.text).get("job", [])
    own = [f"job.{number}.fidelity" for number, job in enumerate(jobs) if "fidelity" in job]
    fixed = dict.fromkeys(("run.fidelity", *own), fidelity)
    return replace(what, overrides={**what.overrides, **fixed})


def _has_fidelity(key: str, value: object) -> bool:
    """Return whether a value of a key says how closely a run or a job is simulated."""
    if isinstance(value, Mapping):
        return any(_has_fidelity(f"{key}.{name}", value) for name, value in value.items())
    if isinstance(value, list):
        return any(_has_fidelity(f"{key}.{number}", part) for number, part in enumerate(value))
    return _FIDELITY.fullmatch(key) is not None


def shortlist(
    what: Sweep,
    directory: str | Path,
    first: FlowFirst,
    executor: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: WorkCallback = unheard,
) -> Sweep:
    """Carry out a sweep in flow-level mode; gives the points that are left for packets.

    Points that flow-level mode does not simulate, or of which it warns that it leaves something
    out, are among them, and play no part in which is the best. Its runs are a sweep in ``flow`` of
    the directory. All jobs are in flow-level mode there, and in packets at the points that are
    left, whatever fidelity the scenario names. Raises ``SweepError`` when flow-level mode simulates
    no point, no run has the figure, or an axis is a fidelity; ``ExecutorError`` and ``OSError`` as
    :func:`sweep`.
    """
    flow, packet = in_fidelity(what, "flow"), in_fidelity(what, "packet")
    frame = sweep(flow, Path(directory) / FLOW, executor, on_progress).to_polars()
    others = {*flow.axes, ERROR}
    known = [key for key, kind in frame.schema.items() if kind.is_numeric() and key not in others]
    if first.figure not in known:
        raise SweepError(f"{first.figure}: no figure; expected one of {', '.join(known)}")
    means = _means(what, flow, _figures(frame, first.figure))
    if not first.is_largest_best:
        means = {place: 1 / max(value, 1e-300) for place, value in means.items()}
    chosen = near(means, first.close) if means else set()
    rows = [
        tuple(point.values())
        for point in what.points()
        if (place := _place(point)) in chosen or place not in means
    ]
    return replace(packet, groups=[(what.axes, rows)])


def _figures(frame: "polars.DataFrame", figure: str) -> dict[str, float]:
    """Read a figure of the runs that flow-level mode simulates and leaves nothing out of."""
    complete = frame.filter(frame["ended"] == "complete")
    rows = complete.select("run", "message", figure).drop_nulls().iter_rows()
    return {run: value for run, message, value in rows if not leaves_out(message)}


def _means(what: Sweep, flow: Sweep, figures: Mapping[str, float]) -> dict[str, float]:
    """Return the mean over the seeds of each point whose runs all have the figure."""
    seeds: dict[str, list[float | None]] = defaultdict(list)
    for point, run in zip(what.points(), flow.runs(), strict=True):
        seeds[_place(point)].append(figures.get(run.id))
    known = {place: [value for value in of if value is not None] for place, of in seeds.items()}
    return {at: statistics.mean(own) for at, own in known.items() if len(own) == len(seeds[at])}


def _place(point: Mapping[str, object]) -> str:
    return json.dumps({key: value for key, value in point.items() if key != "seed"}, sort_keys=True)
