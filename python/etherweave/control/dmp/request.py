"""One request as a state machine: frames and times go in, frames and the outcome come out.

::

    asking ── answer ──► settling ── no other answer ──► AssignedAddress
      │ ▲                   └─────── another answer ───► FailedRequest: conflict
      └─┘ no answer: again, with a new nonce and a longer wait; at last FailedRequest

Nothing here waits or opens anything: the caller passes random octets and times [s] of any clock
that does not go back, and calls :meth:`AddressRequest.wake` when ``deadline_s`` has come.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from etherweave.control.dmp.frame import (
    GROUP,
    NONCE_OCTETS,
    DmpFrame,
    FrameFault,
    decode,
    encode,
    is_group,
    is_local,
    local_host,
)
from etherweave.control.text import mac_text

RandomSource: TypeAlias = Callable[[int], bytes]
"""Returns N random octets; they must not be predictable, because nonces are made of them."""


@dataclass(frozen=True, slots=True)
class RequestTiming:
    """Times and limits of a request."""

    first_s: float = 0.2  # Time from the first frame to the second [s]; doubles with each frame.
    longest_s: float = 2.0  # Longest time from a frame to the next [s].
    jitter: float = 0.25
    """Share by which waits vary at random, so that hosts of one power cut do not synchronise."""
    limit_s: float = 10.0  # Time from the first frame to giving up [s].
    settle_s: float = 0.05  # After an answer, for another one that contradicts it [s].
    frames_max: int = 65_536  # Frames examined in one request; more are a flood.


class RejectReason(StrEnum):
    """Why a valid frame is not accepted as an answer."""

    OUTGOING = "sent by this host"
    TAGGED = "from a VLAN"
    STALE = "answers to an earlier request (replayed, or late)"
    STRANGE = "with a nonce that was never sent"
    REFLECTED = "sent back with the source as it was (a loop, or no rule in the switch)"
    ZERO = "whose new source is zero"
    GROUP = "whose new source is a group address"
    UNIVERSAL = "whose new source is a factory's, not of local administration"


class FailureReason(StrEnum):
    """Why a request failed."""

    NO_ANSWER = "no answer"
    CONFLICT = "conflict"
    FLOOD = "flood"
    INTERFACE = "interface"  # The interface does not send; set by the caller.


class ReceivedFrame(NamedTuple):
    """A frame from the interface, with the kernel's type of it."""

    octets: bytes
    is_outgoing: bool = False
    is_for_another: bool = False
    """Whether it is for another host; to a group address: from a VLAN whose tag the kernel
    removed."""


class SendFrame(NamedTuple):
    """The caller must send this frame."""

    octets: bytes


class AssignedAddress(NamedTuple):
    """The switch's answer."""

    mac: int
    requests: int  # Frames sent.
    round_trip_s: float


class FailedRequest(NamedTuple):
    """The end without an address."""

    reason: FailureReason
    detail: str
    requests: int


RequestOutcome: TypeAlias = AssignedAddress | FailedRequest
RequestStep: TypeAlias = SendFrame | AssignedAddress | FailedRequest | None
"""Step that the caller must take: send a frame, handle the outcome, or nothing."""


