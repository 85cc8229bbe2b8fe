"""Jobs of results as benchmarks, and the published figures that they are compared with."""

import dataclasses
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure

import etherweave
from etherweave.api.results import Result
from etherweave.measurements.metrics import ITERATION_TIME, LATENCY, Metric
from etherweave.measurements.quantities import Quantity, quantities
from etherweave.measurements.references import Reference, references
from etherweave.pages import write_report
from etherweave.report.against import fabric_name, published
from etherweave.report.bounds import medium
from etherweave.report.result_fabric import Fabric, fabric
from etherweave.report.run import comparison, osu
from support.measured_results import measurement, slowed

JOBS: dict[str, dict[str, Any]] = {
    "ping": {"osu_latency": {"bytes": "8B", "iterations": 4}},
    "pong": {"osu_latency": {"bytes": "0B", "iterations": 4}},
    "one": {"osu_bw": {"bytes": "64KiB", "window": 8, "iterations": 2}},
    "both": {"osu_bibw": {"bytes": "64KiB", "window": 8, "iterations": 2}},
    "sum": {"osu_collective": {"ranks": 4, "operation": {"allreduce": {"bytes": "1KiB"}}}},
    "wait": {"osu_collective": {"ranks": 4, "operation": "barrier"}},
    "lists": {
        "osu_collective": {"ranks": 4, "operation": {"allgatherv": {"bytes": ["1KiB", "3KiB"]}}}
    },
    "funnel": {"incast": {"sources": 2}},
    "cube": {"halo3d": {"pex": 2, "pey": 1, "pez": 1, "iterations": 1}},
}


def run(jobs: Mapping[str, Mapping[str, Any]], **scenario: object) -> Result:
    job = [{"name": name, "workload": workload} for name, workload in jobs.items()]
    usual = {"topology": {"single_switch": {"hosts": 64}}, "run": {"end": "2ms"}}
    return etherweave.run({**usual, "job": job, **scenario})


@cache
def simulated() -> Result:
    return run(JOBS)


def measured(result: Result, slower: tuple[float, ...]) -> Result:
    return slowed(result, slower, measurement(len(slower)))


def mean_s(result: Result, job: str) -> float:
    times = result.to_polars("iterations").filter(pl.col("job") == job)["duration_ns"]
    return float(times.to_numpy().mean()) * 1e-9


def test_several_pairs_are_named_and_counted_as_the_tools_for_them() -> None:
    """Half a round trip of a pair; the messages of all pairs over the time of a window."""
    ping = {"osu_latency": {"bytes": "8B", "pairs": 2, "iterations": 4}}
    many = {"osu_bw": {"bytes": "1KiB", "pairs": 3, "window": 8, "iterations": 2}}
    jobs: list[dict[str, Any]] = [
        {"name": "ping", "workload": ping},
        {"name": "many", "workload": many},
    ]
    jobs = [{**job, "ranks_per_host": 3} for job in jobs]
    result = etherweave.run({"topology": {"single_switch": {"hosts": 4}}, "job": jobs})
    latency, bandwidth, rate = quantities(result)
    assert (latency.program, latency.ranks) == ("osu_multi_lat", 4)
    assert latency.values == pytest.approx([mean_s(result, "ping") / 2])
    assert (bandwidth.program, bandwidth.ranks) == ("osu_mbw_mr", 6)
    messages = 3 * 8 / mean_s(result, "many")
    assert bandwidth.values == pytest.approx([1024 * messages])
    assert rate.values == pytest.approx([messages])


def test_jobs_are_measured_as_the_tools_count_them() -> None:
    """Half a round trip; window · size over time; the mean of a call; the sum of streams."""
    result = simulated()
    outcome = {quantity.job: quantity for quantity in quantities(result)}
    assert {name: (row.program, row.size_bytes, row.ranks) for name, row in outcome.items()} == {
        "ping": ("osu_latency", 8, 2),
        "pong": ("osu_latency", 0, 2),
        "one": ("osu_bw", 65536, 2),
        "both": ("osu_bibw", 65536, 2),
        "sum": ("osu_allreduce", 1024, 4),
        "wait": ("osu_barrier", None, 4),
        "lists": ("osu_allgatherv", 2048, 4),
        "funnel": ("ib_write_bw", None, 3),
        "cube": ("halo3d-26", None, 2),
    }
    delivered = float(result.to_polars("streams")["goodput_gbps"].to_numpy().sum())
    for name, value in {
        "ping": mean_s(result, "ping") / 2,
        "one": 8 * 65536 / mean_s(result, "one"),
        "both": 2 * 8 * 65536 / mean_s(result, "both"),
        "sum": mean_s(result, "sum"),
        "funnel": delivered * 1e9 / 8,
        "cube": mean_s(result, "cube"),
    }.items():
        assert outcome[name].values == pytest.approx([value])


