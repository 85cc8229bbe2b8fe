"""Unknowns of hosts from micro-benchmarks, with the simulator as cluster and as model."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import etherweave
from etherweave.api import toml
from etherweave.api.units import time_of
from etherweave.bench.calibration import (
    Calibration,
    CalibrationError,
    ComparedWorkload,
    MeasuredWorkload,
    calibrate,
)
from etherweave.bench.calibration.measured import alone, of_results, read
from etherweave.bench.calibration.micro_benchmarks import ChallengeTest, reported_share
from etherweave.bench.calibration.plausible import (
    check_hosts,
    check_predictions,
    check_prior,
    check_rates,
)
from etherweave.bench.calibration.prediction import simulated
from etherweave.cli.calibrate import _mark, _print
from etherweave.uncertainty import declared
from etherweave.uncertainty.sampling import sobol
from support import command_line
from support.measured_results import FOUR_HOSTS, measured, measured_with
from support.priors import prior

pytestmark = pytest.mark.slow


def test_durations_of_resolved_scenarios_are_read() -> None:
    read_back = [1e9 * time_of(text) for text in ("7767ns", "2us", "1500ps", "0ps", "1.5ms", "1s")]
    assert read_back == pytest.approx([7767.0, 2000.0, 1.5, 0.0, 1.5e6, 1e9], rel=1e-15)


BASE = FOUR_HOSTS
HIDDEN = {"host.cpu.interrupt": "3us", "host.cpu.send_call": "900ns"}
ENDS = {
    "host.cpu.interrupt": ("500ns", "20000ns"),
    "host.cpu.send_call": ("200ns", "5000ns"),
    "host.cpu.receive_batch": ("200ns", "5000ns"),
}
BEFORE = {
    "host.cpu.interrupt": "7767ns",
    "host.cpu.send_call": "2us",
    "host.cpu.receive_batch": "1200ns",
}
PRIOR = prior(ENDS, BEFORE)
WORKLOADS: dict[str, Mapping[str, Mapping[str, object]]] = {
    "latency-8": {"osu_latency": {"bytes": "8B", "iterations": 30}},
    "latency-4096": {"osu_latency": {"bytes": "4KiB", "iterations": 30}},
    "bw-64": {"osu_bw": {"bytes": "64B", "iterations": 5}},
    "bw-1024": {"osu_bw": {"bytes": "1KiB", "iterations": 5}},
    "fft": {
        "fft": {"pex": 2, "pey": 2, "pez": 1, "x_bytes": "1kB", "y_bytes": "1kB", "iterations": 10}
    },
}


def observed(name: str, seed: int) -> MeasuredWorkload:
    """Play a cluster with hidden constants, whose launches differ by 1 %."""
    scenario = alone(BASE, {"name": name, "workload": WORKLOADS[name]})
    return measured_with(HIDDEN, name, scenario, seed)


@pytest.fixture(scope="module")
def outcome() -> Calibration:
    return calibrate([observed(name, seed) for seed, name in enumerate(WORKLOADS)], PRIOR)


def test_intervals_have_the_hidden_constants_of_a_cluster(outcome: Calibration) -> None:
    constants = {constant.key: constant for constant in outcome.constants}
    assert constants["host.cpu.send_call"].is_determined
    for key, hidden in HIDDEN.items():
        assert constants[key].low <= time_of(hidden) <= constants[key].high, key
    batch = constants["host.cpu.receive_batch"]
    assert batch.low <= 1200e-9 <= batch.high
    assert not outcome.warnings


def test_what_a_latency_only_knows_together_is_said(outcome: Calibration) -> None:
    """Interrupt and batch are parts of the time of every message here."""
    constants = {constant.key: constant for constant in outcome.constants}
    unsure = [constant for constant in constants.values() if not constant.is_determined]
    assert {constant.key for constant in unsure} <= {"host.cpu.interrupt", "host.cpu.receive_batch"}
    for own in unsure:
        assert own.together_with, own
    assert sum(direction.width < 0.5 for direction in outcome.directions) >= 2


def test_a_workload_that_nothing_was_inferred_from_is_predicted(outcome: Calibration) -> None:
    (fft,) = outcome.held_out
    assert fft.name == "fft"
    assert fft.is_covered and outcome.covered == 1
    assert fft.width < 0.3
    assert outcome.typical_error == abs(fft.error_of_median)
    before = etherweave.run(observed("fft", 0).scenario)
    assert abs(simulated(before, "mean") / fft.measured_s - 1) > 0.2, "shipped constants do not"


def test_an_interval_without_a_time_is_marked(outcome: Calibration) -> None:
    (fft,) = outcome.held_out
    low, high = fft.predicted_low_s, fft.predicted_high_s
    measured, predicted = replace(fft, measured_s=2 * high), replace(fft, predicted_s=low / 2)
    cases = (fft, measured, predicted, replace(measured, predicted_s=low / 2))
    assert [_mark(own) for own in cases] == ["", "*", "+", "* +"]


def test_where_nothing_lies_on_a_ridge_constants_and_predictions_are_exact() -> None:
    """Batches are known here, so that a latency determines the interrupt."""
    known = prior({key: ENDS[key] for key in HIDDEN}, {key: BEFORE[key] for key in HIDDEN})
    calibration = calibrate([observed(name, seed) for seed, name in enumerate(WORKLOADS)], known)
    for constant in calibration.constants:
        assert constant.value == pytest.approx(time_of(HIDDEN[constant.key]), rel=0.1)
    (fft,) = calibration.held_out
    assert abs(fft.error) < 0.03


def test_each_workload_has_the_values_that_a_report_draws(outcome: Calibration) -> None:
    (fft,) = outcome.held_out
    scenario = observed("fft", 0).scenario
    durations = etherweave.run(scenario, outcome.settings).tables["iterations"]["duration_ns"]
    ends = (min(durations.to_pylist()) / 1e9, max(durations.to_pylist()) / 1e9)
    assert (fft.predicted_iterations_s[0], fft.predicted_iterations_s[-1]) == pytest.approx(ends)
    assert sorted(fft.predicted_iterations_s) == list(fft.predicted_iterations_s)
    assert len(fft.launches_s) == 6
    assert np.median(fft.launches_s) == pytest.approx(fft.measured_s)
    jobs = {row.name: (row.test, row.size_bytes, row.window) for row in outcome.micro_benchmarks}
    assert jobs["latency-4096"] == ("osu_latency", 4096, 1)
    assert jobs["bw-64"] == ("osu_bw", 64, 64)


def test_settings_are_overrides_of_a_scenario(outcome: Calibration) -> None:
    again = etherweave.run(observed("latency-8", 0).scenario, outcome.settings)
    (benchmark,) = (row for row in outcome.micro_benchmarks if row.name == "latency-8")
    assert simulated(again, "mean") == pytest.approx(benchmark.predicted_s, rel=1e-3)
    assert set(outcome.settings) == set(PRIOR.names), "constants of a ridge stand together"
    for micro_benchmark in outcome.micro_benchmarks:
        assert abs(micro_benchmark.error) < 0.1, micro_benchmark.name


def test_samples_of_a_run_read_the_posterior(outcome: Calibration, tmp_path: Path) -> None:
    file = tmp_path / "posterior.toml"
    file.write_text(toml.document(outcome.posterior))
    drawn = declared([f"@{file}"])
    assert set(drawn.keys) == set(PRIOR.names)
    rows = [drawn.at(dict(zip(drawn.dimensions, row, strict=True))) for row in sobol(3, 512, 1)]
    for constant in outcome.constants:
        values = [time_of(str(row[constant.key])) for row in rows]
        assert np.quantile(values, (0.05, 0.95)) == pytest.approx(
            (constant.low, constant.high), rel=0.15
        )
    (fft,) = outcome.held_out
    scenario = observed("fft", 0).scenario
    times = [simulated(etherweave.run(scenario, row), "mean") for row in rows[:16]]
    # Correlations keep what only the sum of constants decides.
    assert np.std(times) / fft.measured_s < 0.1


def test_too_few_micro_benchmarks_are_rejected() -> None:
    with pytest.raises(CalibrationError, match="2 micro-benchmarks; expected at least 3 sizes"):
        calibrate([observed("latency-8", 0), observed("bw-64", 0), observed("fft", 0)], PRIOR)


def test_a_simulated_result_is_no_measurement(tmp_path: Path) -> None:
    scenario = alone(BASE, {"name": "latency-8", "workload": WORKLOADS["latency-8"]})
    etherweave.run(scenario).save(tmp_path / "simulated")
    with pytest.raises(CalibrationError, match="was simulated; expected a result of `measure`"):
        read(tmp_path / "simulated", BASE)
    with pytest.raises(CalibrationError, match="expected a result of `measure` or of `bench run`"):
        read(tmp_path, BASE)


def test_errors_of_damaged_results_name_their_directory(tmp_path: Path) -> None:
    kept = measured([[10.0, 11.0]]).save(tmp_path / "whole")

    def refused(file: str, content: str | bytes, what: str) -> None:
        broken = tmp_path / "broken"
        shutil.copytree(kept, broken, dirs_exist_ok=True)
        (broken / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(CalibrationError, match=f"broken.*{what}.*expected"):
            read(broken, BASE)

    parquet = (kept / "iterations.parquet").read_bytes()
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
    tcp = [observed(name, 0) for name in ("latency-8", "latency-4096", "bw-64")]
    roce = tcp[0]._replace(name="other", scenario={**tcp[0].scenario, "transport": {"roce": {}}})
    with pytest.raises(CalibrationError, match="other: measured over roce, but latency-8 over tcp"):
        calibrate([*tcp, roce], PRIOR)


def test_a_micro_benchmark_whose_simulation_does_not_end_is_an_error() -> None:
    benchmarks = [observed(name, 0) for name in ("latency-8", "latency-4096", "bw-64")]
    ends = {**benchmarks[1].scenario, "run": {"end": "10us"}}
    with pytest.raises(
        CalibrationError, match="latency-4096: the simulation is time_limit; expected its end"
    ):
        calibrate([benchmarks[0], benchmarks[1]._replace(scenario=ends), benchmarks[2]], PRIOR)


def test_measurements_of_another_machine_are_rejected() -> None:
    benchmarks = [observed(name, 0) for name in ("latency-8", "latency-4096", "bw-64")]
    # 64 messages of 64 B in 3 us are 1.37 GB/s, and a link of 10 Gb/s carries 1.25 GB/s.
    fast = benchmarks[2]._replace(launches=(3e-6,), medians=(3e-6,))
    with pytest.raises(
        CalibrationError, match=r"bw-64: 1\.365 GB/s were measured, and links carry 1\.25 GB/s"
    ):
        calibrate([*benchmarks[:2], fast], PRIOR)
    elsewhere = benchmarks[2]._replace(hosts=("m1", "m2"))
    here = [benchmark._replace(hosts=("n1", "n2")) for benchmark in benchmarks[:2]]
    with pytest.raises(
        CalibrationError, match="bw-64: measured on m1, m2, but latency-8 on n1, n2; expected hosts"
    ):
        calibrate([*here, elsewhere], PRIOR)
    joined = benchmarks[2]._replace(hosts=("n2", "m1"))
    check_hosts([*here, elsewhere, joined])


def test_a_ping_pong_of_the_hpc_challenge_is_timed_one_way() -> None:
    """2 MB in 1.8 ms are 1.11 GB/s, of the 1.25 GB/s of a link; its latency stays as it is."""
    facts = {"osu_latency": {"bytes": "2MB", "iterations": 5}}
    scenario = alone(BASE, {"name": "ping", "workload": facts})
    times, centre = (1.8e-3,), ChallengeTest("PingPong", is_fitted=True)
    ping = MeasuredWorkload("ping", scenario, times, times, centre)
    check_rates([ping])
    with pytest.raises(CalibrationError, match=r"ping: 2 GB/s were measured, and links carry"):
        check_rates([ping._replace(launches=(1e-3,))])
    assert reported_share(ping.test) == 1


def test_times_in_another_unit_are_rejected() -> None:
    benchmarks = [observed(name, 0) for name in ("latency-8", "latency-4096", "bw-64")]
    times = tuple(1000 * time for time in benchmarks[0].launches)
    milli = benchmarks[0]._replace(launches=times, medians=times)
    with pytest.raises(
        CalibrationError, match=r"latency-8: .* ms were measured.*another power of ten"
    ):
        check_prior([milli], np.log([[10e-6], [30e-6]]))
    assert check_prior(benchmarks[:1], np.log([[1e-9], [1.0]])) == []
    (warning,) = check_prior(benchmarks[:1], np.log([[1e-9], [benchmarks[0].launches[0] / 2]]))
    assert warning.startswith("latency-8: ") and "hosts are others than its profile's" in warning


def test_held_out_times_in_another_unit_are_reported() -> None:
    row = ComparedWorkload(
        "halo3d", True, 1, 0.8e-3, 0.8e-3, 0.8e-3, *(9e-4, 9e-4, 9e-4), 9e-4, 9e-4
    )
    cases = [replace(row, measured_s=measured_s) for measured_s in (800.0, 8e-6, 0.05, 2e-5)]
    first, second = check_predictions(cases)
    assert first == (
        "halo3d: 800 s were measured, and 900 us are predicted; expected seconds in measured times"
    )
    assert second.startswith("halo3d: 8 us were measured")


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


OSU_TITLE = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n"
OSU_TEXT = """# OSU MPI Latency Test v7.3
# Size          Latency (us)
8                       {latency}
16                      9.00

