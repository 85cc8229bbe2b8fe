"""Traffic of launches: whether it crossed the tested link of each host.

Where messages of planned sizes are sent a planned number of times, all of them are expected. A run
for a time moved what its own result says: its mean bandwidth for half of its time, as other tests
may have shared it. Benchmarks that report neither are not examined. Counters include headers, and
both directions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from etherweave.api.units import Unit
from etherweave.bench.campaigns.points import JudgedLaunch
from etherweave.bench.environment.checks.traffic import crossed, wrong_interface
from etherweave.bench.environment.findings import (
    EnvironmentFinding,
    Evidence,
    Problem,
    Run,
    Severity,
)
from etherweave.bench.telemetry.epochs import Epoch
from etherweave.bench.telemetry.switches import NO_ANSWER
from etherweave.measurements.benchmark_report import Measurement

CHECK = "wrong interface"
GAP = "telemetry"
_MEMORY = ("storage_bandwidth", "memory_bandwidth")  # Bandwidths of no network.
_SHARE = 0.5
"""Share of its time in which a timed run measures bandwidth: qperf takes as long for latencies."""


def findings(launches: Iterable[JudgedLaunch], epochs: Iterable[Epoch]) -> list[EnvironmentFinding]:
    """Report hosts whose traffic used other links, and hosts of which that is unknown.

    Epochs of other launches are left out.
    """
    by_run: dict[str, list[Epoch]] = {}
    for epoch in epochs:
        by_run.setdefault(epoch.run, []).append(epoch)
    names = [
        (launch.experiment.name, finding)
        for launch in launches
        for finding in _launch(launch, by_run.get(launch.record.name, []))
    ]
    return list(_gathered(names))


def _launch(judged_launch: JudgedLaunch, epochs: Sequence[Epoch]) -> Iterator[EnvironmentFinding]:
    for epoch in epochs:
        if epoch.failure:
            do = "see Etherweave's Python on that host, `python` of the site's launcher"
            if epoch.failure.startswith(NO_ANSWER):
                do = "see `ask` of that switch in the site's file"
            yield EnvironmentFinding(
                GAP, Severity.GAP, epoch.host, f"not recorded: {epoch.failure}", do
            )
    amount = expected(judged_launch)
    if amount is None:
        return
    for epoch, problem in _problems(epochs, amount):
        where = f"{epoch.host} {problem.where}, {judged_launch.experiment.program}"
        yield EnvironmentFinding(CHECK, problem.severity, where, problem.what, problem.do)


def _problems(epochs: Sequence[Epoch], amount: float) -> Iterator[tuple[Epoch, Problem]]:
    """Find hosts whose tested link carried too little.

    With more than two hosts only the busiest has to carry what is predicted for it.
    """
    evidence = {
        epoch.host: Evidence(epoch.before, epoch.after, run=Run(epoch.interface, amount))
        for epoch in epochs
        if epoch.before and epoch.after and epoch.interface and not epoch.failure
    }
    if len(epochs) > 2 and evidence:
        most = max(evidence, key=lambda host: crossed(evidence[host]) or 0)
        if not list(wrong_interface(evidence[most])):
            return
    for epoch in epochs:
        for problem in wrong_interface(evidence[epoch.host]) if epoch.host in evidence else ():
            yield epoch, problem


def expected(judged_launch: JudgedLaunch) -> float | None:
    """Return how many bytes the busiest host moved at least; ``None`` if unknown [bytes]."""
    planned, record = judged_launch.experiment, judged_launch.record
    if not judged_launch.verdict.is_valid or not planned.bytes:
        return None
    if planned.sizes:
        return planned.bytes
    rates = _rates(judged_launch.verdict.measurements)
    if not rates:
        return None
    seconds = min(planned.seconds, (record.end_ns - record.start_ns) / 1e9)
    return min(planned.bytes, _SHARE * seconds * sum(rates) / len(rates))


def _rates(measurements: Iterable[Measurement]) -> list[float]:
    """Give the highest bandwidth of each size [bytes/s]."""
    values: dict[int | None, float] = {}
    for row in measurements:
        if row.metric.unit is Unit.BYTES_PER_SECOND and row.metric.name not in _MEMORY:
            values[row.size_bytes] = max(values.get(row.size_bytes, 0.0), row.value)
    return list(values.values())


def _gathered(pairs: Iterable[tuple[str, EnvironmentFinding]]) -> Iterator[EnvironmentFinding]:
    """Merge equal findings of several launches: figures of the first, and their number."""
    alike: dict[tuple[str, str, str], list[EnvironmentFinding]] = {}
    for experiment, launch in pairs:
        what = launch.what if launch.check == GAP else experiment
        alike.setdefault((launch.check, launch.where, what), []).append(launch)
    for many in alike.values():
        times = f" (in {len(many)} launches)" if len(many) > 1 else ""
        yield replace(many[0], what=many[0].what + times)
