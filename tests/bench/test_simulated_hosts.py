"""Hosts of a simulated run over time: their table, the report, and the counters of real hosts."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import etherweave
from etherweave.bench.telemetry.openmetrics import history
from etherweave.bench.telemetry.simulated import simulated_hosts
from etherweave.report.run.page import write_run
from etherweave.report.run.samples import host_series
from support.command_line import invoke

PING = """
topology.single_switch.hosts = 3
transport.{transport} = {{}}
[observe]
period = "100us"
until = "10ms"
hosts = {hosts}
[[job]]
name = "ping"
workload.osu_latency = {{ bytes = "64KiB", iterations = 20 }}
"""


def ran(transport: str, hosts: str = '["host*"]') -> etherweave.Result:
    return etherweave.run(tomllib.loads(PING.format(transport=transport, hosts=hosts)))


def parsed(text: str) -> Iterator[Metric]:
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    yield from families


@pytest.mark.parametrize(("transport", "is_in_kernel"), [("roce", False), ("tcp", True)])
def test_kinds_of_processor_time_fill_the_run_of_a_rank(transport: str, is_in_kernel: bool) -> None:
    result = ran(transport)
    rows = result.to_polars("host_samples")
    kinds = pl.sum_horizontal("user_ns", "system_ns", "waiting_ns")
    sums = rows.group_by("host").agg(kinds.sum().alias("rank"), pl.col("softirq_ns").sum())
    longest = sums["rank"].max()
    assert longest == pytest.approx(result.summary["end_ns"], rel=2e-3), (
        "but the last acknowledgement"
    )
    assert (sum(sums["softirq_ns"]) > 0) == is_in_kernel
    assert sums.filter(host="host2").row(0)[1:] == (0, 0), "no rank is there"


@pytest.mark.usefixtures("undrawn_figures")
def test_hosts_are_drawn_and_counted_as_real_hosts_are(tmp_path: Path) -> None:
    result = ran("tcp", '["host0", "host1"]')
    result.save(tmp_path)
    assert "Hosts over time" in write_run(result, tmp_path / "report").read_text()
    hosts = simulated_hosts(result)
    text = history(*hosts)
    families = {family.name: family for family in parsed(text)}
    last = {
        (sample.labels["host"], sample.labels.get("interface")): sample.value
        for sample in families["etherweave_interface_sent_bytes"].samples
    }
    ports = result.to_polars("ports")
    for host, peer in (("host0", "switch0"), ("host1", "switch0")):
        sent = ports.filter(node=host)["tx_bytes"].sum()
        assert last[host, f"to {peer}"] == sent
    shown = invoke("bench", "telemetry", "openmetrics", str(tmp_path), "--history", code=0)
    assert shown.stdout == text
    assert "softirq" in invoke("bench", "telemetry", "show", str(tmp_path)).stdout


@pytest.mark.parametrize("verb", ["show", "openmetrics"])
def test_a_result_without_samples_of_hosts_names_their_key(tmp_path: Path, verb: str) -> None:
    scenario = tomllib.loads(PING.format(transport="roce", hosts="[]"))
    del scenario["observe"]
    etherweave.run(scenario).save(tmp_path)
    done = invoke("bench", "telemetry", verb, tmp_path, code=2)
    hint = """observe.hosts, such as -s 'observe.hosts=["*"]' -s observe.until=10ms"""
    assert hint in done.output


def test_pauses_by_which_a_host_stops_its_switch_are_drawn_and_counted() -> None:
    """A NIC that passes on half of what its link brings holds its switch paused."""
    scenario = tomllib.loads(PING.format(transport="roce", hosts='["host*"]'))
    scenario["nic"], scenario["observe"]["until"] = {"drain_rate": "50Gb/s"}, "100ms"
    scenario["job"][0]["workload"] = {"osu_bw": {"bytes": "1MiB", "iterations": 2}}
    result = etherweave.run(scenario)
    (pausing,) = (
        family
        for family in parsed(history(*simulated_hosts(result)))
        if family.name == "etherweave_priority_pausing_seconds"
    )
    last = {sample.labels["host"]: sample.value for sample in pausing.samples}
    ports = result.to_polars("ports").filter(node="host1")
    assert last["host1"] == pytest.approx(max(ports["tx_pause_duration_ns"].to_list()) / 1e9)
    assert last["host1"] > 0 == last["host0"]
    section = host_series(result)
    assert section and section.figure
    assert "pausing its switch" in " ".join(a.get_ylabel() for a in section.figure.axes)


def test_a_pattern_without_hosts_is_refused_with_names_that_are_there() -> None:
    with pytest.raises(etherweave.ScenarioError, match=r"observe.hosts.0: no host .*similar to"):
        ran("roce", '["hots1"]')