# OSU MPI Bandwidth Test v7.3
# Size      Bandwidth (MB/s)
1024                  65.54
"""


def test_latencies_are_printed_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    row = ComparedWorkload(
        "osu_latency-8", False, 1, 3.56e-6, 3e-6, 4e-6, 3.6e-6, 3.5e-6, 3.7e-6, 3.56e-6, 3.6e-6,
        test="osu_latency",
    )  # fmt: skip
    _print(Calibration((), (row, replace(row, name="fft", test="fft")), ()), as_json=False)
    latency, fft = (line.split() for line in capsys.readouterr().out.splitlines()[-2:])
    assert (latency[:2], fft[:2]) == (["osu_latency-8", "1.78"], ["fft", "3.56"])
    benchmark = observed("latency-8", 0)._replace(launches=(3.56e-6,))
    (warning,) = check_prior([benchmark], np.log([[1e-6], [2e-6]]))
    assert "1.78 us were measured" in warning and "gives 500 ns to 1 us" in warning


def test_texts_of_osu_and_a_table_of_times_are_measurements(tmp_path: Path) -> None:
    text, table = tmp_path / "osu.txt", tmp_path / "times.csv"
    text.write_text("".join(OSU_TEXT.format(latency=latency) for latency in ("5.00", "7.00")))
    small, large, windows = read(text, BASE)
    assert small.name == "osu_latency-8"
    assert small.launches == pytest.approx((10e-6, 14e-6))
    assert large.launches == pytest.approx((18e-6, 18e-6))
    assert windows.launches == pytest.approx((1e-3, 1e-3), rel=1e-4)
    base = {**BASE, "job": [{"name": "fft", "workload": WORKLOADS["fft"]}]}
    table.write_text("\ufeffjob,iteration_s\nfft,0.01\nfft,1.1e-2\n")
    (own,) = read(table, base)
    assert (own.name, own.launches, own.is_micro_benchmark) == ("fft", (0.01, 0.011), False)
    assert own.scenario == alone(base, {"name": "fft", "workload": WORKLOADS["fft"]})


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("times.csv", "", "line 1: columns: none; expected job, iteration_s"),
        ("times.csv", "job,seconds\nfft,1\n", "line 1: columns: job, seconds; expected job, iter"),
        ("times.csv", "job,iteration_s\n", "no rows; expected one for each launch of a job"),
        ("times.csv", "job,iteration_s\nhalo,1\n", "line 2: job halo; expected one of fft"),
        ("times.csv", "job,iteration_s\nfft\n", "line 2: 1 cells; expected 2"),
        ("times.csv", "job,iteration_s\nfft,0,1\n", "line 2: 3 cells; expected 2"),
        ("times.csv", "job,iteration_s\nfft,\n", "line 2: no time; expected a number of seconds"),
        ("times.csv", 'job,iteration_s\n"' + 200_000 * "x", "field larger than field limit"),
        (
            "osu.txt",
            OSU_TEXT.format(latency="5.00").replace("MPI L", "MPI-CUDA L"),
            "line 1: osu_latency of memory of CUDA; expected memory of hosts",
        ),
        ("times.csv", "job,iteration_s\nfft,1ms\n", "line 2: 1ms; expected a number of seconds"),
        ("times.csv", "job,iteration_s\nfft,-1\n", "fft: a launch of -1 s; expected more than"),
        (
            "osu.txt",
            "nothing\n",
            "no benchmark that is known writes such a text; expected output of",
        ),
        ("osu.txt", "", "no benchmark that is known writes such a text; expected output of"),
        ("osu.txt", OSU_TEXT.format(latency="five"), "line 3: "),
        (
            "osu.txt",
            "8 5.00\n16 9.00\n",
            "no benchmark that is known writes such a text; expected output of osu_latency or",
        ),
        (
            "osu.txt",
            "# Size          Latency (us)\n8 5.00\n16 9.00\n",
            "line 1: osu is not complete: the line `# OSU MPI ...` is missing",
        ),
        (
            "osu.txt",
            OSU_TEXT.format(latency="0.0001"),
            "line 3: column 2 (latency(us)) is '0.0001'; expected a number with two decimal",
        ),
        (
            "osu.txt",
            OSU_TITLE + "8      abc\n16     9.00\n32     9.00\n64     9.00\n128    9.00\n",
            "line 3: column 2 (latency(us)) is 'abc'; expected a number",
        ),
    ],
)
def test_files_that_are_no_measurements_are_refused(
    name: str, content: str, reason: str, tmp_path: Path
) -> None:
    base = {**BASE, "job": [{"name": "fft", "workload": WORKLOADS["fft"]}]}
    (tmp_path / name).write_text(content)
    with pytest.raises(CalibrationError) as error:
        read(tmp_path / name, base)
    assert str(error.value).startswith(f"{tmp_path / name}: {reason}")


invoke = partial(command_line.invoke, "calibrate", code=2)


def test_programs_that_unknowns_are_not_inferred_from_are_named(tmp_path: Path) -> None:
    text = tmp_path / "osu.txt"
    both = OSU_TITLE.replace("Latency Test", "Bi-Directional Bandwidth Test")
    text.write_text(OSU_TITLE + "8 5.00\n" + both.replace("Latency (us)", "Bandwidth (MB/s)"))
    warnings: list[str] = []
    with text.open("a") as file:
        file.write("8 9.00\n")
    (row,) = read(text, BASE, warnings.append)
    assert row.name == "osu_latency-8"
    expected = "expected osu_latency, osu_bw or hpcc"
    assert warnings == [f"{text}: left out: osu_bibw; {expected}"]
    text.write_text("\n".join(text.read_text().splitlines()[3:]) + "\n")
    with pytest.raises(CalibrationError, match=f"osu\\.txt: has osu_bibw; {expected}"):
        read(text, BASE)


def test_sizes_of_a_text_need_not_double(tmp_path: Path) -> None:
    text = tmp_path / "osu.txt"
    text.write_text(OSU_TITLE + "8 5.00\n512 9.00\n8192 20.00\n")
    assert [row.name for row in read(text, BASE)] == [
        "osu_latency-8",
        "osu_latency-512",
        "osu_latency-8192",
    ]


def test_mistakes_end_with_an_error(tmp_path: Path) -> None:
    scenario = tmp_path / "base.toml"
    scenario.write_text('[topology.single_switch]\nhosts = 4\n[[job]]\nname = "a"\n'
                        "workload.osu_latency = {}\n")  # fmt: skip
    site = tmp_path / "site.toml"
    site.write_text('launcher = { kind = "netns" }\nhosts = { n1 = {} }\n')
    expected = "expected a site to measure now, or earlier measurements\n"
    both = invoke(scenario, "--site", site, "--measured", tmp_path).output
    assert both == f"both --site and --measured; {expected}"
    assert invoke(scenario).output == f"neither --site nor --measured; {expected}"
    assert invoke(scenario, "--site", site).output == (
        "--site: measures on hosts; expected --output DIRECTORY for its launches\n"
    )
    missing = invoke(tmp_path / "none.toml", "--measured", tmp_path)
    assert "none.toml: No such file" in missing.output
    done = invoke(scenario, "--measured", tmp_path)
    assert "expected a result of `measure` or of `bench run`" in done.output
    assert "no such file" not in done.output
    done = invoke(scenario, "--measured", tmp_path / "none.csv")
    assert "none.csv: no such file or directory; expected a result" in done.output


def test_options_without_effect_are_rejected(tmp_path: Path) -> None:
    scenario = tmp_path / "base.toml"
    scenario.write_text("[topology.single_switch]\nhosts = 4\n[[job]]\nname = \"a\"\n"
                        "workload.osu_latency = {}\n")  # fmt: skip
    for words in (
        ("--measured", tmp_path / "none.csv"),
        ("--site", tmp_path / "none.toml"),
        ("--hpcc", 768),
        ("--output", tmp_path / "out"),
        ("--launches", 6),
        ("--json",),
    ):
        assert invoke(*words).output == f"{words[0]}: expected a scenario\n"
    fitted = "--study: fits the constants of a study; expected no scenario\n"
    assert invoke(scenario, "--study", "sandia-2020").output == fitted
    for option, value in (("--fabric", "tcp"), ("--hpcc", 768), ("--launches", 2)):
        refused = invoke(scenario, "--measured", tmp_path, option, value).output
        assert refused == f"{option}: is of launches; expected --site, not --measured\n"


def test_settings_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "constants.toml"
    file.write_text('"host.cpu.interrupt" = "3us"\n[host.cpu]\nsend_call = "900ns"\n')
    scenario = tmp_path / "base.toml"
    scenario.write_text("[topology.single_switch]\n[transport.tcp]\n[[job]]\nname = \"a\"\n"
                        "workload.osu_latency = {}\n")  # fmt: skip
    words = ["show", str(scenario), "--set", f"@{file}", "--set", "host.cpu.interrupt=4us"]
    done = command_line.invoke(*words, code=0)
    assert 'send_call = "900ns"' in done.output
    assert 'interrupt = "4us"' in done.output, "what comes later wins"
    file.write_text("# These measurements determine no constant.\n")
    assert 'interrupt = "4us"' in command_line.invoke(*words, code=0).output
    file.write_text("seed = 1979-05-27")
    done = command_line.invoke(*words, code=2)
    assert "has no place in a scenario; expected numbers" in done.output
    file.write_text("not TOML")
    assert "expected TOML" in command_line.invoke(*words, code=2).output
