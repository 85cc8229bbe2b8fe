"""Promises of every adapter: the definition of done for a new one."""

import re

import pytest

from etherweave.api.units import PRINTED_UNITS
from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs.plans import BenchmarkRequest, FabricEstimate, HostPattern, Start
from etherweave.bench.texts.document import UnrecognisedError, parse
from support.captured_texts import DATA

FABRIC = FabricEstimate(rate=1.25e9, latency=20e-6)
FILLED = {"server": "n1", "port": "5300", "rank": "0", "ranks": "4"}
FILLED |= {"directory": "here", "interface": "eth0"}
NODES = {"gpcnet": 10, "npb": 4}
PLANNED = [name for name in ADAPTERS if name not in ("mlperf", "pico")]


@pytest.mark.parametrize("name", PLANNED)
def test_every_program_can_be_planned_unless_it_is_only_read(name: str) -> None:
    adapter = ADAPTERS[name]
    for program in adapter.programs:
        ranks = NODES.get(name, 2)
        if program == "sweep3d":
            continue
        plan = adapter.plan(BenchmarkRequest(program, nodes=ranks), FABRIC)
        assert plan.command.filled(FILLED).arguments, program
        assert "{" not in " ".join(plan.command.filled(FILLED).arguments), program
        assert 0 < plan.forecast.seconds < 1e7, program
        assert plan.forecast.bytes >= 0, program
        assert plan.placement.nodes == (1 if plan.placement.pattern is HostPattern.ALONE else ranks)
        assert (plan.command.start == Start.CLIENT_SERVER) == bool(plan.command.server), program
        names_port = any("{port}" in word for word in plan.command.server)
        assert names_port == bool(plan.command.server), program


@pytest.mark.parametrize("name", PLANNED)
def test_more_bytes_or_a_slower_link_never_take_less_time(name: str) -> None:
    adapter = ADAPTERS[name]
    request = BenchmarkRequest(adapter.programs[0], nodes=NODES.get(name, 2))
    fast = adapter.plan(request, FABRIC).forecast
    slow = adapter.plan(
        request, FabricEstimate(rate=FABRIC.rate / 10, latency=FABRIC.latency)
    ).forecast
    assert slow.seconds >= fast.seconds


def test_only_declared_metrics_are_measured() -> None:
    for path in DATA.rglob("*.*"):
        try:
            reports = parse(path.read_text(errors="replace")).reports
        except UnrecognisedError:
            continue
        for report in reports:
            metrics = {measured.metric for measured in report.measurements}
            assert metrics <= set(ADAPTERS[report.benchmark].metrics), path


def test_a_name_means_one_metric() -> None:
    metrics = {metric for adapter in ADAPTERS.values() for metric in adapter.metrics}
    assert len({metric.name for metric in metrics}) == len(metrics)
    assert {metric.unit for metric in metrics} <= {unit for unit, _ in PRINTED_UNITS.values()}


def test_no_two_adapters_know_the_same_beginning() -> None:
    beginnings = [
        "# OSU MPI Latency Test v7.4",
        "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part",
        "                    RDMA_Write BW Test",
        "Network Tests v1.3",
        "HPLinpack 2.3  --  High-Performance Linpack benchmark",
        "START mpiGraph v1.5",
        "tcp_bw:",
        "Connecting to host 10.77.0.1, port 5201",
        "Client connecting to 10.77.0.1, TCP port 5001",
        "       1 3.122840   0.00000244",
        "megabytes=438.4364 real_seconds=2.02 rate_Mbps=1822.5995",
    ]
    for line in beginnings:
        owners = [name for name, adapter in ADAPTERS.items() if re.match(adapter.begins, line)]
        assert len(owners) == 1, (line, owners)
