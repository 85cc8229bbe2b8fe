"""iperf3: what the receiver got, out of JSON and out of text."""

import json

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.document import parse
from etherweave.bench.plans import BenchmarkRequest, FabricEstimate
from support.captured_texts import captured, failure


def test_an_object_whose_numbers_contradict_is_rejected() -> None:
    data = json.loads(captured("iperf3/tcp-1stream-omit1.json"))
    data["end"]["sum_received"]["bits_per_second"] *= 2
    assert "contradict" in failure(json.dumps(data, indent=1) + "\n").reason


@pytest.mark.parametrize("wrong", ["NaN", "-1", "true", '"fast"', "1e999", "[]", "null"])
def test_a_value_that_is_no_number_is_rejected(wrong: str) -> None:
    text = captured("iperf3/tcp-1stream-omit1.json")
    assert "886632120" in text
    assert failure(text.replace("886632120", wrong)).benchmark == "iperf3"


def test_results_of_several_programs_may_stand_in_one_text() -> None:
    names = ("iperf3/tcp-1stream.txt", "iperf3/udp-500M.json", "iperf3/error-connect-refused.json")
    document = parse("Hello,\n\nsee below\n" + "".join(map(captured, names)) + "Bye\n")
    assert [report.line for report in document.reports] == [4, 18]
    assert len(document.failures) == 1
    assert (1, "Hello,") in document.unknown_lines


def test_the_plan_names_both_ends_and_warms_up() -> None:
    plan = ADAPTERS["iperf3"].plan(
        BenchmarkRequest("iperf3", seconds=5, streams=4), FabricEstimate(rate=1.25e9)
    )
    words = plan.command.filled({"server": "n1", "port": "5300"})
    assert words.server == ("iperf3", "-s", "-1", "-p", "5300")
    assert words.arguments == (
        "iperf3",
        "-c",
        "n1",
        "-p",
        "5300",
        "-t",
        "5",
        "-O",
        "2",
        "-P",
        "4",
        "-J",
    )
    assert plan.forecast.bytes == (5 + 2) * 1.25e9
