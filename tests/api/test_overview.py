"""The first figures of a result."""

import math
from typing import Any

import pyarrow
import pytest

from etherweave.api.overview import PAUSE_CAUSES, overview, rate_text
from etherweave.api.results import Result

PORT = {
    **{"node": "s0", "port": 0, "peer": "h0", "priority": 0, "drops_packets": 0, "drops_bytes": 0},
    **{"tx_pause_packets": 0, "tx_pause_duration_ns": 0.0, "rx_pause_duration_ns_max": 0.0},
    **{f"tx_pause_{cause}_packets": 0 for cause in PAUSE_CAUSES},
}


def figures(
    finished: str = "complete", resolved: str = "", **rows: list[dict[str, Any]]
) -> dict[str, Any]:
    tables = {name: pyarrow.Table.from_pylist(rows) for name, rows in rows.items()}
    summary: Any = {"finished": finished, "end_ns": 4e6}
    return overview(Result(tables, summary, resolved, {}))


def iterations(job: str, *durations_us: float) -> list[dict[str, Any]]:
    return [{"job": job, "duration_ns": duration * 1e3} for duration in durations_us]


def test_times_of_iterations_are_described_by_job() -> None:
    # Of 1 to 100 the 99th percentile is at 98.01 from 0, nearest to the 99th of them.
    job = figures(iterations=iterations("a", *range(1, 101)) + iterations("b", 7, 9))["jobs"]
    many = {"iterations": 100, "mean_us": 50.5, "median_us": 50.5, "p99_us": 99.0, "max_us": 100.0}
    assert job["a"] == pytest.approx(many)
    assert job["b"]["median_us"] == 8


def test_streams_that_would_go_on_when_the_run_ends_are_not_complete() -> None:
    rows = [
        {"job": "a", "start_ns": 1e6, "end_ns": 3e6, "bytes": 2_500_000, "goodput_gbps": 10.0},
        {"job": "a", "start_ns": 1e6, "end_ns": 4e6, "bytes": 7_500_000, "goodput_gbps": 20.0},
    ]
    cut = figures("time_limit", streams=rows)
    # 10 MB from 1 to 4 ms.
    assert cut["goodput_gbps"] == pytest.approx(80 / 3)
    assert (cut["streams"]["a"]["complete"], cut["streams"]["a"]["max_us"]) == (1, 2000)
    assert figures(streams=rows)["streams"]["a"]["complete"] == 2


def test_streams_of_the_background_that_a_complete_run_cuts_off_are_not_complete() -> None:
    row = {"start_ns": 0.0, "end_ns": 4e6, "bytes": 10, "goodput_gbps": 1.0}
    rows = [{**row, "job": "a"}, {**row, "job": "b"}, {**row, "job": "b", "end_ns": 3e6}]
    jobs = "job = [{ name = 'a', background = false }, { name = 'b', background = true }]"
    stream = figures(resolved=jobs, streams=rows)["streams"]
    assert (stream["a"]["complete"], stream["a"]["max_us"]) == (1, 4000)
    assert (stream["b"]["complete"], stream["b"]["max_us"]) == (1, 3000)


def test_streams_that_would_start_after_the_run_has_ended_are_not_complete() -> None:
    rows = [
        {"job": "a", "start_ns": 1e9, "end_ns": 2e6, "bytes": 0, "goodput_gbps": 0.0},
        {"job": "b", "start_ns": 1e9, "end_ns": 2e6, "bytes": 0, "goodput_gbps": 0.0},
        {"job": "b", "start_ns": 1e6, "end_ns": 2e6, "bytes": 12_500_000, "goodput_gbps": 100.0},
    ]
    stream = figures(streams=rows)["streams"]
    assert stream["a"] == {"streams": 1, "complete": 0, "goodput_gbps": 0}
    assert (stream["b"]["complete"], stream["b"]["max_us"], stream["b"]["goodput_gbps"]) == (
        1,
        1000,
        100,
    )


def test_streams_that_end_apart_have_no_more_goodput_than_their_bytes_over_all_their_time() -> None:
    rows = [
        {"job": "a", "start_ns": 0.0, "end_ns": 1e6, "bytes": 12_500_000, "goodput_gbps": 100.0},
        {"job": "a", "start_ns": 1e6, "end_ns": 2e6, "bytes": 12_500_000, "goodput_gbps": 100.0},
    ]
    result = figures(streams=rows)
    # 25 MB in 2 ms; each alone had 100 Gb/s.
    assert (result["streams"]["a"]["goodput_gbps"], result["goodput_gbps"]) == (100, 100)


def test_goodput_of_jobs_is_their_bytes_over_the_time_of_all() -> None:
    row = {"bytes": 12_500_000, "goodput_gbps": 100.0}
    rows = [
        {"job": "a", "start_ns": 0.0, "end_ns": 1e6, **row},
        {"job": "b", "start_ns": 3e6, "end_ns": 4e6, **row},
    ]
    result = figures(streams=rows)
    # 25 MB in 4 ms; each job alone had 100 Gb/s.
    assert (result["streams"]["b"]["goodput_gbps"], result["goodput_gbps"]) == (100, 50)


