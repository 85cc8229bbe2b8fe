"""Completion times of flows, and their slowdowns against the same flow alone on the fabric.

The slowdown of a flow is its completion time, from its start to its last byte at the receiver,
by the time that it takes alone on an idle fabric: what its hosts take to post it, the delays of a
shortest path (NICs, cables, switches), and its frames with their headers from link to link. The key
``ideal`` of a job chooses another definition. The core computes both: the table ``flow_times``. Of
many flows, 32 bytes each are in memory.
"""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etherweave import _core
from etherweave.api.results import Result
from etherweave.api.units import Unit, amount, counted, rate_of, time_of
from etherweave.api.warm_up import warm_up_end

if TYPE_CHECKING:
    import polars

CLASSES = (10_000, 100_000, 1_000_000, 10_000_000)  # Sizes that part the classes of flows [B].
SIZES = "sizes"  # Key of the figures of classes.
BUCKETS = 20  # Buckets of equally many flows, as figures of papers have them.
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Quantiles of slowdowns that are given, by name."""
TAIL_MIN = 1  # Flows that lie beyond a quantile, at least, where it is given.


@dataclass(frozen=True, kw_only=True)
class Slowdowns:
    """Slowdowns of flows of some sizes."""

    size_min: int  # Smallest flow [B].
    size_max: int  # Largest flow [B].
    flows: int  # Number of flows that are complete.
    mean: float | None  # Mean slowdown; ``None`` where hosts have several ports.
    quantiles: Mapping[str, float]  # Those of :data:`QUANTILES` with a flow beyond, by name.
    mean_us: float  # Mean completion time [us].

    def figures(self) -> dict[str, float]:
        """Give all as flat figures."""
        return {
            "flows": self.flows,
            **({} if self.mean is None else {"slowdown_mean": self.mean}),
            **{f"slowdown_{name}": value for name, value in self.quantiles.items()},
            "mean_us": self.mean_us,
        }


@dataclass(frozen=True, kw_only=True)
class FlowTimes:
    """Flows of a job that start after the warm-up.

    Attributes
    ----------
    job
        Its name.
    flows
        How many start before the run ends.
    load, load_asked
        Payload of these flows, as a share of the time of ``rate_gbps`` at each host, and the share
        that the scenario asks for; ``None`` of a list.
    rate_gbps
        Rate of which the loads are shares [Gb/s].
    all
        Slowdowns of all that are complete; ``None`` where none is.
    complete
        A row for each complete flow, the smallest first: ``bytes``, ``slowdown``, completion time
        ``time_us`` and ``start_ns``. Slowdowns are null where hosts have several ports.
    ideal
        Definition of the ideal time: ``fabric``, ``hpcc`` or ``abm``.
    unfinished_mean
        Mean size of flows that start and are not complete [B]; ``None`` where there are none. They
        are in no slowdown, so that what is left of large flows makes these too small.
    below
        Flows that were faster than the ideal time. Where that is the fabric's, other flows have
        woken kernels or queues of the receiver before, or several paths were taken at once.
    sizes
        Distribution that sizes are drawn from, such as ``storage``; ``None`` of a list.
    size_mean
        Its mean [B], by its points.
    size_source
        File that a shipped one is from.
    """

    job: str
    flows: int
    load: float | None
    load_asked: float | None
    rate_gbps: float | None
    all: Slowdowns | None
    complete: "polars.DataFrame"
    ideal: str
    unfinished_mean: float | None
    below: int
    sizes: str | None
    size_mean: float | None
    size_source: str | None

    @property
    def rows(self) -> list[tuple[int, float | None, float]]:
        """Size [B], slowdown and completion time [us] of each complete flow, the smallest first."""
        return self.complete.select("bytes", "slowdown", "time_us").rows()

    @property
    def has_slowdowns(self) -> bool:
        """Whether flows are complete and have ideal times."""
        return self.all is not None and self.all.mean is not None

    def warm_up_ns(self) -> float | None:
        """Return when the warm-up ends that MSER-5 finds in the slowdowns by start [ns].

        ``None`` where it finds no steady state.
        """
        flows = self.complete.select("start_ns", "slowdown").sort("start_ns", "slowdown")
        end = warm_up_end(flows["slowdown"].to_list())
        return None if end is None else float(flows["start_ns"][end]) if end else 0.0

    def classes(self) -> list[Slowdowns]:
        """Give slowdowns by classes of sizes, below 10 kB, 100 kB, 1 MB, 10 MB, and above."""
        sizes = self.complete["bytes"]
        edges = [0, *(int(sizes.search_sorted(size, side="left")) for size in CLASSES), len(sizes)]
        return self._parts(edges)

    def buckets(self, count: int = BUCKETS) -> list[Slowdowns]:
        """Give slowdowns by buckets of equally many flows, the smallest first.

        There are no more buckets than sizes.
        """
        total = self.complete.height
        count = min(count, self.complete["bytes"].n_unique())
        return self._parts([total * number // count for number in range(count + 1)])

    def _parts(self, edges: Iterable[int]) -> list[Slowdowns]:
        parts = ((low, high) for low, high in itertools.pairwise(edges) if low < high)
        return [_slowdowns(self.complete[low:high]) for low, high in parts]

    def figures(self) -> dict[str, Any]:
        """Give the figures of a summary."""
        return {
            "flows": self.flows,
            "complete": self.complete.height,
            "unfinished_bytes_mean": self.unfinished_mean,
            "load": self.load,
            "load_asked": self.load_asked,
            "size_bytes_mean": self.size_mean,
            "ideal": self.ideal,
            "below_ideal": self.below,
            **(self.all.figures() | {"flows": self.flows} if self.all else {}),
            SIZES: {_class(part.size_min): part.figures() for part in self.classes()},
        }


def flow_times(result: Result) -> list[FlowTimes]:
    """Compute slowdowns of the flows of a result, job by job.

    Parameters
    ----------
    result
        Of a run with the workload ``flows``; any other has no job here.

    Raises
    ------
    TypeError
        When it is no result, as a path is none.
    """
    if not isinstance(result, Result):
        expected = "a Result, as etherweave.Result.load(directory) returns"
        raise TypeError(f"flow_times: {str(result)[:60]!r}; expected {expected}")
    if "[job.workload.flows" not in result.resolved or "flow_times" not in result.tables:
        return []
    scenario = result.scenario
    jobs = {job["name"]: job for job in scenario["job"] if "flows" in job["workload"]}
    warm_up_ns = time_of(scenario["run"].get("warm_up", "0s")) * 1e9
    parts: dict[str, list[polars.DataFrame]] = {name: [] for name in jobs}
    span_ns = (warm_up_ns, result.summary["end_ns"])
    for (job,), part in _parts(result, span_ns):
        parts[str(job)].append(part)
    return [_job(name, jobs[name], parts[name], span_ns) for name in jobs]


def _parts(
    result: Result, span_ns: tuple[float, float]
) -> Iterator[tuple[tuple[object, ...], "polars.DataFrame"]]:
    """Read flows that start after the warm-up and within the run, a group of rows at a time."""
    import polars as pl

    warm_up_ns, end_ns = span_ns
    starts_within = (pl.col("start_ns") < end_ns) | pl.col("complete")
    slowdown = pl.when(pl.col("slowdown") != 0).then("slowdown").alias("slowdown")
    time_us = ((pl.col("end_ns") - pl.col("start_ns")) / 1e3).alias("time_us")
    for group in result.frames("flow_times"):
        flows = group.with_columns(pl.col("complete") == 1).filter(
            (pl.col("start_ns") >= warm_up_ns) & starts_within
        )
        columns = ("job", "bytes", "complete", slowdown, time_us, "start_ns")
        yield from (
            flows.select(columns).partition_by("job", as_dict=True, include_key=False).items()
        )


def _job(
    name: str, job: Mapping[str, Any], parts: list["polars.DataFrame"], span_ns: tuple[float, float]
) -> FlowTimes:
    import polars as pl

    spec = job["workload"]["flows"]
    flows = pl.concat(parts) if parts else pl.DataFrame(schema=_COLUMNS)
    is_drawn = not spec.get("text") and not spec.get("file")
    load = rate_gbps = None
    if is_drawn:
        rate_gbps = rate_of(spec["rate"]) * 8 / 1e9
        start_ns = time_of(job.get("start", "0s")) * 1e9
        last_ns = min(start_ns + time_of(spec["duration"]) * 1e9, span_ns[1])
        length_ns = last_ns - max(start_ns, span_ns[0])
        if length_ns > 0 and "flows_max" not in spec:
            load = int(flows["bytes"].sum()) * 8 / (length_ns * rate_gbps * spec["ranks"])
    asked = spec["load"] + spec.get("incast", {}).get("load", 0) if is_drawn else None
    sizes = next(iter(spec["sizes"])) if isinstance(spec["sizes"], dict) else spec["sizes"]
    drawn = json.dumps({"flows": {"sizes": spec["sizes"]}})
    # Incasts alone draw no sizes.
    has_sizes = is_drawn and spec["load"] > 0
    figures = json.loads(_core.workload_figures(drawn, 0)) if has_sizes else {}
    complete = flows.filter("complete").drop("complete").sort("bytes", "slowdown", "time_us")
    unfinished = flows.filter(~pl.col("complete"))["bytes"]
    return FlowTimes(
        job=name,
        flows=flows.height,
        load=load,
        load_asked=asked,
        rate_gbps=rate_gbps,
        all=_slowdowns(complete) if complete.height else None,
        complete=complete,
        ideal=spec.get("ideal", "fabric"),
        unfinished_mean=int(unfinished.sum()) / len(unfinished) if len(unfinished) else None,
        below=int((complete["slowdown"] < 1).sum()),
        sizes=sizes if has_sizes else None,
        size_mean=figures.get("size_bytes_mean"),
        size_source=figures.get("size_source"),
    )


_COLUMNS = {"bytes": int, "complete": bool, "slowdown": float, "time_us": float, "start_ns": float}


def _slowdowns(flows: "polars.DataFrame") -> Slowdowns:
    ordered = flows["slowdown"].drop_nulls().sort()
    count = len(ordered)
    return Slowdowns(
        size_min=int(flows["bytes"][0]),
        size_max=int(flows["bytes"][-1]),
        flows=flows.height,
        mean=math.fsum(ordered) / count if count else None,
        quantiles={
            name: float(ordered[math.floor((count - 1) * share + 0.5)])
            for name, share in QUANTILES.items()
            if count * (1 - share) >= TAIL_MIN - 1e-9
        },
        mean_us=math.fsum(flows["time_us"]) / flows.height,
    )


def flow_lines(times: FlowTimes) -> list[str]:
    """Write the flows of a job as text: a line for all, then a line for each class of sizes."""
    complete = times.complete.height
    head = counted(times.flows, "flow") if times.flows else "no flow starts after the warm-up"
    if times.unfinished_mean is not None:
        sizes = amount(times.unfinished_mean, "B")
        head += f", {complete:,} complete, {times.flows - complete:,} unfinished of mean {sizes}"
    if times.load is not None:
        head += f", load {times.load:.3f} of {times.rate_gbps:g} Gb/s ({times.load_asked:g} asked)"
    lines = [f"{times.job}: {head}"]
    if times.all is not None:
        lines = [f"{lines[0]}; {_mean_text(times, times.all)}"]
    if times.size_mean is not None:
        source = f", {times.size_source}" if times.size_source else ""
        lines.append(f"  sizes {times.sizes}: mean {amount(times.size_mean, 'B')}{source}")
    if times.all is None:
        return lines
    lines += [
        f"  {amount(part.size_min, 'B')} to {amount(part.size_max, 'B')}: "
        f"{counted(part.flows, 'flow')}, "
        f"mean {part.mean_us:,.2f} us{_slowdown_text(part)}"
        for part in times.classes()
    ]
    return lines


def _mean_text(times: FlowTimes, flows: Slowdowns) -> str:
    if flows.mean is None:
        return f"mean {flows.mean_us:,.2f} us (no slowdowns, since hosts have several ports)"
    return f"{_slowdown_name(times)} {_quantile_text(flows)}"


def _slowdown_text(part: Slowdowns) -> str:
    return "" if part.mean is None else f", slowdown {_quantile_text(part)}"


def _slowdown_name(times: FlowTimes) -> str:
    ideal = "" if times.ideal == "fabric" else f"ideal time of {times.ideal.upper()}"
    below = f"{times.below:,} below 1" if times.below else ""
    remark = ", ".join(filter(None, (ideal, below)))
    return f"slowdown ({remark})" if remark else "slowdown"


def _class(size: int) -> str:
    """Name the class of a size.

    >>> _class(9_999), _class(10_000), _class(20_000_000)
    ('below_10kB', 'below_100kB', 'from_10MB')
    """
    above = [bound for bound in CLASSES if size < bound]
    bound = amount((above or CLASSES[-1:])[0], Unit.BYTES).replace(" ", "")
    return f"below_{bound}" if above else f"from_{bound}"


def _quantile_text(part: Slowdowns) -> str:
    names = {"p999": "p99.9"}
    quantiles = [f"{names.get(name, name)} {value:.2f}" for name, value in part.quantiles.items()]
    return ", ".join([f"mean {part.mean:.2f}", *quantiles])
