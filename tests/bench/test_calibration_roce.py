"""A simulated cluster with RoCE and hidden constants of its NICs and of MPI."""

from collections.abc import Mapping

import pytest

import etherweave
from etherweave.api.units import time_of
from etherweave.bench.calibration import Calibration, MeasuredWorkload, calibrate
from etherweave.bench.calibration.measured import alone
from etherweave.bench.calibration.micro_benchmarks import micro_benchmarks
from etherweave.bench.calibration.prediction import simulated
from support.measured_results import measured_with
from support.priors import prior

BASE: dict[str, object] = {
    "name": "four",
    "topology": {"single_switch": {"hosts": 4, "rate": "100Gb/s"}},
    "transport": {"roce": {}},
    "flow_control": {"pfc": {"priorities": [3]}},
}
HIDDEN = {
    "nic.transmit_latency": "800ns",
    "nic.context_switch": "200ns",
    "host.mpi_roce.send_overhead": "400ns",
}
PRIOR = prior(
    {
        "nic.transmit_latency": ("50ns", "3000ns"),
        "nic.context_switch": ("10ns", "800ns"),
        "host.mpi_roce.send_overhead": ("50ns", "1500ns"),
    },
    {
        "nic.transmit_latency": "216ns",
        "nic.context_switch": "25ns",
        "host.mpi_roce.send_overhead": "40ns",
    },
)
SHAPE = {"pex": 2, "pey": 2, "pez": 1}
INCAST = {"sources": 3, "message": "8KiB", "outstanding": 4, "messages": 64}
WORKLOADS: dict[str, Mapping[str, Mapping[str, object]]] = {
    "latency-8": {"osu_latency": {"bytes": "8B", "iterations": 10}},
    "latency-65536": {"osu_latency": {"bytes": "64KiB", "iterations": 10}},
    "bw-64": {"osu_bw": {"bytes": "64B", "iterations": 5}},
    "bw-16384": {"osu_bw": {"bytes": "16KiB", "iterations": 5}},
    "incast": {"incast": INCAST},
    "fft": {"fft": {**SHAPE, "iterations": 2}},
    "halo3d": {"halo3d": {**SHAPE, "iterations": 2}},
}


def observed(name: str, seed: int) -> MeasuredWorkload:
    """Launch a workload six times; launches differ by 1 %."""
    scenario = alone(BASE, {"name": name, "workload": WORKLOADS[name], "priority": 3})
    return measured_with(HIDDEN, name, scenario, seed)


@pytest.fixture(scope="module")
def outcome() -> Calibration:
    return calibrate([observed(name, seed) for seed, name in enumerate(WORKLOADS)], PRIOR)


@pytest.mark.slow
def test_intervals_have_the_hidden_constants(outcome: Calibration) -> None:
    for constant in outcome.constants:
        assert constant.low <= time_of(HIDDEN[constant.key]) <= constant.high, constant
        assert constant.is_inferred and constant.width < 0.5, constant
        # The cost of a NIC's change of connection has steps: packets of sources alternate.
        bound = 0.35 if constant.key == "nic.context_switch" else 0.1
        assert constant.value == pytest.approx(time_of(HIDDEN[constant.key]), rel=bound)


@pytest.mark.slow
def test_workloads_that_nothing_was_inferred_from_are_predicted(outcome: Calibration) -> None:
    assert {prediction.name for prediction in outcome.held_out} == {"fft", "halo3d"}
    for prediction in outcome.held_out:
        assert prediction.is_covered and abs(prediction.error) < 0.1, prediction.name
        before = simulated(etherweave.run(observed(prediction.name, 0).scenario), "mean")
        assert abs(before / prediction.measured_s - 1) > 0.15, "the shipped constants do not"


def test_only_roce_has_an_incast_of_short_messages() -> None:
    names = {
        transport: [micro_benchmark.name for micro_benchmark in micro_benchmarks(4, transport)]
        for transport in ("tcp", "roce")
    }
    assert set(names["roce"]) - set(names["tcp"]) == {"incast-3-8192"}
    assert [name for name in names["tcp"] if name.startswith("incast")] == ["incast-3-65536"]
    assert not [row for row in micro_benchmarks(2, "roce") if "incast" in row.workload]
