"""iperf 2, netperf, qperf and perftest: numbers read off texts, units converted in view."""

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs.plans import BenchmarkRequest, FabricEstimate
from etherweave.bench.texts.document import parse
from support.captured_texts import captured, failure, report, value, values


def test_iperf2_intervals_are_called_alike_in_every_run() -> None:
    """A run ends when all has arrived; launches of one experiment belong to one point."""
    text = captured("iperf2/tcp.txt")
    for late in ("3.0001", "3.4711", "3.9011"):
        (parsed,) = parse(text.replace("3.0187", late).replace("   685 MB", LATE[late])).reports
        assert value(parsed, "bandwidth", interval="0-3 s") == 1.90e9 / 8


# 1.90 Gbit/s for so long, in 2^20 bytes.
LATE = {"3.0001": "   680 MB", "3.4711": "   786 MB", "3.9011": "   884 MB"}


def test_iperf2_sum_is_its_own_metric() -> None:
    parsed = report("iperf2/tcp-3streams.txt")
    assert value(parsed, "bandwidth_sum") == 1.92e9 / 8
    assert sorted(values(parsed, "bandwidth")) == [625e6 / 8, 629e6 / 8, 647e6 / 8]


def test_perftest_json_that_was_cut_is_rejected() -> None:
    assert "cut or garbled" in failure(captured("handmade/perftest-write_bw.json")[:-5]).reason


def test_what_a_client_writes_into_a_file_is_read_from_there() -> None:
    """NPtcp prints its rows on standard error; redis and wrk bring the service that they ask."""
    netpipe = ADAPTERS["netpipe"].plan(BenchmarkRequest("NPtcp"), FabricEstimate())
    assert netpipe.command.arguments[-2:] == ("-o", netpipe.command.output)
    for name, program in (("redis_benchmark", "redis-benchmark"), ("wrk", "wrk")):
        command = ADAPTERS[name].plan(BenchmarkRequest(program), FabricEstimate()).command
        words = command.filled({"server": "n1", "port": "5300"})
        assert {"n1", "5300"} <= set(words.server)


def test_redis_does_nothing_but_what_is_measured() -> None:
    server = (
        ADAPTERS["redis_benchmark"]
        .plan(BenchmarkRequest("redis-benchmark"), FabricEstimate())
        .command.server
    )
    assert server[server.index("--user") + 5 :] == ("-@all", "+get", "+set", "+ping")


def test_servers_and_clients_use_one_port() -> None:
    for name, program in (("iperf2", "iperf"), ("netperf", "netperf"), ("qperf", "qperf")):
        plan = ADAPTERS[name].plan(BenchmarkRequest(program, seconds=3), FabricEstimate(rate=1e9))
        words = plan.command.filled({"server": "n1", "port": "5300"})
        assert "5300" in words.server
        assert {"n1", "5300"} <= set(words.arguments)
    plan = ADAPTERS["perftest"].plan(
        BenchmarkRequest("ib_write_bw", device="mlx5_0"), FabricEstimate(rate=1e9)
    )
    assert plan.command.arguments[-1] == "{server}"
    # 5000 messages of 64 KiB at 1e9 bytes/s.
    assert plan.forecast.seconds == pytest.approx(5000 * 65536 / 1e9)
