"""Rules as contents of maps: what is kept, in which order it is found, and what is refused."""

import random
import struct
from dataclasses import replace

import pytest

from etherweave.control.ebpf import maps
from etherweave.control.ebpf.match import MaskPosition, Ternary, arrange
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
    Move,
    Output,
    PortPlan,
    Purpose,
    SetField,
    SwitchPlan,
    ToGroup,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from etherweave.control.rules import MatchField as Field

HOST = 0x020000000001
EMPTY = SwitchPlan("s1", 1, (), (), (), (), {})
WIRES = {1: maps.PortLink(11, 10**9), 2: maps.PortLink(12, 10**11)}


def switch(*rules: FlowRule, **others: object) -> SwitchPlan:
    return replace(EMPTY, rules=rules, **others)  # type: ignore[arg-type]


def forward(priority: int, *match: Field, to: int = 1) -> FlowRule:
    return FlowRule(FORWARD_TABLE, priority, match, (Output(to),))


def of(name: str, switch: SwitchPlan) -> list[maps.MapEntry]:
    return [entry for entry in maps.entries(switch, WIRES) if entry.map == name]


@pytest.mark.parametrize("seed", range(20))
def test_the_first_rule_found_mask_by_mask_is_the_first_of_the_table(seed: int) -> None:
    source = random.Random(seed)
    words = [source.getrandbits(6) for _ in range(8)]
    rules = []
    for _ in range(30):
        mask = source.choice(words)
        rules.append(Ternary(source.getrandbits(6) & mask, mask))
    masks, places = arrange(rules)
    assert len(masks) <= len(rules)
    for packet in range(64):
        first = next((n for n, rule in enumerate(rules) if packet & rule.mask == rule.value), None)
        by_mask = (
            places.index(MaskPosition(number, packet & mask))
            for number, mask in enumerate(masks)
            if MaskPosition(number, packet & mask) in places
        )
        assert next(by_mask, None) == first


def test_rules_of_one_mask_share_it_whatever_their_priorities() -> None:
    # 1,000 hosts under one mask, then 10 groups under another: two look-ups, not 1,010.
    hosts = [Ternary(n, 0xFFFF) for n in range(1000)]
    groups = [Ternary(n << 12, 0xF000) for n in range(10)]
    masks, _ = arrange([*hosts, *groups])
    assert masks == [0xFFFF, 0xF000]


def test_an_alternative_of_the_same_match_stands_under_a_mask_of_its_own() -> None:
    masks, places = arrange([Ternary(5, 7), Ternary(5, 7), Ternary(4, 7)])
    assert masks == [7, 7]
    assert [place.mask for place in places] == [0, 1, 1]


def test_a_rule_has_its_fields_where_the_program_reads_them() -> None:
    match = (Field("metadata", 0, 1 << 5), Field("in_port", 2), Field("eth_dst", HOST))
    second = WriteMetadata(1 << CLASS_BIT, CLASS_MASK)
    later = (WriteActions((Output(7),)), second, GoTo(CLASS_TABLE))
    rule = FlowRule(FORWARD_TABLE, 9, match, (), later)
    changes = tuple(_change(at, *priorities) for at, priorities in enumerate([(3, 2), (2, 3)]))
    (entry,) = of("rules", switch(rule, *changes, pause_bits={4: 5}))
    # `struct match`: destination and EtherType, source and port, tag, number of the mask.
    assert struct.unpack("=QQII", entry.key) == (HOST << 16, 2, 0, 0)
    # `struct rule`: counters, number, OUTPUT, port, unless port 4 pauses, priority.
    assert struct.unpack("=QQIHHHHI", entry.value) == (0, 0, 0, 1, 7, 4, 3, 0)
    (mask,) = of("masks", switch(rule, *changes, pause_bits={4: 5}))
    assert struct.unpack("=QQII", mask.value) == ((1 << 48) - 1 << 16, 0xFFFF, 0, 0)
    (settings,) = of("settings", switch(rule, *changes, pause_bits={4: 5}))
    assert struct.unpack("=IIQII", settings.value)[-1] == 0b1100, "rules move 2 and 3"


