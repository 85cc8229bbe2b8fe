"""Services that announce the address of their host: section IV's problem and both its answers."""

from collections.abc import Iterator

import pytest

from etherweave.control.lab.announcement_trials import AnnouncementTrial, announce_in_labs, failures
from etherweave.control.lab.announcements import (
    AnnouncedService,
    Announcement,
    Reached,
    RecordedFrom,
    Recording,
    announcement,
    message,
    read_announcement,
    read_message,
)
from etherweave.control.lab.state import LabScope
from support.labs import new_scope

FOUR: dict[str, object] = {"topology": {"dragonfly": {"p": 1, "a": 2, "h": 1, "groups": 2}}}
"""Two groups of two switches with a host each: 12 ordered pairs of hosts."""
PAIRS = 12
MAC, OTHER = bytes.fromhex("00005e005301"), bytes.fromhex("020000000001")
HOSTS = (0x0A800000, 0x0A800001, 0x0A800002)
OPEN_MX, ARP, NEIGHBOUR = AnnouncedService
PAYLOAD, HEADER = RecordedFrom


@pytest.mark.parametrize("service", AnnouncedService)
def test_an_announcement_has_the_address_in_header_and_payload(service: AnnouncedService) -> None:
    octets = announcement(service, 1, MAC, HOSTS[1])
    assert len(octets) >= 60
    assert read_announcement(octets, HOSTS) == Announcement(service, 1, MAC, MAC)
    # A switch that rewrites the header leaves the payload.
    heard = read_announcement(octets[:6] + OTHER + octets[12:], HOSTS)
    assert heard is not None
    assert (heard.address(PAYLOAD), heard.address(HEADER)) == (MAC, OTHER)


def test_a_neighbour_advertisement_has_the_checksum_of_icmpv6() -> None:
    octets = announcement(NEIGHBOUR, 0, MAC, 0)
    source, target = octets[22:38], octets[38:54]
    body = octets[54:]
    assert target.hex() == "ff020000000000000000000000000001"
    pseudo = source + target + len(body).to_bytes(4) + bytes(3) + b"\x3a" + body
    words = (int.from_bytes(pseudo[at : at + 2]) for at in range(0, len(pseudo), 2))
    # With its own checksum, the sum is all ones (RFC 1071).
    assert sum(words) % 0xFFFF == 0


def test_a_message_says_how_the_address_of_its_receiver_was_recorded() -> None:
    reached = Reached(2, NEIGHBOUR, HEADER)
    octets = message(OTHER, MAC, reached)
    assert (octets[:6], octets[6:12]) == (OTHER, MAC)
    assert read_message(octets) == reached
    assert read_announcement(octets, HOSTS) is None
    assert read_message(announcement(OPEN_MX, 1, MAC, 0)) is None


def test_arp_of_others_is_no_announcement() -> None:
    octets = announcement(ARP, 1, MAC, HOSTS[1])
    assert read_announcement(octets[:38] + HOSTS[2].to_bytes(4) + octets[42:], HOSTS) is None
    assert read_announcement(announcement(ARP, 1, MAC, 0x0A800009), HOSTS) is None


def trial(addresses: str, *recordings: Recording) -> AnnouncementTrial:
    return AnnouncementTrial(addresses, "openflow13", 4, 0, recordings)


def test_a_payload_that_works_under_rewriting_is_a_failure_as_one_that_fails_under_dmp() -> None:
    right = Recording(OPEN_MX, PAYLOAD, PAIRS, PAIRS, 0)
    assert failures([trial("rewrite", right)]) == []
    assert failures([trial("dmp", right)]) == [
        "dmp: Open-MX, recorded from its payload: 0 of 12 pairs reached; expected 12"
    ]
    assert len(failures([trial("rewrite", right._replace(reached=1))])) == 1
    # Nothing recorded proves nothing.
    assert len(failures([trial("rewrite", right._replace(recorded=0))])) == 1


@pytest.fixture
def scope() -> Iterator[LabScope]:
    """Return a scope of this test alone, of which nothing is left."""
    with new_scope() as alone:
        yield alone


@pytest.mark.needs("namespaces", "ovs")
def test_an_address_in_the_payload_fails_under_rewriting_and_not_under_dmp(scope: LabScope) -> None:
    dmp, rewrite = announce_in_labs(FOUR, where=scope)
    assert failures([dmp, rewrite]) == []
    everyone = dict.fromkeys(((s, f) for s in AnnouncedService for f in RecordedFrom), PAIRS)
    assert {row[:2]: row.recorded for row in (*dmp.recordings, *rewrite.recordings)} == everyone
    assert {recording[:2]: recording.reached for recording in dmp.recordings} == everyone
    # ARP's payload is rewritten by the switches; the first alternative records the header.
    lost = {(OPEN_MX, PAYLOAD): 0, (NEIGHBOUR, PAYLOAD): 0}
    assert {recording[:2]: recording.reached for recording in rewrite.recordings} == everyone | lost
    assert (dmp.hosts, dmp.machines) == (4, 0)


PLANES: dict[str, object] = {
    "host_ports": {"planes": 2},
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 1, "cores": 1, "links_per_core": 1}},
}


@pytest.mark.needs("namespaces", "ovs")
def test_hosts_on_two_planes_announce_themselves_in_each(scope: LabScope) -> None:
    trials = announce_in_labs(PLANES, where=scope)
    assert failures(trials) == []
    # A port of both hosts in each plane.
    assert {recording.pairs for each in trials for recording in each.recordings} == {2 * 2}
    assert [each.hosts for each in trials] == [2, 2]


OPENFLOW_10: dict[str, object] = {"control.protocol": "openflow10", "control.ipv4": ""}


@pytest.mark.needs("namespaces", "ovs")
def test_the_same_holds_with_openflow_1_0_and_hosts_without_ipv4(scope: LabScope) -> None:
    dmp, rewrite = announce_in_labs(FOUR, OPENFLOW_10, where=scope)
    assert failures([dmp, rewrite]) == []
    counted = [[(*row[:2], row.reached) for row in each.recordings] for each in (dmp, rewrite)]
    assert counted == [
        [(OPEN_MX, HEADER, PAIRS), (OPEN_MX, PAYLOAD, PAIRS)],
        [(OPEN_MX, HEADER, PAIRS), (OPEN_MX, PAYLOAD, 0)],
    ]
    assert {dmp.protocol, rewrite.protocol} == {"openflow10"}
