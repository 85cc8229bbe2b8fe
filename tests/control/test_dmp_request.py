"""A request as a state machine: no sockets, no clocks; an adversary at the cable."""

import random
from collections.abc import Callable

import pytest

from etherweave.control.dmp.frame import LENGTH, DmpFrame, decode, encode
from etherweave.control.dmp.request import (
    AddressRequest,
    AssignedAddress,
    FailedRequest,
    FailureReason,
    ReceivedFrame,
    RejectReason,
    RequestStep,
    RequestTiming,
    SendFrame,
)

FACTORY = 0x00163E000001
HIERARCHICAL = 0x020100000007
OTHER = 0x020200000003
PATIENCE = RequestTiming(first_s=1.0, longest_s=4.0, jitter=0.0, limit_s=10.0, settle_s=0.5)


def started(
    address: int = FACTORY, patience: RequestTiming = PATIENCE
) -> tuple[AddressRequest, bytes]:
    """A request at time 0, and its first frame."""
    request = AddressRequest(address, random.Random(7).randbytes, patience, 0.0)
    return request, sent(request.wake(0.0))


def sent(step: RequestStep) -> bytes:
    assert isinstance(step, SendFrame), step
    return step.octets


def rewritten(frame: bytes, source: int) -> bytes:
    """Return what a switch makes of a frame."""
    return frame[:6] + source.to_bytes(6) + frame[12:]


def answer(frame: bytes, source: int, **marks: bool) -> ReceivedFrame:
    return ReceivedFrame(rewritten(frame, source), **marks)


def source_of(octets: bytes) -> int:
    frame = decode(octets)
    assert isinstance(frame, DmpFrame)
    return frame.source


def failed(step: RequestStep) -> FailedRequest:
    assert isinstance(step, FailedRequest), step
    return step


def exhausted(request: AddressRequest) -> FailedRequest:
    """Wait until the request gives up."""
    for _ in range(100):
        step = request.wake(request.deadline_s)
        if not isinstance(step, SendFrame):
            return failed(step)
    raise AssertionError("a request without end")


def test_the_new_source_of_the_frame_is_the_address() -> None:
    request, frame = started()
    assert source_of(frame) == FACTORY
    assert request.receive(answer(frame, HIERARCHICAL), 0.25) is None
    assert request.deadline_s == 0.25 + 0.5
    assert request.wake(0.74) is None
    assert request.wake(0.75) == AssignedAddress(HIERARCHICAL, 1, 0.25)


def test_the_destination_does_not_matter() -> None:
    request, frame = started()
    octets = HIERARCHICAL.to_bytes(6) + rewritten(frame, HIERARCHICAL)[6:]
    request.receive(ReceivedFrame(octets, is_for_another=True), 0.1)
    assert request.wake(0.6) == AssignedAddress(HIERARCHICAL, 1, 0.1)


def test_waits_double_up_to_the_longest_and_end_at_the_limit() -> None:
    request, _ = started()
    times = []
    while isinstance(request.wake(request.deadline_s), SendFrame):
        times.append(request.deadline_s)
    # Sent at 0, 1, 1 + 2, 3 + 4, then every 4 s; deadlines are the next ones, the limit the last.
    assert times == [3.0, 7.0, 10.0]
    failure = failed(request.wake(10.0))
    assert (failure.reason, failure.requests) == (FailureReason.NO_ANSWER, 4)
    assert failure.detail == "no switch answered"


def test_jitter_moves_waits_by_its_share_at_most() -> None:
    patience = RequestTiming(first_s=1.0, jitter=0.25)
    waits = []
    for seed in range(200):
        request = AddressRequest(FACTORY, random.Random(seed).randbytes, patience, 0.0)
        request.wake(0.0)
        waits.append(request.deadline_s)
    assert all(0.75 <= wait <= 1.25 for wait in waits)
    assert min(waits) < 0.80 and max(waits) > 1.20


def test_every_frame_has_a_nonce_of_its_own() -> None:
    request, first = started()
    second = sent(request.wake(request.deadline_s))
    assert first[20:28] != second[20:28]
    assert first[:20] + first[28:] == second[:20] + second[28:]


def test_a_lost_answer_is_asked_for_again() -> None:
    request, _ = started()
    frame = sent(request.wake(1.0))
    request.receive(answer(frame, HIERARCHICAL), 1.5)
    assert request.wake(2.0) == AssignedAddress(HIERARCHICAL, 2, 0.5)


