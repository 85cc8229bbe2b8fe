"""Figures of services and of training, as bytes, messages and queueing theory have them."""

import re
from math import exp, isfinite, log, sqrt
from typing import Any

import pytest

import etherweave
from etherweave.api.overview import overview
from etherweave.api.simulation import moe_loads
from etherweave.measurements.quantities import Quantity, quantities
from etherweave.measurements.run_lines import job_lines

LINK = 12.5e9  # A link of 100 Gb/s [bytes/s].


def simulated(hosts: int, workload: dict[str, Any], **keys: Any) -> dict[tuple[str, str], Quantity]:
    """Run a job on a switch, a rank on each host; return its figures by test and metric."""
    job = {"job": [{"name": "job", "workload": workload}]}
    result = etherweave.run({"topology": {"single_switch": {"hosts": hosts}}, **job, **keys})
    return {(figure.test, figure.metric.name): figure for figure in quantities(result)}


def by_flows(
    hosts: int, workload: dict[str, Any], rate: str = "100"
) -> dict[tuple[str, str], float]:
    """Run a job in flow-level mode over RoCE at a rate [Gb/s]; return its medians."""
    nic = {"nic": {"context_switch": "7ns"}} if rate == "400" else {}
    profile = {"interconnect": {"profile": f"ethernet-{rate}-roce"}, **nic}
    results = simulated(hosts, workload, run={"fidelity": "flow"}, **profile)
    return {key: figure.median for key, figure in results.items()}


SIZE = 1_000_000_000 * 14  # A checkpoint of 10^9 parameters.


def elapsed(**keys: Any) -> float:
    """Save a model of 10^9 parameters by links of 100 Gb/s; return the time [s]."""
    checkpoint = {"parameters": 1_000_000_000, "piece": "16MiB", **keys}
    hosts = keys.get("writers", 16) + keys.get("servers", 4)
    time, rate = by_flows(hosts, {"checkpoint": checkpoint}).values()
    assert rate == pytest.approx(SIZE / time)
    return time


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


NODE = {"accelerators": 4, "rate": "1000Gb/s", "latency": "20us"}


def layer(hosts: int, keys: dict[str, Any]) -> dict[str, Any]:
    return {"ranks": hosts, "experts": 64, "node": NODE, **keys}


def times(hosts: int, **keys: Any) -> dict[str, float]:
    """Run a layer of experts on a switch of 400 Gb/s; return seconds of dispatch and combine."""
    results = by_flows(hosts, {"moe": layer(hosts, keys)}, "400")
    return {test: time for (test, metric), time in results.items() if metric == "call_time"}


def loads(hosts: int, **keys: Any) -> Any:
    """Return how much the ranks of the same layer exchange."""
    return moe_loads(layer(hosts, keys), 1)


def test_a_node_takes_the_rate_of_its_links() -> None:
    taken = times(4, tokens=2048)
    copies = loads(4, tokens=2048)["logical_bytes"][1] / 14_336
    # What reaches the rank with the most is within a few percent of the mean.
    assert taken["dispatch"] == pytest.approx(20e-6 + copies * 7_472 / 125e9, rel=0.04)
    assert taken["combine"] == pytest.approx(20e-6 + copies * 14_416 / 125e9, rel=0.04)


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
    taken = times(16, **keys)
    assert taken["dispatch"] == pytest.approx(20e-6 + messages * 190e-9, rel=0.1)
    # A combine's 14,336 B take the wire longer than 190 ns.
    assert taken["combine"] > 20e-6 + messages * 14_336 / 50e9


START, TOKEN, STEP = 5e-3, 50e-6, 15e-3
"""Computation of a prompt and of its tokens, and a step of a lone request."""


def served(**keys: Any) -> dict[tuple[str, str], float]:
    """Run a service of a language model on 16 hosts."""
    return by_flows(16, {"inference": keys})


def lone(**keys: Any) -> dict[tuple[str, str], float]:
    """Run requests of 4,096 tokens that never meet."""
    drawn = {"count": 5, "interval": "5s", "input": {"fixed": 4096}, "output": {"fixed": 8}}
    return served(requests={"drawn": drawn}, decode_per_request="0ms", **keys)


