"""The verbs of ``etherweave bench`` as their user meets them."""

import json
from functools import partial
from pathlib import Path

import pytest

from etherweave.bench.adapters import ADAPTERS
from support import command_line
from support.captured_texts import DATA, captured

etherweave = partial(command_line.invoke, "bench")


def test_parse_prints_a_table_in_readable_units() -> None:
    done = etherweave("parse", DATA / "osu-micro-benchmarks/osu_latency-7.4-tail.txt", code=0)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["size", "mean", "p50", "p90", "p99"] in lines
    first = "latency 1 B 19.63 us 6.2 us 8.34 us 17.68 us"
    assert first.split() in lines
    assert "warning: outliers carry the mean" in done.stdout


def test_parse_prints_json_in_base_units() -> None:
    done = etherweave("parse", DATA / "osu-micro-benchmarks/osu_bw-7.4.txt", "--json")
    (report,) = json.loads(done.stdout)["reports"]
    last = report["measurements"][-1]
    assert (last["metric"], last["unit"], last["better"]) == ("bandwidth", "B/s", "higher")
    assert (last["value"], last["size_bytes"], last["printed"]) == (119.01e6, 262144, "119.01 MB/s")
    assert report["completeness"] == "open"


def test_parse_reads_standard_input_with_several_results() -> None:
    names = ("iperf3/tcp-1stream.txt", "qperf/tcp-udp.txt", "nuttcp/tcp.txt")
    done = etherweave("parse", "-", "--json", text="".join(map(captured, names)))
    programs = [report["program"] for report in json.loads(done.stdout)["reports"]]
    assert (done.exit_code, programs) == (0, ["iperf3", "qperf", "nuttcp"])


def test_parse_ends_with_1_when_something_is_cut_or_failed(tmp_path: Path) -> None:
    cut = tmp_path / "cut.txt"
    cut.write_text(captured("intel-mpi-benchmarks/IMB-MPI1-PingPong.txt")[:1600])
    assert "INCOMPLETE" in etherweave("parse", cut, code=1).stdout
    failed = etherweave("parse", DATA / "iperf3/error-connect-refused.json", code=1)
    assert "iperf3 says: unable to connect" in failed.stderr


def test_parse_ends_with_2_when_nobody_wrote_it(tmp_path: Path) -> None:
    stranger = tmp_path / "letter.txt"
    stranger.write_text("Dear all,\nthe cluster is fast.\n")
    done = etherweave("parse", stranger, code=2)
    assert done.stderr.count("\n") == 1
    assert "no benchmark that is known" in done.stderr
    assert "No such file" in etherweave("parse", tmp_path / "nothing.txt", code=2).stderr


@pytest.mark.parametrize("letters", ["utf-8", "utf-8-sig", "utf-16"])
def test_parse_reads_what_windows_wrote(letters: str, tmp_path: Path) -> None:
    text = captured("osu-micro-benchmarks/osu_bw-7.4.txt")
    file = tmp_path / "result.txt"
    file.write_bytes(text.replace("\n", "\r\n").encode(letters))
    assert etherweave("parse", file).stdout == etherweave("parse", "-", text=text).stdout


def test_parse_rejects_what_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "image.png"
    file.write_bytes(bytes(range(256)) * 40)
    done = etherweave("parse", file, code=2)
    assert "no benchmark that is known" in done.stderr
    broken = captured("osu-micro-benchmarks/osu_bw-7.4.txt").encode() + b"\xff\xfe\n"
    assert "262,144 B" in command_line.invoke("bench", "parse", "-", text=broken, code=0).stdout
    assert "a device; expected a file" in etherweave("parse", "/dev/zero", code=2).stderr


def test_list_names_all_and_says_which_are_read() -> None:
    facts = json.loads(etherweave("list", "--json").stdout)
    read = {entry["name"]: entry["is_read"] for entry in facts}
    assert read["osu"] and not read["deathstarbench"]
    assert "deathstarbench" in etherweave("list").stdout


def test_info_prints_metrics_with_direction_or_why_there_are_none() -> None:
    metrics = json.loads(etherweave("info", "iperf3", "--json").stdout)["metrics"]
    better = {metric["name"]: metric["better"] for metric in metrics}
    assert (better["bandwidth"], better["loss"]) == ("higher", "lower")
    assert "no longer kept" in etherweave("info", "deepbench").stdout
    assert "osu_upc" in etherweave("info", "osu_upc").stdout, "no program of OSU's that is read"
    far = etherweave("info", "nosuch").stderr
    assert far == "unknown benchmark nosuch; `etherweave bench list` has all\n"
    assert "iperf3" in etherweave("info", "iperf33", code=2).stderr


def test_info_of_a_program_is_that_of_its_benchmark_with_its_own_plan() -> None:
    facts = json.loads(etherweave("info", "osu_bw", "--json").stdout)
    assert (facts["name"], facts["plan"]["program"]) == ("osu", "osu_bw")


@pytest.mark.parametrize("words", [("plan", "osu_bw"), ("run", "iperf3", "-o", "unused")])
def test_sizes_that_fall_are_rejected(words: tuple[str, ...]) -> None:
    done = etherweave(*words, "--size", "4KiB:1KiB", code=2)
    assert "--size 4KiB:1KiB: expected the smallest message first" in done.stderr


@pytest.mark.parametrize("name", ADAPTERS)
def test_info_prints_placement_command_forecast_and_checks(name: str) -> None:
    facts = json.loads(etherweave("info", name, "--json").stdout)
    if facts["plan"] is None:
        assert facts["is_read"] and facts["checks"] and facts["metrics"]
        assert f"not planned: {name}: its published " in etherweave("info", name).stdout
        return
    assert facts["plan"]["placement"]["nodes"] >= 1
    assert facts["plan"]["command"]["arguments"]
    assert facts["plan"]["forecast"]["seconds"] > 0
    assert facts["checks"] and facts["metrics"]
    words = " ".join(etherweave("info", name).stdout.split())
    for part in ("placement", "command", "sends", "takes", "a result counts if", "program"):
        assert part in words, part


def test_plan_predicts_bytes_and_seconds_and_starts_nothing() -> None:
    done = etherweave("plan", "osu_bw", "--rate", "1Gb/s", "--size", "4MiB:4MiB", "--json")
    planned = json.loads(done.stdout)
    # 20 timed and 2 warm-up windows of 64 messages of 4 MiB, at 125e6 bytes/s.
    assert planned["forecast"]["bytes"] == 22 * 64 * 2**22
    seconds = 22 * 64 * (2**22 / 125e6 + 20e-6 / 64)
    assert planned["forecast"]["seconds"] == pytest.approx(seconds)
    assert planned["command"]["arguments"] == ["osu_bw", "-m", "4194304:4194304"]
    assert "sends" in etherweave("plan", "iperf3").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["osu_bw", "--nodes", "3"], "exactly two ranks"),
        (["osu_bw", "--rate", "7"], "expected a rate such as 100Gb/s"),
        (["osu_bw", "--size", "1.5B"], "whole number of bytes"),
        (["osu_bw", "--latency", "fast"], "expected a time such as 20us"),
        (["iometer"], "not planned: steered by a window"),
        (["nothing"], "unknown program nothing"),
        (["cg.Q.x"], "expected a program such as cg.C.x"),
        (["foo.C.x"], "expected a program such as cg.C.x"),
        (["ua.C.x"], "ua has no version for MPI"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str) -> None:
    done = etherweave("plan", *arguments, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
