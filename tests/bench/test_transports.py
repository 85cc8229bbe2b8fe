"""Benchmarks of transports and collective libraries: numbers read off texts, units in view."""

from etherweave.bench.document import parse
from etherweave.bench.measurements import Completeness
from support.captured_texts import captured, failure, report, value, values

NCCL = captured("handmade/nccl_tests.txt")


def test_nuttcp_mixes_powers_and_we_do_not() -> None:
    assert value(report("nuttcp/tcp.txt"), "bandwidth") == 1793.6667e6 / 8
    named = report("nuttcp/tcp-fparse.txt")
    assert value(named, "bandwidth") == 1822.5995e6 / 8
    assert value(named, "round_trip") == 0.19e-3
    text = captured("nuttcp/tcp.txt").replace("430.5679 MB", "451.4832 MB")  # decimal megabytes
    assert "contradict" in failure(text).reason


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
