"""The Dynamic MAC Protocol over real interfaces: a veth pair between two network namespaces."""

import errno
import fcntl
import json
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from etherweave.control.dmp.client import request_addresses
from etherweave.control.dmp.daemon import serve
from etherweave.control.dmp.interface import DmpInterface, InterfaceError, NoInterfaceError
from etherweave.control.dmp.monitor import MonitorTiming
from etherweave.control.dmp.request import (
    AssignedAddress,
    FailedRequest,
    FailureReason,
    RequestTiming,
)
from etherweave.linux import namespaces
from support import command_line
from support.waiting import until
from support.wired_namespaces import namespace

pytestmark = pytest.mark.needs("namespaces")

T = TypeVar("T")
PATIENCE = RequestTiming(first_s=0.2, limit_s=5.0, settle_s=0.05)
BRIEF = RequestTiming(first_s=0.05, limit_s=0.3, settle_s=0.05)
FACTORY = "00:16:3e:00:00:01"
HIERARCHICAL = 0x020100000007
OTHER = 0x020200000003
Answers = Callable[[bytes], list[bytes]]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, timeout=30)


def inside(name: str, act: Callable[[], T]) -> T:
    """Do something in a namespace; its sockets stay there."""
    with namespaces.inside(name):
        return act()


class Cable(NamedTuple):
    """A veth pair, by the namespaces of its ends: ``eth0`` of a host, ``port`` of a switch."""

    host: str
    switch: str

    def up(self) -> None:
        ip("-n", self.switch, "link", "set", "port", "up")

    def down(self) -> None:
        ip("-n", self.switch, "link", "set", "port", "down")

    @property
    def address(self) -> int:
        with inside(self.host, lambda: DmpInterface("eth0")) as interface:
            return interface.address


@pytest.fixture
def cable() -> Iterator[Cable]:
    cable = Cable(f"ewdmp-{os.getpid()}-host", f"ewdmp-{os.getpid()}-switch")
    with namespace(cable.host), namespace(cable.switch):
        far = ("peer", "name", "port", "netns", cable.switch)
        ip("link", "add", "eth0", "address", FACTORY, "netns", cable.host, "type", "veth", *far)
        cable.up()
        ip("-n", cable.host, "link", "set", "eth0", "up")
        yield cable


