"""Measures probes and held-out workloads on a site, launch by launch, in shuffled rounds.

Every launch is a directory; what is there already is not measured again.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.calibration.observations import CalibrationError, Observation, of_results
from etherweave.bench.campaign import digest
from etherweave.bench.measure import Limits, measure
from etherweave.bench.site.values import Link, Site
from etherweave.bench.statistics.launches import shuffled
from etherweave.results import SUMMARY, Result

Tell = Callable[[int, int, str], None]
"""Takes how many launches are done, of how many, and which was the last."""


class Hosts(NamedTuple):
    """Where it is measured."""

    site: Site
    link: Link | None
    names: tuple[str, ...]
    """In the order of ranks."""
    limits: Limits


def collect(
    scenarios: Mapping[str, Mapping[str, object]],
    launches: int,
    hosts: Hosts,
    directory: Path,
    tell: Tell,
) -> list[Observation]:
    """Measure each scenario several times.

    Parameters
    ----------
    scenarios
        By names that are good for directories; each with one job.
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
        When the directory holds measurements of something else.
    MeasureError
        When a launch fails.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _same(directory / "asked.json", scenarios, hosts)
    order = shuffled(list(scenarios), launches, seed=0)
    for number, (turn, name) in enumerate(order):
        place = directory / f"{name}.{turn}"
        if not (place / SUMMARY).is_file():
            _once(scenarios[name], hosts).save(place)
        tell(number + 1, len(order), name)
    return [
        of_results(
            name, scenario, [Result.load(directory / f"{name}.{turn}") for turn in range(launches)]
        )
        for name, scenario in scenarios.items()
    ]


def _once(scenario: Mapping[str, object], hosts: Hosts) -> Result:
    return measure(
        scenario, site=hosts.site, link=hosts.link, hosts=hosts.names, limits=hosts.limits
    )


def _same(path: Path, scenarios: Mapping[str, Mapping[str, object]], hosts: Hosts) -> None:
    """Refuse to mix launches of different scenarios or hosts."""
    link = hosts.link.name if hosts.link else None
    asked = digest([dict(scenarios), hosts.site.name, link, list(hosts.names)])
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != asked:
        raise CalibrationError(
            f"{path.parent}: holds launches of other workloads, hosts or fabrics; "
            "expected a new directory, or the same calibration"
        )
    path.write_text(json.dumps(asked), encoding="utf-8")
