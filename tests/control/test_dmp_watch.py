"""The daemon's acts on an interface, and how it learns of links: no sockets, no clocks."""

import math
import random
import socket
import struct
from pathlib import Path

import pytest

from etherweave.control.dmp import request
from etherweave.control.dmp.daemon import notify
from etherweave.control.dmp.links import LinkChange, links
from etherweave.control.dmp.monitor import AddressMonitor, MonitorTiming

FACTORY = 0x00163E000001
HIERARCHICAL = 0x020100000007
PATIENCE = request.RequestTiming(first_s=1.0, jitter=0.0, limit_s=2.0, settle_s=0.5)
RHYTHM = MonitorTiming(check_s=100.0, retry_s=10.0, retry_longest_s=25.0, apart_s=0.5)


def watch() -> AddressMonitor:
    return AddressMonitor(random.Random(1).randbytes, PATIENCE, RHYTHM)


def answered(kept: AddressMonitor, now_s: float, address: int = FACTORY) -> float:
    """Ask and answer at a time; return the time of the outcome."""
    step = kept.wake(address, now_s)
    assert isinstance(step, request.SendFrame)
    octets = step.octets[:6] + HIERARCHICAL.to_bytes(6) + step.octets[12:]
    kept.receive(request.ReceivedFrame(octets), now_s)
    assert kept.wake(address, now_s + 0.5) == request.AssignedAddress(HIERARCHICAL, 1, 0.0)
    return now_s + 0.5


def starved(kept: AddressMonitor) -> float:
    """Ask without an answer; return the time of the failure."""
    while True:
        now_s = kept.deadline_s
        if isinstance(kept.wake(FACTORY, now_s), request.FailedRequest):
            return now_s


def test_without_a_link_nothing_is_asked() -> None:
    kept = watch()
    assert kept.deadline_s == math.inf
    assert kept.wake(FACTORY, 1e9) is None
    assert not kept.is_asking


def test_a_link_is_asked_at_once_and_checked_later() -> None:
    kept = watch()
    kept.link(True, 1, 5.0)
    assert kept.deadline_s == 5.0
    assert not kept.is_settled
    assert answered(kept, 5.0) == 5.5
    assert kept.is_settled and not kept.is_asking
    assert kept.deadline_s == 105.5


def test_failures_are_retried_later_each_time() -> None:
    kept = watch()
    kept.link(True, 1, 0.0)
    pauses = []
    for _ in range(4):
        failed_s = starved(kept)
        pauses.append(kept.deadline_s - failed_s)
    assert pauses == [10.0, 20.0, 25.0, 25.0]
    answered(kept, kept.deadline_s)
    failed_s = starved(kept)
    assert kept.deadline_s - failed_s == 10.0


@pytest.mark.parametrize(
    ("count", "changes", "deadline_s"),
    [
        pytest.param(1, [(False, 2, 50.0)], math.inf, id="away"),
        pytest.param(1, [(False, 2, 50.0), (True, 3, 60.0)], 60.0, id="back"),
        pytest.param(1, [(True, 3, 50.0)], 50.0, id="pulled and plugged between two messages"),
        pytest.param(1, [(True, None, 50.0)], 50.0, id="after lost messages"),
        pytest.param(None, [(True, None, 50.0)], 50.0, id="after lost messages, again"),
        pytest.param(None, [(True, 1, 50.0)] * 3, 100.5, id="messages about anything else"),
    ],
)
def test_a_link_is_asked_anew_when_it_may_be_another(
    count: int | None, changes: list[tuple[bool, int | None, float]], deadline_s: float
) -> None:
    kept = watch()
    kept.link(True, count, 0.0)
    answered(kept, 0.0)
    for change in changes:
        kept.link(*change)
    assert kept.deadline_s == deadline_s


def test_a_flapping_link_is_not_asked_more_than_twice_a_second() -> None:
    kept = watch()
    asked = 0
    for tick in range(1000):
        now_s = tick / 100
        kept.link(tick % 2 == 0, tick, now_s)
        asked += isinstance(kept.wake(FACTORY, now_s), request.SendFrame)
    # 10 s of flapping, requests at least 0.5 s apart.
    assert 10 <= asked <= 20


def test_a_link_that_goes_ends_the_request() -> None:
    kept = watch()
    kept.link(True, 1, 0.0)
    step = kept.wake(FACTORY, 0.0)
    assert isinstance(step, request.SendFrame)
    kept.link(False, 2, 0.1)
    kept.receive(
        request.ReceivedFrame(step.octets[:6] + HIERARCHICAL.to_bytes(6) + step.octets[12:]), 0.2
    )
    assert kept.wake(FACTORY, 10.0) is None


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", (4 + len(value)), kind) + value.ljust(-(-len(value) // 4) * 4, b"\0")


def message(kind: int, flags: int, attributes: bytes) -> bytes:
    """Message of linux/rtnetlink.h: nlmsghdr, ifinfomsg, attributes."""
    body = struct.pack("=BxHiII", 0, 1, 7, flags, 0xFFFFFFFF) + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


ETH0 = attribute(3, b"eth0\0")


def test_messages_of_the_kernel_report_links() -> None:
    # IFF_UP 0x1, IFF_RUNNING 0x40; RTM_NEWLINK 16, RTM_DELLINK 17; IFLA_CARRIER_CHANGES 35.
    counted = ETH0 + attribute(35, struct.pack("=I", 9))
    assert list(
        links(message(16, 0x41, counted) + message(24, 0, b"") + message(17, 0x1, ETH0))
    ) == [LinkChange("eth0", True, 9, False), LinkChange("eth0", False, None, True)]


def test_broken_messages_end_without_harm() -> None:
    content = message(16, 0x41, ETH0 + attribute(35, struct.pack("=I", 9)))
    chance = random.Random(5)
    for _ in range(5_000):
        octets = bytearray(content + content)
        for _ in range(chance.randint(0, 8)):
            octets[chance.randrange(len(octets))] = chance.randrange(256)
        assert len(list(links(bytes(octets[: chance.randint(0, len(octets))])))) <= 2


@pytest.mark.parametrize("is_abstract", [False, True])
def test_systemd_is_notified_by_a_datagram(
    is_abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(5)
        listener.bind(f"\0{path}" if is_abstract else path)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{path}" if is_abstract else path)
        notify("READY=1", "STATUS=eth0 02:01:00:00:00:07")
        assert listener.recv(100) == b"READY=1\nSTATUS=eth0 02:01:00:00:00:07"


@pytest.mark.parametrize("listener", ["", "relative", "/nobody/there"])
def test_without_a_listener_nothing_is_sent(listener: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", listener)
    notify("READY=1")
