"""Outputs of benchmarks as people keep them: encodings, logs, runs in one file."""

import json
import re
from pathlib import Path

import pytest

from etherweave.bench.texts.document import parse
from etherweave.cli.bench.parse import decoded
from support.captured_texts import captured, failure, figures_of

CASES = Path(__file__).parent / "cases"


def test_a_text_is_read_in_each_form_in_which_systems_keep_it() -> None:
    text = (CASES / "01-osu-7.2-gpu-header/osu_bw.txt").read_text()
    entries = (json.dumps({"log": f"{line}\n", "stream": "stdout"}) for line in text.splitlines())
    for name, form in {
        "a log of Docker": "\n".join(entries) + "\n",
        "UTF-16 without a mark": decoded(text.encode("utf-16-le")),
        "UTF-16, large first": decoded(text.encode("utf-16-be")),
        "UTF-32": decoded(("\ufeff" + text).encode("utf-32-le")),
    }.items():
        assert figures_of(form) == figures_of(text), name


def test_a_number_with_a_comma_is_the_reason_that_is_given() -> None:
    text = (CASES / "10-sockperf-full-rtt/ping_pong.txt").read_text()
    reason = failure(text.replace("1892.600", "1892,600")).reason
    assert "'1892,600' has a comma: expected digits and a decimal point" in reason


def test_runs_of_nccl_tests_behind_each_other_are_read_apart() -> None:
    text = (CASES / "04-nccl-unvalidated-called-verified/new.txt").read_text()
    title = "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n"
    document = parse(2 * (title + text))
    assert [report.version for report in document.reports] == ["2.17.6", "2.17.6"]
    assert not document.failures and not document.unknown_lines


def test_a_run_whose_title_says_no_validation_is_not_verified() -> None:
    text = (CASES / "04-nccl-unvalidated-called-verified/new.txt").read_text()
    assert parse(text.replace("N/A", "  0")).reports[0].valid is None
    half = (CASES / "02-nccl-relative-error-of-half/all_reduce-half.txt").read_text()
    assert parse(half.replace("12.01  5e-04", "12.01    nan")).reports[0].valid is False


def test_a_client_without_the_total_of_its_receiver_is_incomplete() -> None:
    (report,) = parse(re.sub(r".* receiver\n", "", captured("iperf3/tcp-1stream.txt"))).reports
    assert not report.is_sound and "the receiver's total is missing" in report.warnings


def test_rows_of_param_are_read_behind_blanks_for_a_tabulator() -> None:
    text = captured("handmade/param.txt")
    assert figures_of(text.replace("\t", "    ")) == figures_of(text)


@pytest.mark.parametrize("name", ["iperf3/tcp-reverse.json", "fio/randread-4k.json"])
def test_an_object_on_a_line_that_was_cut_is_called_cut(name: str) -> None:
    text = " ".join(captured(name).split())
    (failed,) = parse(text[: len(text) // 2]).failures
    assert failed.reason == "the JSON object is cut or garbled"
