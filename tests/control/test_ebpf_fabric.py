"""Switches of a whole plan in the kernel, in a namespace that the tests make and remove."""

import contextlib
import os
import select
import socket
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from etherweave.control.ebpf.attach import AttachedSwitch, KernelProgram, attached, kernel_program
from etherweave.control.pause.frame import Pause, RatedInterface, encode
from etherweave.control.plan import plan
from etherweave.control.rules import FabricPlan, HostPlan, Purpose
from etherweave.control.rules import MatchField as Field
from etherweave.control.text import mac_text
from etherweave.linux import namespaces
from support.wired_namespaces import inside, namespace, pair

pytestmark = pytest.mark.needs("ebpf")

SLOW = 10**6  # A rate at which 65,535 quanta take 33 s: longer than any test [b/s].


class Fabric(NamedTuple):
    """A planned fabric at work: sockets in the place of hosts."""

    plan: FabricPlan
    switches: dict[str, AttachedSwitch]
    hosts: dict[str, socket.socket]

    def host_at(self, source: str, target: HostPlan) -> list[str]:
        """Send a frame from a host to another's address, and return which hosts receive it."""
        (sender,) = (host for host in self.plan.hosts if host.name == source)
        sent = Ether(src=mac_text(sender.mac), dst=mac_text(target.mac), type=0x0800) / Raw(
            bytes(46)
        )
        self.hosts[source].send(bytes(sent))
        reached: list[str] = []
        while ready := select.select(list(self.hosts.values()), [], [], 0.02 if reached else 1)[0]:
            for receiver in ready:
                assert receiver.recv(2048) == bytes(sent)
                reached += [name for name, end in self.hosts.items() if end is receiver]
        return reached


@pytest.fixture(scope="module")
def loaded() -> Iterator[KernelProgram]:
    with kernel_program() as programs:
        yield programs


@pytest.fixture(scope="module")
def dragonfly(loaded: KernelProgram) -> Iterator[Fabric]:
    """Three groups of two switches with one host each, one cable between any two groups."""
    planned = plan(
        {"topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}}, "control": {"rules": "conditional"}}
    ).plan
    name = f"ew-fabric-{os.getpid()}"
    numbers = {switch.name: number for number, switch in enumerate(planned.switches)}
    with contextlib.ExitStack() as cleanup:
        cleanup.enter_context(namespace(name))
        for switch in planned.switches:
            for port in switch.ports:
                own = f"s{numbers[switch.name]}-{port.number}"
                other = port.node if port.is_host else f"s{numbers[port.node]}-{port.node_port}"
                if port.is_host or own < other:
                    pair(name, own, other)
        hosts = {end.name: cleanup.enter_context(inside(name, end.name)) for end in planned.hosts}
        cleanup.enter_context(namespaces.inside(name))
        switches = {}
        for switch in planned.switches:
            own = f"s{numbers[switch.name]}"
            numbered = (port.number for port in switch.ports)
            plugs = {number: RatedInterface(f"{own}-{number}", SLOW) for number in numbered}
            switches[switch.name] = cleanup.enter_context(attached(loaded, switch, plugs))
        yield Fabric(planned, switches, hosts)


def test_every_host_of_a_plan_learns_its_address(dragonfly: Fabric) -> None:
    request = Ether(src="52:54:00:00:00:01", dst="ff:ff:ff:ff:ff:ff", type=0x88B5) / Raw(bytes(46))
    for host in dragonfly.plan.hosts:
        end = dragonfly.hosts[host.name]
        end.send(bytes(request))
        assert select.select([end], [], [], 1)[0]
        assert Ether(end.recv(2048)).src == mac_text(host.mac)


def test_every_host_of_a_plan_reaches_every_other_and_nobody_else(dragonfly: Fabric) -> None:
    for source in dragonfly.hosts:
        for target in dragonfly.plan.hosts:
            if target.name != source:
                assert dragonfly.host_at(source, target) == [target.name]


@pytest.mark.parametrize("group", [0xFFFFFFFFFFFF, 0x01005E0000FB, 0x011B19000000])
def test_a_frame_to_a_group_reaches_every_other_host_once(dragonfly: Fabric, group: int) -> None:
    everybody = HostPlan("", "", 0, group, None, "")
    for source in dragonfly.hosts:
        assert sorted(dragonfly.host_at(source, everybody)) == sorted(
            dragonfly.hosts.keys() - {source}
        )


def test_a_paused_cable_of_a_plan_is_gone_round_and_packets_arrive(dragonfly: Fabric) -> None:
    # The cable from group 0 to group 2 belongs to this switch, which has host 0.
    first = dragonfly.plan.switches[0]
    (cable,) = (port for port in first.ports if port.node.startswith("group2"))
    (local,) = (port for port in first.ports if port.node.startswith("group0"))
    target = next(host for host in dragonfly.plan.hosts if host.switch == cable.node)
    conditional = [
        number
        for number, rule in enumerate(first.rules)
        if Field("metadata", 0, 1 << first.pause_bits[local.number]) in rule.match
    ]
    alternative = [at for at, rule in enumerate(first.rules) if rule.purpose is Purpose.ALTERNATIVE]
    other = next(host for host in dragonfly.plan.hosts if host.switch.startswith("group1"))
    with paused(dragonfly, first.name, local.node):
        before = dragonfly.switches[first.name].rules()
        # To group 1 the minimal path is through the other switch of group 0; now, through group 2.
        assert dragonfly.host_at("host0", other) == [other.name]
        after = dragonfly.switches[first.name].rules()
    assert [after[n] - before[n] for n in alternative] == [1]
    assert [after[n] - before[n] for n in conditional] == [0]
    assert dragonfly.host_at("host0", target) == [target.name]


@contextlib.contextmanager
def paused(fabric: Fabric, switch: str, neighbour: str) -> Iterator[None]:
    numbers = [switch.name for switch in fabric.plan.switches]
    (port,) = (
        port for port in fabric.plan.switches[numbers.index(neighbour)].ports if port.node == switch
    )
    with inside(f"ew-fabric-{os.getpid()}", f"s{numbers.index(neighbour)}-{port.number}") as end:
        end.send(encode(Pause(1, 65535)))
        yield
        end.send(encode(Pause(1, 0)))