@contextmanager
def reflector(cable: Cable, answers: Answers) -> Iterator[list[bytes]]:
    """A switch that answers each frame of EtherType 0x88b5; yields the frames it heard."""
    received: list[bytes] = []
    port = inside(cable.switch, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    end, bell = socket.socketpair()

    def reflect() -> None:
        while end not in (ready := select.select([port, end], [], [])[0]):
            # A port that is down or gone hears nothing.
            with suppress(OSError):
                if port in ready:
                    received.append(port.recv(2048))
                    for octets in answers(received[-1]):
                        port.send(octets)

    with port, end, bell:
        port.bind(("port", 0x88B5))
        thread = threading.Thread(target=reflect)
        thread.start()
        try:
            yield received
        finally:
            bell.send(b"!")
            thread.join()


def rewritten(frame: bytes, source: int) -> bytes:
    return frame[:6] + source.to_bytes(6) + frame[12:]


def rule(source: int) -> Answers:
    """The switch's rule: source rewritten, back by the port it came from."""
    return lambda frame: [rewritten(frame, source)]


def request_address(
    cable: Cable, patience: RequestTiming = PATIENCE
) -> AssignedAddress | FailedRequest:
    with inside(cable.host, lambda: DmpInterface("eth0")) as interface:
        return request_addresses([interface], patience)["eth0"]


def test_a_host_takes_the_address_while_it_is_up(cable: Cable) -> None:
    with reflector(cable, rule(HIERARCHICAL)) as received:
        outcome = request_address(cable)
    assert isinstance(outcome, AssignedAddress)
    assert outcome.mac == HIERARCHICAL
    assert len(received[0]) == 60
    assert received[0][:12] == bytes.fromhex("0300000088b500163e000001")
    with inside(cable.host, lambda: DmpInterface("eth0")) as interface:
        assert interface.assign(outcome.mac)
        assert interface.is_up
    assert cable.address == HIERARCHICAL


def test_a_frame_from_a_vlan_whose_tag_the_kernel_takes_off_is_refused(cable: Cable) -> None:
    def tagged(frame: bytes) -> list[bytes]:
        return [rewritten(frame[:12] + b"\x81\0\0\5" + frame[12:], HIERARCHICAL)]

    with reflector(cable, tagged):
        outcome = request_address(cable, BRIEF)
    assert isinstance(outcome, FailedRequest)
    assert "from a VLAN" in outcome.detail


def test_a_flood_ends_the_request_in_its_time(cable: Cable) -> None:
    # As fast as the machine sends, for as long as the request lasts.
    def flood(frame: bytes) -> list[bytes]:
        return [frame[:20] + os.urandom(8) + frame[28:]] * 1_000

    patience = RequestTiming(
        first_s=0.05, longest_s=0.05, limit_s=1.5, settle_s=0.05, frames_max=3_000
    )
    with reflector(cable, flood):
        started_s = time.monotonic()
        outcome = request_address(cable, patience)
        lasted_s = time.monotonic() - started_s
    assert isinstance(outcome, FailedRequest)
    assert lasted_s < 5.0
    if outcome.reason is FailureReason.FLOOD:
        assert "over 3000 frames" in outcome.detail
    else:
        assert "nonce that was never sent" in outcome.detail


@pytest.mark.parametrize(
    ("name", "error", "result"),
    [
        ("eth7", NoInterfaceError, "eth7: no such interface"),
        ("lo", InterfaceError, "lo: hardware of type 772; expected Ethernet"),
        ("x" * 16, InterfaceError, "expected a name of 1 to 15 octets"),
        ("", InterfaceError, "expected a name of 1 to 15 octets"),
    ],
)
def test_open_errors_are_said(cable: Cable, name: str, error: type[Exception], result: str) -> None:
    with pytest.raises(error, match=result):
        inside(cable.host, lambda: DmpInterface(name))


def test_a_nic_is_set_down_for_its_address(cable: Cable, monkeypatch: pytest.MonkeyPatch) -> None:
    obey = fcntl.ioctl
    tried = []

    def refusing(handle: socket.socket, number: int, request: bytes) -> bytes:
        """Change it like a driver without IFF_LIVE_ADDR_CHANGE (eth_prepare_mac_addr_change)."""
        if number == 0x8924:
            flags = obey(handle, 0x8913, request[:16].ljust(40, b"\0"))
            tried.append(flags[16] & 1)
            if tried[-1]:
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        return obey(handle, number, request)

    monkeypatch.setattr(fcntl, "ioctl", refusing)
    with inside(cable.host, lambda: DmpInterface("eth0")) as interface:
        assert not interface.assign(HIERARCHICAL)
        assert interface.address == HIERARCHICAL
        assert interface.is_up
    assert tried == [1, 0]


def test_a_nic_that_takes_no_address_fails(cable: Cable, monkeypatch: pytest.MonkeyPatch) -> None:
    obey = fcntl.ioctl

    def refusing(handle: socket.socket, number: int, request: bytes) -> bytes:
        if number == 0x8924:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return obey(handle, number, request)

    monkeypatch.setattr(fcntl, "ioctl", refusing)
    with (
        inside(cable.host, lambda: DmpInterface("eth0")) as interface,
        pytest.raises(
            InterfaceError, match=r"eth0: accepts no address \(Operation not supported\)"
        ),
    ):
        interface.assign(HIERARCHICAL)


def begun(cable: Cable, *words: str, **more: Any) -> "subprocess.Popen[str]":
    """Start the command line on the host."""
    command = ["ip", "netns", "exec", cable.host, *command_line.COMMAND, "control", "dmp"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*command, *words], **{**pipes, **more})


def run(cable: Cable, *words: str) -> tuple[int, str, str]:
    with begun(cable, *words) as process:
        output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def test_the_verb_asks_prints_and_sets(cable: Cable) -> None:
    ip("-n", cable.host, "link", "set", "eth0", "down")
    with reflector(cable, rule(HIERARCHICAL)):
        assert run(cable, "request", "-i", "eth0", "--dry-run")[0] == 2
        assert run(cable, "request", "-i", "eth0") == (0, "eth0 02:01:00:00:00:07\n", "")
        assert cable.address == HIERARCHICAL
        code, output, _ = run(cable, "request", "-i", "eth0", "--json")
    (row,) = json.loads(output)
    assert 0 < row.pop("round_trip_s") < 5
    address = "02:01:00:00:00:07"
    expected = {"interface": "eth0", "mac_before": address, "mac": address, "requests": 2}
    assert (code, row) == (0, expected)


def test_a_dry_run_changes_nothing(cable: Cable) -> None:
    with reflector(cable, rule(HIERARCHICAL)):
        code, output, _ = run(cable, "request", "-i", "eth0", "--dry-run")
    assert (code, output) == (0, "eth0 02:01:00:00:00:07\n")
    assert cable.address == 0x00163E000001


