"""Peers that are no switches, or bad ones: the controller stays up and serves the others."""

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from etherweave.control.controller import install
from etherweave.control.controller.message_stream import PeerLimits
from etherweave.control.controller.server import UNKNOWN_PEERS_MAX
from etherweave.control.messages import MessageType
from etherweave.control.rules import CONTROLLER, FabricPlan, FlowRule, Output, PortPlan, SwitchPlan
from etherweave.control.rules import MatchField as Is
from support.controlled import Running, controlled
from support.fake_switch import FakeSwitch
from support.waiting import until

RULES = 300
HASTY = PeerLimits(handshake_s=0.5, message_s=0.5)  # Time limits that a test can wait for.


def switch(number: int, rules: int = RULES) -> SwitchPlan:
    ports = (PortPlan(1, f"host{number}", 1, True),)
    lldp = FlowRule(0, 400, (Is("eth_type", 0x88CC),), (Output(CONTROLLER),))
    forward = (FlowRule(3, 9, (Is("eth_dst", host),), (Output(1),)) for host in range(rules - 1))
    return SwitchPlan(f"s{number}", number, ports, (lldp, *forward), (), (), {})


PLAN = FabricPlan("two", "", (switch(1), switch(2)), ())


@pytest.fixture
def running() -> Iterator[Running]:
    with controlled(PLAN) as runnings:
        yield runnings


def serves_the_others(running: Running) -> None:
    """Let a good switch come, and check that it is programmed."""
    with FakeSwitch(running.controller.port, 1) as good:
        until(lambda: running.has_installed(["s1"]), running.log)
        assert (good.added, good.committed) == (RULES, 1)


def speak(running: Running, octets: bytes) -> bytes:
    """Send octets, and read until the controller ends the connection."""
    address = ("127.0.0.1", running.controller.port)
    with socket.create_connection(address, timeout=5) as peer:
        with contextlib.suppress(ConnectionError):
            peer.sendall(octets)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while octets := peer.recv(65536):
                answer += octets
        return answer


HELLO = struct.pack("!BBHI", 4, MessageType.HELLO, 8, 1)
TOO_BAD = {
    "noise": random.Random(1).randbytes(5000),
    "zeros": bytes(5000),
    "web browser": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": bytes.fromhex("16030100f8010000f40303") + bytes(240),
    "length below a header": struct.pack("!BBHI", 4, MessageType.HELLO, 7, 1),
    "long HELLO": struct.pack("!BBHI", 4, MessageType.HELLO, 65535, 1),
    "no HELLO first": struct.pack("!BBHI", 4, MessageType.FEATURES_REPLY, 32, 1) + bytes(24),
    "message of a controller": HELLO
    + struct.pack("!BBHI", 4, MessageType.FLOW_MOD, 56, 1)
    + bytes(48),
    "unknown type": HELLO + struct.pack("!BBHI", 4, 200, 8, 1),
    "cut features": HELLO + struct.pack("!BBHI", 4, MessageType.FEATURES_REPLY, 12, 1) + bytes(4),
    "HELLO elements without end": struct.pack("!BBHIHH", 4, MessageType.HELLO, 16, 1, 1, 0)
    + bytes(4),
}


@pytest.mark.parametrize("octets", TOO_BAD.values(), ids=TOO_BAD)
def test_whoever_speaks_something_else_is_refused_at_once(running: Running, octets: bytes) -> None:
    speak(running, octets)
    (refusal,) = until(lambda: running.log.events("rejected"), running.log)
    assert refusal["address"].startswith("127.0.0.1:")
    serves_the_others(running)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_another_version_is_rejected_with_the_reason(running: Running, version: int) -> None:
    answer = speak(running, struct.pack("!BBHI", version, MessageType.HELLO, 8, 1))
    hello, length = answer[1], int.from_bytes(answer[2:4])
    error = answer[length:]
    # OFPET_HELLO_FAILED is 0, OFPHFC_INCOMPATIBLE is 0 (OpenFlow 1.3.5, 7.5.4.1).
    assert (hello, error[1], error[8:12]) == (MessageType.HELLO, MessageType.ERROR, bytes(4))
    serves_the_others(running)


