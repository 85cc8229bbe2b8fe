"""The switch in the kernel, between interfaces of a namespace that the tests make and remove."""

import contextlib
import json
import os
import random
import select
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from etherweave.control.ebpf.attach import (
    AttachedSwitch,
    AttachError,
    KernelProgram,
    attached,
    kernel_program,
)
from etherweave.control.pause.frame import Pause, RatedInterface, encode
from etherweave.control.rules import (
    CLASS_BIT,
    CLASS_MASK,
    CLASS_TABLE,
    FORWARD_TABLE,
    IN_PORT,
    INGRESS_ACL_TABLE,
    SERVICE_TABLE,
    UNKNOWN_DESTINATION_TABLE,
    FlowRule,
    GoTo,
    Group,
    Meter,
    Output,
    Purpose,
    SetField,
    SwitchPlan,
    ToGroup,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from etherweave.control.rules import MatchField as Field
from etherweave.linux import namespaces
from support.wired_namespaces import inside, namespace, output, pair

pytestmark = pytest.mark.needs("ebpf")

PORTS = (1, 2, 3, 4)
SLOW = 10**6  # A rate at which 65,535 quanta take 33 s: longer than any test [b/s].
A, B = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
TAGGED = 0x1000  # ``vlan_vid`` of any tag.


class Wires(NamedTuple):
    """A namespace with an interface for every port; what is sent at their other ends comes in."""

    namespace: str
    ends: dict[int, socket.socket]

    def send(self, port: int, frame: Ether) -> None:
        self.ends[port].send(bytes(frame))

    def receive(self, port: int, within_s: float = 1.0) -> Ether | None:
        """Take the next frame that the switch sent to a port, its tag in its place."""
        if not select.select([self.ends[port]], [], [], within_s)[0]:
            return None
        octets, result, _, _ = self.ends[port].recvmsg(2048, 256)
        for _, _, auxiliary in result:
            # `struct tpacket_auxdata`: the kernel keeps tags beside frames (packet(7)).
            status, tci, tpid = struct.unpack("=I12xHH", auxiliary)
            if status & 0x10:
                octets = octets[:12] + struct.pack(">HH", tpid, tci) + octets[12:]
        return Ether(octets)

    def silent(self) -> bool:
        """Return whether no port has anything to say."""
        return not select.select(list(self.ends.values()), [], [], 0.05)[0]


@pytest.fixture(scope="module")
def wires() -> Iterator[Wires]:
    name = f"ew-ebpf-{os.getpid()}"
    with contextlib.ExitStack() as cleanup:
        cleanup.enter_context(namespace(name))
        for port in PORTS:
            pair(name, f"p{port}", f"h{port}")
        yield Wires(name, {port: cleanup.enter_context(inside(name, f"h{port}")) for port in PORTS})


@pytest.fixture(scope="module")
def loaded() -> Iterator[KernelProgram]:
    with kernel_program() as programs:
        yield programs


@contextlib.contextmanager
def switch(
    loaded: KernelProgram,
    wires: Wires,
    *rules: FlowRule,
    rate: int = SLOW,
    groups: tuple[Group, ...] = (),
    meters: tuple[Meter, ...] = (),
    datapath_id: int = 1,
) -> Iterator[AttachedSwitch]:
    bits = {port: port for port in PORTS}
    result = SwitchPlan("s1", datapath_id, (), rules, groups, meters, bits)
    plugs = {port: RatedInterface(f"p{port}", rate) for port in PORTS}
    with namespaces.inside(wires.namespace), attached(loaded, result, plugs) as switches:
        yield switches


def to(port: int, priority: int, *match: Field, unless: int | None = None) -> FlowRule:
    condition = () if unless is None else (Field("metadata", 0, 1 << unless),)
    return FlowRule(FORWARD_TABLE, priority, (*condition, *match), (Output(port),))


def frame(source: str = A, target: str = B) -> Ether:
    return Ether(src=source, dst=target, type=0x0800) / Raw(bytes(46))


def tagged(priority: int) -> Ether:
    return Ether(src=A, dst=B) / Dot1Q(prio=priority, vlan=7, type=0x0800) / Raw(bytes(46))


def pause(quanta: int) -> Ether:
    padding = Raw(bytes(42))
    return Ether(src=A, dst="01:80:c2:00:00:01") / MACControlPause(pause_time=quanta) / padding


def class_pause(priority: int, quanta: int) -> Ether:
    times = MACControlClassBasedFlowControl()
    times.setfieldval(f"c{priority}_enabled", 1)
    times.setfieldval(f"c{priority}_pause_time", quanta)
    return Ether(bytes(Ether(src=A, dst="01:80:c2:00:00:01") / times))


DEFAULT_AND_ALTERNATIVE = (to(2, 2, unless=2), to(3, 1, Field("in_port", 1)))
BY_CLASS = FlowRule(
    *(SERVICE_TABLE, 1),
    (Field("vlan_vid", TAGGED, TAGGED), Field("vlan_pcp", 0)),
    (),
    (WriteMetadata(0, 4), GoTo(FORWARD_TABLE)),
    Purpose.PAUSE_VECTOR,
)


def goes_to(wires: Wires, sent: Ether) -> int:
    """Send a frame into port 1, and return by which of ports 2 and 3 it left."""
    wires.send(1, sent)
    ready = select.select([wires.ends[2], wires.ends[3]], [], [], 1.0)[0]
    (port,) = (port for port in (2, 3) if wires.ends[port] in ready)
    wires.receive(port)
    return port


def test_a_frame_behind_a_pause_takes_the_alternative(loaded: KernelProgram, wires: Wires) -> None:
    with switch(loaded, wires, *DEFAULT_AND_ALTERNATIVE) as device:
        assert goes_to(wires, frame()) == 2
        wires.send(2, pause(65535))
        assert goes_to(wires, frame()) == 3
        wires.send(2, pause(0))
        assert goes_to(wires, frame()) == 2
        assert wires.silent(), "pauses are consumed"
        assert [device.rules()[number] for number in (0, 1)] == [2, 1]
        assert device.ports()[2]["pauses"] == 2


def test_a_pause_ends_by_itself_after_its_quanta(loaded: KernelProgram, wires: Wires) -> None:
    # 19,532 quanta at 100 Mb/s: 19,532 x 512 / 10^8 s = 100.0 ms.
    with switch(loaded, wires, *DEFAULT_AND_ALTERNATIVE, rate=10**8):
        start_s = time.monotonic()
        wires.send(2, pause(19_532))
        while goes_to(wires, frame()) == 3:
            assert time.monotonic() < start_s + 5
        assert time.monotonic() >= start_s + 0.1


def test_a_class_pauses_alone_where_the_plan_says_so(loaded: KernelProgram, wires: Wires) -> None:
    with switch(loaded, wires, *DEFAULT_AND_ALTERNATIVE, BY_CLASS) as device:
        wires.send(2, class_pause(5, 65535))
        went = {priority: goes_to(wires, tagged(priority)) for priority in range(8)}
        assert went == {priority: 3 if priority == 5 else 2 for priority in range(8)}
        assert goes_to(wires, frame()) == 2
        # Packets without a tag have priority 0.
        wires.send(2, class_pause(0, 65535))
        assert goes_to(wires, frame()) == 3
        wires.send(2, class_pause(5, 0))
        assert goes_to(wires, tagged(5)) == 2
        assert device.ports()[2]["class_pauses"] == 3


def test_any_class_pauses_a_port_of_one_vector(loaded: KernelProgram, wires: Wires) -> None:
    with switch(loaded, wires, *DEFAULT_AND_ALTERNATIVE):
        wires.send(2, class_pause(5, 65535))
        assert goes_to(wires, frame()) == 3
        assert goes_to(wires, tagged(1)) == 3


def test_with_all_ports_paused_the_default_is_taken(loaded: KernelProgram, wires: Wires) -> None:
    with switch(loaded, wires, to(2, 2, unless=2), to(3, 1, unless=3)):
        wires.send(2, pause(65535))
        assert goes_to(wires, frame()) == 3
        wires.send(3, pause(65535))
        assert goes_to(wires, frame()) == 2


@pytest.mark.parametrize(
    "odd",
    [
        bytes(Ether(dst=B, src=A, type=0x8808)) + b"\0\1\xff\xff",
        encode(Pause(1, 65535))[:16],
        bytes(Ether(dst="01:80:c2:00:00:01", src=A, type=0x8808)) + b"\1\1\0\xff" + b"\xff" * 15,
        bytes(Ether(dst="01:80:c2:00:00:01", src=A, type=0x8808)) + b"\0\2\xff\xff",
        bytes(Ether(dst="01:80:c2:00:00:01", src=A) / Dot1Q(type=0x8808)) + b"\0\1\xff\xff",
    ],
    ids=["to a host", "cut short", "timers missing", "other opcode", "tagged"],
)
def test_control_frames_not_by_the_standard_are_consumed_without_effect(
    loaded: KernelProgram, wires: Wires, odd: bytes
) -> None:
    with switch(loaded, wires, *DEFAULT_AND_ALTERNATIVE) as device:
        wires.ends[2].send(odd)
        assert goes_to(wires, frame()) == 2
        assert wires.silent()
        assert device.ports()[2]["dropped_control"] == 1


def test_dmp_is_answered_with_the_address_of_the_port(loaded: KernelProgram, wires: Wires) -> None:
    answer = (SetField("eth_src", 0x02000000000A), Output(IN_PORT))
    match = (Field("in_port", 1), Field("eth_type", 0x88B5))
    rule = FlowRule(INGRESS_ACL_TABLE, 300, match, answer, (UseMeter(1),), Purpose.DMP)
    request = Ether(src="52:54:00:00:00:01", dst="ff:ff:ff:ff:ff:ff", type=0x88B5) / Raw(b"?" * 46)
    with switch(loaded, wires, rule, meters=(Meter(1, 1, 3),)) as device:
        for _ in range(5):
            wires.send(1, request)
        answers = [wires.receive(1) for _ in range(3)]
        assert all(reply is not None and reply.src == A for reply in answers)
        assert answers[0] is not None
        assert bytes(answers[0])[12:] == bytes(request)[12:]
        wires.send(2, request)
        assert wires.silent(), "no request goes further, and no fourth answer comes"
        counts = device.ports()
        assert (counts[1]["answers"], counts[1]["dropped_rate"]) == (3, 2)
        assert counts[2]["dropped_request"] == 1


def admitted(port: int) -> FlowRule:
    own = (Field("in_port", port), Field("eth_src", 0x02000000000A))
    return FlowRule(
        INGRESS_ACL_TABLE, 200, own, (), (GoTo(UNKNOWN_DESTINATION_TABLE),), Purpose.INGRESS_ACL
    )


def test_a_host_sends_as_itself_to_known_addresses(loaded: KernelProgram, wires: Wires) -> None:
    known = Field("eth_dst", 0x020000000000, 0xFFFFFFFFFF00)
    rules = (
        admitted(1),
        FlowRule(
            UNKNOWN_DESTINATION_TABLE,
            20,
            (known,),
            (),
            (GoTo(SERVICE_TABLE),),
            Purpose.KNOWN_DESTINATION,
        ),
        to(2, 1),
    )
    with switch(loaded, wires, *rules) as device:
        wires.send(1, frame())
        assert wires.receive(2) is not None
        wires.send(1, frame(source=B))
        wires.send(1, frame(target="02:00:00:00:01:0b"))
        assert wires.silent()
        counts = device.ports()[1]
        assert (counts["dropped_spoofed"], counts["dropped_unknown"]) == (1, 1)
        # Links between switches carry anything.
        wires.send(3, frame(source=B, target="02:00:00:00:01:0b"))
        assert wires.receive(2) is not None


def test_broadcasts_leave_by_the_tree_s_other_ports(loaded: KernelProgram, wires: Wires) -> None:
    tree = tuple(Output(port) for port in (1, 2, 4))
    match = (Field("eth_dst", 0xFFFFFFFFFFFF),)
    rule = FlowRule(SERVICE_TABLE, 200, match, tree, (), Purpose.BROADCAST)
    shout = frame(target="ff:ff:ff:ff:ff:ff")
    with switch(loaded, wires, rule, to(3, 1)) as device:
        wires.send(1, shout)
        assert [bytes(wires.receive(port) or b"") for port in (2, 4)] == [bytes(shout)] * 2
        assert wires.silent()
        assert device.rules()[0] == 1
        assert [device.ports()[port]["sent_packets"] for port in (2, 4)] == [1, 1]


def test_frames_of_a_link_are_not_forwarded(loaded: KernelProgram, wires: Wires) -> None:
    with switch(loaded, wires, to(2, 1)) as device:
        wires.send(1, frame(target="01:80:c2:00:00:0e"))
        assert wires.silent()
        assert device.ports()[1]["dropped_reserved"] == 1


def test_what_goes_nowhere_is_counted_by_its_reason(loaded: KernelProgram, wires: Wires) -> None:
    refused = FlowRule(FORWARD_TABLE, 3, (Field("eth_dst", 0x02000000000B),), ())
    rules = (refused, to(1, 2, Field("eth_dst", 0x02000000000C)))
    with switch(loaded, wires, *rules, to(9, 1, Field("eth_dst", 0x02000000000D))) as device:
        for last in "bcde":
            wires.send(1, frame(target=f"02:00:00:00:00:0{last}"))
        assert wires.silent()
        counts = device.ports()[1]
        reasons = ("refused", "back", "unplugged", "unmatched")
        assert [counts[f"dropped_{reason}"] for reason in reasons] == [1, 1, 1, 1]
        assert (counts["received_packets"], counts["received_octets"]) == (4, 4 * 60)


def change(place: int, before: int, after: int) -> FlowRule:
    """Change the tag of packets whose rule wrote another priority."""
    written = Field("metadata", place << CLASS_BIT, CLASS_MASK)
    match = (written, Field("vlan_vid", TAGGED, TAGGED), Field("vlan_pcp", before))
    return FlowRule(CLASS_TABLE, 1, match, (SetField("vlan_pcp", after),), (), Purpose.PRIORITY)


def in_second(rule: FlowRule) -> FlowRule:
    """Let a rule send lossless packets in the second priority."""
    second = WriteMetadata(1 << CLASS_BIT, CLASS_MASK)
    steps = (WriteActions(rule.actions), second, GoTo(CLASS_TABLE))
    return rule._replace(actions=(), instructions=steps)


TWO_CLASSES = (change(0, 4, 3), change(1, 3, 4))


def test_a_rule_writes_priorities_of_lossless_packets(loaded: KernelProgram, wires: Wires) -> None:
    with switch(loaded, wires, in_second(to(2, 1)), *TWO_CLASSES):
        for before, after in ((3, 4), (4, 4), (5, 5)):
            wires.send(1, tagged(before))
            left = wires.receive(2)
            assert left is not None
            assert (left[Dot1Q].prio, left[Dot1Q].vlan, left[Dot1Q].type) == (after, 7, 0x0800)
        wires.send(1, frame())
        plain = wires.receive(2)
        assert plain is not None
        assert bytes(plain) == bytes(frame())


def test_the_kernel_queues_a_frame_in_the_priority_that_it_leaves_in(
    loaded: KernelProgram, wires: Wires, tmp_path: Path
) -> None:
    data, before, after = (tmp_path / name for name in ("data", "before", "after"))
    before.write_bytes(bytes(40) + struct.pack("=I", _indices(wires)["p1"]))
    with switch(loaded, wires, in_second(to(2, 1)), *TWO_CLASSES) as device:
        for sent, expected in ((tagged(3), 4), (tagged(5), 5), (frame(), 0)):
            data.write_bytes(bytes(sent))
            files = ["data_in", str(data), "ctx_in", str(before), "ctx_out", str(after)]
            program = ["bpftool", "prog", "run", "pinned", str(device.pins / "switch"), *files]
            output("ip", "netns", "exec", wires.namespace, *program)
            # `struct __sk_buff`: the ninth word is `priority`.
            assert struct.unpack_from("=I", after.read_bytes(), 32) == (expected,)


def test_pauses_count_in_the_priority_that_is_written(loaded: KernelProgram, wires: Wires) -> None:
    default, alternative = DEFAULT_AND_ALTERNATIVE
    rules = (in_second(default), alternative, *TWO_CLASSES, BY_CLASS)
    with switch(loaded, wires, *rules):
        wires.send(2, class_pause(3, 65535))
        assert (goes_to(wires, tagged(3)), goes_to(wires, frame())) == (2, 2)
        wires.send(2, class_pause(4, 65535))
        assert (goes_to(wires, tagged(3)), goes_to(wires, tagged(5))) == (3, 2)


def test_a_port_may_raise_the_priority_of_pauses(loaded: KernelProgram, wires: Wires) -> None:
    match = (Field("in_port", 1), Field("vlan_vid", TAGGED, TAGGED), Field("vlan_pcp", 3))
    actions, onward = (SetField("vlan_pcp", 4),), (GoTo(SERVICE_TABLE),)
    raised = FlowRule(INGRESS_ACL_TABLE, 210, match, actions, onward, Purpose.PRIORITY)
    with switch(loaded, wires, raised, *DEFAULT_AND_ALTERNATIVE, BY_CLASS):
        for priority, expected in ((3, 4), (5, 5)):
            wires.send(1, tagged(priority))
            left = wires.receive(2)
            assert left is not None
            assert (left[Dot1Q].prio, left[Dot1Q].vlan) == (expected, 7)
        wires.send(2, class_pause(3, 65535))
        assert goes_to(wires, tagged(3)) == 2
        wires.send(2, class_pause(4, 65535))
        assert goes_to(wires, tagged(3)) == 3


def test_groups_keep_flows_on_one_port_and_spread_them(loaded: KernelProgram, wires: Wires) -> None:
    rule = FlowRule(FORWARD_TABLE, 1, (), (ToGroup(1),))
    flows = [frame(source=f"02:00:00:00:01:{number:02x}") for number in range(32)]
    chosen = []
    for datapath_id in (1, 2):
        with switch(loaded, wires, rule, groups=(Group(1, (2, 3)),), datapath_id=datapath_id):
            once = [goes_to(wires, flow) for flow in flows]
            assert [goes_to(wires, flow) for flow in flows] == once
            assert set(once) == {2, 3}
            chosen.append(once)
    assert chosen[0] != chosen[1], "switches choose each for itself"


def test_everything_is_gone_afterwards(loaded: KernelProgram, wires: Wires) -> None:
    before = list(loaded.pins.glob("switch-*"))
    with switch(loaded, wires, to(2, 1)):
        pass
    assert list(loaded.pins.glob("switch-*")) == before
    show = ["tc", "-n", wires.namespace, "filter", "show", "dev", "p1", "ingress"]
    assert subprocess.run(show, capture_output=True, text=True).stdout == ""
    with kernel_program() as other:
        assert other.pins.is_mount()
    assert not other.pins.exists()


def test_a_missing_interface_is_named(loaded: KernelProgram, wires: Wires) -> None:
    empty = SwitchPlan("s1", 1, (), (), (), (), {})
    with (
        pytest.raises(AttachError, match="s1: no interface nothing"),
        namespaces.inside(wires.namespace),
        attached(loaded, empty, {1: RatedInterface("nothing", SLOW)}),
    ):
        pass


def test_every_frame_is_counted_once_whatever_it_is(loaded: KernelProgram, wires: Wires) -> None:
    source = random.Random(6)
    types = (b"\x08\x00", b"\x88\x08", b"\x88\xb5", b"\x81\x00", b"\x88\xa8")
    ends = (bytes.fromhex("0180c2000001"), bytes.fromhex("0180c2000002"), b"\2\0\0\0\0\x0b")
    rules = (to(2, 2, Field("eth_dst", 0x02000000000B), unless=2), to(1, 1))
    with switch(loaded, wires, *rules) as device:
        for _ in range(500):
            head = source.choice([*ends, source.randbytes(6)]) + source.randbytes(6)
            kind = source.choice([*types, source.randbytes(2)])
            # The kernel itself drops tags that are cut short.
            body = source.choice((b"", b"\0\1", b"\1\1")) + source.randbytes(
                source.randrange(6, 80)
            )
            wires.ends[1].send(head + kind + body)
        counts = device.ports()
    result = ("pauses", "class_pauses", "answers")
    ended = sum(n for name, n in counts[1].items() if name in result or name.startswith("dropped"))
    assert counts[1]["received_packets"] == 500
    assert ended + counts[2]["sent_packets"] == 500
    assert min(counts[1][name] for name in ("pauses", "class_pauses", "dropped_back")) > 0
    while not wires.silent():
        wires.receive(2)


class Packet(NamedTuple):
    dst: int
    src: int
    in_port: int
    priority: int | None  # Priority in its tag; none: it has no tag.

    def octets(self) -> bytes:
        tag = b"" if self.priority is None else struct.pack(">HH", 0x8100, self.priority << 13)
        ends = self.dst.to_bytes(6) + self.src.to_bytes(6)
        return ends + tag + b"\x08\0" + bytes(46)


def random_packet(source: random.Random) -> Packet:
    priority = source.choice((None, 0, 3, 5))
    return Packet(source.getrandbits(4), source.getrandbits(4), source.choice(PORTS), priority)


def decided(rules: list[FlowRule], packet: Packet, paused: set[int]) -> int | None:
    """`FlowTable::lookup` of the core, over again: the number of the rule that decides."""

    def matches(rule: FlowRule) -> bool:
        seen = {"eth_dst": packet.dst, "eth_src": packet.src, "in_port": packet.in_port}
        tests = [test for test in rule.match if test.field != "metadata"]
        return all(seen[test.field] & (test.mask or 0xFFFF) == test.value for test in tests)

    def is_out_of_force(rule: FlowRule) -> bool:
        masks = [test.mask or 0 for test in rule.match if test.field == "metadata"]
        return any(mask == 1 << port for mask in masks for port in paused)

    order = sorted(range(len(rules)), key=lambda number: -rules[number].priority)
    matching = [number for number in order if matches(rules[number])]
    in_force = [number for number in matching if not is_out_of_force(rules[number])]
    return next(iter(in_force or matching), None)


def random_rule(source: random.Random) -> FlowRule:
    """A rule over addresses of four bits."""
    tests = [Field("metadata", 0, 1 << source.choice(PORTS))] if source.random() < 0.7 else []
    if source.random() < 0.3:
        tests.append(Field("in_port", source.choice(PORTS)))
    for field, chance in (("eth_dst", 1.0), ("eth_src", 0.5)):
        mask = source.choice((0b1111, 0b1110, 0b1100, 0b0101))
        if source.random() < chance:
            tests.append(Field(field, source.getrandbits(4) & mask, mask))
    return FlowRule(
        FORWARD_TABLE, source.randrange(6), tuple(tests), (Output(source.choice(PORTS)),)
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_kernel_decides_like_the_flow_table_of_the_core(
    loaded: KernelProgram, wires: Wires, tmp_path: Path, seed: int
) -> None:
    source = random.Random(seed)
    rules = [random_rule(source) for _ in range(24)]
    ports = {port for port in PORTS if source.random() < 0.3}
    classes = {(port, c) for port in PORTS for c in (0, 3, 5) if source.random() < 0.4}
    packets = [random_packet(source) for _ in range(100)]
    with switch(loaded, wires, *rules, BY_CLASS) as device:
        for port in sorted(ports):
            wires.send(port, pause(65535))
        for port, traffic_class in sorted(classes):
            wires.send(port, class_pause(traffic_class, 65535))
        chosen = run(wires, device, packets, tmp_path)
    # Packets without a tag have priority 0.
    expected = [
        decided(rules, packet, ports | {port for port, c in classes if c == (packet.priority or 0)})
        for packet in packets
    ]
    assert chosen == expected
    assert len(set(expected)) > 3


def _indices(wires: Wires) -> dict[str, int]:
    """Numbers of the interfaces by name."""
    links = json.loads(output("ip", "-n", wires.namespace, "-j", "link"))
    return {link["ifname"]: link["ifindex"] for link in links}


def run(
    wires: Wires, attached_switch: AttachedSwitch, packets: list[Packet], place: Path
) -> list[int | None]:
    """Let the kernel run the program over packets, and return which rule counts each."""
    index = _indices(wires)
    commands = []
    for number, packet in enumerate(packets):
        data, context = place / f"{number}.data", place / f"{number}.context"
        data.write_bytes(packet.octets())
        # `struct __sk_buff`: the tenth word is `ifindex`.
        context.write_bytes(bytes(40) + struct.pack("=I", index[f"p{packet.in_port}"]))
        program = attached_switch.pins / "switch"
        commands += [
            f"prog run pinned {program} data_in {data} ctx_in {context}",
            f"map dump pinned {attached_switch.pins / 'rules'}",
        ]
    text = "\n".join(commands) + "\n"
    batch = ["ip", "netns", "exec", wires.namespace, "bpftool", "-j", "batch", "file", "-"]
    result = json.loads(output(*batch, text=text))
    dumps = [step["output"] for step in result if step["command"][0] == "map"]
    counts = [
        {row["formatted"]["value"]["number"]: row["formatted"]["value"]["packets"] for row in dump}
        for dump in dumps
    ]
    before = [dict.fromkeys(counts[0], 0), *counts]
    return [
        next((n for n in after if after[n] != earlier[n]), None)
        for earlier, after in zip(before, counts, strict=False)
    ]
