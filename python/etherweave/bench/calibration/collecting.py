"""Measure micro-benchmarks and held-out workloads on a site, in shuffled rounds of launches.

Every launch is a directory; a launch whose directory exists is not repeated.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from etherweave.api.outputs import below, write_text
from etherweave.api.results import SUMMARY
from etherweave.bench.calibration.measured import (
    CalibrationError,
    MeasuredWorkload,
    loaded,
    of_results,
)
from etherweave.bench.calibration.plans import WARM_UP, MeasuringHosts, PlannedWorkload
from etherweave.bench.campaigns.campaign import digest
from etherweave.bench.measure import measure
from etherweave.bench.statistics.launches import shuffled

LAUNCHES = "launches"  # Directory of launches, beside a calibration.
WORKLOADS_FILE = "workloads.json"
"""File with the digest of the workloads that a directory's launches measure."""
Report = Callable[[int, int, str], None]
"""Takes the number of finished launches, of all launches, and the name of the last."""


def collect(
    workloads: Sequence[PlannedWorkload],
    launches: int,
    hosts: MeasuringHosts,
    directory: Path,
    report: Report,
) -> list[MeasuredWorkload]:
    """Measure each workload several times.

    ``directory`` receives a directory of each launch; existing ones are used. ``report`` is called
    after each launch. Raises ``CalibrationError`` when the directory contains launches of other
    workloads, or a damaged one; ``MeasureError`` when a launch fails.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _check_directory(directory, workloads, hosts)
    by_name = {workload.name: workload for workload in workloads}
    order = shuffled(by_name, launches, seed=0)
    for number, (round_number, name) in enumerate(order):
        launch = _launch_directory(directory, by_name[name], round_number)
        if not (launch / SUMMARY).is_file():
            workload = by_name[name]
            measure(
                workload.scenario,
                site=hosts.site,
                link=hosts.link,
                hosts=workload.hosts,
                limits=hosts.limits,
                warm_up=WARM_UP,
            ).save(launch)
        report(number + 1, len(order), name)
    return [_measured_workload(workload, launches, directory) for workload in workloads]


def _launch_directory(directory: Path, workload: PlannedWorkload, round_number: int) -> Path:
    return below(directory, f"{workload.directory}.{round_number}")


def _measured_workload(workload: PlannedWorkload, launches: int, home: Path) -> MeasuredWorkload:
    places = [_launch_directory(home, workload, number) for number in range(launches)]
    results = [loaded(place) for place in places]
    return of_results(workload.name, workload.scenario, results)


def _check_directory(
    directory: Path, workloads: Sequence[PlannedWorkload], hosts: MeasuringHosts
) -> None:
    """Reject a directory with launches of different scenarios or sites."""
    planned = digest(
        [
            {workload.name: [workload.scenario, workload.hosts] for workload in workloads},
            asdict(hosts.site),
            asdict(hosts.link) if hosts.link else None,
        ]
    )
    path = directory / WORKLOADS_FILE
    known = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    if known not in (None, json.dumps(planned)):
        raise CalibrationError(
            f"{directory}: contains launches of other workloads, hosts or fabrics; "
            "expected a new directory, or the same calibration"
        )
    write_text(below(directory, WORKLOADS_FILE), json.dumps(planned))
