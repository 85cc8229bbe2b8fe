"""``etherweave control dmp`` as its user meets it, without a network; and its unit for systemd."""

import json
import random
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from etherweave.control.dmp.capture import CaptureError, frames
from etherweave.control.dmp.frame import GROUP, DmpFrame, encode
from support import command_line

UNIT = Path(__file__).parents[2] / "docs/guide/etherweave-dmp@.service"
REQUEST = encode(DmpFrame(GROUP, 0x00163E000001, bytes(range(8))))
ANSWER = REQUEST[:6] + bytes.fromhex("020100000007") + REQUEST[12:]


dmp = partial(command_line.invoke, "control", "dmp")


def test_a_capture_is_decoded_frame_by_frame(tmp_path: Path) -> None:
    capture = tmp_path / "dmp.pcap"
    wrpcap(str(capture), [Ether(REQUEST), Ether(ANSWER), Ether(type=0x0800) / Raw(bytes(46))])
    group, nonce = "03:00:00:00:88:b5", "0001020304050607"
    assert dmp("decode", capture, code=0).stdout.splitlines() == [
        f"1 request 00:16:3e:00:00:01 {group} {nonce}",
        f"2 answer 02:01:00:00:00:07 {group} {nonce}",
        "3 rejected: of another EtherType",
    ]


def test_a_frame_in_digits_is_decoded_as_json() -> None:
    (facts,) = json.loads(dmp("decode", REQUEST.hex(), "--json", code=0).stdout)
    assert facts["kind"] == "request"
    assert facts["source"] == "00:16:3e:00:00:01"


def test_a_capture_without_a_frame_of_the_protocol_ends_with_1() -> None:
    done = dmp("decode", "00:11:22", code=1)
    assert done.stdout == "1 rejected: shorter than 60 octets\n"


@pytest.mark.parametrize(
    ("content", "result"),
    [
        (b"", "not a capture"),
        (b"not a capture, but long enough to be one", "not a capture"),
        (b"\xd4\xc3\xb2\xa1" + bytes(16) + struct.pack("<I", 113), "link type 113"),
        (b"\xd4\xc3\xb2\xa1" + bytes(16) + struct.pack("<I", 1) + b"cut", "frame at octet 24"),
    ],
)
def test_what_is_no_capture_is_a_users_mistake(content: bytes, result: str, tmp_path: Path) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(content)
    errors = dmp("decode", file, code=2).stderr
    assert result in errors and str(file) in errors


def test_a_file_that_is_not_there_is_the_users_mistake() -> None:
    done = dmp("decode", "missing.pcap", code=2)
    assert done.output == "missing.pcap: No such file or directory\n"


def test_both_orders_of_octets_are_read() -> None:
    for order in "<>":
        header = struct.pack(f"{order}IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
        record = struct.pack(f"{order}IIII", 1, 2, len(REQUEST), len(REQUEST))
        assert list(frames(header + record + REQUEST)) == [REQUEST]


def test_broken_captures_are_read_or_refused() -> None:
    chance = random.Random(6)
    header = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    content = header + struct.pack("<IIII", 1, 2, 60, 60) + REQUEST
    for _ in range(5_000):
        octets = bytearray(content)
        for _ in range(chance.randint(0, 4)):
            octets[chance.randrange(len(octets))] = chance.randrange(256)
        try:
            assert sum(map(len, frames(bytes(octets[: chance.randint(0, 100)])))) <= 60
        except CaptureError:
            continue


def test_an_interface_that_is_not_there_is_the_users_mistake() -> None:
    for verb in ("request", "daemon"):
        done = dmp(verb, "--interface", "no interface is called so", code=2)
        assert done.stdout == ""
        assert "expected a name of 1 to 15 octets" in done.stderr


@pytest.mark.needs("root")
def test_without_rights_an_interface_says_which_are_missing() -> None:
    program = (
        "import os; from etherweave.control.dmp.interface import DmpInterface, InterfaceError\n"
        "os.setuid(65534)\n"
        "try: DmpInterface('lo')\n"
        "except InterfaceError as error: print(error)"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    result = "lo: no right to raw frames; expected root or CAP_NET_RAW and CAP_NET_ADMIN\n"
    assert (done.stdout, done.stderr) == (result, "")


@pytest.mark.needs("systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "etherweave-dmp@eth0.service"
    # systemd also looks for the program, which is not where it will be on a host.
    unit.write_text(UNIT.read_text().replace("ExecStart=etherweave", "ExecStart=/bin/true"))
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "etherweave-dmp" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
