"""Runs that died: their numbers are kept, and the output is incomplete."""

from pathlib import Path

import pytest

from etherweave.bench.texts.document import parse
from support.captured_texts import captured, failure

DEATHS, HARMLESS = (
    (Path(__file__).parent / "cases" / "ends-of-runs" / name).read_text().splitlines()
    for name in ("deaths.txt", "harmless.txt")
)


DIED = (
    *("osu-micro-benchmarks/osu_latency-5.3.txt", "handmade/nccl_tests.txt"),
    *("perftest/ib_write_bw.txt", "intel-mpi-benchmarks/IMB-MPI1-PingPong.txt"),
    *("hpl/xhpl-4ranks.txt", "iperf3/tcp-reverse.json", "sockperf/tp-tcp-1400.txt"),
)


@pytest.mark.parametrize("name", DIED)
def test_a_run_that_died_is_incomplete_and_its_numbers_are_kept(name: str) -> None:
    (whole,) = parse(captured(name)).reports
    assert whole.is_sound
    for message in DEATHS:
        (report,) = parse(f"{captured(name)}{message}\n").reports
        assert not report.is_sound, message
        assert report.measurements == whole.measurements, message
        assert f"the run failed: line {captured(name).count(chr(10)) + 1}: " in report.warnings[-1]


@pytest.mark.parametrize(
    "line",
    [
        "I expected more than 12 GB/s and cannot see what failed",
        "Did we hit an error here?",
        "   timeout         =  5000000000 ns",
        "FFLAGS = -O2 -fallow-argument-mismatch",
        "srun: error: 0 errors",
    ],
)
def test_a_line_behind_the_rows_that_says_of_no_failure_fails_nothing(line: str) -> None:
    (report,) = parse(f"{captured(DIED[0])}{line}\n").reports
    assert report.is_sound


def test_a_backtrace_is_no_row() -> None:
    crash = "[n1:1:0:1] Caught signal 11 (Segmentation fault)\n==== backtrace (tid: 1) ====\n"
    trace = (
        " 0  /usr/lib/libucs.so.0(ucs_handle_error+0x2e4) [0x7f0123]\n 1 0x42520 __sigaction()\n"
    )
    (report,) = parse(captured(DIED[0]) + crash + trace).reports
    assert report.measurements == parse(captured(DIED[0])).reports[0].measurements


def test_a_run_that_died_without_a_row_says_of_what() -> None:
    title = captured(DIED[0])[: captured(DIED[0]).index("\n", 1) + 1]
    assert "line 3: Killed" in failure(f"{title}# Size          Latency (us)\nKilled\n").reason
    with pytest.raises(ValueError, match=r"no benchmark that is known .*; the run failed: line 1"):
        parse("srun: error: node1: task 0: Exited with exit code 1\n")


@pytest.mark.parametrize("line", HARMLESS)
def test_what_launchers_print_behind_every_run_is_no_failure(line: str) -> None:
    for name in DIED:
        assert parse(f"{captured(name)}{line}\n").reports[0].is_sound, name
