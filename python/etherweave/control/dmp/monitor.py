"""State machine of the daemon for one interface.

::

    no link ── link up ──► requesting ── AssignedAddress ──► holding: requests periodically
       ▲                    │  ▲                               │
       └──── link down ─────┘  └───── FailedRequest: later ────┘

The address of a host belongs to its port: a new link may lead to another port.
"""

import math
from dataclasses import dataclass

from etherweave.control.dmp import request


@dataclass(frozen=True, slots=True)
class MonitorTiming:
    """Intervals between requests [s]."""

    check_s: float = 300.0  # Time from an answer to the next request.
    retry_s: float = 5.0  # Time from a failure to the next request; doubles with each failure.
    retry_longest_s: float = 60.0  # Longest time from a failure to the next request.
    apart_s: float = 0.5  # Between the starts of two requests, at least: a link may flap.


class AddressMonitor:
    """Keeps the address of an interface up to date.

    ``timing`` has the times of each request, ``schedule`` the intervals between requests.
    """

    def __init__(
        self, random: request.RandomSource, timing: request.RequestTiming, schedule: MonitorTiming
    ) -> None:
        self._random = random
        self._timing = timing
        self._schedule = schedule
        self._request: request.AddressRequest | None = None
        self._due_s = math.inf
        self._started_s = -math.inf
        self._retry_s = schedule.retry_s
        self._link: tuple[bool, int | None] = (False, None)
        self.is_settled = False
        """Whether a request has ended since the start, with or without success."""

    @property
    def deadline_s(self) -> float:
        """When :meth:`wake` is due [s]; infinite without a link."""
        return self._request.deadline_s if self._request else self._due_s

    @property
    def is_asking(self) -> bool:
        """Whether a request is under way."""
        return self._request is not None

    def link(self, is_running: bool, changes: int | None, now_s: float) -> None:
        """Update the state of the link, and the number of changes of its carrier.

        Equal ``changes`` mean that the cable stayed plugged in, and so does the first count.
        ``None``: unknown; the daemon sends a request. ``now_s`` is of a clock that does not go back
        [s].
        """
        same = changes is not None and self._link in ((is_running, changes), (is_running, None))
        self._link = (is_running, changes)
        if same:
            return
        self._request = None
        self._retry_s = self._schedule.retry_s
        earliest = max(now_s, self._started_s + self._schedule.apart_s)
        self._due_s = earliest if is_running else math.inf

    def wake(self, address: int, now_s: float) -> request.RequestStep:
        """Start a request, or continue the one under way.

        ``address`` is the interface's present one; ``now_s`` is of a clock that does not go back
        [s].
        """
        if self._request is None and now_s >= self._due_s:
            self._started_s = now_s
            self._request = request.AddressRequest(address, self._random, self._timing, now_s)
        return self._after(self._request.wake(now_s), now_s) if self._request else None

    def receive(self, received: request.ReceivedFrame, now_s: float) -> request.RequestStep:
        """Process a frame of the request under way, if there is one."""
        return self._after(self._request.receive(received, now_s), now_s) if self._request else None

    def _after(self, step: request.RequestStep, now_s: float) -> request.RequestStep:
        if step is None or isinstance(step, request.SendFrame):
            return step
        self._request = None
        self.is_settled = True
        self._due_s = now_s + self._pause(step)
        return step

    def _pause(self, outcome: request.AssignedAddress | request.FailedRequest) -> float:
        """Return how long to wait after an outcome [s]."""
        if isinstance(outcome, request.AssignedAddress):
            self._retry_s = self._schedule.retry_s
            return self._schedule.check_s
        pause_s = self._retry_s
        self._retry_s = min(2 * pause_s, self._schedule.retry_longest_s)
        return pause_s
