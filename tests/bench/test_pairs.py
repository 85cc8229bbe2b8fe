"""iperf 2, netperf, qperf and perftest: numbers read off texts, units converted in view."""

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.document import parse
from etherweave.bench.measurements import Completeness
from etherweave.bench.plans import BenchmarkRequest, FabricEstimate
from support.captured_texts import captured, failure, report, value, values

WRITE_BW = captured("handmade/perftest-write_bw.txt")
ROW = "65536      5000             97.81              97.72                0.186386"
READ_LAT = captured("handmade/perftest-read_lat.txt")


def write_bw(unit: str, row: str) -> str:
    return WRITE_BW.replace("Gb/sec", unit).replace(ROW, row)


def test_iperf2_intervals_are_called_alike_in_every_run() -> None:
    """A run ends when all has arrived; launches of one experiment belong to one point."""
    text = captured("iperf2/tcp.txt")
    for late in ("3.0001", "3.4711", "3.9011"):
        (one,) = parse(text.replace("3.0187", late).replace("   685 MB", LATE[late])).reports
        assert value(one, "bandwidth", interval="0-3 s") == 1.90e9 / 8


# 1.90 Gbit/s for so long, in 2^20 bytes.
LATE = {"3.0001": "   680 MB", "3.4711": "   786 MB", "3.9011": "   884 MB"}


def test_iperf2_sum_is_its_own_metric() -> None:
    one = report("iperf2/tcp-3streams.txt")
    assert value(one, "bandwidth_sum") == 1.92e9 / 8
    assert sorted(values(one, "bandwidth")) == [625e6 / 8, 629e6 / 8, 647e6 / 8]


def test_perftest_gigabits_are_decimal() -> None:
    # 65536 B x 0.186386 Mpps x 8 = 97.72 Gbit/s
    one = parse(
        write_bw("Gb/sec", "65536      5000             97.81              97.72   0.186386")
    ).reports[0]
    assert one.program == "ib_write_bw"
    assert value(one, "bandwidth", size=65536) == 97.72e9 / 8
    assert value(one, "bandwidth", size=65536, statistic="max") == 97.81e9 / 8
    assert value(one, "message_rate", size=65536) == 186386
    assert one.completeness == Completeness.COMPLETE
    assert one.warnings[0].startswith("Conflicting CPU frequency")


@pytest.mark.parametrize("unit", ["MB/sec", "MiB/sec"])
def test_perftest_megabytes_are_powers_of_two_whatever_they_are_called(unit: str) -> None:
    # 1024 B x 5.677340 Mpps = 5813.6e6 B/s = 5544.28 x 2^20 B/s; a peak of 0 was not measured.
    one = parse(write_bw(unit, "1024  1000  0.00  5544.28  5.677340")).reports[0]
    assert value(one, "bandwidth", size=1024) == 5544.28 * 2**20
    assert not values(one, "bandwidth", size=1024, statistic="max")


def test_perftest_bandwidth_must_agree_with_the_message_rate() -> None:
    wrong = write_bw("Gb/sec", "1024  1000  0.00  5544.28  5.677340")
    assert "contradict" in failure(wrong).reason
    negative = write_bw("Gb/sec", "1024  1000  0.00  -5544.28  5.677340")
    assert "is not valid" in failure(negative).reason


JSON = captured("handmade/perftest-write_bw.json").replace("97.72", "BANDWIDTH")
JSON = JSON.replace("BW_peak: 97.81", "BW_peak: 0.00")


@pytest.mark.parametrize(
    ("printed", "expected"), [("97.72", 97.72e9 / 8), ("11649.12", 11649.12 * 2**20)]
)
def test_perftest_json_without_quotes_and_units(printed: str, expected: float) -> None:
    # 65536 B x 0.186386 Mpps = 12.215e9 B/s = 97.72 Gbit/s = 11649.12 MiB/s.
    one = parse(JSON.replace("BANDWIDTH", printed)).reports[0]
    assert value(one, "bandwidth", size=65536) == expected


def test_perftest_json_that_agrees_in_no_unit_is_rejected() -> None:
    assert "in no unit" in failure(JSON.replace("BANDWIDTH", "55.5")).reason
    assert "cut or garbled" in failure(JSON.replace("BANDWIDTH", "97.72")[:-5]).reason


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
    at = server.index("--user")
    assert server[at + 5 :] == ("-@all", "+get", "+set", "+ping")


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