def test_a_lone_request_takes_its_prompt_its_bytes_and_a_step() -> None:
    pushed = lone()
    moved = 4_096 * 327_680 / 8 / LINK
    assert pushed["mean", "transfer"] == pytest.approx(moved, rel=0.06)
    expected = START + 4_096 * TOKEN + pushed["mean", "transfer"] + STEP
    assert pushed["mean", "time_to_first_token"] == pytest.approx(expected, rel=1e-3)
    assert pushed["mean", "time_between_tokens"] == pytest.approx(STEP, rel=1e-6)
    share = pushed["mean", "transfer"] / pushed["mean", "time_to_first_token"]
    assert pushed["", "fabric_share"] == pytest.approx(share, rel=1e-3)


def test_a_run_of_any_workload_that_is_cut_has_figures_or_none() -> None:
    topology = {"single_switch": {"hosts": 64}}
    with pytest.raises(etherweave.ScenarioError) as error:
        etherweave.run({"topology": topology, "job": [{"name": "j", "workload": {"none": {}}}]})
    names = re.findall(r"`(\w+)`", error.value.mistakes[0].expected)
    assert {"hpcc_ptrans", "osu_bw", "training"} <= {*names}
    # These need a file, a class or more hosts.
    for name in {*names} - {"driver", "goal", "chakra", "permutation_streams"}:
        for end in ("1us", "20us", "300us"):
            job = {"name": "j", "workload": {name: {}}}
            scenario = {"topology": topology, "transport": {"roce": {}}, "job": [job]}
            result = etherweave.run({**scenario, "run": {"end": end}})
            assert all(isfinite(figure.median) for figure in quantities(result)), (name, end)


def test_a_run_that_ends_before_the_combine_has_the_dispatch_alone() -> None:
    job = {"name": "m", "workload": {"moe": {"ranks": 8}}}
    topology = {"single_switch": {"hosts": 8}}
    result = etherweave.run({"topology": topology, "run": {"end": "2ms"}, "job": [job]})
    assert {figure.test for figure in quantities(result)} == {"dispatch"}


def test_layers_that_leave_early_hide_all_but_the_last() -> None:
    value, layers = lone()["mean", "transfer"], lone(layers=8)["mean", "transfer"]
    # A tenth of the bytes is left when the prompt is computed: its 209.8 ms hide the others.
    assert layers == pytest.approx(value / 10, rel=0.05)
    assert value < lone(transfer="pull")["mean", "transfer"] < value + 100e-6


def test_a_latent_cache_goes_to_every_rank_from_one() -> None:
    latent = {"latent": {"layers": 61, "width": 576, "value_bytes": 2}}
    moved = 4_096 * 70_272 / LINK
    assert lone(cache=latent)["mean", "transfer"] == pytest.approx(moved, rel=0.06)


EXPERTS: dict[str, Any] = {
    "ranks": 8,
    "experts": 64,
    "tokens": 16,
    "node": {**NODE, "latency": "10us"},
    "compute": "30us",
}


@pytest.mark.parametrize("mode", ["normal", "low_latency"])
def test_a_decode_step_takes_its_layers_of_experts(mode: str) -> None:
    """Layers of a lone request: a batch of one token, which only its rank has."""
    layers: dict[str, Any] = {"layers": 6, "moe": EXPERTS | {"iterations": 6, "mode": mode}}
    every = lone(experts=layers)
    gap = every["mean", "time_between_tokens"]
    exchange = every["", "token_fabric_share"] * gap
    assert gap == pytest.approx(STEP + exchange + 6 * 30e-6, rel=1e-3)
    # Two kernels of 10 us in a layer, a message there and back, and a token over the links.
    assert 6 * 20e-6 < exchange < 6 * 40e-6
    sampled = lone(experts=layers | {"moe": layers["moe"] | {"iterations": 2}})
    assert sampled["mean", "time_between_tokens"] == pytest.approx(gap, rel=1e-3)
    rare = lone(experts=layers | {"every": 10})
    for figure in (("mean", "time_between_tokens"), ("", "token_fabric_share")):
        assert rare[figure] == pytest.approx(every[figure], rel=1e-3)
    # The step of a single token has its exchange too, and no time between tokens.
    drawn = {"count": 5, "interval": "5s", "input": {"fixed": 4096}, "output": {"fixed": 1}}
    once = served(requests={"drawn": drawn}, decode_per_request="0ms", experts=layers)
    of_fabric = once["", "fabric_share"] * once["mean", "time_to_first_token"]
    assert of_fabric == pytest.approx(once["mean", "transfer"] + exchange, rel=1e-3)
    assert ("", "token_fabric_share") not in once


