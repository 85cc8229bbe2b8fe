"""Constants of hosts from micro-benchmarks, with the simulator as cluster and as model."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import etherweave
from etherweave.bench.calibration import Calibration, CalibrationError, MeasuredWorkload, calibrate
from etherweave.bench.calibration.measured import alone, of_results, read
from etherweave.bench.calibration.prediction import simulated
from etherweave.units import time_of
from support import command_line
from support.measured_results import FOUR_HOSTS, measured, measured_with

pytestmark = pytest.mark.slow


def test_durations_of_resolved_scenarios_are_read() -> None:
    read_back = [1e9 * time_of(text) for text in ("7767ns", "2us", "1500ps", "0ps", "1.5ms", "1s")]
    assert read_back == pytest.approx([7767.0, 2000.0, 1.5, 0.0, 1.5e6, 1e9], rel=1e-15)


BASE = FOUR_HOSTS
HIDDEN = {"host.cpu.interrupt": "3us", "host.cpu.send_call": "900ns"}
WORKLOADS: dict[str, Mapping[str, Mapping[str, object]]] = {
    "latency-8": {"osu_latency": {"bytes": "8B", "iterations": 30}},
    "latency-4096": {"osu_latency": {"bytes": "4KiB", "iterations": 30}},
    "bw-64": {"osu_bw": {"bytes": "64B", "iterations": 5}},
    "bw-1024": {"osu_bw": {"bytes": "1KiB", "iterations": 5}},
    "fft": {"fft": {"pex": 2, "pey": 2, "pez": 1, "x_bytes": "1kB", "y_bytes": "1kB"}},
}


def observed(name: str, seed: int) -> MeasuredWorkload:
    """Play a cluster with hidden constants, whose launches differ by 1 %."""
    scenario = alone(BASE, {"name": name, "workload": WORKLOADS[name]})
    return measured_with(HIDDEN, name, scenario, seed)


@pytest.fixture(scope="module")
def found() -> Calibration:
    return calibrate([observed(name, seed) for seed, name in enumerate(WORKLOADS)])


def test_hidden_constants_of_a_cluster_are_found(found: Calibration) -> None:
    fitted = {one.key: one for one in found.constants if one.is_determined}
    assert fitted["host.cpu.send_call"].value_ns == pytest.approx(900, rel=0.1)
    # A latency determines the sum of the constants of its path, so either may be fitted.
    assert fitted.keys() & {"host.cpu.interrupt", "host.cpu.receive_batch"}


def test_a_workload_that_nothing_was_fitted_to_is_predicted(found: Calibration) -> None:
    (fft,) = found.held_out
    assert fft.name == "fft"
    assert abs(fft.error) < 0.03
    assert fft.predicted_low_s <= fft.predicted_s <= fft.predicted_high_s
    assert found.typical_error == abs(fft.error_of_median)
    before = etherweave.run(observed("fft", 0).scenario)
    assert abs(simulated(before, "mean") / fft.measured_s - 1) > 0.2, "shipped constants do not"


def test_each_workload_has_the_values_that_a_report_draws(found: Calibration) -> None:
    (fft,) = found.held_out
    scenario = observed("fft", 0).scenario
    durations = etherweave.run(scenario, found.settings()).tables["iterations"]["duration_ns"]
    ends = (min(durations.to_pylist()) / 1e9, max(durations.to_pylist()) / 1e9)
    assert (fft.predicted_iterations_s[0], fft.predicted_iterations_s[-1]) == pytest.approx(ends)
    assert sorted(fft.predicted_iterations_s) == list(fft.predicted_iterations_s)
    assert len(fft.launches_s) == 6
    assert np.median(fft.launches_s) == pytest.approx(fft.measured_s)
    workloads = {one.name: (one.test, one.size_bytes, one.window) for one in found.micro_benchmarks}
    assert workloads["latency-4096"] == ("osu_latency", 4096, 1)
    assert workloads["bw-64"] == ("osu_bw", 64, 64)


def test_settings_are_overrides_of_a_scenario(found: Calibration) -> None:
    again = etherweave.run(observed("latency-8", 0).scenario, found.settings())
    (benchmark,) = (one for one in found.micro_benchmarks if one.name == "latency-8")
    assert simulated(again, "mean") == pytest.approx(benchmark.predicted_s, rel=1e-3)


def test_too_few_micro_benchmarks_are_rejected() -> None:
    with pytest.raises(CalibrationError, match="2 micro-benchmarks; expected at least 3 sizes"):
        calibrate([observed("latency-8", 0), observed("bw-64", 0), observed("fft", 0)])


def test_a_simulated_result_is_no_measurement(tmp_path: Path) -> None:
    scenario = alone(BASE, {"name": "latency-8", "workload": WORKLOADS["latency-8"]})
    etherweave.run(scenario).save(tmp_path / "simulated")
    with pytest.raises(CalibrationError, match="was simulated; expected a result of `measure`"):
        read(tmp_path / "simulated", BASE)
    with pytest.raises(CalibrationError, match="expected a result of `measure` or of `bench run`"):
        read(tmp_path, BASE)


def test_errors_of_damaged_results_name_their_directory(tmp_path: Path) -> None:
    whole = measured([[10.0, 11.0]]).save(tmp_path / "whole")

    def refused(file: str, content: str | bytes, what: str) -> None:
        broken = tmp_path / "broken"
        shutil.copytree(whole, broken, dirs_exist_ok=True)
        (broken / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(CalibrationError, match=f"broken.*{what}.*expected"):
            read(broken, BASE)

    parquet = (whole / "iterations.parquet").read_bytes()
    refused("iterations.parquet", parquet[: len(parquet) // 2], "Parquet")
    refused("iterations.parquet", b"", "Parquet")
    refused("summary.json", "{", "line 1")
    refused("summary.json", "[]", "an object")
    refused("summary.json", '{"format": 9}', "format 9")
    refused("summary.json", '{"format": 1}', "summary: null")
    refused("scenario.toml", "name = ", "Invalid value")
    refused("scenario.toml", "name = 'x'", "no seed")
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "benchmarks.json").write_text("{}")
    (tmp_path / "bench" / "measurements.parquet").write_bytes(b"PAR1")
    with pytest.raises(CalibrationError, match=r"bench/measurements.*expected a whole result"):
        read(tmp_path / "bench", BASE)


@pytest.mark.parametrize("time", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_are_not_positive_are_rejected(time: float, tmp_path: Path) -> None:
    measured([[time] * 4]).save(tmp_path / "none")
    with pytest.raises(CalibrationError, match=r"none: latency-8: a launch of .*more than 0 s"):
        read(tmp_path / "none", BASE)


def test_measurements_over_two_transports_are_rejected() -> None:
    over_tcp = [observed(name, 0) for name in ("latency-8", "latency-4096", "bw-64")]
    roce = over_tcp[0]._replace(
        name="other", scenario={**over_tcp[0].scenario, "transport": {"roce": {}}}
    )
    with pytest.raises(CalibrationError, match="other: measured over roce, but latency-8 over tcp"):
        calibrate([*over_tcp, roce])


def test_a_micro_benchmark_whose_simulation_does_not_end_is_an_error() -> None:
    micro_benchmarks = [observed(name, 0) for name in ("latency-8", "latency-4096", "bw-64")]
    ends = {**micro_benchmarks[1].scenario, "run": {"end": "10us"}}
    with pytest.raises(
        CalibrationError, match="latency-4096: the simulation is time_limit; expected its end"
    ):
        calibrate(
            [micro_benchmarks[0], micro_benchmarks[1]._replace(scenario=ends), micro_benchmarks[2]]
        )


def test_a_launch_counts_by_its_middle_half_and_an_application_by_its_mean(tmp_path: Path) -> None:
    times = [[10.0, 11.0, 13.0, 900.0], [20.0, 20.0, 30.0, 30.0]]
    measured(times).save(tmp_path / "benchmark")
    (benchmark,) = read(tmp_path / "benchmark", BASE)
    assert benchmark.is_micro_benchmark
    # Of four iterations the second and third, sorted.
    assert benchmark.launches == pytest.approx((12e-9, 25e-9))
    assert benchmark.medians == pytest.approx((12e-9, 25e-9))
    other = alone(BASE, {"name": "fft", "workload": WORKLOADS["fft"]})
    held_out = of_results("fft", other, [measured(times)])
    assert not held_out.is_micro_benchmark
    assert held_out.launches == pytest.approx((934e-9 / 4, 25e-9))


def test_times_of_osu_are_taken_as_round_trips_and_windows(tmp_path: Path) -> None:
    common = {"is_valid": True, "is_warm_up": False, "statistic": "mean", "fabric": "tcp"}
    latency = {"program": "osu_latency", "metric": "latency", "size_bytes": 8}
    bandwidth = {"program": "osu_bw", "metric": "bandwidth", "size_bytes": 1024}
    rows = [
        {**common, **latency, "value_s": 5e-6, "value_bytes_per_s": None},
        {**common, **latency, "value_s": 7e-6, "value_bytes_per_s": None},
        {**common, **latency, "value_s": 1.0, "is_warm_up": True},
        {**common, **latency, "value_s": 1.0, "is_valid": False},
        {**common, **bandwidth, "value_bytes_per_s": 65536e3},
    ]
    (tmp_path / "benchmarks.json").write_text("{}")
    pl.DataFrame(rows).write_parquet(tmp_path / "measurements.parquet")
    ping, windows = read(tmp_path, BASE)
    assert ping.launches == pytest.approx((10e-6, 14e-6)), "a round trip is two one-way times"
    # 64 messages of 1024 B at 65.536 MB/s take a millisecond.
    assert windows.launches == pytest.approx((1e-3,))
    assert ping.scenario["job"] == [
        {"name": "osu_latency", "workload": {"osu_latency": {"bytes": "8B", "iterations": 200}}}
    ]
    pl.DataFrame([row | {"fabric": "roce"} for row in rows[:1]] + rows[1:]).write_parquet(
        tmp_path / "measurements.parquet"
    )
    with pytest.raises(CalibrationError, match="has 2 fabrics; expected one"):
        read(tmp_path, BASE)


def invoke(*words: str) -> tuple[int, str]:
    done = command_line.invoke("calibrate", *words)
    return done.exit_code, done.output


def test_mistakes_end_with_an_error(tmp_path: Path) -> None:
    scenario = tmp_path / "base.toml"
    scenario.write_text('[topology.single_switch]\nhosts = 4\n[[job]]\nname = "a"\n'
                        "workload.osu_latency = {}\n")  # fmt: skip
    site = tmp_path / "site.toml"
    site.write_text('launcher = { kind = "netns" }\nhosts = { n1 = {} }\n')
    assert invoke(str(scenario)) == (
        2,
        "expected --site FILE to measure now, or --measured DIRECTORY of a measurement\n",
    )
    code, said = invoke(str(scenario), "--site", str(site))
    assert (code, said) == (
        2,
        "--site: measures on hosts; expected --output DIRECTORY for its launches\n",
    )
    code, said = invoke(str(tmp_path / "none.toml"), "--measured", str(tmp_path))
    assert code == 2 and "none.toml: No such file" in said
    code, said = invoke(str(scenario), "--measured", str(tmp_path))
    assert code == 2 and "expected a result of `measure` or of `bench run`" in said


def test_settings_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "constants.toml"
    file.write_text('"host.cpu.interrupt" = "3us"\n[host.cpu]\nsend_call = "900ns"\n')
    scenario = tmp_path / "base.toml"
    scenario.write_text("[topology.single_switch]\n[transport.tcp]\n[[job]]\nname = \"a\"\n"
                        "workload.osu_latency = {}\n")  # fmt: skip
    words = ["show", str(scenario), "--set", f"@{file}", "--set", "host.cpu.interrupt=4us"]
    done = command_line.invoke(*words)
    assert done.exit_code == 0, done.output
    assert 'send_call = "900ns"' in done.output
    assert 'interrupt = "4us"' in done.output, "what comes later wins"
    file.write_text("seed = 1979-05-27")
    done = command_line.invoke(*words)
    assert done.exit_code == 2 and "has no place in a scenario; expected numbers" in done.output
    file.write_text("not TOML")
    done = command_line.invoke(*words)
    assert done.exit_code == 2 and "expected TOML" in done.output
