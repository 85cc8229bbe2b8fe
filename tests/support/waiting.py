"""Waiting for what other processes do."""

import time
from collections.abc import Callable

LIMIT_S = 30.0  # Long enough for a busy machine [s].


def until(is_so: Callable[[], bool], what: str = "") -> None:
    end_s = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < end_s, what or f"not within {LIMIT_S} s"
        time.sleep(0.01)
