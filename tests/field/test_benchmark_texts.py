"""Outputs of benchmarks as people post them: other versions, formats and excerpts."""

import csv
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from etherweave.bench.texts.document import UnrecognisedError, parse
from support import command_line
from support.captured_texts import captured, failure, value, values

CASES = Path(__file__).parent / "cases"


class Case(NamedTuple):
    """A text, how `bench parse` ends, and what it prints; a row of ``cases/posted_texts.csv``."""

    name: str
    exit_code: str
    figures: str
    """Metric, with size and labels where several are of it, and its value in base units."""
    words: str  # Texts on standard output or standard error.
    absent: str


def parts(cell: str) -> list[str]:
    return [part for part in cell.replace("\\n", "\n").split(" ;; ") if part]


LINES = (CASES / "posted_texts.csv").read_text().splitlines()
TABLE = [Case(*row) for row in csv.reader(line for line in LINES if line[0] != "#")][1:]


def figures(reports: list[dict[str, Any]]) -> dict[str, list[float]]:
    result: dict[str, list[float]] = {}
    for report in reports:
        for measurement in report["measurements"]:
            words = [
                measurement["metric"],
                measurement["statistic"],
                measurement["size_bytes"],
                *measurement["labels"].values(),
            ]
            name = " ".join(str(word) for word in words if word is not None)
            result.setdefault(name, []).append(measurement["value"])
    return result


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_a_posted_text_is_read_or_the_reason_is_the_right_one(case: Case) -> None:
    done = command_line.invoke("bench", "parse", CASES / case.name)
    assert done.exit_code == int(case.exit_code), done.output
    for word in parts(case.words):
        assert word in done.output
    for word in ("Error(", "NoneType", *parts(case.absent)):
        assert word not in done.output
    as_json = command_line.invoke("bench", "parse", CASES / case.name, "--json")
    result = figures(json.loads(as_json.stdout)["reports"])
    for name, expected in (figure.split(" = ") for figure in parts(case.figures)):
        (near,) = {key for key in result if key == name or key.startswith(f"{name} ")}
        assert result[near] == [pytest.approx(float(expected))], name


def test_runs_of_several_titles_are_read_apart() -> None:
    document = parse((CASES / "13-iperf3-titles/tcp.txt").read_text())
    assert not document.failures and not document.unknown_lines
    rates = [value(report, "bandwidth", side="receiver") * 8 for report in document.reports]
    assert rates == [3.27e9, 3.27e9, 3.36e9]
    assert all(report.completeness == "complete" for report in document.reports)


def test_titles_of_several_words_are_read_apart() -> None:
    text = (CASES / "13-iperf3-titles/tcp.txt").read_text()
    document = parse(text.replace("s1:", "first run:"))
    assert document.reports == parse(text).reports and not document.unknown_lines


def test_tables_without_a_title_that_follow_each_other_are_runs() -> None:
    text = (CASES / "14-table-without-title/perftest.txt").read_text()
    rates = [value(report, "bandwidth", size=1024) / 2**20 for report in parse(text).reports]
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
def test_osu_tests_are_known_by_titles(title: str, table: str, program: str, metric: str) -> None:
    late = f"# OSU {title}\n{table.replace(chr(10), f'{chr(10)}# Datatype: MPI_CHAR.{chr(10)}', 1)}"
    for text in (f"# OSU {title}\n# Datatype: MPI_CHAR.\n{table}", late):
        (report,) = parse(text).reports
        assert (
            report.program,
            {measurement.metric.name for measurement in report.measurements},
        ) == (program, {metric})
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
    assert "are whole in every row: cycles" in failure(text[text.index("---") :]).reason


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