def test_a_peer_that_never_ends_its_message_is_cut_off() -> None:
    with controlled(PLAN, limits=HASTY) as running:
        begun_s = time.monotonic()
        address = ("127.0.0.1", running.controller.port)
        with socket.create_connection(address) as peer, contextlib.suppress(OSError):
            for octet in HELLO + struct.pack("!BBHI", 4, MessageType.MULTIPART_REPLY, 60000, 1):
                peer.sendall(bytes([octet]))
                time.sleep(0.02)
            while time.monotonic() - begun_s < 10:
                peer.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - begun_s < 5
        serves_the_others(running)


def test_a_crowd_of_silent_peers_keeps_no_switch_out(running: Running) -> None:
    with contextlib.ExitStack() as crowd:
        address = ("127.0.0.1", running.controller.port)
        for _ in range(3 * UNKNOWN_PEERS_MAX):
            crowd.enter_context(socket.create_connection(address))
        serves_the_others(running)
        # Each has two threads at most, and no more than so many are let in.
        assert threading.active_count() < 2 * UNKNOWN_PEERS_MAX + 50


def test_the_log_stays_short_whatever_peers_do(running: Running) -> None:
    for _ in range(200):
        speak(running, b"GET / HTTP/1.1\r\n\r\n")
    assert 20 <= len(running.log.events("rejected")) < 100
    assert max(map(len, running.log.getvalue().splitlines())) < 4000


def test_an_identity_that_is_not_planned_is_refused(running: Running) -> None:
    with FakeSwitch(running.controller.port, 77) as stranger:
        until(lambda: stranger.is_over, running.log)
        serves_the_others(running)
    (refusal,) = running.log.events("rejected")
    assert refusal["reason"] == "datapath id 0x4d is not in the plan; expected one of 1 to 2"


def test_a_second_switch_of_one_identity_is_refused_while_the_first_lives(running: Running) -> None:
    with FakeSwitch(running.controller.port, 1) as first:
        until(lambda: running.has_installed(["s1"]), running.log)
        with FakeSwitch(running.controller.port, 1) as second:
            until(lambda: second.is_over, running.log)
        assert not first.is_over
    (refusal,) = running.log.events("rejected")
    assert refusal["reason"].startswith("s1 is connected already, from 127.0.0.1:")


def test_a_switch_that_dies_while_it_is_programmed_is_programmed_later(running: Running) -> None:
    def die(switch: FakeSwitch, kind: MessageType, _: int, __: bytes) -> bool:
        is_dead = switch.added >= RULES // 2
        if is_dead:
            switch.close()
        return is_dead

    with FakeSwitch(running.controller.port, 2, die) as dying:
        until(lambda: dying.is_over, running.log)
        assert dying.committed == 0
    serves_the_others(running)
    with FakeSwitch(running.controller.port, 2) as reborn:
        until(lambda: running.has_installed(["s2"]), running.log)
        assert (reborn.added, reborn.committed) == (RULES, 1)


@pytest.mark.parametrize(
    "silent_about",
    [MessageType.ROLE_REQUEST, MessageType.MULTIPART_REQUEST, MessageType.EXPERIMENTER],
)
def test_a_silent_switch_holds_up_nobody_else(running: Running, silent_about: MessageType) -> None:
    def ignore(switch: FakeSwitch, kind: MessageType, _: int, body: bytes) -> bool:
        is_ports = kind is MessageType.MULTIPART_REQUEST and body[:2] == b"\x00\x0d"
        return kind is silent_about and not is_ports

    with FakeSwitch(running.controller.port, 2, ignore) as silent:
        until(lambda: silent.seen[silent_about], running.log)
        serves_the_others(running)


