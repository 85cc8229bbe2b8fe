"""Timers of pauses, by a clock that the test turns."""

import pytest

from etherweave.control.pause.frame import ClassPause, Pause, quantum_ps
from etherweave.control.pause.vector import PauseTimers

GIGABIT = quantum_ps(10**9)  # 512 ns.
BITS = {3: 0, 4: 7}


@pytest.fixture
def timers() -> PauseTimers:
    return PauseTimers({3: GIGABIT, 4: quantum_ps(10**10)})


def only(traffic_class: int, quanta: int) -> ClassPause:
    return ClassPause(1, tuple(quanta if c == traffic_class else None for c in range(8)))


def test_a_pause_ends_after_its_quanta_at_the_rate_of_its_port(timers: PauseTimers) -> None:
    timers.receive(3, Pause(1, 1000), now_ns=50)
    timers.receive(4, Pause(1, 1000), now_ns=50)
    # 1,000 quanta: 512,000 ns at 1 Gb/s, 51,200 ns at 10 Gb/s.
    assert [timers.is_paused(3, 0, 50 + age) for age in (0, 511_999, 512_000)] == [
        True,
        True,
        False,
    ]
    assert [timers.is_paused(4, 0, 50 + age) for age in (51_199, 51_200)] == [True, False]


def test_no_quanta_resume_at_once(timers: PauseTimers) -> None:
    timers.receive(3, Pause(1, 65535), now_ns=0)
    assert timers.is_paused(3, 5, 10)
    timers.receive(3, Pause(1, 0), now_ns=10)
    assert not timers.is_paused(3, 5, 10)


def test_the_last_frame_counts_even_if_it_is_shorter(timers: PauseTimers) -> None:
    timers.receive(3, Pause(1, 1000), now_ns=0)
    timers.receive(3, Pause(1, 2), now_ns=100)
    assert timers.next_end_ns(100) == 100 + 2 * 512


def test_classes_pause_one_by_one(timers: PauseTimers) -> None:
    timers.receive(3, only(6, 10), now_ns=0)
    assert [timers.is_paused(3, c, 1) for c in range(8)] == [c == 6 for c in range(8)]
    timers.receive(3, only(2, 10), now_ns=0)
    assert [timers.is_paused(3, c, 1) for c in range(8)] == [c in (2, 6) for c in range(8)]
    timers.receive(3, only(6, 0), now_ns=1)
    assert [timers.is_paused(3, c, 1) for c in range(8)] == [c == 2 for c in range(8)]


def test_resuming_a_class_does_not_end_a_pause_of_the_link(timers: PauseTimers) -> None:
    timers.receive(3, Pause(1, 10), now_ns=0)
    timers.receive(3, only(6, 0), now_ns=1)
    assert timers.is_paused(3, 6, 1)


def test_a_vector_has_a_bit_for_every_port_that_pauses(timers: PauseTimers) -> None:
    timers.receive(4, only(6, 10), now_ns=0)
    assert timers.vector(BITS, 6, 1) == 1 << 7
    assert timers.vector(BITS, 5, 1) == 0
    timers.receive(3, Pause(1, 10), now_ns=0)
    assert timers.vector(BITS, 6, 1) == 1 << 7 | 1
    assert timers.vector(BITS, 5, 1) == 1


def test_the_next_end_is_that_of_the_first_timer_that_still_runs(timers: PauseTimers) -> None:
    assert timers.next_end_ns(0) is None
    timers.receive(3, Pause(1, 10), now_ns=0)
    timers.receive(4, only(1, 10), now_ns=0)
    assert timers.next_end_ns(0) == 512
    assert timers.next_end_ns(512) == 5120
    assert timers.next_end_ns(5120) is None
