"""A service of a language model, as queues and bytes have it."""

from typing import Any

import pytest

import etherweave
from etherweave.measurements.quantities import quantities

START, TOKEN, STEP = 5e-3, 50e-6, 15e-3
"""Computation of a prompt and of its tokens, and a step of a lone request."""


def figures(**keys: Any) -> dict[tuple[str, str], float]:
    """Run a service on a switch of 100 Gb/s; return its figures by test and metric."""
    scenario = {
        "topology": {"single_switch": {"hosts": 16, "rate": "100Gb/s"}},
        "interconnect": {"profile": "ethernet-100-roce"},
        "flow_control": {"pfc": {}},
        "run": {"fidelity": "flow"},
        "job": [{"name": "service", "workload": {"inference": keys}}],
    }
    found = quantities(etherweave.run(scenario))
    return {(figure.test, figure.metric.name): figure.median for figure in found}


def lone(**keys: Any) -> dict[tuple[str, str], float]:
    """Run requests of 4,096 tokens that never meet."""
    drawn = {"count": 5, "interval": "5s", "input": {"fixed": 4096}, "output": {"fixed": 8}}
    return figures(requests={"drawn": drawn}, decode_per_request="0ms", **keys)


def test_a_lone_request_takes_its_prompt_its_bytes_and_a_step() -> None:
    pushed = lone()
    moved = 4_096 * 327_680 / 8 / 12.5e9
    assert pushed["mean", "transfer"] == pytest.approx(moved, rel=0.06)
    expected = START + 4_096 * TOKEN + pushed["mean", "transfer"] + STEP
    assert pushed["mean", "time_to_first_token"] == pytest.approx(expected, rel=1e-3)
    assert pushed["mean", "time_between_tokens"] == pytest.approx(STEP, rel=1e-6)
    share = pushed["mean", "transfer"] / pushed["mean", "time_to_first_token"]
    assert pushed["", "fabric_share"] == pytest.approx(share, rel=1e-3)


def test_layers_that_leave_early_hide_all_but_the_last() -> None:
    whole, layers = lone()["mean", "transfer"], lone(layers=8)["mean", "transfer"]
    # A tenth of the bytes is left when the prompt is computed: its 209.8 ms hide the others.
    assert layers == pytest.approx(whole / 10, rel=0.05)
    pulled = lone(transfer="pull")["mean", "transfer"]
    assert whole < pulled < whole + 100e-6


def test_a_latent_cache_goes_to_every_rank_from_one() -> None:
    latent = {"latent": {"layers": 61, "width": 576, "value_bytes": 2}}
    moved = 4_096 * 70_272 / 12.5e9
    assert lone(cache=latent)["mean", "transfer"] == pytest.approx(moved, rel=0.06)


def test_prompts_wait_as_in_a_queue() -> None:
    """M/D/1: half of the load by what is free of it, in units of the work."""
    drawn = {"count": 4_000, "interval": "20ms", "input": {"fixed": 100}, "output": {"fixed": 1}}
    served = figures(requests={"drawn": drawn}, decode_step="0ms", decode_per_request="0ms")
    work = START + 100 * TOKEN
    load = work / 20e-3
    expected = load / (2 * (1 - load)) * work
    assert served["mean", "queueing"] == pytest.approx(expected, rel=0.15)
    assert served["", "goodput"] == pytest.approx(50, rel=0.05)
