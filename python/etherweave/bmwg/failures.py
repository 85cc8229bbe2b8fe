"""Failures of links and switches during a collective, which several tests measure."""

import math
from collections.abc import Callable, Sequence

from etherweave.api.results import Result
from etherweave.bmwg import kpis
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.model import Case, Included, Metric, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, Changes
from etherweave.bmwg.traffic import Job, collective

AXES = ("failure", "convergence input")
NONE = "none"
LATER = "1000s"  # Time of a failure that no run reaches.
AT_US = 300  # Time of the failure [us].
REROUTE = ("50us", "500us")
"""Times until tables follow: detection and convergence, which are inputs."""
FLAP_AXES = ("link is away [us]", "convergence input")
RESENT_NOTE = (
    "Tables that follow failures choose a link for each packet, so that packets overtake others "
    "also without a failure, and packets that are late but not lost are sent again."
)
"""Why more is sent again than lost."""
PRIORITIES = [0, 1, 2, 3]  # Shortest paths take a priority for each hop while tables change.


def all_reduce_cases(fabric: BenchFabric, full: bool) -> list[Case]:
    """Fail an uplink, or the switch that it leads to, during all-reduces of all hosts.

    Without a failure there are as many as P99 of iterations takes.
    """
    size, iterations = (256 * MIB, 100) if full else (MIB, 12)
    jobs = (
        collective(range(fabric.hosts), "allreduce", size, number) for number in (iterations, 100)
    )
    return failure_cases(fabric, *jobs)


def failure_cases(fabric: BenchFabric, job: Job, steady: Job | None = None) -> list[Case]:
    """Fail an uplink, or the switch that it leads to, during a job.

    ``steady`` is the job of the run without a failure, by default the same.
    """
    if not fabric.uplink_names:
        return [Case(labelled(AXES, NONE, "–"), {}, "needs links between switches")]
    link = fabric.uplink_names[0]
    above = [end for end in link.split(" - ") if end not in fabric.leaves]
    made = []
    failures = {
        # A failure after the end: packets are routed as where links fail.
        NONE: {"link": link, "from": LATER},
        "uplink of a leaf": {"link": link, "from": f"{AT_US}us"},
    }
    if above:
        failures["switch above"] = {"switch": above[0], "from": f"{AT_US}us"}
    for name, down in failures.items():
        for delay in REROUTE[:1] if name == NONE else REROUTE:
            labels = labelled(AXES, name, "–" if name == NONE else delay)
            faults = {"faults": {"reroute_after": delay, "down": [down]}}
            own = steady if steady and name == NONE else job
            made.append(Case(labels, {**_rerouted(fabric, own), **faults}))
    return made


def flap_cases(fabric: BenchFabric, job: Job, lengths_us: Sequence[int]) -> list[Case]:
    """Take an uplink away for each length of time during a job, and give it back."""
    if not fabric.uplink_names:
        return [Case(labelled(FLAP_AXES, 0, "–"), {}, "needs links between switches")]
    link, delay = fabric.uplink_names[0], REROUTE[0]
    made = []
    for length in (0, *lengths_us):
        away = {"from": f"{AT_US}us", "until": f"{AT_US + length}us"} if length else {"from": LATER}
        faults = {"faults": {"reroute_after": delay, "down": [{"link": link, **away}]}}
        labels = labelled(FLAP_AXES, length, delay if length else "–")
        made.append(Case(labels, {**_rerouted(fabric, job), **faults}))
    return made


def _rerouted(fabric: BenchFabric, job: Job) -> Changes:
    """Route a job by tables that follow failures."""
    pfc = {"flow_control.pfc.priorities": PRIORITIES} if fabric.flow_control == "pfc" else {}
    return {"job": [job], "routing": "shortest_path", **pfc}


def loss_metrics() -> list[Metric]:
    """Return what a failure loses, for how long, and when it is made good."""

    def lost(result: Result) -> int:
        return sum(count for (count,) in kpis.rows(result, "failures", "packets_lost"))

    def after_us(column: str) -> Callable[[Result], float | None]:
        def last(result: Result) -> float | None:
            ends = [end for (end,) in kpis.rows(result, "failures", column) if not math.isnan(end)]
            return max(ends) / 1e3 - AT_US if ends else None

        return last

    return [
        kpis.REPORTED.metric("packets lost", lost),
        kpis.REPORTED.metric("loss duration [us]", after_us("last_loss_ns")),
        kpis.BOUNDARY.metric("lost data recovered [us]", after_us("recovered_ns")),
        kpis.BOUNDARY.metric("retransmitted [packets]", lambda run: kpis.flow_sums(run)[1]),
    ]


def transfers() -> list[Metric]:
    """Return times of KV transfers."""

    def time(percent: int) -> Metric:
        return kpis.BOUNDARY.metric(
            f"KV transfer P{percent} [us]",
            lambda run: percentile(kpis.stream_times_us(run), percent),
        )

    return [time(50), time(99)]


def failure_table(trials: Included, *, is_time_alone: bool = False) -> ReportTable:
    """Report loss, time to redistribute and the iteration that has the failure.

    ``is_time_alone`` leaves out all but the times of iterations.
    """

    def steady(result: Result) -> float | None:
        return percentile(kpis.iterations_us(result), 50)

    def worst(result: Result) -> float:
        return max(kpis.iterations_us(result))

    def overhead(result: Result) -> float | None:
        middle = steady(result)
        return None if middle is None else worst(result) - middle

    def is_hidden(case: Case, result: Result) -> str | None:
        """Compare the slowest iteration with those of the run without a failure."""
        if case.labels["failure"] == NONE:
            return None
        alone = next((run for other, run in trials if other.labels["failure"] == NONE), None)
        limit = percentile(kpis.iterations_us(alone), 99) if alone else None
        if limit is None:
            return None
        return "yes" if worst(result) <= limit else "no"

    times: list[Metric] = [
        kpis.SOFTWARE.metric("iteration P50 [us]", steady),
        kpis.SOFTWARE.metric("slowest iteration [us]", worst),
        kpis.SOFTWARE.metric("overhead of that iteration [us]", overhead),
        kpis.SOFTWARE.case_metric("zero impact", is_hidden),
    ]
    note = (
        f"All-reduces of all hosts; the failure comes after {AT_US} us and stays. Loss duration: "
        "until the last packet is sent into it; recovery: until the last of that data has "
        "arrived. Zero impact: the slowest iteration is within P99 of the run without a failure."
    )
    note += "" if is_time_alone else f" {RESENT_NOTE}"
    metrics = times if is_time_alone else [*loss_metrics(), *times]
    columns = [column.title for column, _ in metrics]
    slowest = len(AXES) + columns.index("slowest iteration [us]")
    plot = Plot(0, slowest, (1,), is_bars=True)
    return table("failures", "Failures", AXES, metrics, trials, note=note, plot=plot)
