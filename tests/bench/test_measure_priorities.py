"""Priorities of jobs reach the packets of their ranks, or are refused by name."""

import socket
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from etherweave.bench.measure import MeasureError, executor, measure
from etherweave.bench.measure.jobs import jobs_of
from etherweave.bench.measure.priorities import job_priorities
from etherweave.bench.site import reading
from etherweave.bench.site.reading import profiles
from etherweave.bench.site.values import ClusterSite
from support.waiting import LIMIT_S

SO_RCVBUFFORCE = 33  # Option of Linux: beyond the limit of the machine, for root.
LATENCY = {"osu_latency": {"bytes": "8B", "iterations": 20}}


def scenario(*priorities: int) -> dict[str, Any]:
    jobs = [
        {"name": f"job{at}", "priority": number, "workload": LATENCY}
        for at, number in enumerate(priorities)
    ]
    return {"topology": {"single_switch": {"hosts": 4}}, "transport": {"tcp": {}}, "job": jobs}


def site(kind: str, stack: str) -> ClusterSite:
    text = f"""
launcher = {{ kind = "local" }}
hosts = {{ n1 = {{ address = "127.0.0.1", interface = "lo" }} }}
fabrics.f = {{ kind = "{kind}", stack = "{stack}", rate = "1Gb/s", device = "mlx5_0:1" }}
"""
    return reading.site(text, "site.toml")


def words(kind: str, stack: str, *numbers: int, **marks: int) -> list[str]:
    jobs = jobs_of(scenario(*numbers), None, 1)
    dscps = {int(name.removeprefix("of_")): mark for name, mark in marks.items()}
    link = site(kind, stack).link("f")
    return [word for job in job_priorities(jobs, link, dscps) for word in job.words()[1::2]]


def test_ucx_takes_the_service_level_and_the_traffic_class_octet() -> None:
    # Code points 8p + 2, with ECT(0) as the lower bits.
    assert words("roce", "ucx", 0, 3) == [
        "0-1:UCX_IB_SL=0",
        "0-1:UCX_IB_TRAFFIC_CLASS=10",
        "2-3:UCX_IB_SL=3",
        "2-3:UCX_IB_TRAFFIC_CLASS=106",
    ]


def test_a_code_point_of_ones_own_is_taken() -> None:
    assert words("tcp", "mpich", 0, 3, of_3=46)[2] == f"2-3:SOCKET_OCTET={46 * 4 + 2}"


def test_jobs_without_priorities_set_nothing() -> None:
    assert words("roce", "mpich", 0, 0) == []


def test_a_stack_that_cannot_set_priorities_is_refused_by_the_key_of_the_job() -> None:
    with pytest.raises(
        MeasureError, match=r"job\.1\.priority: 3; fabric f \(roce by mpich\) cannot"
    ):
        words("roce", "mpich", 0, 3)
    jobs = jobs_of(scenario(0, 3), None, 1)
    with pytest.raises(MeasureError, match=r"only a fabric of a site can .* expected --site with"):
        job_priorities(jobs, None)
    with pytest.raises(MeasureError, match=r"code points: no packet .*; expected --site"):
        job_priorities(jobs, None, {5: 40}, is_here=True)
    assert job_priorities(jobs, None, is_here=True) == []


@pytest.mark.parametrize(
    ("marks", "message"), [({3: 64}, "DSCP 64"), ({8: 1}, "priority 8"), ({1: 2, 3: 2}, "one DSCP")]
)
def test_wrong_code_points_are_refused(marks: dict[int, int], message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        job_priorities(jobs_of(scenario(0, 3), None, 1), site("tcp", "ucx").link("f"), marks)


def test_all_stacks_over_tcp_and_ucx_over_rdma_set_priorities() -> None:
    able = {
        f"{kind} {stack}"
        for kind, stacks in profiles().items()
        for stack, texts in stacks.items()
        if any("{priority}" in text for text in texts.values())
    }
    assert {f"tcp {stack}" for stack in profiles()["tcp"]} <= able
    assert {"roce ucx", "roce open_mpi_ucx", "infiniband ucx"} <= able
    assert not [name for name in able if name.startswith("ipoib") or name.endswith("libfabric")][1:]


@pytest.mark.needs("mpicc", "mpirun")
@pytest.mark.usefixtures("own_cache")
def test_a_result_without_its_priorities_warns() -> None:
    texts = [measure(scenario(*numbers)).summary["warnings"] for numbers in ((0, 5), (0, 0))]
    assert ["no priority was set" in " ".join(warnings) for warnings in texts] == [True, False]


@pytest.mark.needs("mpicc", "mpirun", "root")
@pytest.mark.usefixtures("own_cache")
def test_packets_of_each_job_carry_its_code_point() -> None:
    from scapy.arch.linux import L2ListenSocket
    from scapy.layers.inet import IP
    from scapy.sendrecv import sniff

    # None but payload of these jobs: tests beside this one send too.
    payload = "ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) != 0"
    marks = " or ".join(f"ip[1] & 0xfc = {code_point << 2}" for code_point in (2, 42))
    capture = L2ListenSocket(iface="lo", filter=f"tcp and ({payload}) and ({marks})")
    # The kernel keeps all packets until they are read below.
    capture.ins.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    place = site("tcp", "open_mpi")
    link = place.link("f")
    link = replace(link, environment=(*link.environment, ("OMPI_MCA_btl", "tcp,self")))
    result = measure(scenario(0, 5), site=place, link=link)
    # TCP has the lower two bits of the octet to itself (RFC 3168).
    octets: Counter[int] = Counter()
    sniff(
        opened_socket=capture,
        store=False,
        timeout=LIMIT_S,
        prn=lambda packet: octets.update([packet[IP].tos >> 2]),
        stop_filter=lambda _: min(octets[2], octets[42]) >= 40,
    )
    capture.close()
    assert min(octets[2], octets[42]) >= 40, "20 round trips of each job"
    assert result.summary["measured"]["priorities"] == [
        "job0: priority 0, code point 2",
        "job1: priority 5, code point 42",
    ]


@pytest.mark.needs("mpicc")
@pytest.mark.usefixtures("own_cache")
def test_ranks_without_a_number_from_the_launcher_are_refused(tmp_path: Path) -> None:
    words = [str(executor.build().path), "--set", "0-0:NAME=x", str(tmp_path), "file"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": "/bin"})
    assert done.returncode == 3
    assert "names no rank before MPI starts; expected Open MPI" in done.stderr
