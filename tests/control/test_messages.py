"""Rules as OpenFlow 1.3 messages: read back by Open vSwitch and by os-ken."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from etherweave.control import messages, oxm, text
from etherweave.control.messages import BundleStep, Cookie, FlowCommand, ModCommand
from etherweave.control.rules import (
    CONTROLLER,
    IN_PORT,
    FlowRule,
    GoTo,
    Group,
    Meter,
    Move,
    Output,
    SetField,
    ToGroup,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from etherweave.control.rules import MatchField as Is
from support import needs

ARP = (Is("in_port", 3), Is("eth_type", 0x806), Is("arp_op", 1))
RULES = [
    FlowRule(2, 100, (Is("eth_dst", 0x020100000000, 0xFFFF00000000),), (Output(7),)),
    FlowRule(2, 0, (), ()),
    FlowRule(2, 65535, (Is("metadata", 0, 1 << 63), Is("eth_dst", 1, 1)), (ToGroup(9),)),
    FlowRule(0, 900, (Is("in_port", 1),), (), (GoTo(1),)),
    FlowRule(1, 0, (), (), (WriteMetadata(1 << 63, 2**64 - 1), GoTo(2))),
    FlowRule(3, 7, (), (), (WriteActions((Output(3),)), WriteMetadata(1 << 61, 7 << 61), GoTo(4))),
    FlowRule(0, 5, (Is("vlan_vid", 0x1000, 0x1000), Is("vlan_pcp", 3)), (Output(2), Output(4))),
    FlowRule(0, 1000, (Is("in_port", 1), Is("eth_type", 0x88B5)),
         (SetField("eth_src", 0x020000000001), Output(IN_PORT)), (UseMeter(1),)),
    FlowRule(0, 1000, (Is("eth_type", 0x88CC),), (Output(CONTROLLER),)),
    FlowRule(1, 10, (*ARP, Is("arp_tpa", 0x0A000000, 0xFF000000)),
         (Move("arp_spa", 0, "reg0", 0, 32), Move("arp_tpa", 8, "arp_tha", 16, 24),
          SetField("arp_op", 2), SetField("arp_spa", 0x0A000001), Output(IN_PORT)),
         (UseMeter(3), GoTo(2))),
]  # fmt: skip
"""One of every kind: fields with and without masks, every action, every instruction."""


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes], list[str]]:
    """Let Open vSwitch read messages."""
    needs.require("ovs")

    def reading(octets: bytes) -> list[str]:
        (tmp_path / "messages").write_bytes(octets)
        return ofctl("ofp-parse", str(tmp_path / "messages"))

    return reading


def ofctl(*words: str) -> list[str]:
    done = subprocess.run(["ovs-ofctl", "-O", "OpenFlow13", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def osken() -> Any:
    """Return a factory of os-ken's messages of OpenFlow 1.3."""
    from os_ken.ofproto.ofproto_protocol import ProtocolDesc

    return ProtocolDesc(version=4)


def parsed(osken: Any, octets: bytes) -> Any:
    from os_ken.ofproto import ofproto_parser

    return ofproto_parser.msg(osken, *messages.HEADER.unpack_from(octets), octets)


def add(rule: FlowRule, xid: int = 1) -> bytes:
    return messages.flow_mod(rule, FlowCommand.ADD, xid=xid)


