"""Limits of links and collectives, from the octets of frames and by counting bytes."""

import numpy as np
import pytest

from etherweave.report.bounds import Party, Wire, collective, medium, path_mtu, roce, tcp

GIGABIT = 1.25e8


def test_a_full_frame_of_tcp_is_its_mtu_and_38_octets_on_the_wire() -> None:
    """1500 - IPv4 20 - TCP 20 - timestamps 12 = 1448; header 14, FCS 4, preamble 8, gap 12."""
    assert tcp(1500) == Wire(1448, 1538)
    assert medium("tcp", GIGABIT, 1500).goodput * 8 == pytest.approx(941.5e6, rel=1e-4)
    assert tcp(9000).share == pytest.approx(8948 / 9038)


@pytest.mark.parametrize(
    ("version", "octets"),
    [
        (1, 14 + 40 + 12 + 4096 + 4 + 4 + 20),  # Ethernet, GRH, BTH, payload, ICRC, FCS, gap
        (2, 14 + 20 + 8 + 12 + 4096 + 4 + 4 + 20),  # IPv4 and UDP instead of the GRH
    ],
)
def test_a_full_packet_of_roce(version: int, octets: int) -> None:
    assert roce(4096, version) == Wire(4096, octets)


@pytest.mark.parametrize(
    ("mtu", "payload"), [(1500, 1024), (2200, 2048), (4200, 4096), (9000, 4096), (300, 256)]
)
def test_roce_takes_the_largest_payload_that_an_interface_carries(mtu: int, payload: int) -> None:
    """MTUs and payloads as administrators set and ``ibv_devinfo`` shows them: 4200 for 4096."""
    assert path_mtu(mtu) == payload


def test_a_medium_says_what_is_assumed() -> None:
    assert medium("TCP", GIGABIT, None).note == "TCP, MTU 1500 B assumed"
    assert medium("roce", GIGABIT, 1500).note == "RoCE v2, path MTU 1024 B"
    assert medium("RoCE v1", GIGABIT, None).wire == roce(4096, 1)


def test_nothing_is_known_of_frames_of_other_kinds() -> None:
    result = medium("infiniband", GIGABIT, 2044)
    assert (result.wire, result.goodput) == (None, GIGABIT)


SIZE = np.array([1000.0])


@pytest.mark.parametrize(
    ("operation", "party", "octets"),
    [
        # Four ranks on four hosts: each sends a block to three others, or hears of three.
        ("alltoall", Party(4, 4), 3 * 1000),
        ("allgather", Party(4, 4), 3 * 1000),
        # Three quarters of the vector leave as parts, and again as sums.
        ("allreduce", Party(4, 4), 2 * 3 / 4 * 1000),
        ("reduce_scatter", Party(4, 4), 3 / 4 * 1000),
        # Two ranks on each of two hosts: both send to both of the other host.
        ("alltoall", Party(4, 2), 2 * 2 * 1000),
        ("allgather", Party(4, 2), 2 * 1000),
        ("allreduce", Party(4, 2), 2 * 1 / 2 * 1000),
    ],
)
def test_bytes_of_a_link_bound_a_collective(operation: str, party: Party, octets: float) -> None:
    times = collective(operation, SIZE, party, 1e9, 0.0)
    assert times is not None
    assert times.tolist() == pytest.approx([octets / 1e9])
    later = collective(operation, SIZE, party, 1e9, 3e-6)
    assert later is not None
    assert (later - times).tolist() == pytest.approx([3e-6])


@pytest.mark.parametrize(
    ("operation", "party"),
    [("bcast", Party(4, 4)), ("barrier", Party(4, 4)), ("alltoall", Party(4, 1))],
)
def test_there_is_no_bound_with_a_root_or_on_one_host(operation: str, party: Party) -> None:
    assert collective(operation, SIZE, party, 1e9, 1e-6) is None
