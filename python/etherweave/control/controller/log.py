"""The controller's log: one JSON object per line, at a bounded rate for what peers can cause."""

import json
import logging
import sys
import threading
import time
from collections import defaultdict
from typing import Any, TextIO

_TEXT_MAX = 600
_ITEMS_MAX = 20
_PEER_LINES_PER_S = 5.0
_PEER_LINES_AT_ONCE = 20.0
_QUOTE_MAX = 300


class EventLog:
    """Writes events as JSON lines.

    Lines go to ``stream``; by default to standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lock = threading.Lock()
        self._budgets: dict[str, tuple[float, float]] = {}
        self._suppressed: dict[str, int] = defaultdict(int)

    def write(self, event: str, **facts: Any) -> None:
        """Write an event with its facts."""
        now_ns = time.time_ns()
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_ns // 10**9))
        stamp = f"{second}.{now_ns // 10**6 % 1000:03}Z"
        shortened = {name: _short(fact) for name, fact in facts.items()}
        line = json.dumps({"time": stamp, "event": event, **shortened}, default=str)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()

    def write_limited(self, event: str, **facts: Any) -> None:
        """Write an event that a peer caused; of too many, a later line has the number."""
        with self._lock:
            if not self._may(event):
                self._suppressed[event] += 1
                return
            suppressed = self._suppressed.pop(event, 0)
        self.write(event, **facts, **({"more": suppressed} if suppressed else {}))

    def _may(self, event: str) -> bool:
        now_s = time.monotonic()
        budget, then_s = self._budgets.get(event, (_PEER_LINES_AT_ONCE, now_s))
        budget = min(_PEER_LINES_AT_ONCE, budget + (now_s - then_s) * _PEER_LINES_PER_S)
        self._budgets[event] = (budget - 1 if budget >= 1 else budget, now_s)
        return budget >= 1


def _short(fact: Any) -> Any:
    """Shorten a fact: the first of many items, the beginning of a long text."""
    if isinstance(fact, list) and len(fact) > _ITEMS_MAX:
        more = f"and {len(fact) - _ITEMS_MAX} more"
        return [*map(_short, fact[:_ITEMS_MAX]), more]
    if isinstance(fact, list):
        return list(map(_short, fact))
    return fact[:_TEXT_MAX] if isinstance(fact, str) else fact


class LibraryLogHandler(logging.Handler):
    """Writes os-ken's warnings as events, shortened: never the whole of a bad message."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as an event."""
        self._log.write_limited("library", message=record.getMessage()[:_QUOTE_MAX])
