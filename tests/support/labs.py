"""Labs of a test alone."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from etherweave.control.lab import lifecycle
from etherweave.control.lab.state import LabScope

_NUMBERS = count()


@contextmanager
def new_scope() -> Iterator[LabScope]:
    """Make a scope that nobody else has, and see that no lab is left in it."""
    directory = Path(tempfile.mkdtemp(prefix="ew-lab-"))
    scope = LabScope(directory / "lab", f"ew-t{os.getpid()}-{next(_NUMBERS)}.")
    try:
        yield scope
        assert lifecycle.all_labs(scope) == []
    finally:
        for name in lifecycle.all_labs(scope):
            lifecycle.down(scope, name)
        shutil.rmtree(directory, ignore_errors=True)
