"""iperf3: what the receiver got, out of JSON and out of text."""

import json

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs.plans import BenchmarkRequest, FabricEstimate
from etherweave.bench.texts.document import parse
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


def test_losses_after_omitted_seconds_are_those_of_the_bytes() -> None:
    data = json.loads(captured("iperf3/udp-500M.json"))
    received, test = data["end"]["sum_received"], data["start"]["test_start"]
    sent = received["packets"] * test["blksize"]
    received |= {"lost_packets": 2 * received["packets"], "bytes": 0.75 * sent}
    received["bits_per_second"] = 8 * received["bytes"] / received["seconds"]
    assert "more packets are lost" in failure(json.dumps(data, indent=1) + "\n").reason
    test["omit"] = 2
    (report,) = parse(json.dumps(data, indent=1) + "\n").reports
    (loss,) = [entry for entry in report.measurements if entry.metric.name == "loss"]
    assert float(loss.value) == pytest.approx(0.25)


def test_a_table_with_omitted_seconds_has_no_loss() -> None:
    text = captured("iperf3/udp-500M.txt")
    lines = text.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if " 0.00-1.00 " in line)
    lines[first] = lines[first].rstrip() + "  (omitted)\n"
    names = [
        {entry.metric.name for entry in parse(written).reports[0].measurements}
        for written in (text, "".join(lines))
    ]
    assert names[0] - names[1] == {"loss"}


def test_datagrams_are_sent_without_a_warm_up() -> None:
    udp = ADAPTERS["iperf3"].options.read("iperf3", ("-u", "-b", "1G"))
    request = BenchmarkRequest("iperf3", seconds=5, options=udp)
    plan = ADAPTERS["iperf3"].plan(request, FabricEstimate(rate=1.25e9))
    assert "-O" not in plan.command.filled({"server": "n1", "port": "5300"}).arguments
    assert plan.forecast.bytes == 5 * 1e9 / 8
