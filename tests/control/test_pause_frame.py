"""PAUSE and PFC frames, read and written against two independent decoders."""

import random
import subprocess
from pathlib import Path

import pytest
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from etherweave.control.pause.frame import (
    ClassPause,
    FrameError,
    Pause,
    PauseFrame,
    decode,
    encode,
    quantum_ps,
)

SOURCE = 0x020000000001
SOME = ClassPause(SOURCE, (None, 65535, None, 7, None, None, 0, None))
"""Priorities 1 and 3 pause, 6 resumes, the others stay as they are."""


def test_a_pause_frame_stands_as_in_annex_31b() -> None:
    head = bytes.fromhex("0180c2000001 020000000001 8808 0001 0102")
    assert encode(Pause(SOURCE, 0x0102)) == head + bytes(60 - len(head))


def test_a_class_pause_frame_stands_as_in_annex_31d() -> None:
    # Enabled: 1 << 1 | 1 << 3 | 1 << 6 = 0x4a.
    head = "0180c2000001 020000000001 8808 0101 004a 0000 ffff 0000 0007 0000 0000 0000 0000"
    octets = bytes.fromhex(head)
    assert encode(SOME) == octets + bytes(60 - len(octets))


@pytest.mark.parametrize("frame", [Pause(SOURCE, 0), Pause(SOURCE, 65535), SOME])
def test_what_is_written_is_read(frame: PauseFrame) -> None:
    assert decode(encode(frame)) == frame


def test_scapy_reads_what_we_write() -> None:
    assert Ether(encode(Pause(SOURCE, 77)))[MACControlPause].pause_time == 77
    classes = Ether(encode(SOME))[MACControlClassBasedFlowControl]
    enabled = [bool(getattr(classes, f"c{c}_enabled")) for c in range(8)]
    assert enabled == [quanta is not None for quanta in SOME.quanta]
    assert [getattr(classes, f"c{c}_pause_time") for c in range(8)] == [
        quanta or 0 for quanta in SOME.quanta
    ]


def test_we_read_what_scapy_writes() -> None:
    ether = Ether(src="02:00:00:00:00:01", dst="01:80:c2:00:00:01")
    assert decode(bytes(ether / MACControlPause(pause_time=9))) == Pause(SOURCE, 9)
    classes = MACControlClassBasedFlowControl(c4_enabled=1, c4_pause_time=5)
    expected = ClassPause(SOURCE, (None,) * 4 + (5,) + (None,) * 3)
    assert decode(bytes(ether / classes)) == expected


@pytest.mark.needs("tshark")
def test_tshark_reads_what_we_write(tmp_path: Path) -> None:
    file = tmp_path / "pauses.pcap"
    wrpcap(str(file), [Ether(encode(Pause(SOURCE, 77))), Ether(encode(SOME))])
    fields = ["macc.opcode", "macc.pause_time", "macc.cbfc.enbv", "macc.cbfc.pause_time.c1"]
    chosen = [part for field in [*fields, "macc.cbfc.pause_time.c3"] for part in ("-e", field)]
    command = ["tshark", "-r", str(file), "-T", "fields", "-E", "separator=;", *chosen]
    printed = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    pause, classes = (
        [int(word, 0) if word else None for word in line.split(";")] for line in printed
    )
    assert pause == [1, 77, None, None, None]
    assert classes == [0x0101, None, 0x4A, 65535, 7]


@pytest.mark.parametrize(
    ("octets", "said"),
    [
        (b"", "0 octets: expected at least 16"),
        (encode(Pause(SOURCE, 1))[:17], "17 octets: expected at least 18"),
        (encode(SOME)[:33], "33 octets: expected at least 34"),
        (bytes(60), "EtherType 0x0000: expected 0x8808"),
        (b"\xff" + encode(SOME)[1:], "destination ff:80:c2:00:00:01"),
        (bytes.fromhex("0180c2000001 020000000001 8808 0002"), "opcode 0x0002"),
    ],
)
def test_other_octets_are_refused_with_a_reason(octets: bytes, said: str) -> None:
    with pytest.raises(FrameError, match=said):
        decode(octets)


def test_random_octets_are_read_or_refused_and_never_anything_else() -> None:
    source = random.Random(5)
    frames = [encode(SOME), encode(Pause(SOURCE, 3))]
    read = 0
    for _ in range(20_000):
        octets = bytearray(source.choice(frames))
        for _ in range(source.randrange(4)):
            octets[source.randrange(len(octets))] = source.randrange(256)
        octets = octets[: source.randrange(len(octets) + 1)]
        try:
            frame = decode(bytes(octets))
        except FrameError:
            continue
        read += 1
        # What is read means the same when it is written again.
        assert decode(encode(frame)) == frame
    assert read > 1000


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (Pause(SOURCE, 65536), "65536 quanta: expected 0 to 65535"),
        (Pause(SOURCE, -1), "-1 quanta"),
        (Pause(1 << 48, 0), "MAC address of 48 bits"),
        (ClassPause(SOURCE, (1,)), "1 timers: expected one per priority, 8"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(frame: PauseFrame, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        encode(frame)


@pytest.mark.parametrize(
    # 512 bits at 10 Mb/s take 51.2 us; at 400 Gb/s 1.28 ns.
    ("bits_per_s", "expected"),
    [(10**7, 51_200_000), (10**9, 512_000), (10**11, 5_120), (4 * 10**11, 1_280)],
)
def test_a_quantum_lasts_512_bit_times(bits_per_s: int, expected: int) -> None:
    assert quantum_ps(bits_per_s) == expected


@pytest.mark.parametrize("bits_per_s", [0, -1, 10**15])
def test_a_rate_without_a_quantum_is_refused(bits_per_s: int) -> None:
    with pytest.raises(ValueError, match="link rate"):
        quantum_ps(bits_per_s)