@pytest.mark.parametrize(
    "kind",
    [
        MessageType.ERROR,
        MessageType.MULTIPART_REPLY,
        MessageType.ROLE_REPLY,
        MessageType.EXPERIMENTER,
    ],
)
def test_answers_cut_short_are_no_answers(running: Running, kind: MessageType) -> None:
    def cut(switch: FakeSwitch, asked: MessageType, xid: int, body: bytes) -> bool:
        is_ports = asked is MessageType.MULTIPART_REQUEST and body[:2] == b"\x00\x0d"
        is_late = asked in (
            MessageType.ROLE_REQUEST,
            MessageType.MULTIPART_REQUEST,
            MessageType.EXPERIMENTER,
        )
        if is_late and not is_ports:
            switch.send(kind, b"", xid)
        return is_late and not is_ports

    with FakeSwitch(running.controller.port, 2, cut) as bad:
        until(lambda: bad.seen[MessageType.ROLE_REQUEST], running.log)
        serves_the_others(running)
        assert bad.committed == 0
        assert running.log.events("failed") == []


def test_a_switch_that_reports_nonsense_is_not_programmed_anything(running: Running) -> None:
    def nonsense(switch: FakeSwitch, kind: MessageType, xid: int, body: bytes) -> bool:
        if kind is not MessageType.MULTIPART_REQUEST or body[:2] != b"\x00\x01":
            return False
        switch.part(1, b"\x00\x09" + bytes(100), xid)
        return True

    with FakeSwitch(running.controller.port, 2, nonsense) as bad:
        (result, *_) = until(lambda: running.log.events("not_programmed"), running.log)
        assert result["switch"] == "s2"
        assert result["reason"] == "a flow entry of 9 octets; expected 56 to 102"
        assert bad.committed == 0
        serves_the_others(running)


def test_an_endless_report_is_given_up(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "_OCTETS_MAX", 1 << 20)

    def endless(switch: FakeSwitch, kind: MessageType, xid: int, body: bytes) -> bool:
        if kind is not MessageType.MULTIPART_REQUEST or body[:2] != b"\x00\x01":
            return False
        entry = struct.pack("!HB53x", 56, 0)
        entry = entry[:48] + struct.pack("!HH4x", 1, 4)
        for _ in range(30):
            switch.part(1, entry * 1000, xid, more=True)
        return True

    with FakeSwitch(running.controller.port, 2, endless):
        (result, *_) = until(lambda: running.log.events("not_programmed"), running.log)
        assert result["reason"] == "more than 1048576 octets of flows"
        serves_the_others(running)


def test_a_flood_of_frames_holds_up_nobody_else(running: Running) -> None:
    """Hosts may send any LLDP frame; a switch hands them over."""
    rng = random.Random(2)
    match = bytes.fromhex("0001 000c 80000004 00000001 00000000")
    head = bytes.fromhex("0180c200000e 020000000001 88cc")
    frames = [head + rng.randbytes(rng.randrange(1, 400)) for _ in range(50)]
    packets = [
        struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 1, 0, 0) + match + b"\0\0" + frame
        for frame in frames
    ]

    def flood(switch: FakeSwitch, kind: MessageType, _: int, __: bytes) -> bool:
        if kind is MessageType.ROLE_REQUEST:
            for number in range(10_000):
                switch.send(MessageType.PACKET_IN, packets[number % len(packets)])
        return False

    with FakeSwitch(running.controller.port, 2, flood) as flooding:
        until(lambda: flooding.seen[MessageType.ROLE_REQUEST], running.log)
        serves_the_others(running)
        assert running.log.events("failed") == []


def test_a_switch_that_reads_nothing_is_given_up() -> None:
    """Some megabytes of rules fill every buffer on the way."""
    big = FabricPlan("two", "", (switch(1), switch(2, rules=60_000)), ())
    stop = threading.Event()

    def deaf(switch: FakeSwitch, kind: MessageType, xid: int, body: bytes) -> bool:
        if switch.added:
            stop.wait(20)
        return False

    with controlled(big, limits=HASTY) as running:
        with FakeSwitch(running.controller.port, 2, deaf):
            until(lambda: running.log.events("not_programmed"), running.log)
            stop.set()
        serves_the_others(running)


def test_nothing_is_left_when_the_controller_stops() -> None:
    before = set(threading.enumerate())
    with (
        controlled(PLAN, metrics_port=0) as running,
        FakeSwitch(running.controller.port, 1),
        FakeSwitch(running.controller.port, 2),
    ):
        until(lambda: running.has_installed(["s1", "s2"]), running.log)
        running.stop.set()
        until(lambda: running.log.events("stopped"), running.log)
    assert set(threading.enumerate()) <= before