def test_an_answer_said_twice_is_one_answer() -> None:
    request, frame = started()
    for now_s in (0.1, 0.2, 0.3):
        assert request.receive(answer(frame, HIERARCHICAL), now_s) is None
    assert request.wake(0.6) == AssignedAddress(HIERARCHICAL, 1, 0.1)


def test_two_answers_are_a_conflict_that_names_both() -> None:
    request, frame = started()
    request.receive(answer(frame, HIERARCHICAL), 0.1)
    failure = failed(request.receive(answer(frame, OTHER), 0.2))
    assert failure.reason is FailureReason.CONFLICT
    assert "02:01:00:00:00:07 and 02:02:00:00:00:03" in failure.detail


@pytest.mark.parametrize("first", [HIERARCHICAL, FACTORY + 1])
def test_an_unfit_answer_contradicts_a_fit_one(first: int) -> None:
    second = HIERARCHICAL + FACTORY + 1 - first
    request, frame = started()
    assert request.receive(answer(frame, first), 0.1) is None
    failure = failed(request.receive(answer(frame, second), 0.2))
    assert failure.reason is FailureReason.CONFLICT


def mutilated(change: Callable[[bytes], bytes]) -> Callable[[bytes], ReceivedFrame]:
    return lambda frame: ReceivedFrame(change(rewritten(frame, HIERARCHICAL)))


@pytest.mark.parametrize(
    ("received", "result"),
    [
        (lambda frame: ReceivedFrame(frame), RejectReason.REFLECTED),
        (lambda frame: answer(frame, HIERARCHICAL, is_outgoing=True), RejectReason.OUTGOING),
        (lambda frame: answer(frame, OTHER, is_for_another=True), RejectReason.TAGGED),
        (lambda frame: answer(frame, 0), RejectReason.ZERO),
        (lambda frame: answer(frame, 0xFFFFFFFFFFFF), RejectReason.GROUP),
        (lambda frame: answer(frame, 0x030000000001), RejectReason.GROUP),
        (lambda frame: answer(frame, 0x00163E000002), RejectReason.UNIVERSAL),
        (mutilated(lambda octets: octets[:20] + bytes(8) + octets[28:]), RejectReason.STRANGE),
        (mutilated(lambda octets: octets[:59]), "shorter than 60 octets"),
        (mutilated(lambda octets: octets + bytes(4)), "longer than 60 octets"),
        (mutilated(lambda octets: octets[:-1] + b"\1"), "with something in the padding"),
        (mutilated(lambda octets: octets[:18] + b"\2" + octets[19:]), "of another version"),
        (mutilated(lambda octets: octets[:12] + b"\x81\0\0\5" + octets[12:]), "with a VLAN tag"),
    ],
)
def test_what_is_not_an_answer_is_rejected_and_reported(
    received: Callable[[bytes], ReceivedFrame], result: str
) -> None:
    request, frame = started()
    assert request.receive(received(frame), 0.1) is None
    failure = exhausted(request)
    assert failure.reason is FailureReason.NO_ANSWER
    assert failure.detail == f"no switch answered; frames rejected: 1 {result}"


def test_an_answer_to_an_earlier_frame_is_stale() -> None:
    request, first = started()
    request.wake(1.0)
    request.receive(answer(first, HIERARCHICAL), 1.1)
    assert exhausted(request).detail.endswith(f"1 {RejectReason.STALE}")


def test_a_replay_into_the_next_request_has_a_strange_nonce() -> None:
    _, recorded = started()
    request = AddressRequest(FACTORY, random.Random(8).randbytes, PATIENCE, 0.0)
    request.wake(0.0)
    request.receive(answer(recorded, HIERARCHICAL), 0.1)
    assert exhausted(request).detail.endswith(f"1 {RejectReason.STRANGE}")


def test_a_host_that_has_its_address_is_given_it_again() -> None:
    request, frame = started(address=HIERARCHICAL)
    assert source_of(frame) == HIERARCHICAL
    # The switch's answer looks like a loop's: asked again with another source, it does not.
    second = sent(request.receive(answer(frame, HIERARCHICAL), 0.25))
    assert source_of(second) not in (HIERARCHICAL, FACTORY)
    request.receive(answer(second, HIERARCHICAL), 0.5)
    assert request.wake(1.0) == AssignedAddress(HIERARCHICAL, 2, 0.25)


