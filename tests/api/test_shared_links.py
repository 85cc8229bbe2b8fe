"""Jobs that share links: what pauses, weights and strict priority keep of one from the other."""

import tomllib
from pathlib import Path
from typing import Any

import etherweave

QOS = Path(__file__).parents[2] / "scenarios/qos_ets.toml"
PING_BESIDE_INCAST = """
topology.single_switch.hosts = 4
switch.buffer = "1MiB"
transport.roce = {}
ets.weights = [50, 50, 0, 0, 0, 0, 0, 0]
[[job]]
name = "incast"
priority = 1
background = true
workload.incast = { sources = 3, message = "1MiB" }
[[job]]
name = "ping"
shared_hosts = true
workload.osu_latency = { iterations = 50 }
placement.hosts = [1, 2]
"""


def mean_us(scenario: dict[str, Any], job: str) -> float:
    rows = etherweave.run(scenario).to_polars("iterations").filter(job=job)
    return float(rows["duration_ns"].to_numpy().mean()) / 1e3


def test_global_pause_stops_a_priority_that_is_not_congested_and_pfc_does_not() -> None:
    """Hosts of the ping send an incast in another priority; alone a ping of RoCE takes 2 us."""
    scenario = tomllib.loads(PING_BESIDE_INCAST)
    pfc: dict[str, Any] = {"priorities": [0, 1]}
    controls: list[dict[str, Any]] = [
        {"pfc": pfc},
        {"pfc": {**pfc, "coupled": True}},
        {"global_pause": {}},
    ]
    latencies = [mean_us({**scenario, "flow_control": own}, "ping") for own in controls]
    assert latencies[0] < 2.2
    assert min(latencies[1:]) > 2 * latencies[0]


def test_its_own_class_protects_a_job_and_strict_priority_more_than_half_of_the_weights() -> None:
    scenario = tomllib.loads(QOS.read_text(encoding="utf-8"))
    strict = {**scenario, "ets": {"weights": [0, 100, 0, 0, 0, 0, 0, 0]}}
    alike = {**scenario, "job": [{**job, "priority": 0} for job in scenario["job"]]}
    halves, first, shared = (mean_us(case, "fft") for case in (scenario, strict, alike))
    assert first < halves < shared / 2
