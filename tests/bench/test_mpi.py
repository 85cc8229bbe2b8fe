"""Intel MPI Benchmarks, GPCNeT, HPCC and HPL: numbers read off the captured texts."""

from dataclasses import replace

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs.plans import BenchmarkPlanError, BenchmarkRequest, FabricEstimate
from etherweave.bench.texts.document import parse
from support.captured_texts import captured


def test_imb_repeats_until_40_mib() -> None:
    imb = ADAPTERS["imb"]
    request = BenchmarkRequest("IMB-MPI1", size_min=2**20, size_max=2**20)
    ping = replace(request, options=imb.options.read("IMB-MPI1", ["PingPong"]))
    plan = imb.plan(ping, FabricEstimate())
    assert plan.forecast.bytes == 40 * 2**20
    assert plan.command.arguments == ("IMB-MPI1", "-npmin", "2", "-msglog", "20:20", "PingPong")
    # Without a name all run, two of them with 64 messages at once.
    every = len(imb.options.words_of("IMB-MPI1")) - 2 + 2 * 64
    assert imb.plan(request, FabricEstimate()).forecast.bytes == every * 40 * 2**20


def test_imb_p2p_starts_at_one_byte_and_repeats_a_hundred_times_as_often() -> None:
    plan = ADAPTERS["imb"].plan(BenchmarkRequest("IMB-P2P", size_max=64), FabricEstimate())
    assert plan.sizes == (1, 2, 4, 8, 16, 32, 64)
    assert plan.forecast.bytes == len(ADAPTERS["imb"].options.words_of("IMB-P2P")) * 127 * 100_000
    assert (
        ADAPTERS["imb"].plan(BenchmarkRequest("IMB-RMA", size_max=64), FabricEstimate()).sizes[0]
        == 0
    )


def test_gpcnet_under_load_needs_ten_nodes() -> None:
    with pytest.raises(BenchmarkPlanError, match="at least 10"):
        ADAPTERS["gpcnet"].plan(BenchmarkRequest("network_load_test", nodes=9), FabricEstimate())


def test_hpcc_alone_gives_its_summary_too() -> None:
    text = captured("hpcc/hpccoutf-4ranks.txt")
    (one,) = parse(text[text.index("Begin of Summary") :]).reports
    assert (one.version, one.line) == ("1.5", 1)


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
