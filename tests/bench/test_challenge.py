"""Tests of the HPC Challenge as workloads, from the summary that it prints."""

from pathlib import Path
from tomllib import loads
from typing import Any

import pytest

import etherweave
from etherweave.bench.calibration import MeasuredWorkload, calibrate
from etherweave.bench.calibration.measured import read
from etherweave.bench.calibration.prediction import simulated
from etherweave.bench.statistics.launches import StoppingRule
from etherweave.measurements.challenge import ChallengeWorkload, figures, workloads
from support.captured_texts import captured, report
from support.launches import FakeLauncher, campaign, stored_campaign
from support.priors import prior

BASE: dict[str, Any] = {"topology": {"single_switch": {"hosts": 4}}, "transport": {"tcp": {}}}
TEXT = "hpcc/hpccoutf-4ranks.txt"


def of_text() -> list[ChallengeWorkload]:
    return list(workloads(dict(report(TEXT).facts)))


def test_each_figure_of_the_network_has_its_workload() -> None:
    """A matrix of 1,000 in blocks of 80, 2^16 numbers and 2^19 words on four ranks."""
    result = {(workload.test, workload.kind): workload for workload in of_text()}
    assert len(result) == len(of_text()) - 3, "rings and the ping-pong have two figures each"
    hpl = result["HPL", "hpl"].facts
    assert (hpl["size"], hpl["block"], hpl["rows"] * hpl["columns"]) == (1000, 80, 4)
    assert result["PTRANS", "hpcc_ptrans"].facts["size"] == 500
    assert result["MPIFFT", "hpcc_mpifft"].facts["local"] == 2**14
    assert result["MPIRandomAccess", "hpcc_random_access"].facts["log2_table"] == 19


@pytest.mark.parametrize("case", of_text(), ids=lambda case: f"{case.test}-{case.metric.name}")
def test_a_simulated_figure_is_counted_as_the_printed_one(case: ChallengeWorkload) -> None:
    result = etherweave.run({**BASE, "job": [{"name": "a", "workload": {case.kind: case.facts}}]})
    rows = result.to_polars("iterations")
    ((_, facts),) = _job(result)["workload"].items()
    (outcome,) = (figure for figure in figures(case.kind, facts, rows) if figure.test == case.test)
    assert outcome.metric == case.metric
    assert case.seconds(outcome.value) == pytest.approx(outcome.seconds)


def _job(result: etherweave.Result) -> dict[str, Any]:
    return dict(loads(result.resolved)["job"][0])


def measured(directory: Path) -> Path:
    """Keep a campaign with a warm-up and two launches of the same text."""
    twice = StoppingRule(launches_min=2, launches_max=2)
    wanted = campaign("hpcc", rule=twice, size_max=1000, size_min=1000)
    return stored_campaign(directory, wanted, FakeLauncher(lambda number: captured(TEXT)))


def test_constants_are_inferred_from_latency_and_bandwidth_and_applications_are_held_out(
    tmp_path: Path,
) -> None:
    result = {workload.name: workload for workload in read(measured(tmp_path / "run"), BASE)}
    fitted = {name for name, row in result.items() if row.is_micro_benchmark}
    assert fitted == {
        f"{order}OrderedRing {what}"
        for order in ("Naturally", "Randomly")
        for what in ("latency", "bandwidth rank")
    } | {"PingPong latency", "PingPong bandwidth"}
    assert len(result) == len(of_text())
    random = result["RandomlyOrderedRing latency"]
    assert random.launches == pytest.approx((15.3593e-6, 15.3593e-6)), "without the warm-up"
    assert result["PTRANS bandwidth sum"].launches[0] == pytest.approx(8 * 500**2 / 0.196633e9)


@pytest.mark.slow
def test_hidden_constants_of_rings_predict_a_transform(tmp_path: Path) -> None:
    """A simulated cluster in place of the measured one."""
    hidden: dict[str, object] = {"host.cpu.send_call": "6us"}
    played = [_played(workload, hidden) for workload in read(measured(tmp_path / "run"), BASE)]
    # A ring determines the sum of both calls: with both unknown, either may be off.
    around = {"host.cpu.send_call": ("500ns", "20000ns")}
    calibration = calibrate(played, prior(around, {"host.cpu.send_call": "2us"}))
    (send,) = calibration.constants
    assert send.low <= 6e-6 <= send.high and send.width < 0.5
    assert all(case.is_covered and case.width < 0.5 for case in calibration.held_out)
    assert calibration.worst_error is not None
    assert calibration.worst_error < 0.05


def _played(measured_workload: MeasuredWorkload, hidden: dict[str, object]) -> MeasuredWorkload:
    took = simulated(etherweave.run(measured_workload.scenario, hidden), measured_workload.centre)
    return measured_workload._replace(launches=(took, took * 1.01), medians=(took, took * 1.01))
