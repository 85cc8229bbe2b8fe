"""Frames to groups: every host receives each once, or nobody does, in plans of every family."""

import random
import re
from collections import Counter

import pytest

import etherweave
from etherweave.control.plan import plan
from support.printed_rules import Frame, PrintedFabric

LINKS = "".join(f"{link},100Gb/s,3m\n" for link in ("h0,s0", "h1,s1", "h2,s2", "s0,s1", "s1,s2"))
FAMILIES: dict[str, dict[str, object]] = {
    "single_switch": {"hosts": 3},
    "fat_tree": {"leaves": 3, "hosts_per_leaf": 2, "cores": 2, "links_per_core": 2},
    "k_ary_fat_tree": {"k": 4},
    "staged_fat_tree": {"hosts_per_leaf": 1, "stages": [{"down": 2, "up": 2}, {"down": 2}]},
    "folded_clos": {"radix": 4, "hosts": 16, "uplinks": [{}, {}]},
    "rail_optimised": {"rails": 2, "servers": 4, "servers_per_pod": 2, "spines": 2},
    "flattened_butterfly": {"hosts_per_switch": 2, "sizes": [3, 3]},
    "hyperx": {"dimensions": [{"size": 2, "lag": 2}, {"size": 3}]},
    "dragonfly": {"p": 2, "a": 2, "h": 1},
    "dragonfly_plus": {"p": 2, "leaves": 2, "spines": 2, "h": 1, "groups": 3},
    "slim_fly": {"q": 4},
    "torus": {"dimensions": [{"size": 3}, {"size": 3}]},
    "mesh": {"dimensions": [{"size": 3}, {"size": 2}]},
    "custom": {"links": LINKS},
}
CONDITIONAL: dict[str, tuple[int, ...]] = {
    "fat_tree": (),
    "folded_clos": (),
    "flattened_butterfly": (3, 4, 5),
    "hyperx": (3, 4, 5),
    "dragonfly": (3, 4),
}
"""Families with conditional rules, and the priorities that keep them from deadlock."""

GROUPS = (0xFFFFFFFFFFFF, 0x333300000001, 0x01005E0000FB, 0x01005E7FFFFA, 0x011B19000000)
"""Broadcast; IPv6's nodes; mDNS and SSDP (RFC 1112, 6.4); IEEE 1588."""
RESERVED = (0x0180C2000000, 0x0180C2000003, 0x0180C200000F)
"""Addresses of bridges, of 802.1X, and the last (IEEE 802.1Q-2018, table 8-1)."""


def groups(chance: random.Random) -> list[int]:
    """Random groups beside those above, of all bits, and among the plans' own addresses."""
    low = [chance.getrandbits(bits) for bits in (4, 8, 48)]
    return [*GROUPS, 0x0180C2000010, *(0x030000000000 | bits for bits in low)]


def test_all_families_are_here() -> None:
    # The error for an unknown family names them all.
    with pytest.raises(etherweave.ScenarioError) as error:
        etherweave.fabric({"topology": {"hamster": {}}})
    assert set(re.findall(r"`(\w+)`", str(error.value))) - {"hamster"} == set(FAMILIES)


def check(family: str, paused: bool = False, **control: object) -> None:
    """Follow frames of a few hosts to all kinds of groups, tagged and not."""
    made = plan({"topology": {family: FAMILIES[family]}, "control": control})
    watched = ((switch.name, port) for switch in made.plan.switches for port in switch.pause_bits)
    fabric = PrintedFabric(made.plan, watched if paused else ())
    chance = random.Random(family)
    hosts = {host.name: host for host in made.plan.hosts}
    for name in chance.sample(sorted(hosts), 2):
        sender, tag = hosts[name], chance.choice((None, 0, 3, 4))
        for group in groups(chance):
            arrived = fabric.follow(name, Frame(group, sender.mac, vlan_pcp=tag))
            said = f"{family} {control}: {name} to {group:012x}"
            assert Counter(port.node for port in arrived) == Counter(hosts.keys() - {name}), said
        for group in RESERVED:
            assert fabric.follow(name, Frame(group, sender.mac, vlan_pcp=tag)) == [], f"{group:x}"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_group_reaches_every_host_once_whatever_its_address(family: str) -> None:
    check(family)
    check(family, resolution="responder", anti_spoofing="none")


@pytest.mark.parametrize("family", CONDITIONAL)
@pytest.mark.parametrize("paused", [False, True])
def test_conditional_rules_and_pauses_do_not_divert_groups(family: str, paused: bool) -> None:
    check(family, paused, rules="conditional")
    check(family, paused, rules="conditional", priorities=list(CONDITIONAL[family]), pauses="class")


def test_groups_of_senders_with_factory_addresses_follow_the_tree_too() -> None:
    case = {"topology": {"dragonfly": FAMILIES["dragonfly"]}, "control": {"addresses": "rewrite"}}
    factory = {f"host{number}": 0xAA0000000000 + number for number in range(12)}
    made = plan(case, factory=factory)
    arrived = PrintedFabric(made.plan).follow("host3", Frame(0x01005E0000FB, factory["host3"]))
    assert Counter(port.node for port in arrived) == Counter(factory.keys() - {"host3"})
    assert {port.frame.eth_src for port in arrived} == {made.plan.hosts[3].mac}


def test_where_a_fabric_falls_apart_groups_stay_on_their_part() -> None:
    scenario = {"topology": {"fat_tree": FAMILIES["fat_tree"]}}
    made = plan(scenario, failed=[f"leaf0 - core{core}" for core in (0, 0, 1, 1)])
    arrived = PrintedFabric(made.plan).follow(
        "host0", Frame(0x01005E0000FB, made.plan.hosts[0].mac)
    )
    assert [port.node for port in arrived] == ["host1"]