def test_ranks_of_a_decode_worker_stay_together_over_all_steps() -> None:
    """Layers of 60 us and what at most five tokens of a rank take, and not the lag of a rank."""
    drawn = {"count": 40, "interval": "1us", "input": {"fixed": 64}, "output": {"fixed": 80}}
    layers = {"layers": 58, "moe": EXPERTS | {"iterations": 1}}
    gap = served(requests={"drawn": drawn}, decode_per_request="0ms", experts=layers)
    assert STEP + 58 * 50e-6 < gap["p99", "time_between_tokens"] < STEP + 58 * 100e-6


def test_requests_without_memory_for_their_keys_and_values_are_held_back() -> None:
    """A batch has memory of one, two and all of eight that come at once, of 640 steps in all."""
    drawn = {"count": 8, "interval": "1ns", "input": {"fixed": 64}, "output": {"fixed": 80}}
    keys: dict[str, Any] = {"requests": {"drawn": drawn}, "decode_per_request": "0ms"}
    kept = 144 * 327_680 // 8

    def last(**more: Any) -> float:
        return served(**keys, **more)["p99", "time_to_first_token"]

    assert last(cache_memory=f"{kept}B") == pytest.approx(7 * 80 * STEP, rel=0.02)
    assert last(cache_memory=f"{3 * kept - 1}B") == pytest.approx(3 * 80 * STEP, rel=0.03)
    assert last(cache_memory=f"{8 * kept}B") == last() < 10 * STEP


def test_prompts_wait_as_in_a_queue() -> None:
    """M/D/1: half of the load by what is free of it, in units of the work."""
    drawn = {"count": 4_000, "interval": "20ms", "input": {"fixed": 100}, "output": {"fixed": 1}}
    results = served(requests={"drawn": drawn}, decode_step="0ms", decode_per_request="0ms")
    work = START + 100 * TOKEN
    load = work / 20e-3
    expected = load / (2 * (1 - load)) * work
    assert results["mean", "queueing"] == pytest.approx(expected, rel=0.15)
    assert results["", "goodput"] == pytest.approx(50, rel=0.05)


def figures(hosts: int, transport: str = "roce", **keys: Any) -> dict[str, Quantity]:
    """Run requests, and return their figures by test: a rate has none."""
    results = simulated(hosts, {"request_response": keys}, transport={transport: {}})
    return {test: figure for (test, _), figure in results.items()}


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


def test_percentiles_are_printed_where_all_requests_are_alike() -> None:
    job = {"name": "ask", "workload": {"request_response": {"requests": 50}}}
    result = etherweave.run({"topology": {"single_switch": {"hosts": 2}}, "job": [job]})
    _, line = job_lines(result, overview(result))
    assert re.fullmatch(r"ask, requests: mean (\S+ us), p50 \1, p95 \1, p99 \1", line)


def test_requests_and_calls_of_each_service_have_a_line_each() -> None:
    services = [{"name": "user", "service": "10us"}, {"name": "ads", "service": "5us"}]
    workload = {"clients": 2, "requests": 50, "calls": [["user"], ["ads"]], "services": services}
    job = {"name": "shop", "workload": {"request_response": workload}}
    result = etherweave.run({"topology": {"single_switch": {"hosts": 5}}, "job": [job]})
    figures = overview(result)
    # Each request is two calls, which are parts of it.
    assert figures["jobs"]["shop"]["iterations"] == 100
    lines = job_lines(result, figures)
    assert [line.partition(": ")[0] for line in lines] == [
        *("shop", "shop, requests", "shop, calls of user", "shop, calls of ads")
    ]
    assert "; 100 iterations, mean " in lines[0]


def test_one_request_at_a_time_over_tcp_is_netperf() -> None:
    bare = figures(2, "tcp", requests=50)
    netperf = bare["TCP REQUEST/RESPONSE"]
    assert (netperf.program, netperf.size_bytes, netperf.ranks) == ("netperf", 1, 2)
    assert netperf.values == bare[""].values
    assert set(figures(2, "tcp", requests=50, service="30us")) == {"mean", "p50", "p95", "p99", ""}


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
    taken = mean(9, **keys, load={"open": {"interval": (f"{clients * work / load * 1e6:.0f}us")}})
    lone = mean(9, clients=1, requests=50)
    # M/G/1 (Pollaczek and Khinchine): W = load / (1 - load) * work * (1 + variance) / 2.
    wait = load / (1 - load) * work * factor
    # The mean of n waits of M/M/1 at half of the load has variance 29 wait^2 / n, since waits that
    # follow each other are alike. Messages take time of the thread, too.
    assert taken - lone - work == pytest.approx(wait, rel=3 * sqrt(29 / 80_000) + 0.05)


