"""Content of the page after a run: figures beside those of the last run, pictures of reports."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

from etherweave.api.fabrics import fabric
from etherweave.api.limits import limits
from etherweave.api.overview import overview
from etherweave.api.results import Result
from etherweave.api.scenario import Overrides, ScenarioText
from etherweave.measurements.metrics import ITERATION_TIME
from etherweave.measurements.quantities import quantities
from etherweave.report.drawing import Loads, TooLargeError, fabric_svg
from etherweave.report.run.limits import job_limits
from etherweave.report.run.ports import link_loads
from etherweave.report.run.samples import port_series
from etherweave.report.section import Builder
from etherweave.report.style import house, image_of, narrow

NARROW_PX = 600  # Width of a screen below which figures are drawn for it [px].
BUSIEST = 5  # Links that are named.
_DRAWING = Lock()  # The style of figures is that of the process: threads draw one after the other.


@dataclass(frozen=True)
class Figure:
    """A figure of a run, and that of the run before."""

    name: str  # Job and figure, with the unit.
    value: float  # Value of this run.
    before: float | None = None  # Value of the last run; None where it has none of this name.

    @property
    def change(self) -> str:
        """Difference to the last run; empty where there is none."""
        if not self.before:
            return ""
        return f"{self.value / self.before - 1:+.1%}"

    def cells(self) -> dict[str, str]:
        """Write it as a row of a table."""
        before = "" if self.before is None else f"{self.before:,.5g}"
        value = f"{self.value:,.5g}"
        return {"name": self.name, "now": value, "before": before, "change": self.change}


def compared(result: Result, before: Result | None) -> list[Figure]:
    """List the figures of a run beside those of the last one."""
    known = dict(_figures(before)) if before else {}
    return [Figure(name, value, known.get(name)) for name, value in _figures(result)]


def _figures(result: Result) -> Iterator[tuple[str, float]]:
    figures = overview(result)
    for quantity in [] if result.is_partial else quantities(result):
        if quantity.metric is not ITERATION_TIME:
            metric = quantity.metric.name.replace("_", " ")
            scale, unit = _UNITS.get(quantity.metric.unit.value, (1.0, quantity.metric.unit.value))
            tool = " ".join(filter(None, (quantity.program, quantity.test)))
            yield f"{quantity.job}: {tool} {metric} [{unit}]", quantity.median * scale
    for kind, per_job in (("iteration", figures["jobs"]), ("completion", figures["streams"])):
        for job, own in per_job.items():
            for name in ("mean", "median", "p99", "max"):
                if f"{name}_us" in own:
                    yield f"{job}: {kind}, {name} [us]", own[f"{name}_us"]
            if kind == "completion":
                yield f"{job}: goodput [Gb/s]", own["goodput_gbps"]
    yield "end of the run [us]", result.summary["end_ns"] / 1e3
    yield "packets dropped", figures["drops"]["packets"]
    yield "pause frames", figures["pauses"]["frames"]


_UNITS = {"s": (1e6, "us"), "B/s": (1e-6, "MB/s"), "1/s": (1.0, "1/s"), "1": (1.0, "1")}
"""Scale and name of units, as benchmarks print them."""


def job_texts(result: Result) -> list[str]:
    """Say what limits each job; the picture below has its parts."""
    return [job.sentence() for job in limits(result)]


def busiest(loads: Loads) -> list[str]:
    """Name the links that sent the largest share of their rate."""
    ordered = sorted(loads.items(), key=lambda pair: (-pair[1], pair[0]))[:BUSIEST]
    return [f"{node} to {peer}: {load:.1%}" for (node, peer), load in ordered if load > 0]


def loads_of(result: Result) -> Loads:
    """Return the share of its rate that each link sent."""
    return link_loads(result)


def fabric_picture(
    source: ScenarioText, overrides: Overrides, loads: Loads | None = None
) -> bytes | str:
    """Draw the fabric of a scenario as SVG, or say why no drawing could be read."""
    try:
        with _DRAWING:
            return fabric_svg(fabric(source, overrides), loads)
    except TooLargeError as error:
        return str(error)


def queue_picture(result: Result, width_px: int) -> bytes | None:
    """Draw queues, throughput and pauses of sampled ports over time; None without samples."""
    return _picture(port_series, result, width_px)


def limit_picture(result: Result, width_px: int) -> bytes | None:
    """Draw what limits each job; None where no path is known."""
    return _picture(job_limits, result, width_px)


def _picture(builder: Builder[Result], result: Result, width_px: int) -> bytes | None:
    """Draw a section's figure for a screen of a width: a narrow one has legends below it."""
    with _DRAWING, house():
        section = builder(result)
        figure = section.figure if section else None
        if figure and width_px < NARROW_PX:
            narrow(figure, width_px)
        return image_of(lambda: figure) if figure else None
