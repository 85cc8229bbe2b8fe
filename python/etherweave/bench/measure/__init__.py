"""The very workload that was simulated, measured: schedules out, launches, a result in.

::

    scenario ─► core: schedules ─► forecast ─► executor, compiled by the site's MPI
                                                   │ launcher: of the site, or mpirun, srun
    result, as `etherweave run` writes it ◄─ records

:func:`measure` does it all. ``forecast`` and ``records`` are pure, ``seating`` tells where ranks
sit, on a site's hosts or as ``launchers`` finds them, and ``executor`` compiles. Processes are
started and ended by ``bench.launchers``.
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
