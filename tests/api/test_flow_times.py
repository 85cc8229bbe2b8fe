"""Flows that arrive while a run goes on: ideal times, slowdowns, loads, lists."""

import json
import math
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave.api.flow_times import flow_lines, flow_times
from etherweave.api.results import Result
from etherweave.api.units import time_of
from support import command_line

HEAD = "source,destination,bytes,start_ns\n"
HEADERS = 20 + 18 + 4 + 20 + 8 + 12 + 4
"""Headers of RoCE v2 on the wire [B]: preamble and gap, Ethernet, 802.1Q, IPv4, UDP, BTH, ICRC."""


def scenario(flows: dict[str, Any], hosts: int = 2, **keys: Any) -> dict[str, Any]:
    topology = {"single_switch": {"hosts": hosts, "rate": "100Gb/s"}}
    return {"topology": topology, **keys, "job": [{"name": "web", "workload": {"flows": flows}}]}


def listed(rows: list[tuple[int, int, int, float]]) -> dict[str, Any]:
    return {"text": HEAD + "".join(f"{a},{b},{size},{start}\n" for a, b, size, start in rows)}


def times(result: Result) -> etherweave.FlowTimes:
    (job,) = flow_times(result)
    return job


@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
def test_the_ideal_time_is_that_of_a_path_by_hand(forwarding: str) -> None:
    flows = listed([(0, 1, 10_000, 0), (1, 0, 64, 500_000)])
    result = etherweave.run(scenario(flows, switch={"forwarding": forwarding}))
    values = tomllib.loads(result.resolved)
    path = [values["nic"]["transmit_latency"], values["nic"]["receive_latency"]]
    # Two cables of 3 m at 5 ns/m.
    delays = sum(map(time_of, [*path, values["switch"]["latency"]])) * 1e9 + 2 * 15
    # Frames of up to 4,096 B; the first has an RETH (16 B) as well.
    full, last = 4_096 + HEADERS, 10_000 - 2 * 4_096 + HEADERS
    large, small = 2 * full + 16 + last, 64 + HEADERS + 16
    if forwarding == "store_and_forward":
        # Equal links: the last frame waits for those before it at the second.
        large, small = 3 * full + last, 2 * small
    expected = {10_000: delays + large * 0.08, 64: delays + small * 0.08}
    columns = (result.values("flow_times", name) for name in ("bytes", "ideal_ns"))
    assert dict(zip(*columns, strict=True)) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("ideal", ["hpcc", "abm"])
def test_other_ideal_times_are_those_of_the_simulators_that_count_so(ideal: str) -> None:
    """Two links of 1 us and 100 Gb/s without latencies: 80 ps for a byte."""
    sizes = [1_000, 1_000_000]
    flows = listed([(0, 1, size, number * 1e6) for number, size in enumerate(sizes)])
    flows["ideal"] = ideal
    none = {"transmit_latency": "0ns", "receive_latency": "0ns"}
    keys = {"switch": {"latency": "0ns"}, "nic": none}
    tree = {"single_switch": {"hosts": 2, "cable": "200m"}}
    result = etherweave.run({**scenario(flows, 2, **keys), "topology": tree})
    payload, header, byte_ns, round_trip_ns = 4_096, HEADERS, 0.08, 4_000
    expected = {
        "hpcc": [
            round_trip_ns
            + 2 * (payload + header) * byte_ns
            + (size + math.ceil(size / payload) * header) * byte_ns
            for size in sizes
        ],
        "abm": [round_trip_ns + size * byte_ns for size in sizes],
    }
    assert result.values("flow_times", "ideal_ns") == pytest.approx(expected[ideal])
    job = times(result)
    assert job.below == 2, "a flow alone takes the delays of its path once, the ideal time twice"
    text = flow_lines(job)[0]
    assert f"slowdown (ideal time of {ideal.upper()}, 2 below 1) mean " in text


def test_a_flow_alone_takes_little_more_than_the_ideal_time() -> None:
    sizes = [1, 1_000, 100_000, 10_000_000]
    flows = listed([(0, 9, size, number * 2e6) for number, size in enumerate(sizes)])
    tree = {"fat_tree": {"leaves": 2, "hosts_per_leaf": 8, "cores": 2}}
    result = etherweave.run({**scenario(flows, 16), "topology": tree})
    slowdowns = {size: slowdown for size, slowdown, _ in times(result).rows}
    assert all(value >= 1 for value in slowdowns.values())
    assert slowdowns[10_000_000] < 1.001
    assert slowdowns[100_000] < 1.05