def _change(place: int, before: int, after: int) -> FlowRule:
    """Change the tag of packets whose rule wrote another priority."""
    written = Field("metadata", place << CLASS_BIT, CLASS_MASK)
    match = (written, Field("vlan_vid", 0x1000, 0x1000), Field("vlan_pcp", before))
    return FlowRule(CLASS_TABLE, 1, match, (SetField("vlan_pcp", after),), (), Purpose.PRIORITY)


def test_a_port_learns_its_duties_from_the_rules_of_admission() -> None:
    rules = (
        FlowRule(
            *(INGRESS_ACL_TABLE, 300),
            (Field("in_port", 1), Field("eth_type", 0x88B5)),
            (SetField("eth_src", HOST), Output(IN_PORT)),
            (UseMeter(1),),
            Purpose.DMP,
        ),
        FlowRule(
            *(INGRESS_ACL_TABLE, 200),
            (Field("in_port", 1), Field("eth_src", HOST)),
            (),
            (GoTo(UNKNOWN_DESTINATION_TABLE),),
            Purpose.INGRESS_ACL,
        ),
        FlowRule(
            *(INGRESS_ACL_TABLE, 200),
            (Field("in_port", 2),),
            (),
            (GoTo(SERVICE_TABLE),),
            Purpose.INGRESS_ACL,
        ),
    )
    host, other = of("ports", switch(*rules, meters=(Meter(1, 10, 5),)))
    # 1 Gb/s: 512 ns a quantum. 10 answers a second: one each 100 ms; a burst of 5 runs 4 ahead.
    assert struct.unpack("=I4B8BQQQQ", host.value) == (
        *(11, 1, 1, 1, 0),
        *range(8),
        *(HOST, 512_000, 100_000_000, 400_000_000),
    )
    assert struct.unpack("=I4B8BQQQQ", other.value) == (
        *(12, 0, 0, 0, 0),
        *range(8),
        *(0, 5_120, 0, 0),
    )


def test_destinations_that_somebody_has_stand_before_the_table() -> None:
    everybody = Field("eth_dst", 0x020000000000, 0xFFFFFF000000)
    known = FlowRule(
        UNKNOWN_DESTINATION_TABLE,
        1,
        (everybody,),
        (),
        (GoTo(SERVICE_TABLE),),
        Purpose.KNOWN_DESTINATION,
    )
    (settings,) = of("settings", switch(forward(1, Field("in_port", 1)), known))
    assert struct.unpack("=IIQII", settings.value)[:2] == (1, 2)


def test_classes_count_where_the_plan_has_a_vector_for_each() -> None:
    def pauses(*match: Field) -> SwitchPlan:
        steps = (WriteMetadata(0, 1), GoTo(FORWARD_TABLE))
        return switch(FlowRule(SERVICE_TABLE, 0, match, (), steps, Purpose.PAUSE_VECTOR))

    def by_class(switch: SwitchPlan) -> int:
        (settings,) = of("settings", switch)
        return int(struct.unpack("=IIQII", settings.value)[3])

    tagged = (Field("vlan_vid", 0x1000, 0x1000), Field("vlan_pcp", 5))
    assert by_class(pauses()) == 0
    assert by_class(pauses(*tagged)) == 1


def test_equal_sets_of_ports_are_stored_once() -> None:
    both = ToGroup(4)
    rules = [FlowRule(FORWARD_TABLE, n, (Field("in_port", n),), (both,)) for n in (1, 2)]
    (group,) = of("groups", switch(*rules, groups=(Group(4, (5, 6)),)))
    assert struct.unpack_from("=I3H", group.value) == (2, 5, 6, 0)


def test_64_ports_can_be_watched() -> None:
    bits = {port: 64 - port for port in range(1, 65)}
    rules = [forward(1, Field("metadata", 0, 1 << bits[p]), Field("in_port", p)) for p in bits]
    watched = [
        struct.unpack("=QQIHHHHI", entry.value)
        for entry in of("rules", switch(*rules, pause_bits=bits))
    ]
    assert {number + 1: unless for _, _, number, _, _, unless, _, _ in watched} == {
        port: port for port in bits
    }