class AddressRequest:
    """A request for the address of one interface.

    ``address`` is the interface's present one, ``random`` the source of randomness. It starts at
    ``now_s`` [s]; the first call is that of :meth:`wake`.
    """

    def __init__(
        self, address: int, random: RandomSource, timing: RequestTiming, now_s: float
    ) -> None:
        self._address = address
        self._random = random
        self._timing = timing
        self._limit_s = now_s + timing.limit_s
        self._wait_s = timing.first_s
        self._sent: list[DmpFrame] = []
        self._sent_s = now_s
        self._first: int | None = None
        self._settles = False
        self._round_trip_s = 0.0
        self._is_loop_suspected = False
        self._frames = 0
        self._rejected: Counter[FrameFault | RejectReason] = Counter()
        self.deadline_s = now_s
        """When :meth:`wake` is due [s]."""

    def wake(self, now_s: float) -> RequestStep:
        """Continue after a wait: accept the answer, repeat the request, or give up."""
        if now_s < self.deadline_s:
            return None
        if self._settles and self._first is not None:
            return AssignedAddress(self._first, len(self._sent), self._round_trip_s)
        if now_s >= self._limit_s:
            return self._failed(
                FailureReason.NO_ANSWER, f"no switch answered{self._rejected_text()}"
            )
        return self._ask(now_s)

    def receive(self, received: ReceivedFrame, now_s: float) -> RequestStep:
        """Process a frame from the interface, in constant time and up to a number of frames."""
        self._frames += 1
        if self._frames > self._timing.frames_max:
            return self._failed(
                FailureReason.FLOOD, f"over {self._frames - 1} frames{self._rejected_text()}"
            )
        answer = self._answer(received)
        if isinstance(answer, DmpFrame):
            return self._accept(answer.source, now_s)
        self._rejected[answer] += 1
        if (
            answer is RejectReason.REFLECTED
            and is_local(self._address)
            and not self._is_loop_suspected
        ):
            # The switch's answer to a host that has its address already, or a loop: ask again
            # with a source that differs from every hierarchical address.
            self._is_loop_suspected = True
            return self._ask(now_s)
        return None

    def _ask(self, now_s: float) -> SendFrame:
        source = (
            local_host(int.from_bytes(self._random(6)))
            if self._is_loop_suspected
            else self._address
        )
        frame = DmpFrame(GROUP, source, self._random(NONCE_OCTETS))
        self._sent.append(frame)
        self._sent_s = now_s
        self._first = None
        self._settles = False
        self.deadline_s = min(now_s + self._dispersed(self._wait_s), self._limit_s)
        self._wait_s = min(2 * self._wait_s, self._timing.longest_s)
        return SendFrame(encode(frame))

    def _answer(self, received: ReceivedFrame) -> DmpFrame | FrameFault | RejectReason:
        """Return the frame if it is the last one sent with another source, else the reason."""
        if received.is_outgoing:
            return RejectReason.OUTGOING
        frame = decode(received.octets)
        if isinstance(frame, FrameFault):
            return frame
        if received.is_for_another and is_group(frame.destination):
            return RejectReason.TAGGED
        nonces = [sent.nonce for sent in self._sent]
        if frame.nonce not in nonces:
            return RejectReason.STRANGE
        if frame.nonce != nonces[-1]:
            return RejectReason.STALE
        return RejectReason.REFLECTED if frame.source == self._sent[-1].source else frame

    def _accept(self, source: int, now_s: float) -> RequestStep:
        if self._first is not None:
            return None if source == self._first else self._contradicted(self._first, source)
        self._first = source
        fault = _address_fault(source)
        if fault:
            self._rejected[fault] += 1
            return None
        self._settles = True
        self._round_trip_s = now_s - self._sent_s
        self.deadline_s = now_s + self._timing.settle_s
        return None

    def _contradicted(self, first: int, second: int) -> FailedRequest:
        both = f"{mac_text(first)} and {mac_text(second)}"
        return self._failed(
            FailureReason.CONFLICT, f"answered with {both}: two switches, or an impostor"
        )

    def _dispersed(self, wait_s: float) -> float:
        """Vary a wait by up to the jitter."""
        share = int.from_bytes(self._random(2)) / 0xFFFF
        return wait_s * (1 + self._timing.jitter * (2 * share - 1))

    def _failed(self, reason: FailureReason, detail: str) -> FailedRequest:
        return FailedRequest(reason, detail, len(self._sent))

    def _rejected_text(self) -> str:
        """List the frames that were rejected, for the end of a sentence."""
        kinds = [f"{count} {reason}" for reason, count in sorted(self._rejected.items())]
        return f"; frames rejected: {', '.join(kinds)}" if kinds else ""


def _address_fault(mac: int) -> RejectReason | None:
    """Return why an address cannot be a host's in a hierarchical plan."""
    faults = (
        (mac == 0, RejectReason.ZERO),
        (is_group(mac), RejectReason.GROUP),
        (not is_local(mac), RejectReason.UNIVERSAL),
    )
    return next((refusal for is_so, refusal in faults if is_so), None)
