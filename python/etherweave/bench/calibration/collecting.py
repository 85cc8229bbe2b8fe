"""Measures probes and held-out workloads on a site, launch by launch, in shuffled rounds.

Every launch is a directory; what is there already is not measured again.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from etherweave.bench.calibration.observations import (
    CalibrationError,
    Observation,
    loaded,
    of_results,
)
from etherweave.bench.calibration.planning import REHEARSAL, Hosts, Workload
from etherweave.bench.campaign import digest
from etherweave.bench.measure import measure
from etherweave.bench.statistics.launches import shuffled
from etherweave.results import SUMMARY, Result

LAUNCHES = "launches"
"""Directory, beside a calibration, with one of each launch."""
ASKED = "asked.json"
"""Tells what a directory's launches are of."""
Tell = Callable[[int, int, str], None]
"""Takes how many launches are done, of how many, and which was the last."""


def collect(
    workloads: Sequence[Workload], launches: int, hosts: Hosts, directory: Path, tell: Tell
) -> list[Observation]:
    """Measure each workload several times.

    Parameters
    ----------
    workloads
        As planned.
    launches
        Of each.
    hosts
        Where, and within which limits.
    directory
        Takes a directory of each launch, and gives those that are there.
    tell
        Called after each launch.

    Raises
    ------
    CalibrationError
        When the directory holds measurements of something else, or a broken one.
    MeasureError
        When a launch fails.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _same(directory / ASKED, workloads, hosts)
    by_name = {one.name: one for one in workloads}
    order = shuffled(by_name, launches, seed=0)
    for number, (turn, name) in enumerate(order):
        place = _place(directory, by_name[name], turn)
        if not (place / SUMMARY).is_file():
            _once(by_name[name], hosts).save(place)
        tell(number + 1, len(order), name)
    return [_observed(one, launches, directory) for one in workloads]


def _place(directory: Path, workload: Workload, turn: int) -> Path:
    return directory / f"{workload.directory}.{turn}"


def _once(workload: Workload, hosts: Hosts) -> Result:
    return measure(
        workload.scenario,
        site=hosts.site,
        link=hosts.link,
        hosts=workload.hosts,
        limits=hosts.limits,
        rehearsal=REHEARSAL,
    )


def _observed(workload: Workload, launches: int, directory: Path) -> Observation:
    results = [loaded(_place(directory, workload, turn)) for turn in range(launches)]
    return of_results(workload.name, workload.scenario, results)


def _same(path: Path, workloads: Sequence[Workload], hosts: Hosts) -> None:
    """Refuse to mix launches of different scenarios or sites."""
    asked = digest(
        [
            {one.name: [one.scenario, one.hosts] for one in workloads},
            asdict(hosts.site),
            asdict(hosts.link) if hosts.link else None,
        ]
    )
    if path.is_file() and path.read_text(encoding="utf-8", errors="replace") != json.dumps(asked):
        raise CalibrationError(
            f"{path.parent}: holds launches of other workloads, hosts or fabrics; "
            "expected a new directory, or the same calibration"
        )
    path.write_text(json.dumps(asked), encoding="utf-8")