def test_silent_switches_end_with_4_and_contradicting_ones_with_1(cable: Cable) -> None:
    code, output, errors = run(cable, "request", "-i", "eth0", "--time-limit", "0.3s")
    assert (code, output) == (4, "")
    assert errors.startswith("eth0: no answer after 2 requests: no switch answered")

    with reflector(cable, lambda frame: [rewritten(frame, mac) for mac in (HIERARCHICAL, OTHER)]):
        code, output, errors = run(cable, "request", "-i", "eth0")
    assert (code, output) == (1, "")
    assert "conflict" in errors and "two switches, or an impostor" in errors
    assert cable.address == 0x00163E000001


@contextmanager
def daemon(cable: Cable, patience: RequestTiming, rhythm: MonitorTiming) -> Iterator[list[str]]:
    """The daemon on the host; yields its log."""
    log: list[str] = []
    stop, bell = socket.socketpair()
    with stop, bell, ThreadPoolExecutor(1) as threads:
        done = threads.submit(
            lambda: inside(cable.host, lambda: serve(["eth0"], patience, rhythm, log.append, stop))
        )
        try:
            yield log
        finally:
            bell.send(b"!")
            done.result(timeout=60)


def test_the_daemon_asks_again_when_the_link_comes_back_at_another_port(cable: Cable) -> None:
    with daemon(cable, PATIENCE, MonitorTiming()) as log:
        with reflector(cable, rule(HIERARCHICAL)):
            until(lambda: cable.address == HIERARCHICAL, log)
        cable.down()
        with reflector(cable, rule(OTHER)):
            cable.up()
            until(lambda: cable.address == OTHER, log)
    assert log == [
        "eth0: address 02:01:00:00:00:07 (was 00:16:3e:00:00:01)",
        "eth0: address 02:02:00:00:00:03 (was 02:01:00:00:00:07)",
    ]


def test_the_daemon_checks_now_and_then_and_keeps_the_address_unanswered(cable: Cable) -> None:
    kept = "keeps 02:01:00:00:00:07"

    def has_failed(log: list[str]) -> bool:
        return any("no switch answered" in line and line.endswith(kept) for line in log)

    with daemon(cable, BRIEF, MonitorTiming(check_s=0.2, retry_s=0.1)) as log:
        with reflector(cable, rule(HIERARCHICAL)) as received:
            until(lambda: cable.address == HIERARCHICAL and len(received) > 5, log)
        until(lambda: has_failed(log), log)
        assert cable.address == HIERARCHICAL
        with reflector(cable, rule(OTHER)):
            until(lambda: cable.address == OTHER, log)


def test_the_daemon_waits_for_an_interface_that_is_not_there(cable: Cable) -> None:
    ip("-n", cable.host, "link", "set", "eth0", "down")
    ip("-n", cable.host, "link", "set", "eth0", "name", "later")
    with daemon(cable, PATIENCE, MonitorTiming()) as log, reflector(cable, rule(HIERARCHICAL)):
        until(lambda: log == ["eth0: no such interface; waiting for it"], log)
        ip("-n", cable.host, "link", "set", "later", "name", "eth0")
        until(lambda: len(log) == 2, log)
        assert cable.address == HIERARCHICAL
        ip("-n", cable.host, "link", "del", "eth0")
        until(lambda: log[-1] == "eth0: disappeared; waiting for it", log)


@contextmanager
def service(
    cable: Cable, directory: Path, *words: str
) -> Iterator[tuple["subprocess.Popen[str]", Callable[[], str]]]:
    """Run the daemon until the block ends; yields what reads its next message to systemd, too."""
    path = directory / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        listener.settimeout(30)
        surroundings = {**os.environ, "NOTIFY_SOCKET": str(path)}
        with begun(cable, "daemon", "-i", "eth0", *words, env=surroundings) as process:
            try:
                yield process, lambda: listener.recv(1000).decode()
            finally:
                process.terminate()


def test_the_service_is_ready_by_its_address_and_ends_cleanly(cable: Cable, tmp_path: Path) -> None:
    with reflector(cable, rule(HIERARCHICAL)), service(cable, tmp_path) as (process, message):
        assert message() == "READY=1\nSTATUS=eth0 02:01:00:00:00:07"
        assert cable.address == HIERARCHICAL
        process.terminate()
        _, errors = process.communicate(timeout=30)
        assert message() == "STOPPING=1"
    assert process.returncode == 0
    assert errors == "eth0: address 02:01:00:00:00:07 (was 00:16:3e:00:00:01)\n"


def test_the_service_is_ready_without_a_switch_after_a_limit(cable: Cable, tmp_path: Path) -> None:
    cable.down()
    with service(cable, tmp_path, "--time-limit", "0.5s") as (process, message):
        assert message() == "READY=1\nSTATUS=eth0 00:16:3e:00:00:01"
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0