@pytest.mark.parametrize("rule", RULES, ids=text.flow)
def test_open_vswitch_reads_a_flow_mod_as_it_reads_the_text_of_the_rule(
    rule: FlowRule, read: Callable[[bytes], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "flow").write_text(text.flow(rule) + "\n", encoding="utf-8")
    *_, said = ofctl("parse-flows", str(tmp_path / "flow"))
    assert read(add(rule)) == [said]


@pytest.mark.parametrize("command", FlowCommand)
@pytest.mark.parametrize("rule", RULES, ids=text.flow)
def test_os_ken_writes_octets_as_it_reads(rule: FlowRule, command: FlowCommand, osken: Any) -> None:
    octets = messages.flow_mod(rule, command, cookie=Cookie(0x45570001, 0xFFFF0000), xid=77)
    flow_mod = parsed(osken, octets)
    assert (flow_mod.table_id, flow_mod.priority) == (rule.table, rule.priority)
    assert (flow_mod.cookie, flow_mod.cookie_mask) == (0x45570001, 0xFFFF0000)
    assert (flow_mod.command, flow_mod.xid) == (command, 77)
    assert (flow_mod.idle_timeout, flow_mod.hard_timeout, flow_mod.flags) == (0, 0, 0)
    flow_mod.serialize()
    assert bytes(flow_mod.buf) == octets


def test_os_ken_finds_the_fields_of_a_match_with_their_masks(osken: Any) -> None:
    flow_mod = parsed(osken, add(RULES[2]))
    assert dict(flow_mod.match.items()) == {
        "metadata": (0, 1 << 63),
        "eth_dst": ("00:00:00:00:00:01", "00:00:00:00:00:01"),
    }


def test_bits_that_a_mask_leaves_out_are_zero_on_the_wire() -> None:
    octets = oxm.encode(Is("arp_tpa", 0x0A000001, 0xFFFFFF00))
    # Class 0x8000, field 23 with mask: 23 << 1 | 1 = 0x2f, 8 octets of value and mask.
    assert octets == bytes.fromhex("80002f08 0a000000 ffffff00")


@pytest.mark.parametrize("field", oxm.FIELDS.values(), ids=lambda field: field.name)
def test_os_ken_knows_every_field_by_number_and_length(field: oxm.Field, osken: Any) -> None:
    name, value, mask, _ = osken.ofproto.oxm_parse(oxm.encode(Is(field.name, 1)), 0)
    # os-ken hands over the number of the field and what stands behind the header.
    assert osken.ofproto.oxm_to_user(name, value, mask)[0] == field.name
    assert len(value) == field.octets


def test_fields_are_read_back() -> None:
    tests = (*ARP, Is("metadata", 5, 0xFF), Is("eth_dst", 1))
    assert oxm.decode(b"".join(map(oxm.encode, tests))) == tests
    assert oxm.decode(oxm.encode(Is("in_port", 3, 0xFFFFFFFF))) == (Is("in_port", 3),)


@pytest.mark.parametrize(
    "octets",
    ["80", "80000004", "8000000400", "800000020001", "0001000400000001", "8000fe0400000001"],
    ids=["header", "nothing", "value", "length", "class", "number"],
)
def test_fields_cut_short_or_unknown_are_rejected(octets: str) -> None:
    assert oxm.decode(bytes.fromhex(octets)) is None


def test_a_value_that_its_field_cannot_hold_is_an_error() -> None:
    with pytest.raises(OverflowError):
        oxm.encode(Is("vlan_pcp", 256))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ModCommand.ADD,
            "ADD group_id=9,type=select,bucket=actions=output:1,bucket=actions=output:300",
        ),
        (
            ModCommand.MODIFY,
            "MOD group_id=9,type=select,bucket=actions=output:1,bucket=actions=output:300",
        ),
        (ModCommand.DELETE, "DEL group_id=9,type=select"),
    ],
)
def test_open_vswitch_reads_groups(
    command: ModCommand, said: str, read: Callable[[bytes], list[str]]
) -> None:
    octets = messages.group_mod(Group(9, (1, 300)), command)
    assert read(octets) == ["OFPT_GROUP_MOD (OF1.3) (xid=0x0):", f" {said}"]


def test_a_group_is_what_os_ken_writes(osken: Any) -> None:
    parser, known = osken.ofproto_parser, osken.ofproto
    buckets = [
        parser.OFPBucket(1, known.OFPP_ANY, known.OFPG_ANY, [parser.OFPActionOutput(port, 0)])
        for port in (1, 300)
    ]
    wanted = parser.OFPGroupMod(osken, known.OFPGC_ADD, known.OFPGT_SELECT, 9, buckets)
    wanted.serialize()
    assert messages.group_mod(Group(9, (1, 300)), ModCommand.ADD) == bytes(wanted.buf)


@pytest.mark.parametrize("command", ModCommand)
def test_a_meter_is_what_os_ken_writes(command: ModCommand, osken: Any) -> None:
    parser, known = osken.ofproto_parser, osken.ofproto
    bands = [] if command is ModCommand.DELETE else [parser.OFPMeterBandDrop(1000, 50)]
    wanted = parser.OFPMeterMod(osken, command, (known.OFPMF_PKTPS | known.OFPMF_BURST), 2, bands)
    wanted.serialize()
    assert messages.meter_mod(Meter(2, 1000, 50), command) == bytes(wanted.buf)


@pytest.mark.parametrize("step", BundleStep)
def test_a_request_about_a_bundle_is_what_os_ken_writes(step: BundleStep, osken: Any) -> None:
    known = osken.ofproto
    both = known.ONF_BF_ATOMIC | known.ONF_BF_ORDERED
    wanted = osken.ofproto_parser.ONFBundleCtrlMsg(osken, 7, step, both, [])
    wanted.set_xid(6)
    wanted.serialize()
    assert messages.bundle_step(7, step, xid=6)[:8] == bytes(wanted.buf[:8])
    assert messages.bundle_step(7, step, xid=6) == bytes(wanted.buf)


def test_open_vswitch_reads_a_bundle(read: Callable[[bytes], list[str]]) -> None:
    (alone,) = read(add(RULES[0], xid=8))
    octets = messages.bundle_step(7, BundleStep.OPEN, xid=6)
    octets += messages.bundle_add(7, add(RULES[0], xid=8)) + messages.barrier(9)
    assert read(octets) == [
        "ONFT_BUNDLE_CONTROL (OF1.3) (xid=0x6):",
        " bundle_id=0x7 type=OPEN_REQUEST flags=atomic ordered",
        "ONFT_BUNDLE_ADD_MESSAGE (OF1.3) (xid=0x8):",
        " bundle_id=0x7 flags=atomic ordered",
        alone,
        "OFPT_BARRIER_REQUEST (OF1.3) (xid=0x9):",
    ]
