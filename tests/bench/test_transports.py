"""Benchmarks of transports and collective libraries: numbers read off texts, units in view."""

import pytest

from etherweave.bench.document import parse
from etherweave.bench.measurements import Completeness
from support.captured_texts import captured, failure, report, value, values

NCCL = captured("handmade/nccl_tests.txt")


def test_ucx_megabytes_are_powers_of_two() -> None:
    one = report("ucx_perftest/tag_bw-65536-csv.txt")
    assert value(one, "bandwidth") == 81.99 * 2**20
    assert value(one, "message_rate") == 1312
    assert value(one, "call_time") == 762.298e-6
    final = report("ucx_perftest/tag_lat-8.txt")
    assert value(final, "call_time", statistic="p50") == 3.630e-6
    assert value(final, "call_time") == 188.737e-6


def test_libfabric_sizes_are_powers_of_two_and_megabytes_are_not() -> None:
    one = report("fi_pingpong/tcp-msg.txt")
    assert value(one, "latency", size=64 * 1024) == 5790.15e-6
    assert value(one, "bandwidth", size=2**20) == 176.23e6
    assert one.warnings[0].startswith("oversubscribed?")


def test_sockperf_megabits_are_powers_of_two() -> None:
    one = report("sockperf/tp-tcp-1400.txt")
    assert value(one, "bandwidth", size=1400) == 208.805 * 2**20
    assert value(one, "message_rate", size=1400) == 156391


def test_sockperf_prints_percentiles_and_outliers() -> None:
    one = report("sockperf/pp-tcp-64.txt")
    assert value(one, "latency") == 6.397e-6
    assert value(one, "latency", statistic="p99") == 4.659e-6
    assert value(one, "latency", statistic="p99.9") == 1619.837e-6
    assert value(one, "latency", statistic="max") == 3400.624e-6
    assert "outliers carry the mean" in one.warnings[0]


def test_nuttcp_mixes_powers_and_we_do_not() -> None:
    assert value(report("nuttcp/tcp.txt"), "bandwidth") == 1793.6667e6 / 8
    named = report("nuttcp/tcp-fparse.txt")
    assert value(named, "bandwidth") == 1822.5995e6 / 8
    assert value(named, "round_trip") == 0.19e-3
    text = captured("nuttcp/tcp.txt").replace("430.5679 MB", "451.4832 MB")  # decimal megabytes
    assert "contradict" in failure(text).reason


def test_netpipe_megabits_are_powers_of_two() -> None:
    one = report("netpipe/NPtcp.out.txt")
    assert value(one, "latency", size=1) == 2.44e-6
    assert value(one, "bandwidth", size=1) == pytest.approx(3.122840 * 2**20 / 8, rel=1e-12)
    spoken = report("netpipe/NPtcp-stdout.txt")
    assert value(spoken, "bandwidth", size=2) == pytest.approx(1.99 * 2**20 / 8)


def test_gloo_gigabytes_are_powers_of_two_and_wrong_results_are_reported() -> None:
    one = report("gloo/allreduce_ring_chunked-4.txt")
    ring = "allreduce_ring_chunked"
    assert value(one, "bandwidth_call", size=400_000, algorithm=ring) == 0.139 * 2**30
    assert value(one, "call_time", size=400_000, statistic="p99") == 8676e-6
    assert one.valid is False
    assert one.completeness == Completeness.COMPLETE


def test_nccl_gigabytes_are_decimal_and_buses_are_kept_apart() -> None:
    (one,) = parse(NCCL).reports
    apart = {"placement": "out_of_place"}
    assert value(one, "bandwidth_bus", size=8589934592, **apart) == 95.10e9
    assert value(one, "bandwidth_call", size=8589934592, **apart) == 54.34e9
    assert value(one, "call_time", size=8, placement="in_place") == 12.87e-6
    assert not values(one, "bandwidth_bus", size=8)
    assert (one.valid, one.completeness) == (True, Completeness.COMPLETE)


def test_nccl_sizes_with_wrong_values_are_left_out() -> None:
    text = NCCL.replace("97.37      0", "97.37     12")
    (one,) = parse(text).reports
    assert one.valid is False
    assert not values(one, "bandwidth_bus", size=4294967296, placement="out_of_place")
    assert values(one, "bandwidth_bus", size=4294967296, placement="in_place")


def test_nccl_rate_must_agree_with_size_and_time() -> None:
    assert "contradict" in failure(NCCL.replace("55.64", "59.64")).reason


def test_nccl_cut_before_its_average_is_partial() -> None:
    (one,) = parse(NCCL[: NCCL.index("# Out of")]).reports
    assert one.completeness == Completeness.PARTIAL
