"""The page of a calibration."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etherweave.bench.calibration import CalibratedConstant, Calibration, ComparedWorkload
from etherweave.bench.calibration.calibration import SHARES
from etherweave.bench.calibration.plans import directory_of
from etherweave.measurements.files import CALIBRATION_FILE
from etherweave.pages import write_report
from etherweave.pages.calibration import sections
from etherweave.pages.calibration.data import load_calibration
from etherweave.pages.calibration.sections import constants, errors, iterations
from support import command_line
from support.measured_results import measured


def benchmark(test: str, size: int, microseconds: float, window: int = 1) -> ComparedWorkload:
    """A micro-benchmark that was predicted 10 % too long."""
    second = microseconds * 1e-6
    times = {
        "measured_s": second,
        "measured_low_s": 0.9 * second,
        "measured_high_s": 1.2 * second,
        "predicted_s": 1.1 * second,
        "predicted_low_s": second,
        "predicted_high_s": 1.2 * second,
        "measured_median_s": second,
        "predicted_median_s": 1.1 * second,
    }
    launches = (0.9 * second, second, 1.2 * second)
    kind = {"test": test, "size_bytes": size or None, "window": window}
    name = f"{test}-{size}" if size else test
    return ComparedWorkload(name, False, 3, **times, launches_s=launches, **kind)  # type: ignore[arg-type]


FFT = replace(
    benchmark("fft", 0, 500.0),
    name="fft <b>&",
    is_held_out=True,
    predicted_iterations_s=tuple(0.0004 + 0.0002 * share for share in SHARES),
)
FOUND_OUT = Calibration(
    (
        CalibratedConstant(
            "host.cpu.send_call",
            "a send call",
            "s",
            2e-6,
            *(1e-7, 1e-5),
            9e-7,
            *(8e-7, 1e-6),
            0.05,
            True,
        ),
        CalibratedConstant(
            "host.cpu.interrupt",
            "an interrupt",
            "s",
            7.767e-6,
            *(1e-7, 1e-5),
            3e-6,
            *(1e-6, 9e-6),
            0.6,
            False,
            ("host.cpu.receive_batch",),
        ),
        CalibratedConstant(
            "host.cpu.receive_call",
            "a receive call",
            "s",
            1.5e-6,
            *(1e-7, 1e-5),
            3e-6,
            *(1e-7, 1e-5),
            1.0,
            False,
        ),
    ),
    (
        benchmark("osu_latency", 8, 20.0),
        benchmark("osu_latency", 1024, 40.0),
        benchmark("osu_bw", 1024, 64.0, 64),
        benchmark("incast", 0, 100.0),
    ),
    (FFT,),
)


def save(place: Path, calibration: Calibration = FOUND_OUT) -> Path:
    place.mkdir(exist_ok=True)
    (place / CALIBRATION_FILE).write_text(json.dumps(calibration.facts()))
    return place


def launch(place: Path, turn: int, times_ns: list[float]) -> None:
    measured([times_ns]).save(place / "launches" / f"{directory_of(FFT.name)}.{turn}")


@pytest.mark.slow
def test_a_page_shows_errors_iterations_tests_and_constants(tmp_path: Path) -> None:
    place = save(tmp_path / "calibrated")
    launch(place, 0, [400_000.0, 500_000.0])
    command_line.invoke("report", place, code=0)
    page = (place / "report.html").read_text()
    assert re.findall(r'<section id="(\w+)">', page) == [
        "errors",
        "iterations",
        "latency",
        "bandwidth",
        "constants",
    ]
    assert "1 of 3 constants are known from 4 micro-benchmarks, 1 more only together." in page
    assert "Held-out mean iterations are predicted within 10.0%" in page
    assert "fft &lt;b&gt;&amp;" in page and "<b>&" not in page


def test_a_latency_is_half_a_round_trip_and_a_bandwidth_a_window_over_time(tmp_path: Path) -> None:
    """20 us there and back; 64 messages of 1024 B in 64 us are 1024 MB/s, or 8.192 Gb/s."""
    calibrated = load_calibration(save(tmp_path))
    for make, expected in [
        (sections.latencies, {"measured": [10.0, 20.0], "predicted": [11.0, 22.0]}),
        (sections.bandwidths, {"measured": [8.192], "predicted": [8.192 / 1.1]}),
    ]:
        section = make(calibrated)
        assert section is not None and section.figure is not None
        drawn = {str(line.get_label()): line.get_ydata() for line in section.figure.axes[0].lines}
        for name, values in expected.items():
            assert np.asarray(drawn[name]).tolist() == pytest.approx(values)


def test_the_longest_time_is_the_least_rate() -> None:
    curve = sections.curve(
        "measured", [FOUND_OUT.micro_benchmarks[2]], sections.measured, sections.BANDWIDTH
    )
    fastest, slowest = 65536 / 57.6e-6, 65536 / 76.8e-6
    assert (curve.low[0], curve.high[0]) == pytest.approx((slowest, fastest))


def test_all_launches_stand_beside_what_was_predicted(tmp_path: Path) -> None:
    section = errors(load_calibration(save(tmp_path)))
    assert section is not None and section.figure is not None
    (axes,) = section.figure.axes
    dots = {str(line.get_label()): np.asarray(line.get_xdata()) for line in axes.lines}
    assert dots["launch"].tolist() == pytest.approx([0.9, 1.0, 1.2])
    assert dots["predicted"].tolist() == pytest.approx([1.1])
    assert axes.get_yticklabels()[0].get_text() == FFT.name
    held_out, fitted = section.tables
    assert [row[0] for row in held_out.rows] == [FFT.name]
    assert [row[-1] for row in fitted.rows] == ["+10.0%"] * 4


def test_iterations_of_all_launches_stand_beside_those_predicted(tmp_path: Path) -> None:
    """Two launches of 100, 200 and 300, 400 us: their median is 250 us, each has its own."""
    place = save(tmp_path)
    launch(place, 0, [100e3, 200e3])
    launch(place, 10, [300e3, 400e3])
    (place / "launches" / f"{directory_of(FFT.name)}.old").mkdir()
    section = iterations(load_calibration(place))
    assert section is not None and section.figure is not None
    lines = section.figure.axes[0].lines
    medians = [float(np.interp(0.5, line.get_ydata(), line.get_xdata())) for line in lines]  # type: ignore[arg-type]
    assert medians == pytest.approx([150, 350, 250, 500])
    assert lines[2].get_label() == "measured, 2 launches"


def test_without_launches_only_what_was_predicted_is_drawn(tmp_path: Path) -> None:
    section = iterations(load_calibration(save(tmp_path)))
    assert section is not None and section.figure is not None
    assert [line.get_label() for line in section.figure.axes[0].lines] == ["predicted"]
    bare = replace(FOUND_OUT, held_out=(replace(FFT, predicted_iterations_s=()),))
    assert iterations(load_calibration(save(tmp_path, bare))) is None


def test_constants_have_prior_and_posterior_and_what_resembles_them(tmp_path: Path) -> None:
    section = constants(load_calibration(save(tmp_path)))
    assert section is not None and section.figure is not None
    rows = [row[2:] for row in section.tables[0].rows]
    prior = "100 ns to 10 us"
    assert rows == [
        ("2 us", prior, "800 ns to 1 us", "5%", ""),
        ("7.767 us", prior, "1 us to 9 us", "60%", "host.cpu.receive_batch"),
        ("1.5 us", prior, prior, "100%", ""),
    ]
    (axes,) = section.figure.axes
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [float(np.asarray(dot.get_xdata())[0]) for dot in dots] == pytest.approx([900, 3000])
    reach = next(line for line in axes.lines if line.get_label() == "posterior")
    assert np.asarray(reach.get_xdata()).tolist() == pytest.approx([800, 1000])


@pytest.mark.usefixtures("undrawn_figures")
def test_a_calibration_of_before_has_a_page_without_its_tests(tmp_path: Path) -> None:
    """Files did not always have launches, sizes and iterations."""
    facts = FOUND_OUT.facts()
    new = ("launches_s", "predicted_iterations_s", "test", "size_bytes", "window")
    for micro_benchmark in (*facts["micro_benchmarks"], *facts["held_out"]):
        for name in new:
            del micro_benchmark[name]
    (tmp_path / CALIBRATION_FILE).write_text(json.dumps(facts))
    page = write_report(tmp_path, tmp_path).read_text()
    assert re.findall(r'<section id="(\w+)">', page) == ["errors", "constants"]


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    facts = json.loads(json.dumps(FOUND_OUT.facts()))
    change(facts)
    return json.dumps(facts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        changed(lambda facts: facts.update(micro_benchmarks=3)),
        changed(lambda facts: facts.update(constants=[3])),
        changed(lambda facts: facts["micro_benchmarks"][0].update(measured_s=0)),
        changed(lambda facts: facts["micro_benchmarks"][0].update(measured_s="1")),
        changed(lambda facts: facts["micro_benchmarks"][0].update(window=0)),
        changed(lambda facts: facts["held_out"][0].update(launches_s=[-1.0])),
        changed(lambda facts: facts["constants"][0].update(value=0)),
        changed(lambda facts: facts["constants"][0].update(value=1e400)),
        changed(lambda facts: facts["micro_benchmarks"][0].pop("name")),
        changed(lambda facts: facts["micro_benchmarks"][0].update(odd=1)),
    ],
)
def test_a_file_that_is_no_calibration_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / CALIBRATION_FILE).write_text(text)
    assert CALIBRATION_FILE in command_line.invoke("report", tmp_path, code=2).stderr


def test_a_broken_launch_is_reported(tmp_path: Path) -> None:
    place = save(tmp_path)
    launch(place, 0, [100e3])
    (place / "launches" / f"{directory_of(FFT.name)}.0" / "iterations.parquet").write_bytes(b"")
    assert "fft" in command_line.invoke("report", place, code=2).stderr


def test_nothing_stands_beside_a_calibration(tmp_path: Path) -> None:
    done = command_line.invoke(
        "report", save(tmp_path / "calibrated"), "--beside", tmp_path, code=2
    )
    assert "a calibration; expected a result" in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("quick_figures")
def test_names_with_marks_of_formulas_are_drawn_as_they_are(tmp_path: Path) -> None:
    odd = replace(FOUND_OUT, held_out=(replace(FFT, name=r"$\frac{x$"),))
    assert r"$\frac{x$" in write_report(save(tmp_path, odd), tmp_path).read_text()
