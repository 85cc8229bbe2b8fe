"""What perftest 4.5 really wrote, between guests with Soft-RoCE: numbers read off its texts."""

import pytest

from etherweave.bench.measurements import Completeness
from support.captured_texts import captured, failure, report, value, values

TEXT = "perftest/ib_write_lat.txt"
JSON = "perftest/ib_write_bw.json"


def test_a_sweep_of_bandwidths_is_read_row_by_row() -> None:
    one = report("perftest/ib_write_bw-all.txt")
    assert (one.program, one.completeness) == ("ib_write_bw", Completeness.COMPLETE)
    assert value(one, "bandwidth", size=65536) == 14.18 * 2**20
    assert value(one, "bandwidth", size=65536, statistic="max") == 14.64 * 2**20
    assert value(one, "message_rate", size=65536) == 227
    assert dict(one.facts)["Mtu"] == "1024[B]"


def test_a_bandwidth_too_small_to_be_printed_is_not_zero() -> None:
    # 2 B x 400 messages/s are 0.0008 MiB/s, printed as 0.00.
    one = report("perftest/ib_write_bw-all.txt")
    assert not values(one, "bandwidth", size=2)
    assert value(one, "message_rate", size=2) == 400


@pytest.mark.parametrize(
    ("name", "metric", "size", "rate"),
    [
        ("ib_write_bw.txt", "bandwidth", 65536, 0.094800e9 / 8),
        ("ib_send_bw.txt", "bandwidth", 65536, 0.070338e9 / 8),
        ("ib_send_bw-bidirectional.txt", "bandwidth_both", 4096, 1.00 * 2**20),
    ],
)
def test_bandwidths_have_the_unit_of_their_column(
    name: str, metric: str, size: int, rate: float
) -> None:
    assert value(report(f"perftest/{name}"), metric, size=size) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("name", "mean", "middle"),
    [("ib_read_lat", 1418.99, 885.76), ("ib_atomic_lat", 1338.85, 950.04)],
)
def test_reads_and_atomic_operations_are_whole_round_trips(
    name: str, mean: float, middle: float
) -> None:
    one = report(f"perftest/{name}.txt")
    assert one.program == name
    assert value(one, "round_trip", size=8) == pytest.approx(mean * 1e-6)
    assert value(one, "round_trip", size=8, statistic="p50") == pytest.approx(middle * 1e-6)


def test_a_timed_run_has_a_mean_only() -> None:
    one = report("perftest/ib_write_lat-duration.txt")
    assert value(one, "latency", size=2) == pytest.approx(19644.36e-6)
    assert len(one.measurements) == 1


def test_a_missing_deviation_of_perftest_affects_no_other_number() -> None:
    for name in (TEXT, "perftest/ib_write_lat.json"):
        one = report(name)
        assert "2 B: perftest printed no standard deviation (-nan)" in one.warnings
        assert not values(one, "latency", size=2, statistic="stdev")
        assert value(one, "latency", size=2, statistic="p99") > 0.1
    assert "is not valid" in failure(captured(TEXT).replace("13925.76", "-nan")).reason


def test_a_server_prints_the_same_format_as_its_client() -> None:
    one = report("perftest/ib_write_lat-server.txt")
    assert value(one, "latency", size=2, statistic="stdev") == pytest.approx(1849.46e-6)


def test_json_without_quotes_and_with_commas_at_the_end_is_read() -> None:
    # 0.10 Gb/s of two places; 65536 B x 196 messages/s are 0.1028 Gb/s.
    one = report(JSON)
    assert (one.program, value(one, "bandwidth", size=65536)) == ("ib_write_bw", 0.10e9 / 8)
    assert value(report("perftest/ib_write_lat.json"), "latency", size=2) == 4607.92e-6


@pytest.mark.parametrize(
    ("before", "after"),
    [("0.10,", "0.20,"), ("0.10,", "x.10,"), ("0.10,", "nan,"), ("MsgSize: 65536,", "")],
)
def test_json_that_lost_a_number_gives_none(before: str, after: str) -> None:
    text = captured(JSON)
    assert before in text
    assert failure(text.replace(before, after)).reason
