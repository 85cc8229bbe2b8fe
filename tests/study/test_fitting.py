"""Constants of studies: bisection to a figure each."""

from typing import Any

import pytest

from etherweave.study import calibration, load_study


def test_a_constant_is_fitted_to_the_nearest_step_and_holds_for_its_scenario_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[tuple[str, tuple[str, ...]]] = []

    def measure(study: Any, constant: Any, fitted: dict[str, object], value: int) -> float:
        held.append((constant.check, tuple(fitted)))
        middle = (constant.low + constant.high) / 2
        return float(constant.target + middle + 0.6 - value)

    monkeypatch.setattr(calibration, "_measure", measure)
    rows = {(row[0], row[1]): row[4] for row in calibration.calibrate(load_study("stackhpc-2019"))}
    # From 2 to 32 the figure is the target at 17.6: 18 is nearer than 17.
    assert rows["host.receive.queues", "hpcc.ring.latency.tcp10"] == "18"
    # From 25 to 200 at 113.1.
    assert rows["nic.context_switch", "hpcc.ring.latency.roce25"] == "113ns"
    before = dict(held)
    assert before["hpcc.ring.bandwidth.tcp10"] == ("host.receive.queues",)
    assert before["hpcc.ring.latency.tcp25"] == ()
    assert before["hpcc.ring.bandwidth.roce25"] == ("nic.context_switch",)