def test_a_link_that_flows_share_is_a_queue_of_processor_sharing() -> None:
    """M/G/1 with processor sharing: a mean slowdown of 1 / (1 - load), whatever the sizes."""
    draw, load, sources, size = random.Random(5), 0.5, 48, 100_000
    rate = load * 12.5 / size  # flows/ns
    start, rows = 0.0, []
    for number in range(6_000):
        start += draw.expovariate(rate)
        rows.append((number % sources, sources, draw.choice([size // 2, 3 * size // 2]), start))
    keys = {"run": {"fidelity": "flow"}}
    job = times(etherweave.run(scenario(listed(rows), sources + 1, **keys)))
    assert job.all is not None
    assert (job.flows, job.all.flows, job.below) == (6_000, 6_000, 0)
    # Frames' headers add 2 % to the load.
    assert job.all.mean == pytest.approx(1 / (1 - load * 1.02), rel=0.06)


@pytest.mark.parametrize("load_of", ["host_links", "uplinks"])
def test_the_load_is_of_host_links_or_of_uplinks(load_of: str) -> None:
    flows = {"ranks": 16, "load": 0.3, "load_of": load_of, "sizes": "storage", "duration": "2ms"}
    tree = {"fat_tree": {"leaves": 2, "hosts_per_leaf": 8, "cores": 2, "links_per_core": 1}}
    taper = {**tree["fat_tree"], "host_rate": "100Gb/s", "uplink_rate": "100Gb/s"}
    resolved = tomllib.loads(
        etherweave.resolve({**scenario(flows), "topology": {"fat_tree": taper}})
    )
    rate = {"host_links": "100Gb/s", "uplinks": "25Gb/s"}[load_of]
    assert resolved["job"][0]["workload"]["flows"]["rate"] == rate


def test_flows_before_the_end_of_the_warm_up_are_left_out() -> None:
    rows = [(0, 1, 1_000, 0.0), (1, 0, 1_000, 30_000.0), (0, 1, 1_000, 60_000.0)]
    job = times(etherweave.run(scenario(listed(rows), run={"warm_up": "20us"})))
    assert (job.flows, len(job.rows)) == (2, 2)


def test_slowdowns_are_given_by_classes_and_by_buckets_and_only_with_flows_beyond() -> None:
    flows = {"ranks": 16, "load": 0.6, "sizes": "storage", "duration": "200us", "rate": "100Gb/s"}
    job = times(etherweave.run(scenario(flows, 16)))
    assert job.below == 0
    assert job.load == pytest.approx(0.6, rel=0.35)
    assert sum(part.flows for part in job.classes()) == job.flows == len(job.rows)
    buckets = job.buckets(10)
    counts = [part.flows for part in buckets]
    assert len(buckets) == 10
    assert max(counts) - min(counts) <= 1
    assert all("p999" not in part.quantiles for part in buckets)
    text = "\n".join(flow_lines(job))
    assert text.startswith(f"web: {job.flows} flows, load {job.load:.3f} of 100 Gb/s (0.6 asked)")


def test_the_verb_prints_slowdowns_and_gives_them_as_json(tmp_path: Any) -> None:
    (tmp_path / "list.csv").write_text(HEAD + "0,1,5000,0\n1,0,5000,0\n")
    file = tmp_path / "a.toml"
    file.write_text(
        '[topology.single_switch]\nhosts = 2\n[[job]]\nname = "web"\n'
        'workload.flows = { file = "list.csv" }\n'
    )
    text = command_line.run_here("run", file).stdout
    assert "  web: 2 flows; slowdown mean 1." in text
    assert "5 kB to 5 kB: 2 flows, mean " in text
    flows = json.loads(command_line.run_here("run", file, "--json").stdout)["flows"]["web"]
    assert (flows["flows"], flows["complete"], flows["load"]) == (2, 2, None)
    (tmp_path / "list.csv").write_text(HEAD + "0,1,5000,0\n1,x,5000,0\n")
    failed = command_line.run_here("run", file, code=2)
    assert "job.0.workload.flows.file" in failed.stderr
    assert "line 3: x; expected a host from 0 to 1048575" in failed.stderr


FLOWS = sorted((Path(__file__).parents[2] / "scenarios/flows").glob("*.toml"))


@pytest.mark.parametrize("file", FLOWS, ids=lambda file: file.stem)
def test_flows_of_shipped_scenarios_are_complete_and_no_faster_than_the_fabric(file: Path) -> None:
    keys = {"job.0.workload.flows.ideal": "fabric"}
    job = times(etherweave.run(file, keys))
    assert job.flows == len(job.rows) > 0
    assert job.below == 0
