"""Storage, key-value, web and learning benchmarks: numbers read off texts, units in view."""

import pytest

from etherweave.bench.document import parse
from support.captured_texts import captured, failure, report, value

SPDK = captured("handmade/spdk_perf.txt")
PARAM = captured("handmade/param.txt")
RPC_PERF = captured("handmade/rpc_perf.txt")


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
