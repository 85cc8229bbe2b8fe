"""Benchmarks of transports and collective libraries: numbers read off texts, units in view."""

from etherweave.bench.document import parse
from etherweave.bench.measurements import Completeness
from support.captured_texts import captured, values

NCCL = captured("handmade/nccl_tests.txt")


def test_nccl_sizes_with_wrong_values_are_left_out() -> None:
    text = NCCL.replace("97.37      0", "97.37     12")
    (one,) = parse(text).reports
    assert one.valid is False
    assert not values(one, "bandwidth_bus", size=4294967296, placement="out_of_place")
    assert values(one, "bandwidth_bus", size=4294967296, placement="in_place")


def test_nccl_cut_before_its_average_is_partial() -> None:
    (one,) = parse(NCCL[: NCCL.index("# Out of")]).reports
    assert one.completeness == Completeness.PARTIAL
