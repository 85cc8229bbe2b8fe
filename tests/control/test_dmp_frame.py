"""Frames of the Dynamic MAC Protocol: written for others to decode, read from anybody."""

import random
import subprocess
from pathlib import Path

import pytest
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from etherweave.control.dmp.frame import (
    ETHERTYPE,
    GROUP,
    DmpFrame,
    FrameFault,
    decode,
    encode,
    is_group,
    is_local,
    local_host,
)

NONCE = bytes.fromhex("0123456789abcdef")
REQUEST = DmpFrame(GROUP, 0x00163E000001, NONCE)
PAYLOAD = bytes.fromhex("4557444d 01 01 0123456789abcdef") + bytes(32)
"""Magic "EWDM", version 1, type 1, the nonce, zeros."""


def test_a_request_is_the_octets_of_the_documents() -> None:
    header = bytes.fromhex("03000000 88b5 00163e000001 88b5")
    assert encode(REQUEST) == header + PAYLOAD
    assert len(header + PAYLOAD) == 60


def test_scapy_reads_the_same_header() -> None:
    ether = Ether(encode(REQUEST))
    assert (ether.dst, ether.src) == ("03:00:00:00:88:b5", "00:16:3e:00:00:01")
    assert ether.type == 0x88B5
    assert bytes(ether.payload) == PAYLOAD


@pytest.mark.needs("tshark")
def test_tshark_reads_the_same_header(tmp_path: Path) -> None:
    capture = tmp_path / "request.pcap"
    wrpcap(str(capture), [Ether(encode(REQUEST))])
    fields = ("eth.dst", "eth.dst.ig", "eth.dst.lg", "eth.src", "eth.type", "data.data")
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "occurrence=f"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    dst, ig, lg, src, ethertype, data = done.stdout.strip("\n").split("\t")
    assert (dst, src, ethertype) == ("03:00:00:00:88:b5", "00:16:3e:00:00:01", "0x88b5")
    # A group address (I/G) of local administration (U/L).
    assert ig in ("1", "True") and lg in ("1", "True")
    assert bytes.fromhex(data.replace(":", "")) == PAYLOAD


def test_what_is_written_is_read() -> None:
    assert decode(encode(REQUEST)) == REQUEST


def test_what_fits_no_frame_is_not_written() -> None:
    for frame in (
        REQUEST._replace(source=1 << 48),
        REQUEST._replace(destination=-1),
        REQUEST._replace(nonce=b"short"),
    ):
        with pytest.raises(ValueError, match="expected"):
            encode(frame)


def test_first_octets_define_groups_and_local_administration() -> None:
    # IEEE Std 802: the two least significant bits of the first octet.
    kinds = {0x00: (False, False), 0x01: (True, False), 0x02: (False, True), 0x03: (True, True)}
    for octet, kind in kinds.items():
        assert (is_group(octet << 40), is_local(octet << 40)) == kind
        assert local_host(octet << 40 | 5) == 0x020000000005


def mistaken(at: int, octet: int) -> bytes:
    """A request with one octet replaced."""
    octets = bytearray(encode(REQUEST))
    octets[at] = octet
    return bytes(octets)


@pytest.mark.parametrize(
    ("octets", "mistake"),
    [
        (b"", FrameFault.TRUNCATED),
        (encode(REQUEST)[:59], FrameFault.TRUNCATED),
        (encode(REQUEST) + b"\0", FrameFault.OVERSIZED),
        (mistaken(13, 0xB6), FrameFault.FOREIGN_TYPE),
        (mistaken(14, 0), FrameFault.FOREIGN),
        (mistaken(18, 2), FrameFault.VERSION),
        (mistaken(19, 2), FrameFault.TYPE),
        (mistaken(28, 1), FrameFault.PADDING),
        (mistaken(59, 1), FrameFault.PADDING),
        (
            bytes(Ether(src="02:00:00:00:00:01", type=ETHERTYPE) / Raw(bytes(46))),
            FrameFault.FOREIGN,
        ),
        (bytes(Ether() / Dot1Q(vlan=5, type=ETHERTYPE) / Raw(PAYLOAD)), FrameFault.TAGGED),
        (bytes(Ether() / Dot1Q(vlan=0, type=ETHERTYPE) / Raw(PAYLOAD)), FrameFault.TAGGED),
        (bytes(Ether(type=0x88A8) / Dot1Q(vlan=5) / Raw(PAYLOAD)), FrameFault.TAGGED),
    ],
)
def test_an_invalid_frame_has_its_fault(octets: bytes, mistake: FrameFault) -> None:
    assert decode(octets) is mistake


def test_any_octets_are_read_or_refused() -> None:
    chance = random.Random(1)
    for _ in range(20_000):
        octets = chance.randbytes(chance.choice((0, 1, 13, 14, 59, 60, 60, 61, 1514)))
        # The magic alone makes an accident as likely as 2^-32.
        assert isinstance(decode(octets), FrameFault)


def test_no_changed_bit_beyond_addresses_and_nonce_passes() -> None:
    sound = encode(REQUEST)
    free = {*range(12), *range(20, 28)}
    for bit in range(8 * len(sound)):
        octets = mistaken(bit // 8, sound[bit // 8] ^ 1 << bit % 8)
        assert isinstance(decode(octets), DmpFrame if bit // 8 in free else FrameFault), bit


def test_changed_cut_and_spliced_frames_are_never_read_wrongly() -> None:
    chance = random.Random(2)
    sound = encode(REQUEST)
    for _ in range(20_000):
        octets = bytearray(sound)
        for _ in range(chance.randrange(4)):
            octets[chance.randrange(len(octets))] = chance.randrange(256)
        cut = bytes(octets[: chance.randint(0, 60)]) + chance.randbytes(chance.randrange(3))
        for candidate in (bytes(octets), cut):
            frame = decode(candidate)
            # Whatever is read is exactly what was there.
            assert isinstance(frame, FrameFault) or encode(frame) == candidate
