"""Storage, key-value, web and learning benchmarks: numbers read off texts, units in view."""

import pytest

from etherweave.bench.document import parse
from support.captured_texts import captured, failure, report, value, values

SPDK = captured("handmade/spdk_perf.txt")
PARAM = captured("handmade/param.txt")
RPC_PERF = captured("handmade/rpc_perf.txt")


def test_fio_json_has_exact_bytes_and_nanoseconds() -> None:
    one = report("fio/randread-4k.json")
    assert value(one, "storage_bandwidth", size=4096, operation="read") == 77574518
    assert value(one, "operation_rate", size=4096) == 18939.091363
    assert value(one, "round_trip", size=4096, statistic="p99") == 99840e-9
    assert not values(one, "storage_bandwidth", size=4096, operation="write")


def test_fio_words_before_the_object_do_not_matter() -> None:
    one = report("fio/net-tcp-read.json")
    assert (one.line, value(one, "storage_bandwidth", size=65536)) == (2, 124041322)


def test_fio_text_prints_powers_of_two() -> None:
    one = report("fio/randread-4k.txt")
    assert value(one, "storage_bandwidth") == 93.2 * 2**20
    assert value(one, "operation_rate") == 23.8e3
    assert "use JSON" in failure(captured("fio/randread-4k-terse.txt")).reason


def test_iozone_kilobytes_are_powers_of_two() -> None:
    one = report("iozone/auto-4M.txt")
    assert value(one, "storage_bandwidth", size=64 * 1024, operation="rewrite") == 9373535 * 1024
    assert value(one, "storage_bandwidth", size=2**20, operation="reread") == 14177082 * 1024


def test_iozone_value_below_no_column_is_rejected() -> None:
    text = captured("iozone/auto-4M.txt").replace(" 10638969", "10638969 ")
    assert "below the names" in failure(text).reason


@pytest.mark.parametrize("unit", ["MiB/s", "MB/s "])
def test_spdk_megabytes_are_powers_of_two_whatever_they_are_called(unit: str) -> None:
    # 538.24 x 2^20 B/s / 137788.90 per second = 4096 B
    one = parse(SPDK.replace("MiB/s", unit)).reports[0]
    assert value(one, "storage_bandwidth", size=4096, device="Total") == 538.24 * 2**20
    assert value(one, "round_trip", size=4096, statistic="max", device="Total") == 1729.93e-6


def test_spdk_operations_and_bytes_must_be_whole_blocks() -> None:
    assert "whole blocks" in failure(SPDK.replace("538.24", "540.24", 1)).reason


def test_ycsb_counts_operations_that_returned() -> None:
    one = report("ycsb/redis-run-workloada.txt")
    assert value(one, "transaction_rate") == 27322.4043715847
    assert value(one, "round_trip", statistic="p99", operation="READ") == 3083e-6
    assert one.valid is True
    text = captured("ycsb/redis-run-workloada.txt").replace("Return=OK, 9916", "Return=OK, 9915")
    assert parse(text).reports[0].valid is False


def test_redis_benchmark_has_three_formats() -> None:
    table = report("redis-benchmark/get-set.csv")
    assert value(table, "transaction_rate", test="SET") == 132978.73
    assert value(table, "round_trip", statistic="p99", test="GET") == 4.167e-3
    long = report("redis-benchmark/get.txt")
    assert value(long, "transaction_rate", test="GET") == 41946.31
    assert value(long, "round_trip", statistic="p95") == 0.423e-3
    short = report("redis-benchmark/get-q.txt")
    assert value(short, "transaction_rate") == 28280.54
    assert value(short, "round_trip", statistic="p50") == 0.063e-3


def test_wrk_kilobytes_are_powers_of_two() -> None:
    one = report("wrk/latency.txt")
    assert value(one, "transaction_rate") == 1897.86
    assert value(one, "bandwidth") == 352.23 * 1024
    assert value(one, "round_trip", statistic="p99") == 8.60e-3


def test_wrk_errors_make_it_invalid() -> None:
    text = captured("wrk/latency.txt").replace(
        "Requests/sec", "  Non-2xx or 3xx responses: 12\nRequests/sec"
    )
    assert parse(text).reports[0].valid is False


def test_rpc_perf_prints_each_window() -> None:
    (one,) = parse(RPC_PERF).reports
    assert value(one, "transaction_rate", window="1") == 49999.90
    assert value(one, "round_trip", statistic="p99.9", window="1") == 402e-6


def test_param_rows_are_decimal_and_checked() -> None:
    # 1048576 B / 120.0 us = 8.738e9 B/s, 2097152 B / 200.0 us = 10.486e9 B/s
    (one,) = parse(PARAM).reports
    assert value(one, "bandwidth_call", size=2**20, call="all_reduce") == 8.738e9
    assert value(one, "bandwidth_bus", size=2**20) == 15.292e9
    assert value(one, "call_time", size=2**20, statistic="p95") == 130.4e-6
    assert "contradict" in failure(PARAM.replace("8.738", "9.738")).reason
