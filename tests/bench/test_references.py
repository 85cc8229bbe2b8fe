"""Published figures: searched, and held against results."""

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from etherweave.api.units import PRINTED_UNITS
from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.campaigns.campaign import Network
from etherweave.bench.campaigns.summary import among
from etherweave.cli.reference import verdict_of
from etherweave.measurements.references import PROVENANCES, Reference, compare, references, search
from support import command_line
from support.captured_texts import DATA, report

etherweave = partial(command_line.invoke, "reference")


def test_every_figure_has_a_source_and_a_known_provenance() -> None:
    assert len(references()) > 600
    for reference in references():
        assert reference.source and reference.fabric and reference.printed, reference
        assert reference.provenance in PROVENANCES, reference
        assert reference.bound in ("eq", "approx", "gt", "lt"), reference
        assert reference.value > 0, reference


def test_figures_speak_of_the_metrics_that_adapters_measure() -> None:
    units = {metric.name: metric.unit for kind in ADAPTERS.values() for metric in kind.metrics}
    known = [reference for reference in references() if reference.benchmark in ADAPTERS]
    assert len(known) > 500
    assert {reference.metric for reference in known} - units.keys() == {"bandwidth_node"}
    assert all(units.get(reference.metric, "B/s") == reference.unit for reference in known)


def test_values_follow_from_what_the_sources_print() -> None:
    names = {"Gb/s": "Gbit/s", "Mb/s": "Mbit/s", "usec": "us", "MiB/s/rank": "MiB/s"}
    names |= {"GUP/s": "G/s", "K/sec": "k/s", "Mbytes/sec": "MB/s", "Mbits/sec": "Mbit/s"}
    names |= {"10^6bits/sec": "Mbit/s", "kB/sec": "KiB/s", "per sec": "1/s", "ops/sec": "1/s"}
    names |= {"GB/sec": "GB/s", "IOPS": "1/s", "k IOPS": "k/s", "M IOPS": "M/s", "OP/s": "1/s"}
    binary = {("perftest", "MB/s"): "MiB/s", ("spdk_perf", "MB/s"): "MiB/s"}
    binary |= {("gloo", "GB/s"): "GiB/s"}
    checked = 0
    for row in references():
        printed, unit = row.printed.split(" ", 1)
        unit = binary.get((row.benchmark, unit), names.get(unit, unit))
        if unit in PRINTED_UNITS:
            assert row.value == pytest.approx(float(printed) * float(PRINTED_UNITS[unit][1])), row
            checked += 1
    assert checked > 500


def test_socket_mpi_storage_and_service_benchmarks_have_figures() -> None:
    """Li et al. (2022) find that such numbers are missing."""
    counts = Counter(figure.benchmark for figure in references())
    names = ("imb", "netperf", "qperf", "gloo", "fio", "ycsb", "spdk_perf", "iozone")
    assert sum(counts[name] for name in names) >= 250
    assert min(counts[name] for name in names) >= 4
    figures = [figure for figure in references() if figure.benchmark in names]
    assert {figure.kind for figure in figures} == {"measured", "too low", "target", "limit"}


def test_a_figure_of_a_test_is_compared_with_that_test_only() -> None:
    pairs = compare(report("intel-mpi-benchmarks/IMB-MPI1-PingPong.txt"), search(["ocitutorials"]))
    assert pairs
    assert {dict(pair.measurement.labels)["benchmark"] for pair in pairs} == {"PingPong"}
    (half,) = [row for row in pairs if row.reference.unit == "s" and row.reference.size_bytes == 0]
    assert half.reference.value == 1.66e-6


def test_an_unknown_word_is_refused_with_the_nearest_program() -> None:
    refused = command_line.invoke("reference", "netprf", code=2).stderr
    assert "no such figure; netprf: nearest: netperf" in refused
    assert "fewer words find more" in command_line.invoke("reference", "fio", "osu_bw").stderr


def test_an_unknown_fabric_is_refused_with_the_nearest_and_a_narrow_fabric_with_others() -> None:
    refused = partial(command_line.invoke, "reference", "netperf", code=2)
    assert "--fabric Rocce: no such fabric; nearest: RoCE, " in refused("--fabric", "Rocce").stderr
    assert "no such fabric; known: Aries, " in refused("--fabric", "zzz").stderr
    without = refused("--fabric", "roce").stderr
    assert re.search(r"no such figure; without --fabric there are \d+: .*TCP", without)


def test_the_sandia_figures_are_there() -> None:
    (bandwidth,) = search(["osu_bw", "Kenny"], fabric="RoCE v2")
    # "above 97 Gb/s" at 4 MB: 12.125e9 bytes/s
    assert (bandwidth.value, bandwidth.bound, bandwidth.size_bytes) == (97e9 / 8, "gt", 2**22)
    assert bandwidth.may_accept


