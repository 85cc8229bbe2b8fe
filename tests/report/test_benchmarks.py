"""Figures of benchmarks of many ranks from the iterations of their workloads."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import etherweave
from etherweave.api.overview import overview
from etherweave.api.results import Result
from etherweave.measurements.quantities import Quantity, quantities
from etherweave.measurements.run_lines import job_lines
from etherweave.report.run import benchmarks
from etherweave.report.run.comparison import ComparedResults
from etherweave.report.section import Section


def run(
    workload: dict[str, Any], hosts: int = 8, ranks_per_host: int = 2, **scenario: object
) -> Result:
    """Run a workload on hosts of a switch, with some ranks on each."""
    job = {"name": "job", "workload": workload, "ranks_per_host": ranks_per_host}
    switch = {"single_switch": {"hosts": hosts}}
    return etherweave.run({"topology": switch, "job": [job], **scenario})


def only(workload: dict[str, Any], **keys: Any) -> Quantity:
    (quantity,) = quantities(run(workload, **keys))
    return quantity


def shown(*results: Result) -> list[Section]:
    """Return the sections of a page about benchmarks that are not empty."""
    beside = ComparedResults(results)
    return [section for build in benchmarks.sections if (section := build(beside)) is not None]


RINGS = {"ranks": 16, "loops": 4, "measurements": 3, "random_rings": 2}


def test_a_ring_counts_by_its_slowest_rank_in_its_fastest_measurement() -> None:
    result = run({"hpcc_ring": RINGS})
    rows = result.to_polars("iterations")
    # Ring by ring, measurement by measurement, blocking and not, a rank each.
    times = rows.sort("iteration", "rank")["duration_ns"].to_numpy().reshape(3, 3, 2, 16)
    rings = times.min(axis=2).max(axis=2).min(axis=1) * 1e-9 / (2 * 4)
    natural, random = quantities(result)
    assert (natural.test, random.test) == ("NaturallyOrderedRing", "RandomlyOrderedRing")
    assert natural.values == pytest.approx([rings[0]])
    assert random.values == pytest.approx([np.sqrt(rings[1] * rings[2])])
    bandwidth = only({"hpcc_ring": {**RINGS, "bytes": "2MB", "random_rings": 0}})
    assert bandwidth.metric.name == "bandwidth_rank"
    # Of its two messages a rank sends one to the other rank of its host: both share 12.5 GB/s.
    assert 0.9 < bandwidth.median / 1.25e10 < 1


def test_transpose_and_transform_count_their_bytes_and_operations() -> None:
    transpose = run({"hpcc_ptrans": {"size": 512, "iterations": 2}})
    slowest = transpose.to_polars("iterations")["duration_ns"].to_numpy().max() * 1e-9
    (quantity,) = quantities(transpose)
    assert (quantity.test, quantity.ranks) == ("PTRANS", 16)
    assert quantity.values == pytest.approx([8 * 512**2 / slowest])
    transform = run({"hpcc_mpifft": {"local": 2**10}})
    slowest = transform.to_polars("iterations")["duration_ns"].to_numpy().max() * 1e-9
    (quantity,) = quantities(transform)
    assert quantity.values == pytest.approx([5 * 2**14 * 14 / slowest])


def test_updates_count_by_the_slowest_rank_and_own_transforms_by_the_mean_of_rates() -> None:
    access = run({"hpcc_random_access": {"per_update": "50ns", "rounds": 2, "iterations": 3}})
    rows = access.to_polars("iterations")
    slowest = rows.group_by("rank").agg(pl.col("duration_ns").sum())["duration_ns"].to_numpy().max()
    (found,) = quantities(access)
    assert (found.test, found.metric.name, found.ranks) == ("MPIRandomAccess", "update_rate", 16)
    assert found.values == pytest.approx([16 * 2 * 3 * 1024 / (slowest * 1e-9)])
    # Ranks do nothing else for 50 ns of each update.
    assert 0.5 < found.median * 50e-9 / 16 < 1
    star = run({"hpcc_fft": {"log2_size": 14, "passes": 2, "per_gflop": "100ms"}})
    rates = 5 * 14 * 2**14 / (star.to_polars("iterations")["duration_ns"].to_numpy() * 1e-9)
    (found,) = quantities(star)
    assert (found.test, len(rates)) == ("StarFFT", 16)
    assert found.values == pytest.approx([rates.mean()])


def test_a_transform_alone_is_faster_than_beside_others_where_they_share_memory() -> None:
    def rate(scope: str) -> float:
        transform = {"hpcc_fft": {"scope": scope, "log2_size": 16, "per_gflop": "100ms"}}
        host = {"memory_rate": "40Gb/s", "mpi_roce": {"self_per_kib": "100ns"}}
        return only(transform, hosts=2, ranks_per_host=16, host=host).median

    assert rate("single") > 2 * rate("star")


def test_samples_of_panels_stand_for_all_of_them() -> None:
    """A matrix of 2,048 in 32 panels: all of them, and nine."""
    system = {"rows": 4, "columns": 4, "size": 2048, "swap": "spread_roll"}
    done = run({"hpl": system})
    (every,) = quantities(done)
    quantity = only({"hpl": {**system, "samples": 9}})
    assert every.error is None
    assert quantity.error is not None
    assert quantity.error < 0.1
    assert quantity.median == pytest.approx(every.median, rel=0.05)
    ends = (
        done.to_polars("iterations")
        .group_by("rank")
        .agg((pl.col("start_ns") + pl.col("duration_ns")).max() - pl.col("start_ns").min())
    )
    elapsed = float(ends["start_ns"].to_numpy().mean()) * 1e-9
    assert every.median == pytest.approx((2 / 3 * 2048**3 + 3 / 2 * 2048**2) / elapsed, rel=1e-6)


@pytest.mark.parametrize("benchmark", ["bt", "ft", "is", "lu", "mg", "sp"])
def test_samples_of_iterations_stand_for_all_of_them(benchmark: str) -> None:
    """Twenty iterations of class S on 16 ranks: all of them, and five."""
    own = {"benchmark": benchmark, "class": "S", "ranks": 16}
    result = run({"npb": own})
    (every,) = quantities(result)
    quantity = only({"npb": {**own, "samples": 5}})
    assert (every.test, every.error) == (f"{benchmark}.S", None)
    by_rank = result.to_polars("iterations").group_by("rank").agg(pl.col("duration_ns").sum())
    assert every.median == pytest.approx(float(by_rank["duration_ns"].to_numpy().max()) * 1e-9)
    assert quantity.error is not None
    assert quantity.error < 0.02
    assert quantity.median == pytest.approx(every.median, rel=0.02)


def test_steps_of_a_flow_solver_are_added_up() -> None:
    """Ten steps, of which three stand for all."""
    gradient = {"cells": 4_000, "pressure": {"pcg": {"iterations": 5}}, "iterations": 10}
    every = only({"openfoam": gradient})
    quantity = only({"openfoam": {**gradient, "samples": 3}})
    assert (every.program, every.test, every.error) == ("openfoam", "pcg", None)
    assert quantity.error is not None
    assert quantity.median == pytest.approx(every.median, rel=0.01)
    # 500 cells of a rank at 15 us each, ten times, and what lies between.
    assert 10 * 500 * 15e-6 < every.median < 1.1 * 10 * 500 * 15e-6


def test_the_report_lists_each_figure() -> None:
    lu = {"benchmark": "lu", "class": "S", "ranks": 16, "samples": 3}
    rings, solver = shown(run({"hpcc_ring": RINGS}), run({"osu_latency": {}}), run({"npb": lu}))
    assert (rings.title, solver.title) == ("HPC Challenge", "NAS Parallel Benchmarks")
    assert [row[2] for row in solver.tables[0].rows] == ["lu.S elapsed"]
    (table,) = rings.tables
    assert [row[2] for row in table.rows] == [
        "NaturallyOrderedRing latency",
        "RandomlyOrderedRing latency",
    ]


def test_collectives_of_nccl_print_bus_bandwidth() -> None:
    operation = {"allreduce": {"bytes": "16MiB"}}
    facts = {"ranks": 8, "operation": operation, "library": "nccl", "warm_up": 0, "iterations": 2}
    call, bus = quantities(run({"osu_collective": facts}, ranks_per_host=1))
    assert (bus.program, bus.test, bus.size_bytes) == ("nccl_tests", "all_reduce_perf", 16 << 20)
    assert bus.values == pytest.approx([(16 << 20) / call.median * 2 * 7 / 8])
    # A link of 100 Gb/s, of which frames leave 97 %.
    assert 0.8 < bus.median / 1.25e10 < 0.97
    gather = {**facts, "operation": {"allgather": {"bytes": "2MiB"}}}
    _, bus = quantities(run({"osu_collective": gather}, ranks_per_host=1))
    assert (bus.test, bus.size_bytes) == ("all_gather_perf", 16 << 20)


def test_bus_bandwidth_stands_beside_what_was_published() -> None:
    job = {"ranks": 4, "library": "nccl", "warm_up": 0, "iterations": 1}

    def published(size: str) -> str:
        workload = {"osu_collective": {**job, "operation": {"allreduce": {"bytes": size}}}}
        (section,) = shown(run(workload, hosts=4, ranks_per_host=1, run={"fidelity": "flow"}))
        (table,) = section.tables
        (row,) = table.rows
        return dict(zip(table.head, row, strict=True)).get("published", "")  # Empty ones are not.

    assert published("64MiB") == ""
    assert published("256MiB") == "12 GB/s, any (NVIDIA/nccl-tests issue #119)"


def test_times_of_requests_to_a_model_have_columns_for_their_percentiles() -> None:
    result = etherweave.run(Path("scenarios/inference.toml"))
    (section,) = shown(result)
    figures, times = section.tables
    assert figures.head == ["job", "result", "test", "ranks", "figure"]
    assert times.head == ["job", "result", "time", "mean", "p50", "p95", "p99"]
    lines = job_lines(result, overview(result))
    assert [row[2] for row in times.rows][::5] == ["time to first token", "time between tokens"]
    assert lines[0].startswith("service: inference fabric share ")
    for line, (job, _, time, *values) in zip(lines[1:], times.rows, strict=True):
        texts = [f"{name} {value}" for name, value in zip(times.head[3:], values, strict=True)]
        assert line == f"{job}, {time}: {', '.join(texts)}"


def bus_of_two_nodes(fidelity: str, **own: Any) -> tuple[Result, float]:
    """Give the bus bandwidth of 256 MiB on two servers of four, by what four interfaces carry."""
    scenario = tomllib.loads(Path("scenarios/nccl_tests.toml").read_text(encoding="utf-8"))
    scenario["run"] = {"fidelity": fidelity}
    scenario["topology"]["rail_optimised"] |= {"rails": 4, "servers": 2, "servers_per_pod": 2}
    facts = {"ranks": 8, "node": {"accelerators": 4}, "network_rate": "400Gb/s", "iterations": 2}
    facts |= {"operation": {"allreduce": {"bytes": "256MiB"}}}
    scenario["job"][0]["workload"]["nccl_tests"] = facts | own
    result = etherweave.run(scenario)
    call, bus = quantities(result)
    assert bus.values == pytest.approx([(256 << 20) / call.median * 2 * 7 / 8])
    return result, bus.median / (4 * 50e9)


def test_accelerators_of_a_node_share_a_bus_bandwidth() -> None:
    """Two servers of four: a ring that fills every interface, by either fidelity."""
    for fidelity in ("flow", "packet"):
        ring = {"algorithm": "ring", "protocol": "simple", "channels": 4}
        result, share = bus_of_two_nodes(fidelity, **ring)
        assert 0.9 < share < 0.97
        (section,) = shown(result)
        (*_, none), (*_, expected) = section.tables[0].rows
        assert (none, expected.count("4 × 4")) == ("", 2)


def test_channels_of_an_interface_cost_no_more_than_the_nic_takes_to_change_between_them() -> None:
    """NCCL's own channels: packets of 4 KiB take 83 ns, and at most 7 ns more where they change."""
    (_, flow), (_, packet) = (bus_of_two_nodes(fidelity) for fidelity in ("flow", "packet"))
    assert 0.9 < flow < 0.97
    assert 83 / (83 + 7) < packet / flow < 1


