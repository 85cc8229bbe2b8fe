"""Rules that write the pause vector, as timers change it, and their messages to a switch."""

import random
import socket
import struct
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from etherweave.control.forwarding import pause_rule
from etherweave.control.messages import HEADER, FlowCommand, flow_mod
from etherweave.control.ovs.bridges import built
from etherweave.control.ovs.daemons import run
from etherweave.control.ovs.load import install
from etherweave.control.pause.frame import ClassPause, Pause, quantum_ps
from etherweave.control.pause.rule_writer import (
    MessageDecoder,
    ReceivedMessage,
    RuleWriter,
    RuleWriterError,
)
from etherweave.control.pause.vector import PauseTimers, PauseVectors, VectorError
from etherweave.control.rules import (
    CLASS_TABLE,
    FabricPlan,
    FlowRule,
    MatchField,
    PortPlan,
    SetField,
    SwitchPlan,
    WriteMetadata,
)

BITS = {2: 0, 3: 1}
PORTS = tuple(PortPlan(port, f"h{port}", 1, True) for port in (1, 2, 3))


def result(*priorities: int | None) -> SwitchPlan:
    rules = tuple(pause_rule(BITS, frozenset(), priority) for priority in priorities)
    return SwitchPlan("s1", 1, PORTS, rules, (), (), BITS)


ONE = result(None)
PER_CLASS = result(*range(8), None)


@pytest.fixture
def timers() -> PauseTimers:
    return PauseTimers(dict.fromkeys(BITS, quantum_ps(10**9)))


def written(rules: list[FlowRule]) -> list[tuple[tuple[int, ...], int]]:
    """The values of each rule's tests, and the vector that it writes."""
    vectors = [
        step.value
        for rule in rules
        for step in rule.instructions
        if isinstance(step, WriteMetadata)
    ]
    tests = [tuple(test.value for test in rule.match) for rule in rules]
    return list(zip(tests, vectors, strict=True))


def test_a_cleared_vector_is_the_plan_s_and_nothing_changes_by_itself(timers: PauseTimers) -> None:
    vectors = PauseVectors(PER_CLASS)
    assert vectors.cleared() == list(PER_CLASS.rules)
    assert vectors.changed(timers, 0) == []


def test_a_pause_changes_one_rule_and_its_end_the_same(timers: PauseTimers) -> None:
    vectors = PauseVectors(ONE)
    timers.receive(3, Pause(1, 10), now_ns=0)
    assert written(vectors.changed(timers, 0)) == [((), 0b10)]
    timers.receive(3, Pause(1, 10), now_ns=100)
    assert vectors.changed(timers, 100) == [], "said again, nothing changes"
    assert written(vectors.changed(timers, 100 + 5120)) == [((), 0)]


def test_a_class_changes_its_rule_and_class_0_that_of_untagged_packets(timers: PauseTimers) -> None:
    vectors = PauseVectors(PER_CLASS)
    timers.receive(2, ClassPause(1, (None,) * 5 + (10,) + (None,) * 2), now_ns=0)
    assert written(vectors.changed(timers, 0)) == [((0x1000, 5), 0b01)]
    timers.receive(3, ClassPause(1, (10,) + (None,) * 7), now_ns=0)
    assert written(vectors.changed(timers, 0)) == [((0x1000, 0), 0b10), ((), 0b10)]


def test_a_lossless_packet_obeys_the_class_in_which_rules_send_it(timers: PauseTimers) -> None:
    # Rules move packets between priorities 3 and 4; they leave by port 2 in 4, by port 3 in 3.
    changed = FlowRule(CLASS_TABLE, 1, (MatchField("vlan_pcp", 3),), (SetField("vlan_pcp", 4),))
    back = changed._replace(match=(MatchField("vlan_pcp", 4),), actions=(SetField("vlan_pcp", 3),))
    switch = replace(PER_CLASS, rules=(*PER_CLASS.rules, changed, back), pause_classes={2: 4, 3: 3})
    vectors = PauseVectors(switch)
    timers.receive(2, ClassPause(1, (None,) * 4 + (10,) + (None,) * 3), now_ns=0)
    assert written(vectors.changed(timers, 0)) == [((0x1000, 3), 0b01), ((0x1000, 4), 0b01)]
    timers.receive(2, ClassPause(1, (None,) * 5 + (10,) + (None,) * 2), now_ns=0)
    assert written(vectors.changed(timers, 0)) == [((0x1000, 5), 0b01)], "others obey their own"


def test_one_vector_has_ports_that_pause_any_class(timers: PauseTimers) -> None:
    vectors = PauseVectors(ONE)
    timers.receive(2, ClassPause(1, (None,) * 5 + (10,) + (None,) * 2), now_ns=0)
    assert written(vectors.changed(timers, 0)) == [((), 0b01)]