def test_a_fan_out_waits_for_the_slowest_server() -> None:
    keys: dict[str, Any] = {"service": "1ms", "service_times": "exponential"}
    keys |= {"servers": 4, "requests": 20_000}
    assert mean(5, **keys) == pytest.approx(1e-3, rel=4 / sqrt(20_000) + 0.01)
    # The largest of four exponential times: 1 + 1/2 + 1/3 + 1/4, of variance 1 + 1/4 + 1/9 + 1/16.
    harmonic, variance = 25 / 12, 205 / 144
    together = figures(5, **keys, fan_out=4)
    assert together["mean"].median == pytest.approx(
        harmonic * 1e-3, rel=4 * sqrt(variance / 20_000) / harmonic + 0.01
    )
    # All four are below x with probability (1 - e^-x)^4, whose density at x is 4 (1 - e^-x)^3 e^-x.
    tail = -log(1 - 0.99 ** (1 / 4))
    density = 4 * 0.99 ** (3 / 4) * exp(-tail)
    error = sqrt(0.99 * 0.01 / 20_000) / density / tail
    assert together["p99"].median == pytest.approx(tail * 1e-3, rel=4 * error + 0.01)


def services(calls: list[list[str]], clients: int, **keys: Any) -> dict[str, Quantity]:
    """Run a front without work that calls two services of one thread."""
    both = [{"name": name, **keys} for name in ("a", "b")]
    load = {"open": {"interval": f"{clients * 200}us"}}
    graph: dict[str, Any] = {"calls": calls, "services": both, "clients": clients, "load": load}
    return figures(clients + 3, **graph, requests=10_000)


@pytest.mark.parametrize(("calls", "factor"), [([["a"], ["b"]], 2), ([["a", "b"]], 11.5 / 8)])
def test_services_are_queues_in_tandem_or_a_fork(calls: list[list[str]], factor: float) -> None:
    # Half of the load of work of 100 us: a queue of M/M/1 takes 200 us. What leaves it is Poisson
    # again (Burke), so that times of a tandem add up; a fork of two takes (12 - load) / 8 of it
    # (Nelson and Tantawi 1988).
    result = services(calls, 8, service="100us", service_times="exponential")
    lone = services(calls, 1)["mean"].median
    expected = pytest.approx(factor * 200e-6, rel=3 * sqrt(29 / 80_000) + 0.05)
    assert result["mean"].median - lone == expected
    # Times in M/M/1 are exponential.
    for name in ("a", "b"):
        assert result[f"{name} p50"].median == pytest.approx(200e-6 * log(2), rel=0.1)
        assert result[f"{name} p99"].median == pytest.approx(200e-6 * log(100), rel=0.2)
    if len(calls) == 2:
        parts = result["a mean"].median + result["b mean"].median
        assert result["mean"].median == pytest.approx(parts, rel=0.05)


def test_sampled_micro_batches_have_a_bound_of_their_error() -> None:
    """Two stages pass activations on, for which they wait in a round; a whole step has no error."""
    training = {
        "ranks": 2,
        "batch": 32,
        "model": {"layers": 2, "hidden": 1024, "sequence": 1024, "vocabulary": 1024},
        "parallel": {"tensor": 1, "pipeline": 2},
        "node": {"accelerators": 1},
    }
    scenario = {
        "topology": {"single_switch": {"hosts": 2, "rate": "100Gb/s"}},
        "interconnect": {"profile": "ethernet-100-roce"},
        "run": {"fidelity": "flow"},
        "job": [{"name": "step", "workload": {"training": training}}],
    }
    few = {"job.0.workload.training.micro_batches": 8}
    whole, sampled = (etherweave.run(scenario, changes) for changes in ({}, few))
    metric = "error_of_sampled_micro_batches"
    assert metric not in {figure.metric.name for figure in quantities(whole)}
    (error,) = (figure.median for figure in quantities(sampled) if figure.metric.name == metric)
    errors, waits = (sampled.values("repetitions", name) for name in ("error_ns", "waited_ns"))
    assert error == pytest.approx((max(errors) + min(waits)) * 1e-9)
    times = [max(result.values("iterations", "duration_ns")) * 1e-9 for result in (whole, sampled)]
    assert 0 < error < 0.1 * times[0]
    assert abs(times[1] - times[0]) <= error