def test_second_hand_figures_are_never_accepted() -> None:
    second = [reference for reference in references() if reference.provenance == "secondary"]
    assert second
    assert not any(reference.may_accept for reference in second)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        # Measured: 849.60e6 bytes/s.
        ({"value": 1e9, "bound": "eq"}, "worse"),
        ({"value": 5e8, "bound": "eq"}, "better"),
        ({"value": 849e6, "bound": "eq"}, ""),
        ({"value": 1e9, "bound": "gt"}, "worse"),
        ({"value": 5e8, "bound": "gt"}, ""),
        ({"value": 5e8, "bound": "lt"}, "better"),
        ({"value": 1e9, "bound": "lt"}, ""),
        ({"value": 1e9, "bound": "eq", "provenance": "secondary"}, ""),
        ({"value": 1e9, "bound": "eq", "conditions": "4 MB; reported as too low"}, ""),
        ({"value": 1e9, "bound": "eq", "conditions": "target quoted by the reporter"}, ""),
    ],
)
def test_results_are_judged_as_far_as_figures_go(changes: dict[str, object], verdict: str) -> None:
    """A bound says nothing of what lies beyond it, and hearsay nothing at all."""
    (pair,) = compare(report("osu-micro-benchmarks/osu_bw-5.3.txt"), [figure(**changes)])
    assert verdict_of(pair) == verdict


def test_second_hand_figures_are_in_no_band() -> None:
    for kind in {reference.fabric for reference in references() if not reference.may_accept}:
        assert all(reference.may_accept for reference in among(Network("n", kind)))


def test_words_fabric_and_metric_narrow_the_search() -> None:
    assert {reference.metric for reference in search(metric="message_rate")} == {"message_rate"}
    assert all("slingshot" in reference.fabric.lower() for reference in search(fabric="SLINGSHOT"))
    assert not search(["no such word at all"])


def test_numbers_match_as_numbers_and_before_their_unit() -> None:
    words = ["nccl", "all_reduce", "nodes", "H100", "400G"]
    assert not search([*words[:2], "8", *words[2:]])
    pairs = search([*words[:2], "2", *words[2:]])
    assert {pair.system for pair in pairs} == {"2 nodes x 8 H100, 8x400G RoCE"}
    assert {row.size_bytes for row in search(["osu_latency", "gist", "4096", "bytes"])} == set()
    assert {reference.size_bytes for reference in search(["osu_latency", "gist", "4096"])} == {4096}
    assert not search(["Kenny", "osu_bw", "7"], fabric="RoCE v2")


def test_the_table_names_system_kind_and_conditions() -> None:
    done = etherweave("all_reduce", "2", "nodes", "H100", "400G")
    head, low, low_row, _, other_row, target, target_row, count = done.stdout.splitlines()
    assert "  kind  " in head
    system = "2 nodes x 8 H100, 8x400G RoCE"
    assert low == f"{system}: 1 GiB; reported as too low; healthy perftest"
    assert "  too low  " in low_row and "  too low  " in other_row
    assert target.startswith(f"{system}: 8x400G target quoted by the reporter; ")
    assert "  target  " in target_row
    assert count == "3 figures; too low: 2, target: 1"


def test_figures_of_one_system_and_equal_conditions_stand_together() -> None:
    done = etherweave("osu_latency", "jfgrimm", "--fabric", "TCP 1GbE", code=0)
    _, where, *rows, count = done.stdout.splitlines()
    # Conditions name the size of each figure, which has a column.
    assert where.startswith("unnamed cluster, 2 nodes: MPICH over TCP; ~116 MB/s plateau")
    assert len(rows) == int(count.split()[0]) == len({row.split()[2] for row in rows})
    assert all(row.startswith("  osu_latency  ") for row in rows)


def test_conditions_stand_above_figures_of_programs_whose_names_have_spaces() -> None:
    for word in ("dgnettest", "bisec_bw"):
        done = etherweave(word)
        _, *lines, count = done.stdout.splitlines()
        rows = [line for line in lines if line.startswith("  ") and not line.startswith("   ")]
        assert len([row for row in rows if word in row]) == int(count.split()[0]), word


def figure(**changes: object) -> Reference:
    (reference,) = search(["osu_bw", "Kenny"], fabric="RoCE v2")
    return Reference(**(vars(reference) | changes))


def test_a_result_is_matched_by_metric_and_size_and_shown_as_a_ratio() -> None:
    result = report("osu-micro-benchmarks/osu_bw-5.3.txt")
    (pair,) = compare(result, [figure()])
    assert pair.measurement.size_bytes == 2**22
    assert pair.ratio == pytest.approx(849.60e6 / 12.125e9)
    for other in ({"size_bytes": 3}, {"metric": "latency"}, {"statistic": "p99"}, {"unit": "s"}):
        assert not compare(result, [figure(**other)])