@pytest.mark.parametrize(
    ("operation", "test", "blocks", "in_node"),
    [
        ("sendrecv", "sendrecv_perf", 1, 0),
        ("gather", "gather_perf", 8, 0),
        ("hypercube", "hypercube_perf", 8, 7),
    ],
)
def test_sends_and_receives_of_nccl_fill_the_interface_of_their_place(
    operation: str, test: str, blocks: int, in_node: int
) -> None:
    """Two servers of eight: blocks of 64 MiB by one interface, at 50 GB/s with headers.

    Before, rounds of a hypercube pass so many in a node at 460 GB/s.
    """
    size = 64 << 20
    root = {"root": 0} if operation == "gather" else {}
    scenario = tomllib.loads(Path("scenarios/nccl_tests.toml").read_text(encoding="utf-8"))
    scenario["topology"]["rail_optimised"] |= {"servers": 2, "servers_per_pod": 2}
    facts = {"ranks": 16, "iterations": 1, "operation": {operation: root | {"bytes": "64MiB"}}}
    scenario["job"][0]["workload"]["nccl_tests"] = facts
    call, bus = quantities(etherweave.run(scenario))
    assert call.test == bus.test == test
    expected = blocks * size / 50e9 + in_node * size / 460e9
    assert 1.02 < call.median / expected < 1.10


