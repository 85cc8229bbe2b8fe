"""Waiting for what other processes do."""

import time
from collections.abc import Callable
from typing import TypeVar

LIMIT_S = 300.0  # Long enough for a busy machine [s].

T = TypeVar("T")


def until(seen: Callable[[], T], what: object = "", limit_s: float = LIMIT_S) -> T:
    """Wait until something is there; otherwise print what helps to see why."""
    end_s = time.monotonic() + limit_s
    while not (value := seen()):
        assert time.monotonic() < end_s, f"not within {limit_s} s: {what}"
        time.sleep(0.01)
    return value
