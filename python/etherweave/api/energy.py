"""Energy of a run: the power of its fabric and NICs under its own load, times its duration.

Power is that of :func:`etherweave.design` with the profile that the scenario's ``design.power``
names: what the ports of the run sent, how often they woke, and at which rates they were.
"""

from typing import NamedTuple

from etherweave._core import ScenarioError
from etherweave.api.fabrics import design
from etherweave.api.results import Result

_SAVINGS = {"sleeps": "low_power_idle", "rates": "rate_adaptation"}
"""Rows of power by the tables that only runs with such links have."""


class Energy(NamedTuple):
    """Energy of a run."""

    profile: str  # Profile of power.
    duration_s: float  # Duration of the run [s].
    switches_j: float  # Energy of switches with their ports, modules, buffers and tables [J].
    nics_j: float  # Energy of NICs [J]; processors and memory of hosts are not counted.
    saving: str  # How ports saved energy: ``always_on`` where they did not.
    certainty: str  # How many figures of the profile are published.

    @property
    def total_j(self) -> float:
        """Energy of all [J]."""
        return self.switches_j + self.nics_j

    @property
    def mean_w(self) -> float:
        """Mean power [W]."""
        return self.total_j / self.duration_s


def energy(result: Result) -> Energy | None:
    """Compute the energy of a simulated run.

    Returns ``None`` where the scenario names no ``design.power``, or nothing was simulated. Raises
    ``ScenarioError`` when the profile lacks a part of the fabric.
    """
    scenario = result.scenario
    duration_s = result.summary["end_ns"] / 1e9
    if "power" not in scenario.get("design", {}) or "ports" not in result.tables or not duration_s:
        return None
    power = design(scenario, load=result)["power"]
    saving = next((name for table, name in _SAVINGS.items() if table in result.tables), "always_on")
    draws = {at["saving"]: at["fabric"] for at in power["activity"]}
    if saving not in draws:
        raise ScenarioError(f"design.power: {power['profile']} has no figures of {saving}")
    nics_w = draws[saving]["nics_w"]
    return Energy(
        power["profile"],
        duration_s,
        (draws[saving]["total_w"] - nics_w) * duration_s,
        nics_w * duration_s,
        saving,
        power["certainty"].partition(":")[0],
    )