@pytest.mark.parametrize(
    ("operation", "algorithm"),
    [({"allreduce": {"bytes": "16MiB"}}, "ring"), ({"alltoall": {"bytes": "256KiB"}}, "pairwise")],
)
def test_rounds_of_a_collective_stand_for_all(operation: dict[str, Any], algorithm: str) -> None:
    facts = {"ranks": 16, "operation": operation, "algorithm": algorithm}
    once = {**facts, "warm_up": 0, "iterations": 1}

    plain, sampled = (
        only({"osu_collective": facts}, hosts=16, ranks_per_host=1)
        for facts in (once, {**once, "samples": 4})
    )
    assert plain.error is None
    assert sampled.error is not None
    assert sampled.error < 0.02
    assert sampled.median == pytest.approx(plain.median, rel=0.02)


def test_training_steps_count_operations_and_what_is_exposed() -> None:
    text = Path("scenarios/training.toml").read_text(encoding="utf-8")
    result = etherweave.run(tomllib.loads(text))
    step, rate, imbalance, exposed, in_nodes, memory = quantities(result)
    slowest = result.to_polars("iterations")["duration_ns"].to_numpy().max() * 1e-9
    assert step.values == pytest.approx([slowest])
    # GPT-2: 12 layers of 4 h^2 and 8 h^2 parameters, and the output layer; 1,024 tokens attend to
    # half of the sequence. A token takes 2 operations for each forward, 4 back.
    layers = 12 * (12 * 768**2 + 1024 * 768)
    done = 6 * 64 * 1024 * (layers + 50257 * 768)
    assert rate.values == pytest.approx([done / 16 / slowest])
    assert exposed.values == pytest.approx([slowest - done / 16 * 5e-15])
    assert 0 < exposed.median < slowest
    assert (imbalance.median, in_nodes.median) == (0, 0), "one stage, and no matrix that is shared"
    # 18 B of a parameter, 4,096 tokens of 16 h in each layer, and the results of the output layer.
    states = 18 * (12 * 12 * 768**2 + 50257 * 768)
    assert memory.median == states + 4096 * (12 * 2 * 16 * 768 + 2 * 2 * 768 + 4 * 50257)
    (section,) = shown(result)
    assert section.title == "Training steps"


