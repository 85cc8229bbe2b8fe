"""Time series of a run: in memory, on disk and in the report."""

import math
from pathlib import Path

import polars as pl
import pytest

import etherweave
from etherweave.api.result_schema import ResultError
from etherweave.report.run.page import write_run

SCENARIO = Path(__file__).parents[2] / "scenarios" / "incast_observed.toml"


@pytest.fixture(scope="module")
def result() -> etherweave.Result:
    """Return the shipped run with samples."""
    return etherweave.run(SCENARIO)


def test_every_period_has_a_row_for_each_port_and_flow(result: etherweave.Result) -> None:
    ports, flows = result.to_polars("port_samples"), result.to_polars("flow_samples")
    times = [10_000.0 * number for number in range(1, 101)]
    for _, series in ports.group_by("node", "port", "priority"):
        assert series["time_ns"].to_list() == times
    assert flows["flow"].n_unique() == 4
    assert len(flows) == 4 * len(times)
    assert set(flows["destination_host"]) == {"host0"}


def test_sums_over_periods_are_the_counters_of_the_run(result: etherweave.Result) -> None:
    keys = ["node", "port", "priority"]
    counters = ["tx_bytes", "ecn_marked_packets", "drops_packets", "rx_pause_duration_ns"]
    sums = result.to_polars("port_samples").group_by(keys).agg(pl.col(counters).sum())
    assert len(sums) > 0
    assert sums.join(result.to_polars("ports"), on=[*keys, *counters]).height == sums.height
    names = ["source_host", "destination_host"]
    of_flows = result.to_polars("flow_samples").group_by(names).agg(pl.col("bytes").sum())
    assert of_flows.join(result.to_polars("flows"), on=[*names, "bytes"]).height == 4


def test_dcqcn_slows_down_when_the_queue_is_marked(result: etherweave.Result) -> None:
    flows = result.to_polars("flow_samples")
    assert flows["rate_gbps"].max() == 100
    last = flows.filter(pl.col("time_ns") == flows["time_ns"].max())
    # Four flows share a link of 100 Gb/s.
    assert last["rate_gbps"].sum() < 200
    queue = result.to_polars("port_samples").filter(node="leaf0", peer="host0")
    assert max(queue["occupancy_bytes"].to_list()) > 50_000
    assert queue["throughput_gbps"][1] == pytest.approx(100, rel=0.05)


@pytest.mark.usefixtures("quick_figures")
def test_samples_are_read_back_and_drawn(result: etherweave.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    loaded = etherweave.Result.load(tmp_path)
    assert loaded.to_polars("flow_samples").equals(result.to_polars("flow_samples"))
    page = write_run(loaded, tmp_path / "report").read_text()
    assert "Ports over time" in page
    assert "Flows over time" in page
    assert (tmp_path / "report" / "port_series.svg").is_file()


def test_a_damaged_table_of_samples_is_a_mistake(result: etherweave.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    result.to_polars("port_samples").drop("tx_bytes").write_parquet(
        tmp_path / "port_samples.parquet"
    )
    with pytest.raises(ResultError, match=r"port_samples.parquet: no columns tx_bytes"):
        etherweave.Result.load(tmp_path)


def test_tcp_has_a_congestion_window_and_no_rate() -> None:
    scenario = {
        "topology": {"single_switch": {"hosts": 3}},
        "transport": {"tcp": {}},
        "flow_control": {"none": {}},
        "run": {"end": "300us"},
        "observe": {"period": "5us", "flows": ["* -> host0"]},
        "job": [{"name": "j", "workload": {"incast": {"sources": 2, "message": "64KiB"}}}],
    }
    flows = etherweave.run(scenario).to_polars("flow_samples")
    assert all(math.isnan(rate) for rate in flows["rate_gbps"])
    windows = flows["window_bytes"].to_list()
    assert windows[-1] > windows[0] > 0
    assert (flows["in_flight_bytes"] <= flows["window_bytes"]).all()
