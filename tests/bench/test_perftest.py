"""What perftest 4.5 really wrote, between guests with Soft-RoCE: numbers read off its texts."""

import pytest

from support.captured_texts import captured, failure, report, value, values

TEXT = "perftest/ib_write_lat.txt"
JSON = "perftest/ib_write_bw.json"


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


def test_a_missing_deviation_of_perftest_affects_no_other_number() -> None:
    for name in (TEXT, "perftest/ib_write_lat.json"):
        one = report(name)
        assert "2 B: perftest printed no standard deviation (-nan)" in one.warnings
        assert not values(one, "latency", size=2, statistic="stdev")
        assert value(one, "latency", size=2, statistic="p99") > 0.1
    assert "is not valid" in failure(captured(TEXT).replace("13925.76", "-nan")).reason


@pytest.mark.parametrize(
    ("before", "after"),
    [("0.10,", "0.20,"), ("0.10,", "x.10,"), ("0.10,", "nan,"), ("MsgSize: 65536,", "")],
)
def test_json_that_lost_a_number_gives_none(before: str, after: str) -> None:
    text = captured(JSON)
    assert before in text
    assert failure(text.replace(before, after)).reason