def test_the_slowest_stage_is_no_communication() -> None:
    """Two stages of a layer each, the last with an output layer that takes as long as the layer."""
    model = {
        **{"layers": 2, "hidden": 1024, "feed_forward": 4096, "is_gated": False},
        **{"key_value": 1024, "vocabulary": 12 * 1024 + 64, "sequence": 64},
    }
    training = {
        **{"ranks": 4, "batch": 8, "model": model, "per_teraflop": "2s"},
        "parallel": {"tensor": 2, "pipeline": 2},
        "node": {"accelerators": 2, "latency": "0ns"},
    }
    result = run({"training": training}, hosts=4, ranks_per_host=1)
    step, rate, imbalance, exposed, in_nodes, _ = quantities(result)
    # Forward and backward 6 operations for each of 12 h^2 + S h; two accelerators share them.
    layer = 6 * 64 * (12 * 1024**2 + 64 * 1024) / 2 * 2e-12
    # Eight micro-batches through the last stage of two such, and one through the first: 17, not
    # nine times the mean of one and two, which is 13.5.
    assert imbalance.values == pytest.approx([(17 - 13.5) * layer])
    assert exposed.values == pytest.approx([step.median - 17 * layer])
    assert rate.values == pytest.approx([8 * 3 / 2 * layer / 2e-12 / step.median])
    assert 0 < in_nodes.median < exposed.median < 0.05 * step.median