def test_waiting_and_pauses_need_no_entry() -> None:
    wait = FlowRule(FORWARD_TABLE, 0, (), (Output(2),), (), Purpose.WAIT)
    vector = FlowRule(SERVICE_TABLE, 0, (), (), (GoTo(FORWARD_TABLE),), Purpose.PAUSE_VECTOR)
    assert of("rules", switch(wait, vector)) == []


MANY_MASKS = [
    forward(n, Field("eth_dst", 0, 0x010000000000 | n), Field("in_port", 1))
    for n in range(maps.MASKS_MAX + 1)
]
MANY_GROUPS = [Group(n, (1 + n // 100, 10 + n % 100)) for n in range(maps.GROUPS_MAX + 1)]
MOVE = Move("arp_tpa", 0, "reg0", 0, 32)


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        (switch(*MANY_MASKS), "switch s1, masks: 257; the eBPF switch takes at most 256"),
        (
            switch(
                *(FlowRule(FORWARD_TABLE, 1, (Field("eth_dst", g.number),), (ToGroup(g.number),))
                  for g in MANY_GROUPS),
                groups=tuple(MANY_GROUPS),
            ),
            "sets of ports: 1025; the eBPF switch takes at most 1024",
        ),
        (
            switch(*[forward(1, Field("eth_dst", 0))] * 65537),
            "rules: 65537; the eBPF switch takes at most 65536",
        ),
        (switch(ports=(PortPlan(129, "s2", 1, False),)), "port number: 129; .* at most 128"),
        (switch(forward(1, to=200)), r"\(forward\): output to 200: expected a port up to 128"),
        (switch(forward(1, Field("arp_op", 1))), "matches arp_op: expected metadata or one of"),
        (switch(forward(1, Field("metadata", 0, 3))), "metadata=0x0/0x3: expected 0 of one bit"),
        (switch(forward(1, Field("metadata", 1, 1))), "metadata=0x1/0x1: expected 0 of one bit"),
        (switch(forward(1, Field("metadata", 0, 1 << 64))), "expected 0 of one bit of 64"),
        (switch(forward(1, Field("metadata", 0, 4))), "rule 0: no port has bit 2 of the"),
        (switch(forward(1, Field("eth_dst", 3, 2))), "eth_dst=0x3/0x2: expected 48"),
        (switch(forward(1, Field("eth_dst", 1 << 48))), "expected 48"),
        (switch(FlowRule(FORWARD_TABLE, 1, (), (ToGroup(3),))), "group 3: not among the groups"),
        (switch(FlowRule(FORWARD_TABLE, 1, (), (MOVE,))), "expected ports or a group"),
        (
            switch(FlowRule(FORWARD_TABLE, 1, (), (), (GoTo(CLASS_TABLE),))),
            "no rule changes to priority 0",
        ),
        (
            switch(FlowRule(SERVICE_TABLE, 1, (), (MOVE, Output(IN_PORT)), (), Purpose.RESOLVE)),
            'rule 0: resolve; expected control.resolution = "broadcast"',
        ),
        (
            switch(FlowRule(INGRESS_ACL_TABLE, 1, (), (), (), Purpose.REWRITE)),
            'rule 0: rewrite; expected control.addresses = "dmp"',
        ),
        (
            switch(
                FlowRule(
                    *(INGRESS_ACL_TABLE, 1),
                    (Field("in_port", 1), Field("arp_sha", HOST)),
                    (),
                    (GoTo(UNKNOWN_DESTINATION_TABLE),),
                    Purpose.INGRESS_ACL,
                )
            ),
            'port 1 admits by arp_sha; expected control.anti_spoofing "none" or "mac"',
        ),
    ],
)  # fmt: skip
def test_what_the_program_cannot_do_is_refused(switch: SwitchPlan, said: str) -> None:
    with pytest.raises(maps.MapError, match=said):
        maps.entries(switch, WIRES)
