"""Measures of the checks of a study, on small tables whose answer can be seen."""

import pyarrow as pa
import pytest

from etherweave.api.results import Result, parse_summary
from etherweave.study import load_study

STUDY = load_study("sandia-2020")
CODE = STUDY.module("study")


def result(**tables: list[dict[str, object]]) -> Result:
    made = {name: pa.Table.from_pylist(rows) for name, rows in tables.items()}
    return Result(made, parse_summary("{}"), "", {})


def iteration(job: str, index: int, start_ms: float, duration_ms: float) -> dict[str, object]:
    times = {"start_ns": start_ms * 1e6, "duration_ns": duration_ms * 1e6}
    return {"job": job, "iteration": index, **times}


def port(node: str, kind: str, microseconds: float, packets: int = 1) -> dict[str, object]:
    pauses = {"rx_pause_duration_ns": microseconds * 1e3, "rx_pause_packets": packets}
    return {"node": node, "class": kind, "priority": 0, **pauses}


def test_other_jobs_do_not_count_into_an_iteration() -> None:
    rows = [iteration("fft", 0, 0, 2), iteration("fft", 1, 2, 4), iteration("halo3d", 0, 0, 90)]
    assert CODE.iteration_ms(result(iterations=rows), "fft") == (2 + 4) / 2


def test_total_time_scales_from_first_start_to_last_end() -> None:
    # Two iterations from 10 ms to 16 ms: 3 ms each, however the ranks share them.
    rows = [iteration("fft", 0, 10, 2), iteration("fft", 1, 12, 4), iteration("fft", 1, 12, 1)]
    assert CODE.total_s(result(iterations=rows), "fft") == pytest.approx(16_000 * 3e-3)


def test_pauses_of_halo3d_are_durations_at_leaf_ports_towards_nics() -> None:
    def run(nic: float) -> Result:
        ports = [port("leaf0", "host", nic), port("leaf0", "local", 70), port("host0", "host", 9)]
        return result(ports=ports, iterations=[iteration("halo3d", i, i, 1) for i in range(4)])

    results = {"halo3d.roce_v2": run(8), "halo3d.tcp_pfc": run(440)}
    assert STUDY.metrics["pauses.halo3d.roce"](results) == pytest.approx(8 / 4)
    assert STUDY.metrics["pauses.halo3d.ratio"](results) == pytest.approx(440 / 8)


def test_quality_of_service_over_tcp_is_measured_without_flow_control() -> None:
    def run(each_ms: float) -> Result:
        return result(iterations=[iteration("fft", 0, 0, each_ms)])

    seconds = {"tcp.alone": 1.0, "tcp.loaded": 1.5, "tcp_pfc.alone": 7.0, "tcp_pfc.loaded": 7.0}
    results = {
        f"qos.{case}.{seed}": run(total / 16)
        for case, total in seconds.items()
        for seed in CODE.PLACEMENT_SEEDS
    }
    assert STUDY.metrics["qos.tcp.alone"](results) == pytest.approx(1.0)
    assert STUDY.metrics["qos.tcp.slowdown"](results) == pytest.approx(1.5)


def test_nothing_compares_with_nothing() -> None:
    assert CODE.ratio(6, 3) == 2
    assert not CODE.ratio(6, 0) >= 10
