"""The fabric manager: ARP requests that switches intercept, and its replies."""

import struct
from pathlib import Path

import pytest

from etherweave.control.controller.resolver import directory, reply
from etherweave.control.dmp.capture import frames
from etherweave.control.ebpf.maps import MapError, entries
from etherweave.control.ovs import bridges
from etherweave.control.ovs.cases import FrameKind
from etherweave.control.ovs.oracle import ControlSocket
from etherweave.control.ovs.verify import VerifyOptions, verify
from etherweave.control.plan import PlannedDeployment, plan
from etherweave.control.rules import CONTROLLER, Output, Purpose
from support.controlled import controlled
from support.waiting import until

SQUARE: dict[str, object] = {"dragonfly": {"p": 2, "a": 2, "h": 1, "groups": 2}}
FACTORY = {f"host{number}": 0x00163E000000 + number for number in range(8)}
BROADCAST = 0xFFFFFFFFFFFF
ARP = struct.Struct("!6s6sHHHBBH6sI6sI")


def planned(**control: object) -> PlannedDeployment:
    spec = {"resolution": "manager", **control}
    is_rewritten = spec.get("addresses") == "rewrite"
    return plan({"topology": SQUARE, "control": spec}, factory=FACTORY if is_rewritten else None)


def arp(operation: int, sender: int, own: int, target: int, asked: int, to: int) -> bytes:
    """Write ARP: from ``sender`` with the address ``own`` about ``asked``."""
    ends = to.to_bytes(6), sender.to_bytes(6)
    form = (0x0806, 1, 0x0800, 6, 4, operation)
    body = (sender.to_bytes(6), own, target.to_bytes(6), asked)
    return ARP.pack(*ends, *form, *body).ljust(60, b"\0")


def test_a_request_is_answered_with_the_address_of_the_plan() -> None:
    hosts = planned().plan.hosts
    known = directory(hosts)
    asking, target = hosts[0], hosts[7]
    assert asking.ipv4 is not None and target.ipv4 is not None
    request = arp(1, asking.mac, asking.ipv4, 0, target.ipv4, BROADCAST)
    answer = arp(2, target.mac, target.ipv4, asking.mac, asking.ipv4, asking.mac)
    assert reply(known, request) == answer


@pytest.mark.parametrize(
    ("own", "asked", "operation"),
    [
        (0x0A800000, 0x0A800009, 1),  # An address that no host has.
        (0, 0x0A800007, 1),  # A probe.
        (0x0A800000, 0x0A800000, 1),  # An announcement.
        (0x0A800000, 0x0A800007, 2),  # A reply.
    ],
)
def test_what_a_reply_would_harm_is_not_answered(own: int, asked: int, operation: int) -> None:
    known = directory(planned().plan.hosts)
    assert reply(known, arp(operation, 0x020000000000, own, 0, asked, BROADCAST)) is None


def test_frames_that_are_no_arp_of_ipv4_are_not_answered() -> None:
    known = directory(planned().plan.hosts)
    request = arp(1, 0x020000000000, 0x0A800000, 0, 0x0A800007, BROADCAST)
    assert reply(known, request) is not None
    assert reply(known, request[:41]) is None
    for place in range(12, 21):
        assert reply(known, request[:place] + b"\xff" + request[place + 1 :]) is None


def test_the_first_switch_hands_requests_to_the_controller_behind_a_meter_of_their_own() -> None:
    for switch in planned(arp_rate=77).plan.switches:
        (probe, request, other) = (r for r in switch.rules if r.purpose is Purpose.RESOLVE)
        assert request.actions == (Output(CONTROLLER),)
        assert (probe.actions, other.actions) == ((), ())
        *_, meter = switch.meters
        assert (meter.packets_per_s, meter.number) == (77, max(p.number for p in switch.ports) + 2)


def test_the_switch_in_the_kernel_has_no_controller_to_ask() -> None:
    with pytest.raises(MapError, match=r'expected control\.resolution = "broadcast"'):
        entries(planned().plan.switches[0], {})


@pytest.mark.needs("ovs")
@pytest.mark.parametrize("addresses", ["dmp", "rewrite"])
def test_requests_reach_the_controller_only(addresses: str) -> None:
    report = verify(planned(addresses=addresses), VerifyOptions(pairs=20), FACTORY)
    assert report.is_good, report.findings[:3]
    assert report.followed[FrameKind.RESOLUTION] == 8


@pytest.mark.needs("ovs")
@pytest.mark.parametrize("addresses", ["dmp", "rewrite"])
def test_the_controller_answers_by_the_port_of_the_request(tmp_path: Path, addresses: str) -> None:
    made = planned(addresses=addresses).plan
    asking, target = made.hosts[0], made.hosts[7]
    assert asking.ipv4 is not None and target.ipv4 is not None
    own = FACTORY["host0"] if addresses == "rewrite" else asking.mac
    request = arp(1, own, asking.ipv4, 0, target.ipv4, BROADCAST)
    # The hierarchical address, also where switches rewrite frames.
    answer = arp(2, target.mac, target.ipv4, own, asking.ipv4, own)
    captures = {host.name: tmp_path / f"{host.name}.pcap" for host in made.hosts}
    with bridges.built(made) as (ovs, wiring), controlled(made) as controller:
        for host in made.hosts:
            setting = f"options:tx_pcap={captures[host.name]}"
            ovs.configure("set", "interface", wiring.port(host.switch, host.port), setting)
        bridges.connect(ovs, wiring, controller.controller.port)
        names = [switch.name for switch in made.switches]
        until(lambda: controller.has_installed(names), controller.log)
        with ControlSocket(ovs.control) as ask:
            ask.ask("netdev-dummy/receive", wiring.port(asking.switch, 1), request.hex())
        until(lambda: answer in arps(captures["host0"]), "the reply")
        assert controller.controller.facts["arp_replies_total"] == 1
        assert not any(arps(capture) for name, capture in captures.items() if name != "host0")


def arps(capture: Path) -> list[bytes]:
    return [frame for frame in frames(capture.read_bytes()) if frame[12:14] == b"\x08\x06"]
