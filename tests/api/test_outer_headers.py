"""Bytes of outer headers in designs, beside frames that tshark reads as the standards have them."""

import struct
import subprocess
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

import etherweave

DST, SRC = bytes.fromhex("020000000002"), bytes.fromhex("020000000001")
FAR, NEAR = bytes.fromhex("0a0000000020"), bytes.fromhex("0a0000000010")
"""Addresses of the switches at both ends."""
TAG = struct.pack("!HH", 0x8100, 0x6064)  # Priority 3, VLAN 100 (IEEE 802.1Q, clause 9.6).
BODY = struct.pack("!H", 0x88B5) + bytes(64)  # EtherType and data of the frame that a host sends.
HOST_FRAME = DST + SRC + TAG + BODY
OUTER_IPV4 = struct.pack(
    "!BBHHHBBH8s",
    *(0x45, 0, 20 + 8 + 8 + len(DST + SRC + BODY), 1, 0, 64, 17, 0),
    bytes((10, 0, 0, 1, 10, 0, 0, 2)),
)


def trill(egress: int, ingress: int) -> bytes:
    """RFC 6325, figures 5 and 7: version 0, one destination, no options, 32 hops left."""
    return FAR + NEAR + struct.pack("!HHHH", 0x22F3, 32, egress, ingress) + HOST_FRAME


def fabric_path(egress: int, ingress: int) -> bytes:
    """Addresses of 8 bits of end node, 12 of switch, 8 of sub-switch, 16 of port; 0x8903, a tag."""

    def address(switch: int) -> bytes:
        return struct.pack("!BHBH", 0x02, switch, 0, 7)

    return address(egress) + address(ingress) + struct.pack("!HH", 0x8903, 1 << 6 | 32) + HOST_FRAME


def shortest_path_bridging() -> bytes:
    """IEEE 802.1Q-2018, clauses 9.6 and 9.7: B-TAG of VLAN 10, I-TAG of service 0x123456."""
    tags = struct.pack("!HHHI", 0x88A8, 10, 0x88E7, 0x123456)
    return FAR + NEAR + tags + HOST_FRAME


def vxlan() -> bytes:
    """RFC 7348, section 5: the host's tag outside, UDP to port 4789, network 0x123456."""
    udp = struct.pack("!HHHH", 49_152, 4_789, 8 + 8 + len(DST + SRC + BODY), 0)
    header = struct.pack("!II", 0x08000000, 0x123456 << 8)
    ethernet = FAR + NEAR + TAG + struct.pack("!H", 0x0800)
    return ethernet + OUTER_IPV4 + udp + header + DST + SRC + BODY


NICKNAME_MAX, SWITCH_ID_MAX = 0xFFBF, 0xFFF
FRAMES = {
    "trill": trill(NICKNAME_MAX, 1),
    "fabricpath": fabric_path(SWITCH_ID_MAX, 1),
    "spb": shortest_path_bridging(),
    "vxlan": vxlan(),
}
EXPECTED = {
    "trill": ("eth:ethertype:trill:eth:ethertype:vlan", "65471", "1"),
    "fabricpath": ("eth:cfp:eth:ethertype:vlan", "4095,1", "32"),
    "spb": ("eth:ethertype:ieee8021ad:ethertype:vlan", "1193046", "02:00:00:00:00:02"),
    "vxlan": ("eth:ethertype:vlan:ethertype:ip:udp:vxlan:eth:ethertype", "1193046", "100"),
}
"""Layers as tshark names them, up to the host's frame, and two fields of each header."""
FIELDS = {
    "trill": ("trill.egress_nick", "trill.ingress_nick"),
    "fabricpath": ("cfp.swid", "cfp.ttl"),
    "spb": ("ieee8021ah.isid", "ieee8021ah.cdst"),
    "vxlan": ("vxlan.vni", "vlan.id"),
}


def test_a_frame_is_longer_by_the_header_that_designs_count() -> None:
    fabric = {"topology": {"single_switch": {"hosts": 2}}}
    counted = {each["bridging"]: each for each in etherweave.design(fabric)["bridging"]}
    for name, frame in FRAMES.items():
        assert len(frame) - len(HOST_FRAME) == counted[name]["header_bytes"], name
    assert counted["trill"]["switches_max"] == NICKNAME_MAX
    assert counted["fabricpath"]["switches_max"] == SWITCH_ID_MAX


@pytest.mark.needs("tshark")
def test_tshark_reads_each_outer_header_and_the_frame_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "outer.pcap"
    wrpcap(str(file), [Ether(frame) for frame in FRAMES.values()])
    names = ["frame.protocols", *(field for pair in FIELDS.values() for field in pair)]
    command = ["tshark", "-r", str(file), "-T", "fields", *(w for n in names for w in ("-e", n))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    rows = [dict(zip(names, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
    for (name, expected), row in zip(EXPECTED.items(), rows, strict=True):
        layers, *values = expected
        assert row["frame.protocols"].startswith(layers), f"{name}: {row}"
        assert [row[field] for field in FIELDS[name]] == values, f"{name}: {row}"