def test_one_sided_operations_are_named_as_the_tools_for_them() -> None:
    """The mean of an operation with its flush; window · size over time."""
    word = {"osu_one_sided_latency": {"access": "fetch_and_op", "iterations": 4}}
    pull = {"osu_one_sided_bw": {"access": "get", "bytes": "64KiB", "window": 8, "iterations": 2}}
    result = run({"word": word, "pull": pull})
    latency, bandwidth = quantities(result)
    assert (latency.program, latency.size_bytes) == ("osu_fop_latency", 8)
    assert latency.values == pytest.approx([mean_s(result, "word")])
    assert (bandwidth.program, bandwidth.size_bytes) == ("osu_get_bw", 65536)
    assert bandwidth.values == pytest.approx([8 * 65536 / mean_s(result, "pull")])


def test_of_several_launches_the_median_counts() -> None:
    (own,) = [
        row for row in quantities(measured(simulated(), (2.0, 3.0, 9.0))) if row.job == "ping"
    ]
    half = mean_s(simulated(), "ping") / 2
    assert own.values == pytest.approx([2 * half, 3 * half, 9 * half])
    assert own.median == pytest.approx(3 * half)


def test_a_fabric_of_ultra_ethernet_has_a_name_and_no_published_figure() -> None:
    """A full frame has 20 B of IPv4, 8 of UDP, 12 of packet delivery, 44 of semantics, a tag."""
    uet: dict[str, object] = {"transport": {"uet": {}}, "flow_control": {"none": {}}}
    result = run({"ping": JOBS["ping"]}, **uet)
    assert [published(quantity, fabric(result)) for quantity in quantities(result)] == [[]]
    own = fabric(result)
    assert own.words == "Ultra Ethernet"
    assert own.medium.wire == (4096, 4096 + 20 + 8 + 12 + 44 + 38 + 4)
    assert own.medium.note == "Ultra Ethernet, payload 4096 B"


def test_the_fabric_is_that_of_the_scenario() -> None:
    """Path MTU of RoCE, 4 KiB by default, and segments of TCP, with 52 octets of headers."""
    own = fabric(simulated())
    assert (own.words, own.medium.rate) == ("RoCE v2+PFC", 12.5e9)
    assert own.medium.wire == (4096, 4096 + 44 + 38 + 4)  # The last for the tag.
    tcp = fabric(
        run(
            {"ping": JOBS["ping"]},
            topology={"single_switch": {"hosts": 2, "rate": "10Gb/s"}},
            transport={"tcp": {"mss": "1448B"}},
            flow_control={"none": {}},
        )
    )
    assert (tcp.words, tcp.medium.rate, tcp.medium.wire) == ("TCP", 1.25e9, (1448, 1542))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("TCP", ("tcp", "", set())),
        ("TCP 1GbE fallback (MPICH)", ("tcp", "", set())),
        ("RoCE v2+PFC+ETS 50/50", ("roce", "v2", {"pfc", "ets 50/50"})),
        ("RoCE on Slingshot-10 (ConnectX-5 100G NIC)", ("roce", "", set())),
        ("GPUDirect-TCPX/RDMA", None),
        ("user-space TCP/IP (ConnectX-5)", None),
        ("InfiniBand EDR", None),
        ("", None),
    ],
)
def test_names_of_fabrics_are_read(words: str, expected: object) -> None:
    assert fabric_name(words) == expected


LAN = Fabric("tcp", "", False, medium("tcp", 1.25e9, 1500))
FIGURE = next(row for row in references() if row.program == "osu_latency" and row.fabric == "TCP")
FIGURE = dataclasses.replace(
    FIGURE, statistic="mean", size_bytes=8, link_bits_per_s=1e10, conditions="two hosts"
)


def ping(metric: Metric = LATENCY, size: int | None = 8, ranks: int = 2) -> Quantity:
    return Quantity("ping", "osu_latency", "", metric, size, ranks, (20e-6,))


def test_a_figure_of_the_same_thing_is_found() -> None:
    assert published(ping(), LAN, [FIGURE]) == [FIGURE]


@pytest.mark.parametrize(
    "change",
    [
        {"program": "osu_latency_mt"},
        {"test": "incast"},
        {"size_bytes": 16},
        {"size_bytes": None},
        {"unit": "B/s"},
        {"metric": "round_trip"},
        {"statistic": "p99"},
        {"link_bits_per_s": 1e9},
        {"link_bits_per_s": None},
        {"fabric": "TCP+PFC"},
        {"fabric": "RoCE v2"},
        {"provenance": "secondary"},
        {"conditions": "intra-node"},
        {"conditions": "48 ranks on a random allocation"},
    ],
)
def test_a_figure_of_anything_else_is_not(change: dict[str, Any]) -> None:
    other: Reference = dataclasses.replace(FIGURE, **change)
    assert published(ping(), LAN, [other]) == []


def test_figures_with_the_same_flow_control_go_first() -> None:
    paused = dataclasses.replace(LAN, is_paused=True)
    with_pfc = dataclasses.replace(FIGURE, fabric="TCP+PFC")
    assert published(ping(), paused, [FIGURE, with_pfc]) == [with_pfc]
    assert published(ping(), paused, [FIGURE]) == [FIGURE]
    assert published(ping(), LAN, [FIGURE, with_pfc]) == [FIGURE]


