"""Windows of Ultra Ethernet on one link: alone, shared, joined late, and granted by a receiver."""

from __future__ import annotations

from typing import Any

import pytest

import etherweave

FRAME, PAYLOAD = 4_222, 4_096
"""A full packet on the wire, and what it carries [B]."""
RESERVE = 10_240
"""Default of ``switch.reserve`` [B]."""


def link_us(size: float) -> float:
    """Return the time in which a link of 100 Gb/s carries so many bytes of payload."""
    return size * FRAME / PAYLOAD * 8 / 100e3


def run(control: str, topology: dict[str, Any], workload: dict[str, Any]) -> etherweave.Result:
    return etherweave.run(
        {
            "routing": "ecmp",
            "topology": topology,
            "switch": {"trimming": {"priority": 6}},
            "flow_control": {"none": {}},
            "ets": {"weights": [100, 0, 0, 0, 0, 0, 0, 0]},
            "transport": {"uet": {"control_priority": 6, control: {"base_round_trip": "6us"}}},
            "job": [{"name": "flows", "workload": workload}],
        }
    )


ONE_SWITCH = {"single_switch": {"hosts": 8}}
TWO_TIERS = {"fat_tree": {"leaves": 2, "hosts_per_leaf": 4, "cores": 4, "links_per_core": 1}}


def ends_us(topology: dict[str, Any], *flows: tuple[int, int, int]) -> list[float]:
    """Return when flows to host 4 end, each of a host, a start [us] and a size [B], with NSCC."""
    rows = [
        f"{host}->4 id {host + 1} start {start * 1_000_000} size {size}"
        for host, start, size in flows
    ]
    text = "\n".join(["Nodes 8", f"Connections {len(rows)}", *rows, ""])
    done = run("nscc", topology, {"flows": {"text": text}})
    times = done.to_polars("flow_times").sort("stream")
    return [end / 1_000 for end in times["end_ns"]]


def test_a_lone_flow_over_two_tiers_fills_its_link() -> None:
    """Over one switch it does not: see *Small windows, small packets* on the page of the model."""
    (end,) = ends_us(TWO_TIERS, (0, 0, 10_000_000))
    assert link_us(10e6) < end < 1.01 * link_us(10e6)


def test_two_flows_share_a_link() -> None:
    """When the first has ended, the other has at least four fifths as much."""
    first, last = sorted(ends_us(ONE_SWITCH, (0, 0, 10_000_000), (1, 0, 10_000_000)))
    assert last < 1.01 * link_us(20e6)
    other = first / link_us(20e6) * 20e6 - 10e6
    assert other > 0.8 * 10e6


def test_a_late_joiner_gets_its_share() -> None:
    """Half of the link is twice the time of its bytes; the window of the first gives way."""
    first, joiner = ends_us(ONE_SWITCH, (0, 0, 10_000_000), (1, 200, 5_000_000))
    assert joiner - 200 == pytest.approx(2 * link_us(5e6), rel=0.1)
    assert first < 1.02 * link_us(15e6)


def test_credits_keep_an_incast_of_64_within_3_percent_and_its_queue_short() -> None:
    """The queue is at most the threshold, which is a round trip, and the reserve of the port."""
    fabric = {"leaves": 5, "hosts_per_leaf": 16, "cores": 16, "links_per_core": 1}
    incast = {"sources": 64, "message": "2MB", "messages": 1}
    done = run("rccc", {"fat_tree": fabric}, {"incast": incast})
    end = done.to_polars("streams")["end_ns"].max()
    assert isinstance(end, float)
    assert link_us(128e6) < end / 1_000 < 1.03 * link_us(128e6)
    ports = done.to_polars("ports").to_dicts()
    queues = [port["occupancy_bytes_max"] for port in ports if port["node"] == "leaf0"]
    assert max(queues) < 6 * 100e3 / 8 + RESERVE
