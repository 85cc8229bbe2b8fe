"""Requests and their answers, as queueing theory has them."""

from math import sqrt
from typing import Any

import pytest

import etherweave
from etherweave.measurements.quantities import Quantity, quantities


def figures(hosts: int, transport: str = "roce", **keys: Any) -> dict[str, Quantity]:
    """Run requests, a rank on each host, and return their figures by test: a rate has none."""
    job = {"name": "requests", "workload": {"request_response": keys}}
    fabric = {"topology": {"single_switch": {"hosts": hosts}}, "transport": {transport: {}}}
    result = etherweave.run({**fabric, "job": [job]})
    return {figure.test: figure for figure in quantities(result)}


def mean(hosts: int, **keys: Any) -> float:
    """Return the mean time of a request [s]."""
    return figures(hosts, **keys)["mean"].median


def test_a_client_alone_waits_for_the_network_and_the_work() -> None:
    bare = figures(2, requests=50)
    # A lone request is asked when the one before is answered: the rate is one by its time.
    assert bare[""].median == pytest.approx(1 / bare["mean"].median, rel=1e-3)
    assert bare["p50"].median <= bare["p95"].median <= bare["p99"].median
    worked = figures(2, requests=50, service="30us")
    assert worked["mean"].median == pytest.approx(bare["mean"].median + 30e-6, abs=2e-7)
    thought = figures(
        2, requests=50, service="30us", load={"closed": {"outstanding": 1, "think": "50us"}}
    )
    # One pause less than requests.
    assert 50 / thought[""].median == pytest.approx(
        50 * thought["mean"].median + 49 * 50e-6, rel=1e-3
    )


def test_one_request_at_a_time_over_tcp_is_netperf() -> None:
    bare = figures(2, "tcp", requests=50)
    netperf = bare["TCP REQUEST/RESPONSE"]
    assert (netperf.program, netperf.size_bytes, netperf.ranks) == ("netperf", 1, 2)
    assert netperf.values == bare[""].values
    worked = figures(2, "tcp", requests=50, service="30us")
    assert set(worked) == {"mean", "p50", "p95", "p99", ""}


def test_threads_of_a_server_work_side_by_side() -> None:
    keys: dict[str, Any] = {"requests": 40, "service": "200us", "clients": 4}
    alone, together = mean(5, **keys), mean(5, **keys, threads=4)
    # Four wait for one thread, which has all of them in turn.
    assert alone == pytest.approx(4 * 200e-6, rel=0.1)
    assert together == pytest.approx(200e-6, rel=0.1)


@pytest.mark.parametrize(("kind", "factor"), [("constant", 0.5), ("exponential", 1.0)])
def test_requests_at_random_times_wait_as_in_a_queue(kind: str, factor: float) -> None:
    clients, work, load = 8, 100e-6, 0.5
    keys = {"service": "100us", "service_times": kind, "clients": clients, "requests": 10_000}
    interval = f"{clients * work / load * 1e6:.0f}us"
    taken = mean(9, **keys, load={"open": {"interval": interval}})
    lone = mean(9, clients=1, requests=50)
    # M/G/1 (Pollaczek and Khinchine): W = load / (1 - load) * work * (1 + variance) / 2.
    wait = load / (1 - load) * work * factor
    # The mean of n waits of M/M/1 at half of the load has variance 29 wait^2 / n, since waits that
    # follow each other are alike. Messages take time of the thread, too.
    assert taken - lone - work == pytest.approx(wait, rel=3 * sqrt(29 / 80_000) + 0.05)


def test_a_fan_out_waits_for_the_slowest_server() -> None:
    keys = {"service": "1ms", "service_times": "exponential", "servers": 4, "requests": 20_000}
    single = mean(5, **keys)
    assert single == pytest.approx(1e-3, rel=4 / sqrt(20_000) + 0.01)
    # The largest of four exponential times: 1 + 1/2 + 1/3 + 1/4, of variance 1 + 1/4 + 1/9 + 1/16.
    harmonic, variance = 25 / 12, 205 / 144
    assert mean(5, **keys, fan_out=4) == pytest.approx(
        harmonic * 1e-3, rel=4 * sqrt(variance / 20_000) / harmonic + 0.01
    )