def test_goodput_of_several_launches_is_the_mean_over_them() -> None:
    row = {"job": "a", "start_ns": 0.0, "end_ns": 4e6, "bytes": 2_500_000, "goodput_gbps": 5.0}
    double = {"bytes": 5_000_000, "goodput_gbps": 10.0}
    rows = [{**row, "launch": 0}, {**row, "launch": 0}, {**row, **double, "launch": 1}]
    tables = {"streams": pyarrow.Table.from_pylist([*rows, {**row, "launch": 2}])}
    summary: Any = {"finished": "complete", "end_ns": 4e6, "measured": {"launches": 3}}
    own = overview(Result(tables, summary, "", {}))
    # Two streams of 5 Gb/s, one of 10, and one of 5.
    assert own["goodput_gbps"] == pytest.approx(25 / 3)
    stream = own["streams"]["a"]
    assert stream["goodput_gbps"] == pytest.approx(25 / 3)
    assert (stream["streams"], stream["launches"], stream["complete"]) == (4, 3, 4)


@pytest.mark.parametrize(("messages", "complete"), [("", 0), (", messages = 4", 1)])
def test_measured_streams_that_time_ends_are_not_complete(messages: str, complete: int) -> None:
    row = {"job": "a", "start_ns": 0.0, "end_ns": 3e6, "bytes": 10, "goodput_gbps": 1.0}
    incast = f"workload.incast = {{ sources = 1{messages} }}"
    jobs = f"[[job]]\nname = 'a'\nbackground = false\n{incast}"
    summary: Any = {"finished": "complete", "end_ns": 4e6, "measured": {"launches": 1}}
    tables = {"streams": pyarrow.Table.from_pylist([{**row, "launch": 0}])}
    stream = overview(Result(tables, summary, jobs, {}))["streams"]["a"]
    assert (stream["complete"], "mean_us" in stream) == (complete, complete == 1)


def test_drops_name_the_three_ports_that_lost_most() -> None:
    lost = [(0, 5), (1, 0), (2, 7), (3, 1), (4, 2)]
    rows = [
        {**PORT, "port": port, "drops_packets": packets, "drops_bytes": packets * 100}
        for port, packets in lost
    ]
    drops = figures(ports=rows)["drops"]
    assert (drops["packets"], drops["bytes"]) == (15, 1500)
    assert [port["port"] for port in drops["ports"]] == [2, 0, 4]


def test_pauses_are_counted_by_cause_over_the_priorities_of_a_port() -> None:
    by_cause = {
        "tx_pause_xoff_packets": 1,
        "tx_pause_refresh_packets": 2,
        "tx_pause_xon_packets": 1,
    }
    paused = {"tx_pause_packets": 4, "tx_pause_duration_ns": 5e3, **by_cause}
    rows = [PORT]
    rows += [{**PORT, **paused, "priority": priority} for priority in (3, 4)]
    pauses = figures(ports=rows)["pauses"]
    assert {key: pauses[key] for key in ("frames", "xoff", "refresh", "xon")} == {
        "frames": 8,
        "xoff": 2,
        "refresh": 4,
        "xon": 2,
    }
    assert pauses["ports"][0]["duration_us"] == 5


def test_the_longest_pause_is_that_of_a_port_and_priority() -> None:
    longest = [(0, 3, 2e3), (1, 3, 7e3), (1, 4, 1e3)]
    rows = [
        {**PORT, "port": port, "priority": priority, "rx_pause_duration_ns_max": ns}
        for port, priority, ns in longest
    ]
    expected = {"node": "s0", "port": 1, "peer": "h0", "priority": 3, "duration_us": 7.0}
    pauses = figures(ports=rows)["pauses"]
    assert (pauses["longest_us"], pauses["longest"][0]) == (7.0, expected)
    assert [place["duration_us"] for place in pauses["longest"]] == [7.0, 2.0, 1.0]
    never = [{**row, "rx_pause_duration_ns_max": 0.0} for row in rows]
    pauses = figures(ports=never)["pauses"]
    assert (pauses["longest_us"], pauses["longest"]) == (0.0, [])


def test_a_frame_of_global_pause_is_counted_once_though_every_priority_has_it() -> None:
    paused = {"tx_pause_packets": 4, "tx_pause_duration_ns": 5e3}
    rows = [{**PORT, **paused, "priority": priority} for priority in range(8)]
    assert figures(ports=rows)["pauses"]["frames"] == 4


def failed(
    node: str, peer: str, packets: int, last_loss_ns: float, again: tuple[int, float]
) -> dict[str, Any]:
    row = {"node": node, "port": 0, "peer": peer, "from_ns": 1e3, "until_ns": math.nan}
    lost = {"packets_lost": packets, "bytes_lost": packets * 100, "last_loss_ns": last_loss_ns}
    return {**row, **lost, "connections": again[0], "recovered_ns": again[1]}


