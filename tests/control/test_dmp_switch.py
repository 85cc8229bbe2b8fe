"""Open vSwitch with the rules of a plan answers our requests: no root, no interfaces."""

from pathlib import Path

import pytest

from etherweave.control.dmp.capture import frames
from etherweave.control.dmp.request import (
    AddressRequest,
    AssignedAddress,
    ReceivedFrame,
    RequestTiming,
    SendFrame,
)
from etherweave.control.ovs import bridges, load
from etherweave.control.ovs.oracle import ControlSocket
from etherweave.control.plan import plan
from etherweave.control.rules import HostPlan
from support.waiting import until

pytestmark = pytest.mark.needs("ovs")
FACTORY = 0x00163E000001
SCENARIO = {"topology": {"dragonfly": {"p": 2, "a": 2, "h": 1}}}


def sent_back(capture: Path, count: int) -> list[bytes]:
    """Wait for as many frames in the capture of a port."""
    until(lambda: len(list(frames(capture.read_bytes()))) >= count, f"{count} frames")
    return list(frames(capture.read_bytes()))


def assigned(ask: ControlSocket, port: str, capture: Path, address: int) -> int:
    """Ask through a port, until the request takes an address."""
    nonces = iter(range(1, 10))
    request = AddressRequest(
        address, lambda size: bytes([next(nonces)]) * size, RequestTiming(), 0.0
    )
    before = len(sent_back(capture, 0))
    step = request.wake(0.0)
    while isinstance(step, SendFrame):
        ask.ask("netdev-dummy/receive", port, step.octets.hex())
        before += 1
        answers = sent_back(capture, before)
        assert len(answers) == before
        step = request.receive(ReceivedFrame(answers[-1]), 0.01)
    outcome = request.wake(1.0)
    assert isinstance(outcome, AssignedAddress), outcome
    return outcome.mac


def test_every_host_is_given_its_address_and_no_other_port_receives_it(tmp_path: Path) -> None:
    planned = plan(SCENARIO).plan

    def port(host: HostPlan) -> str:
        return wiring.port(host.switch, host.port)

    with bridges.built(planned) as (daemons, wiring):
        load.load(daemons, planned, wiring)
        captures = {host: tmp_path / f"{host.name}.pcap" for host in planned.hosts}
        for host, capture in captures.items():
            setting = f"options:tx_pcap={capture}"
            daemons.configure("set", "interface", port(host), setting)
        with ControlSocket(daemons.control) as ask:
            for host, capture in captures.items():
                assert assigned(ask, port(host), capture, FACTORY) == host.mac
                # A host that has its address asks twice and is given it again.
                assert assigned(ask, port(host), capture, host.mac) == host.mac
        received = {host.name: len(sent_back(capture, 3)) for host, capture in captures.items()}
    assert received == {host.name: 3 for host in planned.hosts}
