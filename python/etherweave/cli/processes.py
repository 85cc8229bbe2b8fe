"""One simulation on the processes that an MPI launcher has started.

All processes execute the same verb with the same arguments. The first prints and writes; what the
others print is read only if one of them ends before the simulation begins.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout

VERBS = ("run", "curve")
"""Verbs that use all processes; any other is executed by each of them for itself."""
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
"""Set by Open MPI; by MPICH, Intel MPI, MVAPICH, and Slurm with PMI-1 or PMI-2."""
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")


def launched() -> int:
    """Return how many processes an MPI launcher has started, 1 where there is none."""
    sizes = [os.environ.get(name, "") for name in _SIZES]
    if "PMIX_RANK" in os.environ:
        # Slurm with PMIx; without it a step's size says nothing about MPI.
        sizes.append(os.environ.get("SLURM_STEP_NUM_TASKS", ""))
    return max((int(size) for size in sizes if size.isdecimal()), default=1)


def is_first() -> bool:
    """Return whether this process prints and writes."""
    return not any(int(os.environ.get(name, "0")) for name in _RANKS) or launched() == 1


@contextmanager
def together() -> Iterator[None]:
    """Join the other processes, and leave them at the end; a failure in one ends all."""
    from etherweave import _core
    from etherweave.cli.exits import FAILED

    _check(_core.join_processes())
    # What the first prints goes through the launcher, whose pseudo-terminal has no width.
    os.environ |= {"COLUMNS": "128", "TTY_COMPATIBLE": "0"}
    unread = io.StringIO()
    with ExitStack() as stack:
        if not is_first():
            stack.enter_context(redirect_stdout(unread))
            stack.enter_context(redirect_stderr(unread))
        try:
            yield
        except SystemExit as end:
            _core.leave_processes(unread.getvalue().strip() if end.code else None)
            raise
        except BaseException:
            sys.__excepthook__(*sys.exc_info())
            print(unread.getvalue(), file=sys.__stderr__)
            _core.abort_processes(FAILED)
            raise


def _check(joined: tuple[int, int] | None) -> None:
    """End where the library does not see the processes that there are."""
    from etherweave.cli.exits import USAGE, print_error

    if joined is not None and joined[1] == launched():
        return
    if joined is None:
        text = "this build has no MPI library; `make setup` finds one by mpicc and libclang"
    else:
        text = f"the MPI library of this build finds {joined[1]}; use the mpirun of that library"
    if not is_first():
        # A launcher ends the others with one that fails, perhaps before the first has said why.
        sys.exit(0)
    print_error(f"The launcher has started {launched()} processes, but {text}.")
    sys.exit(USAGE)
