"""Figures of experiments with flows, and the tables that they are drawn from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import etherweave
from etherweave import Result
from etherweave.api.flow_times import flow_times
from etherweave.report.style import image_of
from etherweave.uncertainty import mean_interval
from support.command_line import invoke, run_here

pytestmark = pytest.mark.usefixtures("workers_of_this_process")

SCENARIO = {
    "topology": {"single_switch": {"hosts": 8}},
    "transport": {"roce": {}},
    "observe": {"period": "5us", "until": "200us", "ports": ["switch0 - *"]},
    "job": [
        {
            "name": "web",
            "workload": {
                "flows": {"ranks": 8, "load": 0.5, "sizes": "storage", "duration": "200us"}
            },
        }
    ],
}
NAMES = ["slowdown_by_size", "completion_shares", "queue_shares", "load_shares", "rates_over_time"]


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {f"seed {seed}": etherweave.run(SCENARIO, {"seed": seed}) for seed in (1, 2)}


def test_the_tables_of_figures_are_those_of_the_results(results: dict[str, Result]) -> None:
    plots = etherweave.plot(results)
    assert list(plots.figures) == list(plots.data) == NAMES, "nothing was paused"
    for label, result in results.items():
        (job,) = flow_times(result)
        own = {name: table.filter(pl.col("result") == label) for name, table in plots.data.items()}
        buckets = job.buckets()
        assert own["slowdown_by_size"]["flows"].to_list() == [part.flows for part in buckets]
        medians = [part.quantiles["p50"] for part in buckets]
        assert own["slowdown_by_size"]["p50"].to_list() == pytest.approx(medians)
        longest = max(time for _, _, time in job.rows)
        assert own["completion_shares"]["completion_us"].max() == pytest.approx(longest)
        queues = result.values("port_samples", "occupancy_bytes")
        assert own["queue_shares"]["queue_kb"].max() == pytest.approx(max(queues) / 1e3)
        rates = own["rates_over_time"]
        span_ns = (rates["time_us"][1] - rates["time_us"][0]) * 1e3
        payload = sum(size for size, _, _ in job.rows)
        assert rates["goodput_gbps"].sum() * span_ns / 8 == pytest.approx(payload)


def test_pauses_of_hosts_stand_beside_those_of_switches() -> None:
    hosts = [{"id": f"gpu{at}", "kind": "host"} for at in range(5)]
    links = [{"source": f"gpu{at}", "target": "leaf"} for at in range(5)]
    leaf = json.dumps({"nodes": [{"id": "leaf"}, *hosts], "links": links})
    rows = "\n".join(f"{at},4,2000000" for at in range(4))
    text = f"source,destination,bytes\n{rows}"
    scenario = {
        "topology": {"custom": {"json": leaf}},
        "switch": {"buffer": "1MiB"},
        "flow_control": {"pfc": {}},
        "transport": {"roce": {}},
        "job": [{"name": "incast", "workload": {"flows": {"text": text}}}],
    }
    result = etherweave.run(scenario)
    data = etherweave.plot({"pfc": result}).data["paused_shares"]
    assert data["ports"].to_list() == ["switches", "hosts"]
    assert data["max_percent"][0] == 0, "nothing pauses the only switch"
    counters = result.to_polars("ports").filter(pl.col("node").str.starts_with("gpu"))
    end_ns = result.summary["end_ns"]
    paused = [100 * duration / end_ns for duration in counters["rx_pause_duration_ns"].to_list()]
    assert data["mean_percent"][1] == pytest.approx(sum(paused) / len(paused))
    assert data["max_percent"][1] == pytest.approx(max(paused)) and max(paused) > 10


def test_results_of_seeds_are_a_line_with_the_interval_of_means(results: dict[str, Result]) -> None:
    plots = etherweave.plot({"both": list(results.values()), "one": results["seed 1"]})
    assert list(plots.data) == NAMES
    table = plots.data["slowdown_by_size"]
    both, one = (table.filter(pl.col("result") == label) for label in ("both", "one"))
    buckets = [flow_times(result)[0].buckets() for result in results.values()]
    for row, *parts in zip(both.iter_rows(named=True), *buckets, strict=True):
        interval = mean_interval([part.quantiles["p50"] for part in parts], name="p50")
        assert (row["p50_low"], row["p50_high"]) == pytest.approx(interval.ends)
        assert (row["p50"], row["seeds"]) == (pytest.approx(interval.mean), 2)
        assert row["size_max"] == sum(part.size_max for part in parts) / 2
    assert one["p50_low"].null_count() == len(one), "a seed has no interval"
    rates = plots.data["rates_over_time"].filter(pl.col("result") == "both")
    payload = sum(size for result in results.values() for size in result.values("streams", "bytes"))
    span_ns = (rates["time_us"][1] - rates["time_us"][0]) * 1e3
    assert rates["goodput_gbps"].sum() * span_ns / 8 == pytest.approx(payload / 2)


@pytest.mark.usefixtures("undrawn_figures")
def test_points_of_a_sweep_are_lines_on_a_page_beside_those_of_replications(tmp_path: Path) -> None:
    roce = {"reliability": "selective_repeat", "ack_every": 1}
    axes = [{"key": "transport.roce", "values": [{**roce, name: {}} for name in ("hpcc", "swift")]}]
    local = etherweave.sweeps.executor("local", 1)
    swept = {**SCENARIO, "name": "two", "sweep": {"seeds": 2, "axis": axes}}
    done = etherweave.sweep(swept, tmp_path / "two", local, tables=True)
    assert {label: len(seeds) for label, seeds in done.results().items()} == {"hpcc": 2, "swift": 2}
    base = etherweave.run_replications(SCENARIO, 2, tmp_path / "base", executor=local)
    table = etherweave.plot({"go back": base, "on": done}).data["load_shares"]
    labels = ["go back", "on, hpcc", "on, swift"]
    assert table["result"].unique(maintain_order=True).to_list() == labels
    plot, out = ("sweep", "plot", tmp_path / "two"), tmp_path / "plot.svg"
    run_here(*plot, "slowdown_by_size", "-o", out)
    drawn = etherweave.plot(done).figures["slowdown_by_size"]
    assert out.read_bytes() == image_of(lambda: drawn)
    run_here(*plot, "slowdown_by_size", "seed=1", "-o", out)
    assert out.read_bytes() != image_of(lambda: drawn), "bands of one seed"
    wrong = invoke(*plot, "paused_shares", code=2).stderr
    assert "paused_shares: no such figure; expected x=COLUMN, or slowdown_by_size, " in wrong
    etherweave.sweep(swept, tmp_path / "none", local)
    wrong = invoke("sweep", "plot", tmp_path / "none", "load_shares", code=2).stderr
    assert "0 points with tables; expected x=COLUMN, or 1 to 12, by `sweep run --tables`" in wrong
    page = run_here("report", tmp_path / "two", "--beside", tmp_path / "base").stdout.strip()
    assert Path(page).with_name("slowdown_by_size.pdf").exists()
    shown = pl.read_csv(tmp_path / "two" / "slowdown_by_size.csv")["result"]
    assert shown.unique(maintain_order=True).to_list() == ["two, hpcc", "two, swift", "base"]
    assert "means over seeds" in Path(page).read_text()


def test_a_place_without_a_value_is_left_out_and_a_line_without_one_is_drawn() -> None:
    table = pl.DataFrame({"x": [1, None, 3], "y": [1.0, 2.0, 3.0], "by": ["a", "a", None]})
    lines = etherweave.plot(table, "x", "y", "by").axes[0].get_lines()
    assert [np.asarray(line.get_xdata()).tolist() for line in lines] == [[1.0], [3.0]]


def test_jains_index_of_equal_senders_is_one() -> None:
    """Two equal flows to hosts of their own."""
    rows = "source,destination,bytes\n0,2,1000000\n1,3,1000000\n"
    job = {"name": "two", "workload": {"flows": {"text": rows}}}
    result = etherweave.run({**SCENARIO, "job": [job]})
    jain = etherweave.plot(result).data["rates_over_time"]["jain"]
    assert jain.to_list() == pytest.approx([1.0] * len(jain), abs=1e-6)


def test_each_figure_is_svg_png_pdf_and_data(results: dict[str, Result], tmp_path: Path) -> None:
    plots = etherweave.plot(results)
    plots.save(tmp_path / "one")
    etherweave.plot(results).save(tmp_path / "two")
    for name in NAMES:
        for file in [tmp_path / "one" / f"{name}.{kind}" for kind in ("svg", "png", "pdf", "csv")]:
            assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file
    assert plots._repr_html_().count("<svg") == len(NAMES)
    assert "Slowdown by size of flow" in (tmp_path / "one" / "report.html").read_text()


def test_a_table_needs_columns_and_results_need_figures_to_draw(results: dict[str, Result]) -> None:
    with pytest.raises(ValueError, match="x and y: not stated; expected names of columns"):
        etherweave.plot(next(iter(results.values())).to_polars("flow_times"))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="no flows, samples or ports"):
        etherweave.plot({})


@pytest.mark.usefixtures("undrawn_figures")
def test_hosts_with_several_ports_have_completion_times_alone(tmp_path: Path) -> None:
    changes = {"host_ports.planes": 2, "observe.ports": ["plane0.switch0 - *"]}
    result = etherweave.run(SCENARIO, changes)
    plots = etherweave.plot(result)
    assert list(plots.data) == [name for name in NAMES if name != "slowdown_by_size"]
    assert "slowdown" not in plots.data["completion_shares"].columns
    (job,) = flow_times(result)
    longest = max(time for _, _, time in job.rows)
    assert plots.data["completion_shares"]["completion_us"].max() == pytest.approx(longest)
    home = result.save(tmp_path / "planes")
    page = etherweave.write_report(home, tmp_path / "page.html").read_text()
    assert "hosts with several ports have no ideal times" in page
    mixed = etherweave.plot({"planes": result, "single": etherweave.run(SCENARIO)})
    shares = mixed.data["completion_shares"]
    known = shares.filter(pl.col("slowdown").is_not_null())["result"].unique().to_list()
    assert known == ["single"]


def test_columns_beside_results_and_other_values_among_them_are_refused(
    results: dict[str, Result],
) -> None:
    (result, _) = results.values()
    table: Any = {"a": result, "b": 3}
    several: Any = [result, 3]
    with pytest.raises(ValueError, match="x and y: stated beside results; expected a table beside"):
        etherweave.plot(result, "bytes", "slowdown")
    with pytest.raises(ValueError, match="b: '3'; expected a result, as all others are"):
        etherweave.plot(table)
    with pytest.raises(ValueError, match="1: '3'; expected a result, as all others are"):
        etherweave.plot(several)
    with pytest.raises(ValueError, match="an empty collection; expected results, or a table with"):
        etherweave.plot([])