def test_a_loop_does_not_confirm_an_address_of_local_administration() -> None:
    request, frame = started(address=0x525400000001)
    frame = sent(request.receive(ReceivedFrame(frame), 0.1))
    for _ in range(10):
        assert request.receive(ReceivedFrame(frame), request.deadline_s - 0.01) is None
        step = request.wake(request.deadline_s)
        if isinstance(step, FailedRequest):
            break
        frame = sent(step)
    assert failed(step).reason is FailureReason.NO_ANSWER


@pytest.mark.parametrize("order", [(HIERARCHICAL, OTHER), (OTHER, HIERARCHICAL)])
def test_an_impostor_beside_the_switch_is_seen_by_an_addressed_host(order: tuple[int, int]) -> None:
    request, frame = started(address=HIERARCHICAL)
    step: RequestStep = None
    for _ in range(3):
        for source in order:
            step = request.receive(answer(frame, source), 0.1)
            if isinstance(step, SendFrame):
                frame = step.octets
                break
            if isinstance(step, FailedRequest):
                assert step.reason is FailureReason.CONFLICT
                return
    raise AssertionError(f"no conflict: {step}")


def test_a_host_in_another_port_gets_the_other_address() -> None:
    request, frame = started(address=HIERARCHICAL)
    request.receive(answer(frame, OTHER), 0.1)
    assert request.wake(0.6) == AssignedAddress(OTHER, 1, 0.1)


def test_an_answer_within_junk_is_found_and_a_flood_ends_the_request() -> None:
    patience = RequestTiming(frames_max=1000)
    chance = random.Random(3)
    request, frame = started(patience=patience)
    for _ in range(999):
        assert request.receive(ReceivedFrame(chance.randbytes(60)), 0.001) is None
    assert request.receive(answer(frame, HIERARCHICAL), 0.002) is None
    failure = failed(request.receive(ReceivedFrame(b"junk"), 0.003))
    assert failure.reason is FailureReason.FLOOD
    assert "over 1000 frames; frames rejected: 999 of another EtherType" in failure.detail


def test_frames_do_not_put_off_the_deadline() -> None:
    request, _ = started()
    for tick in range(500):
        request.receive(ReceivedFrame(b"junk"), tick / 500)
    assert request.deadline_s == 1.0
    assert isinstance(request.wake(1.0), SendFrame)


def test_only_the_answer_to_the_last_frame_assigns() -> None:
    """An adversary who sees all and forges all, but never has the last nonce with another source.

    Each trial mixes replays, reflections, changed and cut frames; none is ever an answer.
    """
    chance = random.Random(4)
    for trial in range(300):
        request = AddressRequest(FACTORY, chance.randbytes, PATIENCE, 0.0)
        seen = [sent(request.wake(0.0))]
        for _ in range(40):
            octets = bytearray(rewritten(chance.choice(seen), chance.choice((FACTORY, OTHER))))
            while octets[20:28] == seen[-1][20:28] and octets[6:12] != FACTORY.to_bytes(6):
                octets[chance.randrange(14, LENGTH)] ^= 1 << chance.randrange(8)
                if decode(bytes(octets)).__class__ is not DmpFrame:
                    break
            request.receive(ReceivedFrame(bytes(octets)), request.deadline_s - 0.001)
            if chance.random() < 0.1:
                step = request.wake(request.deadline_s)
                if isinstance(step, FailedRequest):
                    assert step.reason is FailureReason.NO_ANSWER
                    break
                seen.append(sent(step))
        else:
            assert exhausted(request).reason is FailureReason.NO_ANSWER, trial


def test_a_new_source_in_an_otherwise_true_echo_is_believed() -> None:
    # What the protocol cannot see: it has no keys. The documents say so.
    request, frame = started()
    forged = encode(DmpFrame(FACTORY, OTHER, frame[20:28]))
    request.receive(ReceivedFrame(forged), 0.1)
    assert request.wake(0.6) == AssignedAddress(OTHER, 1, 0.1)


def test_an_answer_put_in_doubt_lends_nothing_to_the_next_one() -> None:
    request, frame = started(address=HIERARCHICAL)
    request.receive(answer(frame, OTHER), 0.1)
    second = sent(request.receive(answer(frame, HIERARCHICAL), 0.2))
    request.receive(answer(second, FACTORY), 0.3)
    assert isinstance(request.wake(request.deadline_s), SendFrame)
