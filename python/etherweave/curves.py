"""Latency and throughput of a fabric under synthetic traffic, point by point."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from etherweave.fabrics import fabric
from etherweave.scenario import Overrides, Scenario

if TYPE_CHECKING:
    import pyarrow

PointCallback: TypeAlias = Callable[[int, int, str], bool]
"""Takes how many points are done, of how many, and which is next; answers whether to go on."""


def curve(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    threads: int = 1,
    progress: PointCallback | None = None,
) -> "pyarrow.Table":
    """Simulate the traffic that the table ``open_loop`` of a scenario describes.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.fabric`.
    threads
        Threads of the core. The result is the same with any number.
    progress
        Called before each point; a curve that is told to stop has the points until then.

    Returns
    -------
    pyarrow.Table
        A row for each routing, pattern and load: ``load_offered`` and ``load_accepted`` as shares
        of the hosts' links, latencies in ns, hops, the share of packets that left the minimal way.
        ``load_bound`` is what ``load_accepted`` cannot exceed for long: where channels are loaded
        as the pattern and the routing demand, ``load_bound_channel`` is then full first. Routings
        that look at queues have none. Where a pattern switches, ``reaction_ns`` is how long after
        that the accepted load came to stay at what is offered, within a tenth; not a number when it
        did not. ``latency_settled_ns`` is the same of the mean latency, whatever is accepted.

    Raises
    ------
    ScenarioError
        When the scenario is wrong, or its fabric cannot be simulated so.
    """
    import pyarrow

    return pyarrow.table(fabric(scenario, overrides).curve(threads, progress))