def test_failures_join_both_directions_of_a_link_and_say_when_the_last_loss_was_made_good() -> None:
    rows = [
        failed("leaf0", "core0", 2, 5e3, (1, 7e3)),
        failed("leaf0", "core1", 1, 4e3, (0, math.nan)),
        failed("core0", "leaf0", 3, 4e3, (2, 6e3)),
        failed("core1", "leaf0", 0, math.nan, (0, math.nan)),
        failed("leaf0", "core2", 1, 4e3, (1, math.nan)),
        failed("core2", "leaf0", 1, 4e3, (1, 6e3)),
    ]
    result = figures(failures=rows, flows=[{"recovered_ns": time} for time in (0.0, 7e3, 9e3)])
    lost, missing, needless = result["failures"].pop("links")
    assert lost == {
        "link": "leaf0 - core0",
        "from_us": 1,
        "until_us": None,
        "packets_lost": 5,
        "bytes_lost": 500,
        "last_loss_us": 5,
        "connections": 3,
        "recovered_us": 7,
    }
    # Of one direction, some had not arrived again; what another lost was not missed.
    assert (missing["link"], missing["connections"], missing["recovered_us"]) == (
        "leaf0 - core2",
        2,
        None,
    )
    assert (needless["link"], needless["connections"]) == ("leaf0 - core1", 0)
    assert (needless["last_loss_us"], needless["recovered_us"]) == (4, None)
    assert result["failures"] == {"connections": 2, "recovered_us": 9}
    assert figures()["failures"] == {}


def test_sleeping_ports_are_summed_up() -> None:
    rows = [
        {"wakes": 3, "asleep_ns": 1.4e6, "waited_ns": 18_000.0},
        {"wakes": 1, "asleep_ns": 1.0e6, "waited_ns": 5_000.0},
    ]
    # 2.4 of 2 x 4 ms; 23 us for four wakes.
    sleep = figures(sleeps=rows)["sleeps"]
    assert sleep == {"ports": 2, "wakes": 4, "asleep_share": 0.3, "wait_us_mean": 5.75}
    assert figures()["sleeps"] == {}


def test_rates_that_follow_the_load_are_summed_up() -> None:
    port = {"node": "host0", "port": 0, "changes": 2, "waited_ns": 7_000.0}
    other = port | {"node": "host1", "changes": 1, "waited_ns": 0.0}
    rows = [
        port | {"rate_share": 0.5, "time_ns": 3e6},
        port | {"rate_share": 1.0, "time_ns": 1e6},
        other | {"rate_share": 1.0, "time_ns": 4e6},
    ]
    # 1.5 + 1 + 4 of 2 x 4 ms.
    rate = figures(rates=rows)["rates"]
    assert rate == {"ports": 2, "changes": 3, "rate_share": 0.8125, "wait_us": 7.0}
    assert figures()["rates"] == {}


def test_trimmed_packets_and_retransmissions_are_summed_up_where_switches_trim() -> None:
    ports = [PORT | {"port": port, "trimmed_packets": port} for port in (0, 1, 1, 2)]
    flows = [{"retransmissions": count} for count in (3, 0, 2)]
    trims = figures(resolved="[switch.trimming]", ports=ports, flows=flows)["trims"]
    assert (trims["packets"], trims["retransmissions"]) == (4, 5)
    assert [(port["port"], port["packets"]) for port in trims["ports"]] == [(1, 2), (2, 2)]
    assert figures(ports=ports, flows=flows)["trims"] == {}


def test_storms_name_their_ports_in_order_of_time() -> None:
    counts = ("tx_ok_packets", "tx_drops_packets", "rx_ok_packets", "rx_drops_packets")
    row = {"node": "s0", "peer": "h0", "priority": 3, "restored_ns": math.nan}
    row |= dict.fromkeys(counts, 0)
    rows = [row | {"port": port, "detected_ns": time} for port, time in ((1, 135e3), (2, 70e3))]
    storms = figures(storms=rows)["storms"]
    assert [storm["port"] for storm in storms] == ["s0 port 2 to h0", "s0 port 1 to h0"]
    assert [storm["detected_us"] for storm in storms] == [70, 135]


def test_learning_switches_are_summed_up() -> None:
    names = ("entries_max", "unlearnt_packets", "flooded_packets", "copied_packets")
    rows = [dict(zip(names, row, strict=True)) for row in [(3, 0, 1, 2), (2, 5, 7, 11)]]
    result = figures(learning=rows)["learning"]
    assert result == {"flooded": 8, "copies": 13, "entries_max": 3, "unlearnt": 5}
    assert figures()["learning"] == {}


def test_a_result_without_tables_has_no_figures() -> None:
    own = figures()
    assert own["jobs"] == {} and own["drops"]["packets"] == 0 and own["pauses"]["ports"] == []


@pytest.mark.parametrize(
    ("gbps", "text"),
    [
        (0.096, "96.0 Mb/s"),
        (9.994, "9.99 Gb/s"),
        (9.996, "10.0 Gb/s"),
        (99.96, "100 Gb/s"),
        (999.6, "1.00 Tb/s"),
        (0, "0.00 b/s"),
    ],
)
def test_a_rate_has_three_significant_digits_and_the_unit_that_fits(gbps: float, text: str) -> None:
    assert rate_text(gbps) == text
