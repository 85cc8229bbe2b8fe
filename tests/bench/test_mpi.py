"""Intel MPI Benchmarks, GPCNeT, HPCC and HPL: numbers read off the captured texts."""

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.document import parse
from etherweave.bench.plans import BenchmarkPlanError, BenchmarkRequest, FabricEstimate
from support.captured_texts import captured, failure, report, value, values

IMB = "intel-mpi-benchmarks"


def test_imb_numbers_that_contradict_are_rejected() -> None:
    text = captured(f"{IMB}/IMB-MPI1-PingPong.txt")
    assert "contradict" in failure(text.replace("1693.54", "9693.54")).reason


def test_imb_repeats_until_40_mib() -> None:
    plan = ADAPTERS["imb"].plan(
        BenchmarkRequest("IMB-MPI1", size_min=2**20, size_max=2**20), FabricEstimate()
    )
    assert plan.forecast.bytes == 40 * 2**20
    assert plan.command.arguments == ("IMB-MPI1", "-npmin", "2", "-msglog", "20:20")


def test_imb_p2p_starts_at_one_byte_and_repeats_a_hundred_times_as_often() -> None:
    plan = ADAPTERS["imb"].plan(BenchmarkRequest("IMB-P2P", size_max=64), FabricEstimate())
    assert plan.sizes == (1, 2, 4, 8, 16, 32, 64)
    assert plan.forecast.bytes == 127 * 100_000
    assert (
        ADAPTERS["imb"].plan(BenchmarkRequest("IMB-RMA", size_max=64), FabricEstimate()).sizes[0]
        == 0
    )


def test_gpcnet_impact_is_computed_from_the_tables() -> None:
    one = report("gpcnet/network_load_test.txt")
    latency = value(one, "congestion_impact", test="RR Two-sided Lat")
    assert latency == pytest.approx(94.9 / 36.9)
    bandwidth = value(one, "congestion_impact", statistic="p99", test="RR Two-sided BW+Sync")
    assert bandwidth == pytest.approx(84.1 / 67.8)
    assert not one.warnings


def test_gpcnet_verbose_tables_keep_victims_apart() -> None:
    one = report("gpcnet/network_load_test_verbose.txt")
    during = "congested: Multiple Allreduce"
    incast = value(one, "bandwidth_rank", size=4096, test="Put Incast", table=during)
    assert incast == 13.7 * 2**20
    assert value(
        one, "latency", size=8, statistic="p99.9", test="RR Two-sided Lat", table="isolated"
    ) == pytest.approx(4000.7e-6)


def test_an_impact_that_contradicts_the_tables_of_gpcnet_is_reported() -> None:
    text = captured("gpcnet/network_load_test.txt").replace("6.5X", "1.5X")
    (one,) = parse(text).reports
    assert any("its tables say 6.45" in warning for warning in one.warnings)


def test_gpcnet_under_load_needs_ten_nodes() -> None:
    with pytest.raises(BenchmarkPlanError, match="at least 10"):
        ADAPTERS["gpcnet"].plan(BenchmarkRequest("network_load_test", nodes=9), FabricEstimate())


def test_hpcc_summary_is_in_decimal_gigabytes() -> None:
    one = report("hpcc/hpccoutf-4ranks.txt")
    assert (one.version, one.valid) == ("1.5.0", True)
    assert value(one, "flop_rate", test="HPL") == 0.00307224e12
    assert value(one, "bandwidth_sum", test="PTRANS") == 0.196633e9
    assert value(one, "update_rate", test="MPIRandomAccess") == 0.000281125e9
    assert value(one, "latency", size=8, test="RandomlyOrderedRing") == 15.3593e-6
    ring = value(one, "bandwidth_rank", size=2_000_000, test="RandomlyOrderedRing")
    assert ring == 0.137563e9
    assert value(one, "latency", size=8, statistic="max", test="PingPong") == 12.0595e-6


def test_hpcc_minus_one_was_not_run() -> None:
    text = captured("hpcc/hpccoutf-4ranks.txt")
    (one,) = parse(text.replace("PTRANS_GBs=0.196633", "PTRANS_GBs=-1")).reports
    assert not values(one, "bandwidth_sum")


def test_hpcc_alone_gives_its_summary_too() -> None:
    text = captured("hpcc/hpccoutf-4ranks.txt")
    (one,) = parse(text[text.index("Begin of Summary") :]).reports
    assert (one.version, one.line) == ("1.5", 1)


def test_hpl_run_that_failed_its_check_gives_no_number() -> None:
    text = captured("hpl/xhpl-4ranks.txt").replace("...... PASSED", "...... FAILED", 1)
    (one,) = parse(text).reports
    assert one.valid is False
    assert not values(one, "flop_rate", N="960", grid="1x4")


def test_hpl_rate_must_follow_from_order_and_time() -> None:
    # 2/3 1920^3 + 3/2 1920^2 = 4.724e9 operations in 1.58 s are 2.99 Gflop/s.
    text = captured("hpl/xhpl-4ranks.txt").replace("2.9826e+00", "2.9826e+01")
    assert "contradict" in failure(text).reason


def test_hpl_input_has_the_lines_that_xhpl_reads() -> None:
    plan = ADAPTERS["hpl"].plan(BenchmarkRequest("xhpl", nodes=4, size_max=4096), FabricEstimate())
    ((name, text),) = plan.command.files
    lines = text.splitlines()
    assert (name, len(lines)) == ("HPL.dat", 31)
    assert [line.split()[0] for line in lines[4:12]] == [
        "1",
        "4096",
        "1",
        "256",
        "0",
        "1",
        "2",
        "2",
    ]
