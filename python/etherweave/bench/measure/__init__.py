"""Measure a simulated workload: execute its schedules over MPI, and return a result.

::

    scenario ─► core: schedules ─► estimate ─► executor, compiled by the site's MPI
                                                   │ launcher: of the site, or mpirun, srun
    result, as `etherweave run` writes it ◄─ records

:func:`measure` does it all. ``estimate`` and ``records`` are pure, ``rank_placement`` puts ranks on
hosts of a site or leaves it to the launcher, and ``executor`` compiles. Processes are started and
ended by ``bench.launchers``. Names load on first use: the command line reads options without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etherweave.bench.measure.errors import MeasureError as MeasureError
    from etherweave.bench.measure.errors import MeasureLaunchError as MeasureLaunchError
    from etherweave.bench.measure.estimate import MeasureLimits as MeasureLimits
    from etherweave.bench.measure.launch import LaunchOptions as LaunchOptions
    from etherweave.bench.measure.launch import LaunchProgram as LaunchProgram
    from etherweave.bench.measure.measurement import MeasureInterrupted as MeasureInterrupted
    from etherweave.bench.measure.measurement import MeasureProgress as MeasureProgress
    from etherweave.bench.measure.measurement import measure as measure

_HOME = {
    "LaunchOptions": "launch",
    "LaunchProgram": "launch",
    "MeasureError": "errors",
    "MeasureInterrupted": "measurement",
    "MeasureLaunchError": "errors",
    "MeasureLimits": "estimate",
    "MeasureProgress": "measurement",
    "measure": "measurement",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'etherweave.bench.measure' has no attribute {name!r}")
    return getattr(import_module(f"etherweave.bench.measure.{_HOME[name]}"), name)
