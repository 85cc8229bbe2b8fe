"""Outputs of benchmarks as people post them: other versions, formats and excerpts."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from etherweave.bench.document import UnrecognisedError, parse
from support import command_line
from support.captured_texts import captured, failure, value, values

CASES = Path(__file__).parent / "cases"


class Case(NamedTuple):
    """A text, how `bench parse` ends, and what it prints."""

    name: str
    exit_code: int
    figures: tuple[tuple[str, float], ...] = ()
    """Metric, with size and labels where several are of it, and its value in base units."""
    words: tuple[str, ...] = ()
    """Texts on standard output or standard error."""
    absent: tuple[str, ...] = ()


TABLE = (
    # 93,130.52 MB/s at 32 MiB; `# Size` precedes `# Datatype`.
    Case(
        "01-osu-7.2-gpu-header/osu_bw.txt",
        0,
        (("bandwidth mean 33554432", 93_130.52e6), ("bandwidth mean 1", 1.01e6)),
        ("osu_bw 7.2", "device: CUDA"),
    ),
    # 5e-04 is normal for half: the text says that nothing is out of bounds.
    Case(
        "02-nccl-relative-error-of-half/all_reduce-half.txt",
        0,
        (("bandwidth_bus mean 4194304 out_of_place", 12.01e9),),
        ("verified",),
    ),
    Case(
        "03-nccl-all-wrong-called-cut/all_wrong.txt",
        1,
        (),
        ("its own verification FAILED", "2 values are out of bounds", "4 wrong values"),
        ("measurement: cut", "nothing was measured"),
    ),
    Case(
        "04-nccl-unvalidated-called-verified/new.txt",
        0,
        (("call_time mean 1024 out_of_place", 95.40e-6),),
        (),
        ("verified",),
    ),
    Case(
        "04-nccl-unvalidated-called-verified/old.txt",
        0,
        (("bandwidth_bus mean 1048576 in_place", 4.52e9),),
        (),
        ("verified",),
    ),
    Case("05-nccl-one-rank/all_reduce.txt", 1, (), ("one rank sends nothing",), ("too small",)),
    Case("05-nccl-one-rank/broadcast.txt", 1, (), ("one rank sends nothing",), ("too small",)),
    Case(
        "06-nccl-two-singles/two.txt",
        1,
        (),
        ("a second header: two runs are mixed",),
        ("not understood: '#",),
    ),
    Case(
        "07-rccl-algo-columns/all_reduce.txt",
        0,
        (
            ("bandwidth_bus mean 33554432 out_of_place float sum -1 TREE LL128 64", 127.38e9),
            ("bandwidth_bus mean 134217728 in_place float sum -1 RING SIMPLE 64", 229.85e9),
        ),
        ("all_reduce_perf", "verified"),
    ),
    # The rank stands before each piece of a row.
    Case(
        "08-launcher-prefixes/all_reduce.txt",
        0,
        (
            ("bandwidth_bus mean 4194304 out_of_place", 12.91e9),
            ("bandwidth_bus mean 2097152 in_place", 9.65e9),
        ),
    ),
    *(
        Case(
            f"09-crash-after-rows/{name}.txt",
            1,
            ((f"{metric} mean {size}", figure),),
            ("INCOMPLETE", f"the run failed: line {line}: "),
            ("it may be cut",),
        )
        for name, metric, size, figure, line in (
            ("assertion", "bandwidth", 16384, 3815.50e6, 19),
            ("segmentation_fault", "latency", 8, 1.28e-6, 8),
            ("signal", "latency", 8, 1.28e-6, 9),
        )
    ),
    Case(
        "10-sockperf-full-rtt/ping_pong.txt",
        0,
        (
            ("round_trip mean", 1892.6e-6),
            ("round_trip stdev", 422.741e-6),
            ("round_trip p99.999", 11533.498e-6),
        ),
    ),
    # 2,552,320 KiB in 16.637 s are 157.1 MB/s; 153,412 KiB/s is what fio says of it.
    Case(
        "11-python-errors-in-messages/fio-2.15.json",
        0,
        (
            ("storage_bandwidth mean 524288 t2 read", 153_412 * 1024),
            ("round_trip p99 524288 t2 read", 60_160e-6),
        ),
        ("fio 2.15",),
        ("verified",),
    ),
    Case(
        "11-python-errors-in-messages/iperf3.json",
        0,
        (("bandwidth mean receiver forward", 1773148098.7995286 / 8),),
    ),
    Case(
        "12-iperf3-receiver-got-nothing/tcp.txt",
        1,
        (("bandwidth mean sender forward", 69.5e3 / 8),),
        ("the receiver got nothing: 0.00 Bytes", "the sender retransmitted 5 segments"),
        ("too small",),
    ),
    Case(
        "14-table-without-title/nccl_tests.txt",
        0,
        (("bandwidth_bus mean 32768 in_place", 0.41e9),),
        ("the line with the title is missing",),
        ("verified",),
    ),
    Case(
        "14-table-without-title/imb.txt",
        0,
        (
            ("bandwidth_both mean 1048576 Sendrecv", 8107.16e6),
            ("call_time max 524288 Exchange", 169.20e-6),
        ),
        ("title of IMB",),
    ),
    Case(
        "15-perftest-facts/ib_write_lat.txt",
        1,
        (),
        ("cycles of the processor (-C) below a header that says usec",),
        ("3.118 ms",),
    ),
    Case(
        "15-perftest-facts/ib_atomic_bw.txt",
        0,
        (("bandwidth mean 8", 1.67 * 2**20),),
        (
            "  Dual-port: OFF\n  Device: pib_1\n",
            "  rdma_cm QPs: OFF",
            "  Data ex. method: Ethernet",
        ),
    ),
    # Eight ranks: 7 x 262,144 B in 76.46 us are 24.00 GB/s on the bus.
    Case(
        "16-unknown-programs/ucc_perftest.txt",
        0,
        (
            ("call_time mean 262144", 76.46e-6),
            ("bandwidth_bus mean 262144", 24.00e9),
            ("bandwidth_bus max 262144", 25.27e9),
        ),
        ("ucc_perftest", "Collective: Alltoall"),
    ),
    Case(
        "16-unknown-programs/gloo.txt",
        0,
        (("call_time p99 allreduce_ring_chunked 100", 254e-6),),
        ("processes: 2",),
    ),
    # 2/3 264,192^3 operations in 18.77 s are 654,949 Gflop/s.
    Case(
        "31-hpl-nvidia/xhpl.txt",
        0,
        (("flop_rate mean 264192 1024 4x2 WC0", 6.550e14),),
        ("verified", "HPL-NVIDIA: 23.5.0"),
    ),
)


def figures(reports: list[dict[str, Any]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for report in reports:
        for one in report["measurements"]:
            words = [one["metric"], one["statistic"], one["size_bytes"], *one["labels"].values()]
            name = " ".join(str(word) for word in words if word is not None)
            found.setdefault(name, []).append(one["value"])
    return found


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_a_posted_text_is_read_or_the_reason_is_the_right_one(case: Case) -> None:
    done = command_line.invoke("bench", "parse", CASES / case.name)
    assert done.exit_code == case.exit_code, done.output
    for word in case.words:
        assert word in done.output
    for word in ("Error(", "NoneType", *case.absent):
        assert word not in done.output
    as_json = command_line.invoke("bench", "parse", CASES / case.name, "--json")
    found = figures(json.loads(as_json.stdout)["reports"])
    for name, expected in case.figures:
        (near,) = {key for key in found if key == name or key.startswith(f"{name} ")}
        assert found[near] == [pytest.approx(expected)], name


def test_runs_of_several_titles_are_read_apart() -> None:
    text = (CASES / "13-iperf3-titles/tcp.txt").read_text()
    document = parse(text)
    assert not document.failures and not document.unknown_lines
    rates = [value(one, "bandwidth", side="receiver") * 8 for one in document.reports]
    assert rates == [3.27e9, 3.27e9, 3.36e9]
    assert all(one.completeness == "complete" for one in document.reports)


def test_titles_of_several_words_are_read_apart() -> None:
    text = (CASES / "13-iperf3-titles/tcp.txt").read_text()
    document = parse(text.replace("s1:", "first run:"))
    assert document.reports == parse(text).reports and not document.unknown_lines


def test_tables_without_a_title_that_follow_each_other_are_runs() -> None:
    text = (CASES / "14-table-without-title/perftest.txt").read_text()
    rates = [value(one, "bandwidth", size=1024) / 2**20 for one in parse(text).reports]
    assert rates == [pytest.approx(5544.28), pytest.approx(920.13)]


def test_one_rank_of_gloo_sends_nothing_in_either_format() -> None:
    new = captured("gloo/allreduce_ring_chunked-4.txt").replace("processes=4", "processes=1")
    old = (CASES / "16-unknown-programs/gloo.txt").read_text()
    for text in (new, old.replace("processes=2", "processes=1")):
        assert failure(text).reason == "one rank sends nothing"


@pytest.mark.parametrize(
    ("name", "lines", "family"),
    [
        ("netperf/tcp_stream.txt", 1, "netperf"),
        ("iperf2/tcp.txt", 2, "iperf2"),
        ("npb/cg.A.4.txt", 3, "npb"),
        ("gpcnet/network_test.txt", 1, "gpcnet"),
        ("fio/randread-4k.txt", 1, "fio"),
        ("ucx_perftest/tag_lat-8.txt", 2, "ucx_perftest"),
        ("wrk/latency.txt", 1, "wrk"),
        ("iozone/auto-4M.txt", 1, "iozone"),
        ("ember/halo3d-2x2x2.txt", 1, "ember"),
        ("ember/incast-4.txt", 1, "ember"),
        ("handmade/rpc_perf.txt", 2, "rpc_perf"),
        ("handmade/spdk_perf.txt", 2, "spdk_perf"),
        ("fi_pingpong/tcp-msg.txt", 1, "fi_pingpong"),
        ("netperf/tcp_rr-omni-csv.txt", 1, "netperf"),
        ("netperf/tcp_stream-omni-keyval.txt", 1, "netperf"),
        ("osu-micro-benchmarks/osu_init-7.4.txt", 1, "osu"),
    ],
)
def test_a_text_whose_first_lines_are_lost_is_named(name: str, lines: int, family: str) -> None:
    rest = "\n".join(captured(name).splitlines()[lines:]) + "\n"
    with pytest.raises(UnrecognisedError, match=f"a text of {family} without its first line: "):
        parse(rest)


def test_rates_of_mixed_precision_are_of_the_factorisation_and_of_the_whole_solve() -> None:
    # 2/3 44,000^3 operations in 3.74 s are 15,184 Gflop/s.
    row = "HPL_AI   WR03L2L2   44000   288   1   1   3.74   1.517e+04   1.32214   1.121e+04\n"
    verdict = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=  1.450442E-03 ...... PASSED\n"
    (report,) = parse(f"HPLinpack 2.1  --  HPL-AI\n{row}{verdict}End of Tests.\n").reports
    assert report.program == "xhpl_ai"
    assert values(report, "flop_rate", N="44000") == [1.517e13, 1.121e13]


OSU = "# Size          Latency (us)\n1                       1.24\n2                       1.25\n"
BANDWIDTH = (
    "# Size      Bandwidth (MB/s)\n1                       1.24\n2                       2.50\n"
)
AVERAGE = (
    "# Size       Avg Latency(us)\n4                       2.24\n8                       2.25\n"
)


@pytest.mark.parametrize(
    ("title", "table", "program", "metric"),
    [
        ("MPI-ROCM Latency Test v7.2", OSU, "osu_latency", "latency"),
        ("MPI Latency Persistent Test v7.4", OSU, "osu_latency_persistent", "latency"),
        ("MPI-CUDA Bandwidth Persistent Test v7.4", BANDWIDTH, "osu_bw_persistent", "bandwidth"),
        ("MPI_Put-CUDA Latency Test v7.2", OSU, "osu_put_latency", "call_time"),
        ("MPI_Get Multi Latency Test v7.4", OSU, "osu_get_multi_lat", "call_time"),
        ("NCCL-CUDA Allreduce Latency Test v7.5", AVERAGE, "osu_xccl_allreduce", "call_time"),
        ("NCCL-CUDA Bandwidth Test v5.9", BANDWIDTH, "osu_nccl_bw", "bandwidth"),
        ("RCCL-ROCM Broadcast Latency Test v7.4", AVERAGE, "osu_xccl_bcast", "call_time"),
        (
            "MPI Allreduce Persistent Latency Test v7.4",
            AVERAGE,
            "osu_allreduce_persistent",
            "call_time",
        ),
        (
            "MPI Non-blocking Neighborhood Alltoallv Latency Test v7.4",
            AVERAGE,
            "osu_ineighbor_alltoallv",
            "call_time",
        ),
    ],
)
def test_osu_tests_are_known_by_their_titles(
    title: str, table: str, program: str, metric: str
) -> None:
    late = f"# OSU {title}\n{table.replace(chr(10), f'{chr(10)}# Datatype: MPI_CHAR.{chr(10)}', 1)}"
    for text in (f"# OSU {title}\n# Datatype: MPI_CHAR.\n{table}", late):
        (report,) = parse(text).reports
        assert (report.program, {one.metric.name for one in report.measurements}) == (
            program,
            {metric},
        )
        assert len(report.measurements) == 2


def test_tables_of_osu_are_read_without_title_and_bandwidth_is_no_latency() -> None:
    (report,) = parse(OSU).reports
    assert (report.program, value(report, "call_time", size=2)) == ("osu", 1.25e-6)
    (rates,) = parse(
        "# Size                  MB/s        Messages/s\n1    28.12    28118821.14\n"
    ).reports
    assert (rates.program, value(rates, "bandwidth_sum", size=1)) == ("osu_mbw_mr", 28.12e6)
    # osu_bw_fan_in prints bandwidth below the words of a latency: only its title says so.
    fan = "".join(f"{2**k:<10}{1.07 * 2**k:18.2f}\n" for k in range(9))
    assert "grow with their size" in failure(f"# Size       Avg Latency(us)\n{fan}").reason


def test_blanks_that_were_merged_by_a_page_are_no_missing_digits() -> None:
    (report,) = parse("# OSU MPI Latency Test v5.6.2\n" + re.sub(" +", " ", OSU)).reports
    assert value(report, "latency", size=1) == 1.24e-6


NCCL = (CASES / "02-nccl-relative-error-of-half/all_reduce-half.txt").read_text()


def test_an_error_counts_if_the_program_does_not_say_that_all_is_within_bounds() -> None:
    wrong = NCCL.replace("12.01  5e-04", "12.01  3e-01")
    assert parse(wrong).reports[0].valid is True, "only the program knows the bound of a type"
    (cut,) = parse(wrong.replace("# Out of bounds values : 0 OK\n", "")).reports
    assert not values(cut, "bandwidth_bus", size=4194304, placement="out_of_place")
    (failed,) = parse(NCCL.replace(": 0 OK", ": 7 FAILED")).reports
    assert failed.valid is False


def test_a_broadcast_of_one_rank_has_a_bandwidth_and_a_warning() -> None:
    lines = [line for line in NCCL.splitlines() if "Rank  1" not in line]
    (report,) = parse("\n".join(lines) + "\n").reports
    assert "one rank is listed, which sends nothing" in " ".join(report.warnings)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '{"fio version": "fio-3.28", "jobs": null}',
            "jobs: expected a list of objects, found null",
        ),
        ('{"fio version": "fio-3.28"}', "the JSON object has no key jobs"),
        ('{"start": [], "end": {}, "version": "iperf 3.1"}', "start: expected an object, found []"),
        ('{"start": {}, "sum_received": 1}', "the JSON object has no key end"),
        (
            '{"test_info": null, "results": {"n_iterations": 5}}',
            "test_info: expected an object, found null",
        ),
    ],
)
def test_an_object_of_another_shape_is_named_by_its_keys(text: str, reason: str) -> None:
    assert failure(f"{text}\n").reason == reason


def test_fio_3_with_the_names_of_fio_2_is_not_guessed() -> None:
    data = json.loads(captured("fio/randread-4k.json"))
    data["jobs"][0]["read"]["clat"] = data["jobs"][0]["read"].pop("clat_ns")
    text = json.dumps(data) + "\n"
    assert failure(text).reason == "the JSON object has no key jobs.0.read.clat_ns"


def test_a_receiver_that_got_nothing_is_reported_from_json_too() -> None:
    data = json.loads(captured("iperf3/tcp-1stream-omit1.json"))
    for total in (data["end"]["sum_received"], data["end"]["streams"][0]["receiver"]):
        total["bytes"] = total["bits_per_second"] = 0
    (report,) = parse(json.dumps(data) + "\n").reports
    assert not report.is_sound
    assert (
        "the receiver got nothing: 0 Bytes; the sender retransmitted 0 segments" in report.warnings
    )


def test_whole_times_of_perftest_are_cycles_without_its_command_too() -> None:
    text = (CASES / "15-perftest-facts/ib_write_lat.txt").read_text()
    bare = text[text.index("---") :]
    assert "are whole in every row: cycles" in failure(bare).reason


def test_elements_of_old_gloo_have_a_size_where_the_rate_says_so() -> None:
    text = (CASES / "16-unknown-programs/gloo.txt").read_text()
    head, _, _ = text.partition("elements")
    # 268,435,456 elements of 4 B in 1.443672 s are 0.693 x 2^30 B/s.
    names = "   elements   min (us)   p50 (us)   p99 (us)   max (us)   avg (GB/s)    samples\n"
    row = "  268435456    1443672    1443672    1443672    1443672        0.693          1\n"
    (report,) = parse(head + names + row).reports
    assert value(report, "bandwidth_call", size=2**30) == 0.693 * 2**30
    assert "one rank sends nothing" in failure(text.replace("processes=2", "processes=1")).reason


def test_columns_of_each_placement_are_labels_of_that_placement() -> None:
    text = (CASES / "07-rccl-algo-columns/all_reduce.txt").read_text()
    head = text[: text.index("#       size")]
    names = (
        "# size count type redop root time algbw busbw #wrong algo time algbw busbw #wrong algo\n"
    )
    row = "33554432 8388608 float sum -1 493.92 67.93 127.38 0 TREE 492.10 68.19 127.85 0 RING\n"
    (report,) = parse(f"{head}{names}{row}# Avg bus bandwidth    : 127.6\n").reports
    assert values(report, "bandwidth_bus", size=33554432, algo="TREE") == [127.38e9]
    assert values(report, "bandwidth_bus", size=33554432, algo="RING") == [127.85e9]


def test_the_end_of_a_text_of_iperf3_is_read_alone() -> None:
    text = captured("iperf3/tcp-1stream.txt")
    lines = [line for line in text.splitlines() if line.endswith(("sender", "receiver"))]
    (report,) = parse("\n".join(lines) + "\n").reports
    assert value(report, "bandwidth", side="receiver") == 1.81e9 / 8
    assert "the line `Connecting to host` is missing" in report.warnings


def test_null_where_a_number_may_be_missing_is_left_out() -> None:
    data = json.loads(captured("iperf3/udp-500M.json"))
    data["end"]["sum_received"]["jitter_ms"] = None
    (report,) = parse(json.dumps(data) + "\n").reports
    assert not values(report, "jitter") and values(report, "loss")
    data["end"]["sum_received"]["lost_packets"] = None
    reason = "end.sum_received.lost_packets: expected a number, found null"
    assert failure(json.dumps(data) + "\n").reason == reason


def test_mpigraph_of_one_rank_is_refused() -> None:
    text = (
        "START mpiGraph v1.5\nMsgSize\t4096\nTimes\t10\nWindow\t5\nProcs\t1\n"
        "Send max\t0.000000\nSend avg\t0.000000\nSend\tn1:0\nn1:0 to\t0.000\nEND mpiGraph\n"
    )
    assert failure(text).reason == "one rank sends nothing"


def test_a_client_that_was_interrupted_does_not_know_what_the_receiver_got() -> None:
    text = (CASES / "12-iperf3-receiver-got-nothing/tcp.txt").read_text()
    end = "iperf3: interrupt - the client has terminated"
    (report,) = parse(text.replace("iperf Done.", end)).reports
    said = " ".join(report.warnings)
    assert "the receiver's total is not known: 0.00 Bytes" in said
    assert f"the run failed: line 20: {end}" in said


def test_an_error_of_a_job_is_no_verification() -> None:
    text = captured("fio/randread-4k.json")
    assert parse(text).reports[0].valid is None
    wrong = re.sub(r'"error" : 0', '"error" : 5', text)
    assert failure(wrong).reason == "no measurement: job rr: error 5"
