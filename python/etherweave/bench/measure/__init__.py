"""The very workload that was simulated, measured: schedules out, launches, a result in.

::

    scenario ─► core: schedules ─► forecast ─► executor, compiled by the site's MPI
                                                   │ launcher: mpirun, srun
    result, as `etherweave run` writes it ◄─ records

:func:`measure` does it all. ``forecast``, ``launchers`` and ``records`` are pure; ``executor``
compiles, ``launch`` starts and stops processes.
"""

from etherweave.bench.measure.errors import LaunchError, MeasureError
from etherweave.bench.measure.forecast import Limits
from etherweave.bench.measure.launchers import Launcher, Launching
from etherweave.bench.measure.measurement import Interrupted, Progress, measure

__all__ = [
    "Interrupted",
    "LaunchError",
    "Launcher",
    "Launching",
    "Limits",
    "MeasureError",
    "Progress",
    "measure",
]
