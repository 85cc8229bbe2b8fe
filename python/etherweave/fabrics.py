"""Fabrics on paper: a scenario in, figures out.

Nothing is computed here. Figures are the core's, as plain dictionaries and lists with units in
their names; ``Design`` in ``crates/design`` says what each is.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from etherweave import _core
from etherweave.results import Result
from etherweave.scenario import Overrides, Scenario, literals, read

Figures: TypeAlias = dict[str, Any]
"""Figures by name, units as suffixes."""
Tell: TypeAlias = Callable[[str, str], bool]
"""Takes a fabric's name and what is found out next; answers whether to go on."""

GOALS = {
    "watts": ("watts_per_host", False),
    "price": ("price_per_host", False),
    "bisection": ("bisection_gbps_per_host", True),
    "entries": ("table_entries", False),
    "hosts": ("hosts", True),
}
"""What fabrics can be ranked by: the merit, and whether more of it is better."""


class StoppedError(Exception):
    """The caller's progress function answered that a design need not go on."""


@dataclass(frozen=True)
class Found:
    """Fabrics that have enough hosts."""

    comparison: Figures
    """Their ``designs`` and ``merits``, best first."""
    scenarios: dict[str, str]
    """A scenario of each, as TOML, by its name."""
    refused: list[str]
    """Why families have no such fabric, and why a fabric could not be designed."""


def fabric(scenario: Scenario, overrides: Overrides | None = None) -> _core.Fabric:
    """Build the fabric of a scenario.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`; jobs may be missing.

    Raises
    ------
    ScenarioError
        When the scenario is wrong: file, line, key and what is expected there.
    """
    text, origin = read(scenario)
    return _core.Fabric.parse(text, origin, literals(overrides))


def design(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    load: Result | None = None,
    progress: Tell | None = None,
) -> Figures:
    """Find out everything about a scenario's fabric that needs no run.

    Parameters
    ----------
    scenario, overrides
        As for :func:`fabric`; the table ``design`` says how the fabric is judged.
    load
        A run on the same fabric: tells what the fabric draws under its load.
    progress
        Called before each step; answers whether to go on.

    Returns
    -------
    dict
        ``fabric`` (counts, distances, bisection, cables), ``routings`` (deadlock proofs),
        ``tables``, ``power``, ``cost``, and in ``missing`` what could not be told and why.

    Raises
    ------
    ScenarioError
        When the scenario is wrong.
    StoppedError
        When ``progress`` wished to stop.
    """
    one = fabric(scenario, overrides)
    designed = _designed(one, progress)
    if load is not None:
        ports = load.to_polars("ports").select("node", "port", "tx_bytes", "tx_packets")
        designed = one.with_load(designed, ports.rows(), load.summary["end_ns"])
    return _parsed(designed.to_json())


def compare(
    scenarios: Sequence[Scenario],
    overrides: Overrides | None = None,
    *,
    progress: Tell | None = None,
) -> Figures:
    """Put the fabrics of several scenarios side by side.

    Parameters
    ----------
    scenarios
        At least one.
    overrides, progress
        As for :func:`design`, for each of them.

    Returns
    -------
    dict
        ``designs`` as of :func:`design`, and ``merits`` of each: hosts, bisection, table entries,
        watts and price per host, and whether another fabric beats it in all of them (Pareto).
    """
    fabrics = [fabric(scenario, overrides) for scenario in scenarios]
    return _parsed(_core.compare([_designed(one, progress) for one in fabrics]))


def find(
    hosts: int,
    radix: int,
    rate: str = "100Gb/s",
    *,
    rank: str = "watts",
    progress: Tell | None = None,
) -> Found:
    """Propose the fabrics with enough hosts: of every family the smallest and the largest.

    Parameters
    ----------
    hosts
        At least so many.
    radix
        Ports of every switch.
    rate
        Of every link.
    rank
        One of :data:`GOALS`. Fabrics that no other beats in everything come first.
    progress
        As for :func:`design`.

    Raises
    ------
    ScenarioError
        When the rate is none.

    Notes
    -----
    Deadlock proofs are left out; :func:`design` has them.
    """
    proposals, refused = _core.proposals(hosts, radix, rate)
    scenarios, designs = dict(proposals), []
    for name, text in proposals:
        try:
            one = _core.Fabric.parse(text, name, [("design.routings", "[]")])
            designs.append(_designed(one, progress))
        except _core.ScenarioError as error:
            refused.append(str(error))
    return Found(_ranked(_parsed(_core.compare(designs)), rank), scenarios, refused)


def _designed(fabric: _core.Fabric, progress: Tell | None) -> _core.Design:
    listener = None if progress is None else lambda step: progress(fabric.name, step)
    designed = fabric.design(listener)
    if designed is None:
        raise StoppedError(fabric.name)
    return designed


def _parsed(text: str) -> Figures:
    figures: Figures = json.loads(text)
    return figures


def _ranked(comparison: Figures, rank: str) -> Figures:
    """Order fabrics: those that no other beats first, then by a merit, unknown ones last."""
    merit, more_is_better = GOALS[rank]

    def place(number: int) -> tuple[bool, bool, float]:
        merits = comparison["merits"][number]
        value = merits[merit]
        known = 0.0 if value is None else float(value)
        return not merits["is_efficient"], value is None, -known if more_is_better else known

    order = sorted(range(len(comparison["merits"])), key=place)
    return {part: [values[number] for number in order] for part, values in comparison.items()}
