"""Many runs of one scenario: points, executors, and the directory that keeps what has run.

A run is known by a hash of its resolved scenario and of the core. Whatever carries it out returns
its figures, which one process appends to a journal; the dataset is written from the journal in the
order of the points. So neither executor nor interruption changes a byte of it.

Names load on first use: what only reads a directory starts no workers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etherweave.sweeps.executors import Executor as Executor
    from etherweave.sweeps.executors import ExecutorError as ExecutorError
    from etherweave.sweeps.executors import WorkerError as WorkerError
    from etherweave.sweeps.executors import executor as executor
    from etherweave.sweeps.flow_first import FlowFirst as FlowFirst
    from etherweave.sweeps.flow_first import in_fidelity as in_fidelity
    from etherweave.sweeps.flow_first import near as near
    from etherweave.sweeps.flow_first import shortlist as shortlist
    from etherweave.sweeps.points import Sweep as Sweep
    from etherweave.sweeps.points import SweepError as SweepError
    from etherweave.sweeps.points import load_sweep as load_sweep
    from etherweave.sweeps.running import SweepResult as SweepResult
    from etherweave.sweeps.running import expect as expect
    from etherweave.sweeps.running import sweep as sweep
    from etherweave.sweeps.store import SweepStatus as SweepStatus
    from etherweave.sweeps.store import SweepStore as SweepStore
    from etherweave.sweeps.store import is_sweep as is_sweep

__all__ = [
    "Executor",
    "ExecutorError",
    "FlowFirst",
    "Sweep",
    "SweepError",
    "SweepResult",
    "SweepStatus",
    "SweepStore",
    "WorkerError",
    "executor",
    "expect",
    "in_fidelity",
    "is_sweep",
    "load_sweep",
    "near",
    "shortlist",
    "sweep",
]

_HOME = {
    **dict.fromkeys(("Executor", "ExecutorError", "WorkerError", "executor"), "executors"),
    **dict.fromkeys(("FlowFirst", "in_fidelity", "near", "shortlist"), "flow_first"),
    **dict.fromkeys(("Sweep", "SweepError", "load_sweep"), "points"),
    **dict.fromkeys(("SweepResult", "expect", "sweep"), "running"),
    **dict.fromkeys(("SweepStatus", "SweepStore", "is_sweep"), "store"),
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
