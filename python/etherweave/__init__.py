"""Design Ethernet HPC fabrics on paper, and simulate them packet by packet, from one scenario file.

A scenario goes in, tables come out:

>>> import etherweave
>>> result = etherweave.run("halo3d.toml", overrides={"seed": 2})  # doctest: +SKIP
>>> result.to_polars("iterations")["duration_ns"].mean()  # doctest: +SKIP
912345.0
>>> etherweave.design("dragonfly.toml")["fabric"]["diameter"]  # doctest: +SKIP
3

Scenarios can be built in code, where keys of the file are attributes:

>>> scenario = etherweave.Scenario("halo3d.toml")  # doctest: +SKIP
>>> scenario.switch.buffer = "4MiB"  # doctest: +SKIP
>>> table = etherweave.run(scenario).to_polars("iterations")  # doctest: +SKIP
>>> etherweave.plot(table, x="rank", y="duration_ns")  # doctest: +SKIP

Names load on first use, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from etherweave._core import version

if TYPE_CHECKING:
    from etherweave.api.curves import curve as curve
    from etherweave.api.fabrics import compare as compare
    from etherweave.api.fabrics import design as design
    from etherweave.api.fabrics import export as export
    from etherweave.api.fabrics import exports as exports
    from etherweave.api.fabrics import fabric as fabric
    from etherweave.api.fabrics import find as find
    from etherweave.api.flow_times import FlowTimes as FlowTimes
    from etherweave.api.flow_times import flow_times as flow_times
    from etherweave.api.observations import Observation as Observation
    from etherweave.api.observations import observe as observe
    from etherweave.api.results import Result as Result
    from etherweave.api.results import Summary as Summary
    from etherweave.api.scenario_builder import Scenario as Scenario
    from etherweave.api.simulation import FaultError as FaultError
    from etherweave.api.simulation import Figure as Figure
    from etherweave.api.simulation import Interrupted as Interrupted
    from etherweave.api.simulation import Progress as Progress
    from etherweave.api.simulation import ScenarioError as ScenarioError
    from etherweave.api.simulation import figures as figures
    from etherweave.api.simulation import foresee as foresee
    from etherweave.api.simulation import resolve as resolve
    from etherweave.api.simulation import run as run
    from etherweave.api.simulation import schema as schema
    from etherweave.pages import write_report as write_report
    from etherweave.report import plot as plot
    from etherweave.sweeps import executor as executor
    from etherweave.sweeps import sweep as sweep
    from etherweave.uncertainty import run_replications as run_replications
    from etherweave.uncertainty import run_samples as run_samples

__all__ = [
    "FaultError",
    "Figure",
    "FlowTimes",
    "Interrupted",
    "Observation",
    "Progress",
    "Result",
    "Scenario",
    "ScenarioError",
    "Summary",
    "__version__",
    "compare",
    "curve",
    "design",
    "executor",
    "export",
    "exports",
    "fabric",
    "figures",
    "find",
    "flow_times",
    "foresee",
    "observe",
    "plot",
    "resolve",
    "run",
    "run_replications",
    "run_samples",
    "schema",
    "sweep",
    "write_report",
]

__version__ = version()

_HOME = {
    "Result": "api.results",
    "Summary": "api.results",
    "curve": "api.curves",
    **dict.fromkeys(("compare", "design", "export", "exports", "fabric", "find"), "api.fabrics"),
    **dict.fromkeys(("FlowTimes", "flow_times"), "api.flow_times"),
    **dict.fromkeys(("Observation", "observe"), "api.observations"),
    "Scenario": "api.scenario_builder",
    "plot": "report",
    "write_report": "pages",
    **dict.fromkeys(("executor", "sweep"), "sweeps"),
    **dict.fromkeys(("run_replications", "run_samples"), "uncertainty"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'etherweave' has no attribute {name!r}")
    return getattr(import_module(f"etherweave.{_HOME.get(name, 'api.simulation')}"), name)
