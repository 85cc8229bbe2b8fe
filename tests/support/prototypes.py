"""Members of the core in Python: line by line what they do in Rust."""

from math import isqrt

from etherweave import extend

ONE = 1 << 20  # A window of one packet.
ROOT = 1 << 10  # The root of :data:`ONE`.
US = 1_000_000  # A microsecond [ps].


class Swift(extend.CongestionControl):
    """``crates/transport/src/swift.rs``; parameters in its units."""

    def __init__(self, connection: extend.FreshConnection, base_target: int = 25 * US) -> None:
        self.base_target = base_target
        self.flow_scaling = 100 * US
        self.flow_scaling_windows = (100, 100_000)
        self.additive_increase = 1_000
        self.beta, self.decrease_max = 80, 50
        self.window_min = 10 * ONE // 1_000
        self.timeouts_max = 5
        self.packet = connection.packet
        self.cwnd = self.window_max = connection.window * ONE // connection.packet
        self.round_trip = base_target
        self.decreased_at: int | None = None
        self.paced_until = 0
        self.timeouts = 0

    def window(self) -> int:
        return max(self.cwnd * self.packet // ONE, 1)

    def rate_at(self, now: int) -> int:
        bits = self.cwnd * self.packet * 8 * 1_000_000_000_000
        return bits // ONE // max(self.round_trip, 1)

    def sent(self, now: int, wire: int) -> bool:
        if self.cwnd >= ONE:
            return False
        self.paced_until = now + self.round_trip * ONE // self.cwnd
        return True

    def next_at(self) -> int:
        return self.paced_until

    def acknowledged(self, now: int, feedback: extend.Feedback) -> None:
        if feedback.acked == 0:
            return
        self.round_trip = feedback.round_trip
        self.timeouts = 0
        target = self.target()
        if self.round_trip < target:
            packets = feedback.acked * ONE // self.packet
            step = self.additive_increase * packets // 1_000
            self.cwnd += step * ONE // max(self.cwnd, ONE)
            self.cwnd = min(self.cwnd, self.window_max)
        else:
            excess = self.beta * (self.round_trip - target)
            self.decrease(now, excess * 1_000 // self.round_trip)

    def lost(self, now: int, progress: extend.Progress) -> None:
        self.decrease(now, 100_000)

    def timed_out(self, now: int) -> None:
        self.timeouts += 1
        if self.timeouts >= self.timeouts_max:
            self.cwnd = self.window_min
            self.decreased_at = now
        else:
            self.decrease(now, 100_000)

    def decrease(self, now: int, share: int) -> None:
        if self.decreased_at is not None and now - self.decreased_at < self.round_trip:
            return
        share = min(share, self.decrease_max * 1_000)
        self.cwnd = max(self.cwnd - self.cwnd * share // 100_000, self.window_min)
        self.decreased_at = now

    def target(self) -> int:
        least, most = (inverse_root(w * ONE // 1_000) for w in self.flow_scaling_windows)
        share = min(max(inverse_root(self.cwnd), most), least) - most
        return self.base_target + self.flow_scaling * share // (least - most)


def inverse_root(window: int) -> int:
    """1 / √window [2^-20]."""
    return ONE * ROOT // max(isqrt(window), 1)


class Dctcp(extend.CongestionControl):
    """``crates/transport/src/mark_window.rs``, with the law of ``tcp/congestion/dctcp.rs``."""

    heeds_marks = True

    def __init__(self, connection: extend.FreshConnection) -> None:
        self.packet = connection.packet
        self.cwnd = self.window_max = connection.window
        self.threshold = self.cut_until = 0
        self.alpha = ONE
        self.acked = self.marked = self.window_end = 0
        self.counted = 0

    def window(self) -> int:
        return self.cwnd

    def acknowledged(self, now: int, feedback: extend.Feedback) -> None:
        self.observe(feedback)
        if feedback.acknowledged <= self.cut_until:
            return
        if feedback.is_marked:
            self.cut(feedback.next, self.cwnd - self.cwnd * self.alpha // (2 * ONE))
        elif self.cwnd < self.threshold:
            self.cwnd += feedback.acked
        else:
            self.cwnd += self.increase(feedback.acked)
        self.cwnd = min(self.cwnd, self.window_max)

    def observe(self, feedback: extend.Feedback) -> None:
        self.acked += feedback.acked
        self.marked += feedback.acked if feedback.is_marked else 0
        if feedback.acknowledged <= self.window_end or self.acked == 0:
            return
        share = ONE * self.marked // self.acked
        self.alpha = self.alpha - (self.alpha >> 4) + (share >> 4)
        self.acked, self.marked, self.window_end = 0, 0, feedback.next

    def cut(self, following: int, window: int) -> None:
        self.cwnd = self.threshold = max(window, self.packet)
        self.cut_until = following

    def increase(self, acked: int) -> int:
        self.counted += acked
        if self.counted < self.cwnd:
            return 0
        self.counted -= self.cwnd
        return self.packet

    def lost(self, now: int, progress: extend.Progress) -> None:
        if progress.acknowledged >= self.cut_until:
            self.counted = 0
            self.cut(progress.next, self.cwnd // 2)

    def timed_out(self, now: int) -> None:
        self.threshold = self.cwnd // 2
        self.counted = 0
        self.cwnd, self.cut_until = self.packet, 0


class Oblivious(extend.LoadBalancing):
    """The scheme of that name in ``crates/transport/src/uet/entropy.rs``."""

    def __init__(self, entropies: int) -> None:
        self.mask = entropies - 1
        self.turn = 0

    def next(self) -> int:
        place, cycle = self.turn & self.mask, self.turn // (self.mask + 1)
        self.turn += 1
        return place ^ mix(cycle + 1) & self.mask


class Mixed(Oblivious):
    """Values of unmarked acknowledgements before others; none is penalised."""

    def __init__(self, entropies: int) -> None:
        super().__init__(entropies)
        self.recycled: list[int] = []

    def next(self) -> int:
        return self.recycled.pop(0) if self.recycled else super().next()

    def heed(self, now: int, entropy: int, feedback: extend.PathFeedback) -> None:
        if feedback == "unmarked":
            self.recycled.append(entropy)


def mix(word: int) -> int:
    """``mix`` in ``crates/primitives/src/random.rs``: all bits of a word of 64 bits change."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


class Requests(extend.Driver):
    """``request_response`` with a server, the last rank, and clients that ask again at once."""

    def __init__(
        self, rank: int, ranks: int, seed: int, requests: int = 20, service: int = 3 * US
    ) -> None:
        self.server, self.service = ranks - 1, service
        self.is_server = rank == self.server
        self.left = requests * (self.server if self.is_server else 1)
        self.number = 0
        self.work: tuple[int, int, int] | None = None

    def on_event(self, now: int, event: extend.DriverEvent, next: extend.NextOperations) -> None:  # noqa: A002
        received = event.received
        if not self.is_server:
            if (event.operation is None or received) and self.number < self.left:
                next.receive(self.server, 4096, self.number)
                next.send(self.server, 64, self.number)
                self.number += 1
        elif received:
            self.work = (next.compute(self.service), received.peer, received.tag)
        elif event.operation is None:
            self.receive(next)
        elif self.work and event.operation == self.work[0]:
            next.send(self.work[1], 4096, self.work[2])
            self.receive(next)

    def receive(self, following: extend.NextOperations) -> None:
        self.left -= 1
        if self.left >= 0:
            following.receive(None, 64)
