"""Checkpoints, as the slowest of links and storage has them."""

from typing import Any

import pytest

import etherweave
from etherweave.measurements.quantities import quantities

SIZE = 1_000_000_000 * 14
LINK = 12.5e9


def elapsed(**keys: Any) -> float:
    """Save a model of 10^9 parameters by links of 100 Gb/s; return the time [s]."""
    checkpoint = {"parameters": 1_000_000_000, "piece": "16MiB", **keys}
    hosts = keys.get("writers", 16) + keys.get("servers", 4)
    scenario = {
        "topology": {"single_switch": {"hosts": hosts, "rate": "100Gb/s"}},
        "interconnect": {"profile": "ethernet-100-roce"},
        "flow_control": {"pfc": {}},
        "run": {"fidelity": "flow"},
        "job": [{"name": "checkpoint", "workload": {"checkpoint": checkpoint}}],
    }
    time, rate = quantities(etherweave.run(scenario))
    assert rate.median == pytest.approx(SIZE / time.median)
    return time.median


@pytest.mark.parametrize("access", ["save", "restore"])
def test_a_checkpoint_takes_the_slowest_of_links_and_storage(access: str) -> None:
    servers = elapsed(access=access)
    assert SIZE / (4 * LINK) < servers < 1.1 * SIZE / (4 * LINK)
    storage = elapsed(access=access, server_rate="40Gb/s")
    assert SIZE / (4 * 5e9) < storage < 1.1 * SIZE / (4 * 5e9)
    writers = elapsed(access=access, writers=2, servers=4)
    assert SIZE / (2 * LINK) < writers < 1.1 * SIZE / (2 * LINK)


def test_checkpoints_begin_at_their_interval_or_behind_the_one_before() -> None:
    assert elapsed(checkpoints=3) == pytest.approx(elapsed(), rel=0.02)
    assert elapsed(checkpoints=2, interval="2s") == pytest.approx(elapsed(), rel=0.02)
