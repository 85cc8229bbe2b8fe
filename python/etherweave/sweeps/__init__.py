"""Many runs of one scenario: points, executors, and the directory that keeps what has run.

A run is known by a hash of its resolved scenario and of the core. Whatever carries it out returns
its figures, which one process appends to a journal; the dataset is written from the journal in the
order of the points. So neither executor nor interruption changes a byte of it.
"""

from etherweave.sweeps.executors import Executor, ExecutorError, WorkerError, executor
from etherweave.sweeps.points import Sweep, SweepError, load_sweep
from etherweave.sweeps.running import SweepResult, expect, sweep
from etherweave.sweeps.shortlist import FlowFirst, in_fidelity, near, shortlist
from etherweave.sweeps.store import SweepStatus, SweepStore, is_sweep

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