def test_figures_from_within_a_node_are_not_compared() -> None:
    result = report("osu-micro-benchmarks/osu_bw-5.3.txt")
    assert not compare(result, [figure(conditions="1 pair; intra-node")])


def test_the_same_program_and_the_most_trusted_come_first() -> None:
    result = report("osu-micro-benchmarks/osu_bw-5.3.txt")
    reported = [
        figure(program="osu_get_bw"),
        figure(provenance="issue-thread"),
        figure(provenance="vendor-doc"),
    ]
    pairs = compare(result, reported)
    assert [pair.reference.provenance for pair in pairs] == [
        "vendor-doc",
        "issue-thread",
        "primary",
    ]


def test_congested_and_isolated_figures_stay_apart() -> None:
    result = report("gpcnet/network_load_test.txt")
    pairs = [pair for pair in compare(result, references()) if pair.reference.table]
    assert {pair.reference.table for pair in pairs} == {"isolated", "congested", "impact"}
    for pair in pairs:
        assert dict(pair.measurement.labels)["table"] == pair.reference.table


def test_the_verb_searches() -> None:
    assert "about 13 us" in etherweave("osu_latency", "kenny", "--fabric", "TCP", code=0).stdout
    facts = json.loads(etherweave("--metric", "update_rate", "--json").stdout)
    assert {fact["unit"] for fact in facts} == {"1/s"}
    assert etherweave("no-such-figure", code=2).stderr.count("\n") == 1


def test_the_verb_holds_a_result_against_figures() -> None:
    text = DATA / "osu-micro-benchmarks/osu_bw-5.3.txt"
    done = etherweave("--result", text, "--fabric", "RoCE v2", "Kenny", code=0)
    (row,) = [line.split() for line in done.stdout.splitlines() if "osu_bw" in line]
    # 849.60e6 / 12.125e9
    assert "0.0701" in row
    assert "worse" in row
    (pair,) = json.loads(etherweave("--result", text, "Kenny", "RoCE v2", "--json").stdout)
    assert pair["reference"]["source"].startswith("Kenny et al. 2020")
    assert etherweave("--result", DATA / "README.md").exit_code == 2


def test_rows_of_the_verb_name_the_test_that_was_measured() -> None:
    done = etherweave("--result", DATA / "hpcc/hpccoutf-4ranks.txt", "StackHPC", "--json")
    pairs = json.loads(done.stdout)
    rates = {pair["labels"]["test"] for pair in pairs if pair["metric"] == "flop_rate"}
    assert len(rates) > 1
    table = etherweave("--result", DATA / "hpcc/hpccoutf-4ranks.txt", "StackHPC").stdout
    for test in rates:
        assert f"flop_rate {test}"[:16] in table, test


def test_the_verb_prints_why_a_result_is_doubtful(tmp_path: Path) -> None:
    failed = etherweave("--result", DATA / "iperf3/error-connect-refused.json", code=1)
    assert failed.stderr.count("\n") == 1
    assert "iperf3 says: unable to connect to server" in failed.stderr
    cut = tmp_path / "cut.txt"
    cut.write_text((DATA / "osu-micro-benchmarks/osu_bw-5.3.txt").read_text()[:-3])
    done = etherweave("--result", cut, "--fabric", "TCP", code=1)
    assert "cut.txt:1: osu_bw: incomplete" in done.stderr


def test_figures_are_counted_by_benchmark() -> None:
    rows = json.loads(etherweave("--count", "--json", code=0).stdout)
    assert sum(row["figures"] for row in rows) == len(references())
    assert all(sum(row["kinds"].values()) == row["figures"] for row in rows)
    (own,) = json.loads(etherweave("qperf", "--count", "--json", code=0).stdout)
    qperf = [figure for figure in references() if figure.benchmark == "qperf"]
    assert (own["figures"], own["systems"]) == (len(qperf), len({row.system for row in qperf}))
    assert etherweave("--count", "--result", "x.txt").exit_code == 2


def test_an_unknown_metric_is_rejected_with_the_known_ones() -> None:
    done = etherweave("--metric", "speed", code=2)
    assert "--metric speed: expected one of bandwidth, " in done.stderr


def test_a_negative_field_of_a_table_is_no_number_with_a_comma() -> None:
    from etherweave.bench.texts import document

    assert document._COMMA.search("allreduce,8,-5,310,7") is None
    for text in ("mean -1,5 us", "mean 5,310 us"):
        assert document._COMMA.search(text)
