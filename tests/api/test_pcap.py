"""Captures, decoded by an independent library."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q
from scapy.packet import Packet
from scapy.utils import rdpcap

import etherweave

TOPOLOGY = {"single_switch": {"hosts": 4}}
INCAST = {"incast": {"sources": 3, "streams_per_source": 1, "message": "64KiB"}}


def captured(tmp_path: Path, host: str, **sections: object) -> tuple[list[Any], etherweave.Result]:
    """Frames at a host's port, and the run that made them."""
    scenario: dict[str, object] = {
        "topology": TOPOLOGY,
        "run": {"end": "60us"},
        "job": [{"name": "j", "workload": INCAST}],
    }
    file = tmp_path / "host.pcapng"
    result = etherweave.run({**scenario, **sections}, pcap={host: file})
    return list(rdpcap(str(file))), result


def test_roce_packets_carry_a_check_sequence_that_scapy_computes_too(tmp_path: Path) -> None:
    frames, _ = captured(tmp_path, "host1")
    packets = [frame for frame in frames if BTH in frame]
    assert len(packets) > 20
    assert {packet[BTH].opcode for packet in packets} >= {0x06, 0x07, 0x08, 0x11}
    for packet in packets:
        assert packet[UDP].dport == 4791
        icrc = bytes(packet[BTH].compute_icrc(bytes(packet[BTH])[:-4]))
        assert bytes(packet)[: 18 + packet[IP].len].endswith(icrc)


def test_the_wire_bytes_counted_are_the_octets_captured(tmp_path: Path) -> None:
    frames, result = captured(tmp_path, "host1")
    ports = result.to_polars("ports")
    sent = ports.filter(ports["node"] == "host1")["tx_bytes"].sum()
    own = frames[0].src
    # Check sequence 4, preamble 8, gap 12.
    assert sum(len(frame) + 24 for frame in frames if frame.src == own and BTH in frame) == sent


def test_packet_numbers_run_without_gaps(tmp_path: Path) -> None:
    frames, _ = captured(tmp_path, "host1")
    data = [frame[BTH].psn for frame in frames if BTH in frame and AETH not in frame]
    assert data == list(range(len(data)))


def test_roce_v1_has_its_own_ethertype_and_a_global_route_header(tmp_path: Path) -> None:
    frames, _ = captured(tmp_path, "host1", transport={"roce": {"version": "v1"}})
    assert {frame[Dot1Q].type for frame in frames} == {0x8915}
    assert all(bytes(frame)[18] >> 4 == 6 for frame in frames)


def test_tcp_segments_have_right_checksums_and_options(tmp_path: Path) -> None:
    frames, _ = captured(tmp_path, "host0", transport={"tcp": {}}, run={"end": "300us"})
    segments = [frame for frame in frames if TCP in frame]
    assert len(segments) > 20
    for segment in segments:
        assert "Timestamp" in dict(segment[TCP].options)
        again = type(segment)(bytes(segment))
        ip, tcp = again[IP], again[TCP]
        claimed = (ip.chksum, tcp.chksum)
        del ip.chksum, tcp.chksum
        rebuilt = type(segment)(bytes(again))
        assert (rebuilt[IP].chksum, rebuilt[TCP].chksum) == claimed


@pytest.mark.parametrize("kind", ["pfc", "global_pause"])
def test_pause_frames_decode(tmp_path: Path, kind: str) -> None:
    sections: dict[str, object] = {
        "switch": {"buffer": "400kB", "reserve": "1kB"},
        "flow_control": {kind: {}},
        "run": {"end": "200us"},
    }
    frames, _ = captured(tmp_path, "host1", **sections)
    layer: type[Packet] = MACControlClassBasedFlowControl if kind == "pfc" else MACControlPause
    pauses = [frame for frame in frames if layer in frame]
    assert pauses
    assert {frame.dst for frame in pauses} == {"01:80:c2:00:00:01"}
    times = [frame.c0_pause_time if kind == "pfc" else frame.pause_time for frame in pauses]
    assert times[0] == 65535
    assert 0 in times


def test_a_snap_length_keeps_headers_and_lengths(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.pcapng", tmp_path / "cut.pcapng"
    scenario = {
        "topology": TOPOLOGY,
        "run": {"end": "60us"},
        "job": [{"name": "j", "workload": INCAST}],
    }
    etherweave.run(scenario, pcap={"host1": whole})
    etherweave.run(scenario, pcap={"host1": cut}, snap_length="128B")
    frames = list(zip(rdpcap(str(whole)), rdpcap(str(cut)), strict=True))
    assert max(len(before) for before, _ in frames) > 4_000
    for before, after in frames:
        assert bytes(after) == bytes(before)[:128]
        assert after.wirelen == len(before)
    assert cut.stat().st_size * 10 < whole.stat().st_size


@pytest.mark.needs("tshark")
def test_tshark_reads_the_snap_length_of_the_interface(tmp_path: Path) -> None:
    file = tmp_path / "cut.pcapng"
    scenario = {
        "topology": TOPOLOGY,
        "run": {"end": "60us"},
        "job": [{"name": "j", "workload": INCAST}],
    }
    etherweave.run(scenario, pcap={"host1": file}, snap_length="100B")
    fields = ["-T", "fields", "-e", "frame.len", "-e", "frame.cap_len", "-e", "infiniband.bth.psn"]
    done = subprocess.run(
        ["tshark", "-r", str(file), *fields], capture_output=True, text=True, check=True
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert all(int(kept) == min(int(length), 100) for length, kept, _ in rows)
    assert max(int(length) for length, _, _ in rows) > 4_000
    assert any(number for _, _, number in rows)


@pytest.mark.needs("tshark")
def test_trimmed_frames_have_the_size_of_the_switch_and_headers_that_decode(tmp_path: Path) -> None:
    frames, result = captured(
        tmp_path,
        "host0",
        switch={
            "egress_threshold": {"static": "40kB"},
            "trimming": {"size": "128B", "priority": 6},
        },
        flow_control={"none": {}},
        ets={"weights": [100, 0, 0, 0, 0, 0, 0, 0]},
        transport={"uet": {"control_priority": 5}},
        run={},
        job=[{"name": "j", "workload": {"incast": INCAST["incast"] | {"messages": 1}}}],
    )
    trimmed = [frame for frame in frames if frame[Dot1Q].prio == 6]
    ports = result.to_polars("ports")
    sent = ports.filter((ports["node"] == "switch0") & (ports["port"] == 0))
    assert len(trimmed) == sent.filter(sent["priority"] == 6)["tx_packets"].sum() > 10
    for frame in trimmed:
        # 128 B with the check sequence, which captures leave out, and the tag.
        assert len(frame) == 124
        assert (frame[IP].len, frame[UDP].len) == (106, 86)
        # DSCP 50, 8 times the priority and 2, with ECN behind.
        assert frame[IP].tos >> 2 == 50
        # A request of reliable unordered delivery and a standard request: type 2, next header 3.
        prologue = int.from_bytes(bytes(frame[UDP].payload)[:2], "big")
        assert (frame[UDP].dport, prologue >> 11, prologue >> 7 & 15) == (4793, 2, 3)
    file = tmp_path / "host.pcapng"
    shown = ["-T", "fields", "-e", "frame.len", "-e", "vlan.priority", "-Y", "vlan.priority == 6"]
    read = subprocess.run(
        ["tshark", "-r", str(file), *shown, "-n"], capture_output=True, text=True, check=True
    )
    assert read.stdout.splitlines() == ["124\t6"] * len(trimmed)