HALO = {"halo3d": {"iterations": 1}}


def test_an_application_counts_as_published_and_alone() -> None:
    """Kenny et al. 2020, figure 5: 0.9 ms over RoCE v2 with PFC, on 48 ranks of 100 Gb/s."""
    (own,) = quantities(run({"halo": HALO}, run={}))
    assert (own.metric, own.ranks, own.is_as_published) == (ITERATION_TIME, 48, True)
    assert [reference.value for reference in published(own, fabric(simulated()))] == [0.0009]
    (other,) = quantities(run({"halo": {"halo3d": {"iterations": 1, "nx": 10}}}, run={}))
    assert published(other, fabric(simulated())) == []
    beside, _ = quantities(run({"halo": HALO, "ping": JOBS["ping"]}, run={}))
    assert published(beside, fabric(simulated())) == []


def legend(figure: Figure | None, at: int = 0) -> list[str]:
    assert figure is not None
    shown = figure.axes[at].get_legend()
    assert shown is not None
    return [text.get_text().replace("\n", " ") for text in shown.get_texts()]


def both() -> comparison.ComparedResults:
    return comparison.ComparedResults([simulated(), measured(simulated(), (1.5, 2.0, 2.5))])


def test_one_figure_holds_simulated_measured_published_and_limits() -> None:
    """Published is 1.0 us without payload, beside what is simulated, and twice that."""
    result = osu.times(both())
    assert result is not None
    half = mean_s(simulated(), "pong") / 2 * 1e6
    assert legend(result.figure) == [
        "simulated, RoCE v2+PFC",
        "measured, RoCE v2+PFC",
        "size / line rate, 100 Gb/s",
        f"simulated: {half:.3g} us + size / goodput (RoCE v2, path MTU 4096 B)",
        f"measured: {2 * half:.3g} us + size / goodput (RoCE v2, path MTU 4096 B)",
        f"published; measured is {half:.3g} to {2 * half:.3g} of it",
    ]
    calls = legend(result.figure, 1)
    assert calls[-1] == f"measured: {2 * half:.3g} us + bytes / goodput, 4 ranks at least"


def test_rates_of_one_and_of_both_directions_have_limits_of_their_own() -> None:
    result = osu.rates(both())
    assert result is not None and result.figure is not None
    first, second = result.figure.axes
    for axes, ways in ((first, 1), (second, 2)):
        lines = {str(line.get_label()): line for line in axes.lines}
        (rate,) = [line for name, line in lines.items() if name.startswith("line rate")]
        assert rate.get_ydata() == pytest.approx([100 * ways])


def test_published_figures_are_listed_with_source_and_ratio() -> None:
    section = comparison.published_figures(both())
    assert section is not None
    half = mean_s(simulated(), "pong") / 2
    rows = [row for row in section.tables[0].rows if row[0] == "pong"]
    assert [row[5:7] for row in rows] == [["≈ 1 us", f"{half * by * 1e6:.3g}"] for by in (1, 2)]
    assert "Kenny et al. 2020" in rows[0][-1]


def test_an_incast_is_held_against_the_link_and_the_publication() -> None:
    result = comparison.goodput(both())
    assert result is not None
    labels = ["published", "line rate, 100 Gb/s", "full frames (RoCE v2, path MTU 4096 B)"]
    assert set(labels) < set(legend(result.figure))
    drawn = "dashed is its rate, dotted what full frames leave of it, diamonds are published."
    assert result.caption.endswith(f"At an incast all streams share the link of one host: {drawn}")


def test_lines_of_a_link_are_named_where_they_are_drawn_alone() -> None:
    streams = run({"streams": {"permutation_streams": {"ranks": 2, "message": "100kB"}}})
    pair = comparison.ComparedResults([streams, streams])
    result = comparison.goodput(pair)
    assert result is not None
    assert result.caption == comparison.GOODPUT_CAPTION
    assert set(legend(result.figure)) == set(pair.labels)


def test_published_means_stand_among_iteration_times() -> None:
    halo = run({"halo": HALO}, run={})
    section = comparison.iteration_times(
        comparison.ComparedResults([halo, measured(halo, (2.0, 2.0))])
    )
    assert section is not None
    assert legend(section.figure)[-1] == "published mean, RoCE v2+PFC (Kenny et al. 2020)"


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_figures")
def test_a_page_of_one_result_is_held_against_publications_too(tmp_path: Path) -> None:
    simulated().save(tmp_path)
    page = write_report(tmp_path, tmp_path).read_text()
    assert "Bandwidth of OSU&#39;s tests" in page and "Published figures" in page


@pytest.mark.usefixtures("undrawn_figures")
def test_jobs_like_no_benchmark_have_no_such_sections(tmp_path: Path) -> None:
    run({"all": {"all_to_all": {"ranks": 3}}}).save(tmp_path)
    page = write_report(tmp_path, tmp_path).read_text()
    assert "test_times" not in page and "Published figures" not in page
