"""Dispatch and combine of experts, as their bytes and messages have them."""

from typing import Any

import pytest

import etherweave
from etherweave.api.simulation import moe_loads
from etherweave.measurements.quantities import quantities

NODE = {"accelerators": 4, "rate": "1000Gb/s", "latency": "20us"}


def times(hosts: int, **keys: Any) -> dict[str, float]:
    """Run a layer of experts on a switch of 400 Gb/s; return seconds of dispatch and combine."""
    moe = {"ranks": hosts, "experts": 64, "node": NODE, **keys}
    scenario = {
        "topology": {"single_switch": {"hosts": hosts, "rate": "400Gb/s"}},
        "interconnect": {"profile": "ethernet-400-roce"},
        "nic": {"context_switch": "7ns"},
        "run": {"fidelity": "flow"},
        "job": [{"name": "experts", "workload": {"moe": moe}}],
    }
    figures = quantities(etherweave.run(scenario))
    return {figure.test: figure.median for figure in figures if figure.metric.name == "call_time"}


def loads(hosts: int, **keys: Any) -> Any:
    """Return how much the ranks of the same layer exchange."""
    return moe_loads({"ranks": hosts, "experts": 64, "node": NODE, **keys}, 1)


def test_a_node_takes_the_rate_of_its_links() -> None:
    simulated = times(4, tokens=2048)
    copies = loads(4, tokens=2048)["logical_bytes"][1] / 14_336
    # What reaches the rank with the most is within a few percent of the mean.
    assert simulated["dispatch"] == pytest.approx(20e-6 + copies * 7_472 / 125e9, rel=0.04)
    assert simulated["combine"] == pytest.approx(20e-6 + copies * 14_416 / 125e9, rel=0.04)


def test_an_exchange_takes_the_slower_of_network_and_links() -> None:
    keys = {"tokens": 2048, "format": "bf16"}
    tokens = loads(16, **keys)["network_tokens"]
    fast, slow = (times(16, **keys, node=NODE | {"rate": rate}) for rate in ("4Tb/s", "200Gb/s"))
    for exchange in ("dispatch", "combine"):
        network = tokens * 14_416 / 50e9
        assert 1.0 < (fast[exchange] - 20e-6) / network < 1.15
        # A token reaches 8 experts of 16 ranks: 6.5 of them over links of 25 GB/s.
        assert slow[exchange] > 2048 * 6.4 * 14_416 / 25e9 > 2 * network


def test_with_low_latency_a_message_takes_its_time() -> None:
    keys = {"tokens": 128, "mode": "low_latency"}
    messages = loads(16, **keys)["network_tokens"]
    assert messages == pytest.approx(128 * 8 * 0.75, rel=0.02)
    simulated = times(16, **keys)
    assert simulated["dispatch"] == pytest.approx(20e-6 + messages * 190e-9, rel=0.1)
    # A combine's 14,336 B take the wire longer than 190 ns.
    assert simulated["combine"] > 20e-6 + messages * 14_336 / 50e9