def test_a_plan_without_a_vector_is_refused() -> None:
    minimal = SwitchPlan("s1", 1, PORTS, (pause_rule({}, frozenset(), None),), (), (), {})
    with pytest.raises(VectorError, match=r's1: .*expected a plan with control.rules = "cond'):
        PauseVectors(minimal)


HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FLOW_MOD = 0, 1, 2, 3, 14
"""``ofp_type``, OpenFlow 1.3.5, A.1."""


class Peer:
    """A switch at a path that says its words to whoever connects, and keeps what it hears."""

    def __init__(self, path: Path, words: bytes) -> None:
        self.address = f"unix:{path}"
        self._words = words
        self._heard = b""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def received(self) -> bytes:
        """Wait until the other side has ended, and return its messages."""
        self._thread.join()
        self._listener.close()
        return self._heard

    def _answer(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(5)
            connection.sendall(self._words)
            while octets := connection.recv(4096):
                self._heard += octets


def said(kind: int, body: bytes = b"", xid: int = 0, version: int = 4) -> bytes:
    return struct.pack("!BBHI", version, kind, 8 + len(body), xid) + body


def test_rules_are_modified_and_echoes_answered(tmp_path: Path) -> None:
    # A switch may offer a later version; the speaker then uses the highest that both know (6.3.1).
    words = said(HELLO, version=6) + said(ECHO_REQUEST, b"there?", xid=9)
    peer = Peer(tmp_path / "mgmt", words)
    with RuleWriter(peer.address) as speaker:
        speaker.modify(list(ONE.rules))
    hello, echo, change = MessageDecoder().take(peer.received())
    assert [hello.kind, echo.kind, change.kind] == [HELLO, ECHO_REPLY, FLOW_MOD]
    assert (echo.xid, echo.body) == (9, b"there?")
    assert change.body == flow_mod(ONE.rules[0], FlowCommand.MODIFY_STRICT)[HEADER.size :]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (said(HELLO, version=1), "version 1, length 8: expected OpenFlow 1.3"),
        (b"\x04\x00\x00\x03\x00\x00\x00\x00", "version 4, length 3"),
        (b"HTTP/1.1 400 Bad Request\r\n", "version 72"),
        (said(HELLO) + said(ERROR, b"\0\5\0\2"), "rejected with error 0005, code 0002"),
    ],
)
def test_a_violation_or_rejection_is_an_error(tmp_path: Path, words: bytes, expected: str) -> None:
    peer = Peer(tmp_path / "mgmt", words)
    with pytest.raises(RuleWriterError, match=expected), RuleWriter(peer.address) as speaker:
        speaker.settle()
    peer.received()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("unix:/nowhere/at.all", "No such file"),
        ("tcp:127.0.0.1:6653", "expected unix:PATH"),
        ("unix:", "expected unix:PATH"),
        ("unix:/" + "x" * 200, "path too long"),
    ],
)
def test_an_address_where_nobody_listens_is_named(address: str, expected: str) -> None:
    with pytest.raises(RuleWriterError, match=expected):
        RuleWriter(address)


def test_messages_come_whole_however_they_were_cut() -> None:
    source = random.Random(3)
    stream = b"".join(said(kind, source.randbytes(kind), xid=kind) for kind in range(30))
    for _ in range(50):
        inbox, rest = MessageDecoder(), stream
        messages: list[ReceivedMessage] = []
        while rest:
            length = source.randrange(1, 100)
            messages += inbox.take(rest[:length])
            rest = rest[length:]
        assert [(message.kind, message.xid, len(message.body)) for message in messages] == [
            (kind, kind, kind) for kind in range(30)
        ]


def test_random_octets_end_in_messages_or_in_a_refusal() -> None:
    source = random.Random(4)
    refused = 0
    for _ in range(2000):
        try:
            list(MessageDecoder().take(b"\x04" + source.randbytes(source.randrange(200))))
        except RuleWriterError:
            refused += 1
    assert 0 < refused < 2000


@pytest.mark.needs("ovs")
def test_open_vswitch_takes_the_vector(timers: PauseTimers) -> None:
    with built(FabricPlan("p", "", (PER_CLASS,), ())) as (daemons, _):
        install(daemons, "s0", PER_CLASS)
        timers.receive(3, ClassPause(1, (10,) + (None,) * 7), now_ns=0)
        address = daemons.management("s0")
        with RuleWriter(address) as speaker:
            speaker.modify(PauseVectors(PER_CLASS).changed(timers, 0))
            speaker.settle()
        dump = ["-O", "OpenFlow13", "--no-stats", "dump-flows", address]
        flows = run("ovs-ofctl", *dump).splitlines()
    # Priority 0 of tagged packets, and packets without a tag; the other seven are as they were.
    assert sum("write_metadata:0x2/0x3" in flow for flow in flows) == 2
    empty = ("write_metadata:0/0x3", "write_metadata:0x0/0x3")
    assert sum(any(words in flow for words in empty) for flow in flows) == 7
