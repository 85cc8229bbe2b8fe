"""A row of the bench, and the process that each runs in."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A measurement of a simulation or a design."""

    name: str
    measure: Callable[[], dict[str, Any]]


def child(program: str, *words: str) -> dict[str, Any]:
    """Run a program that prints a JSON object, in a process of its own."""
    document: dict[str, Any] = json.loads(
        subprocess.check_output([sys.executable, "-c", program, *words])
    )
    return document
